"""Train one network on given data, to a time or until it has ended."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.errors import SolveError
from dynafield.numerics.threads import fitting_threads
from dynafield.problem.networks import DiagonalNetwork
from dynafield.simulation.data import reduce_rows
from dynafield.simulation.flow import integrate

__all__ = ["Fit", "train_to_end"]

RATIO = 1.25
"""Between the times at which the end is looked for."""
REACH = 1e15
"""Longest training, in units of the shortest time scale."""
POINTS = 80
"""Times kept of training to a given time, over DECADES decades."""
DECADES = 5
RESTING = 1e-2
"""How fast the layers may still shrink at the end, relative to free decay."""


class Fit(NamedTuple):
    """Final weights, the training error on the way, and whether training had ended."""

    w: Float[np.ndarray, " d"]
    t: Float[np.ndarray, " k"]
    train_error: Float[np.ndarray, " k"]
    converged: bool


def train_to_end(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    net: DiagonalNetwork,
    t_max: float | None,
    tol: float,
) -> Fit:
    """Gradient flow until `t_max`; for None until w changes by less than `tol` while time grows by 1/4.

    With weight decay the layers must be at rest too: a network that has fitted its data
    lazily stands still for long before it turns sparse.
    """
    (n, d), depth = X.shape, net.depth
    with fitting_threads(X.size):
        orthogonal = float(net.alpha) ** (2 * depth - 2) * np.sum(X**2) > 0.1 * n
        data = reduce_rows(X, y, orthogonal=bool(orthogonal))
        times = schedule(X, y, net, t_max)
        w, squares, errors = np.zeros(d), np.inf, []
        converged = False

        def observe(_, which, weights, sizes):
            nonlocal w, squares, converged
            for k, new, size in zip(which, weights, sizes, strict=True):
                gap = data.X @ new - data.y
                errors.append((gap @ gap + data.floor) / n)
                still = np.linalg.norm(new - w) <= tol * np.linalg.norm(new)
                shrinking = abs(size - squares) / (times[k] - times[k - 1]) if k else np.inf
                resting = net.lam == 0 or shrinking <= RESTING * float(net.lam) * size
                w, squares = new, size
                converged = bool(k and still and resting)
                if t_max is None and converged:
                    return False
            return True

        start = np.full((1, d), float(net.alpha))
        lam = np.array([float(net.lam)])
        failed = integrate(
            net, lam, start, start, data, n / d, min(1e-6, 0.1 * tol), times, observe, lambda: None
        )
    if failed:
        raise SolveError(
            f"gradient flow could not be followed beyond t={failed[0]:.3g}: scale X and y to order one"
        )
    return Fit(w, times[: len(errors)], np.array(errors), converged)


def schedule(X: np.ndarray, y: np.ndarray, net: DiagonalNetwork, t_max: float | None) -> np.ndarray:
    """Times to look at, from 0: up to t_max, or from well below the first time scale without end."""
    if t_max is not None:
        return np.concatenate([[0.0], t_max * np.logspace(-DECADES, 0, POINTS)])
    n, d = X.shape
    alpha, depth = float(net.alpha), net.depth
    pull = float(np.max(np.abs(X.T @ y))) * d / n
    curvature = float(np.sum(X**2)) * d / n / min(n, d)
    rate = pull * alpha ** (depth - 2) + curvature * alpha ** (2 * depth - 2) + float(net.lam)
    first = 0.01 / max(rate, 1e-290)
    count = int(np.log(REACH) / np.log(RATIO))
    return np.concatenate([[0.0], first * RATIO ** np.arange(count)])
