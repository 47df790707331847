"""Train one network on given data, to a given time or to convergence."""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.errors import SolveError
from dynafield.numerics.threads import fitting_threads
from dynafield.problem.networks import DiagonalNetwork
from dynafield.simulation.data import reduce_rows
from dynafield.simulation.flow import integrate

__all__ = ["train_one"]

RATIO = 1.25
"""Factor between the times at which convergence is tested."""
REACH = 1e15
"""Longest training, in units of the shortest time scale."""
LONG = 20.0
"""Longest training towards a known limit, beyond its logarithms of α, in units of 1/λ."""
POINTS = 52
"""Times kept of training to a given time: five decades."""
GROWING = 10.0
"""How much the logarithm of any layer may still grow in as much time again, in units of the tolerance."""


class Fit(NamedTuple):
    """Final weights, errors and weights on the way, and whether training had converged."""

    w: Float[np.ndarray, " d"]
    t: Float[np.ndarray, " k"]
    train_error: Float[np.ndarray, " k"]
    weights: Float[np.ndarray, "k d"]
    converged: bool


def train_one(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    net: DiagonalNetwork,
    t_max: float | None,
    tol: float,
    end: Float[np.ndarray, " d"] | None = None,
) -> Fit:
    """Gradient flow until `t_max`, or for None until it has ended.

    Training has ended when w changes by less than `tol` while time grows by a quarter, and
    no layer is still growing: between activations, and between the lazy fit and the sparse
    end of a network with weight decay, the weights stand still too. Where the `end` is known, training
    has ended once it is met to 10 `tol`; as the approach is slower than any exponential, it is followed
    for a bounded time only.
    """
    (n, d), depth = X.shape, net.depth
    alpha, lam = float(net.alpha), float(net.lam)
    times = schedule(X, y, net, t_max)
    if t_max is None and end is not None:
        times = times[times <= (LONG + 4 * abs(np.log(alpha))) / lam]
    path = Path(np.zeros(d), [], [], False)
    close = 0.0 if end is None else 10 * tol * (np.linalg.norm(end) + alpha**depth)
    with fitting_threads(X.size):
        data = reduce_rows(X, y, orthogonal=bool(alpha ** (2 * depth - 2) * np.sum(X**2) > 0.1 * n))

        def observe(_, which, weights, squares):
            for t, w, square in zip(times[which], weights, squares, strict=True):
                gap = data.X @ w - data.y
                path.errors.append((gap @ gap + data.floor) / n)
                still = np.linalg.norm(w - path.w) <= tol * np.linalg.norm(w)
                path.w = w
                path.weights.append(w)
                path.ended = (
                    bool(t > 0 and still) and at_rest(square, gap @ data.X * d / n, depth, lam, t, tol)
                    if end is None
                    else bool(t > 0 and np.linalg.norm(w - end) <= close)
                )
                if t_max is None and path.ended:
                    return False
            return True

        start = np.full((1, d), alpha)
        failed = integrate(
            net, np.array([lam]), start, start, data, n / d, min(1e-6, 0.1 * tol), times, observe, ignore
        )
    if failed:
        raise SolveError(
            f"gradient flow could not be followed beyond t={failed[0]:.3g}: scale X and y to order one"
        )
    return Fit(path.w, times[: len(path.errors)], np.array(path.errors), np.array(path.weights), path.ended)


@dataclasses.dataclass
class Path:
    """Where training stands: last weights, errors and weights so far, whether it has converged."""

    w: np.ndarray
    errors: list[float]
    weights: list[np.ndarray]
    ended: bool


def ignore(share: float) -> None:
    """Show no progress."""


def at_rest(square: np.ndarray, g: np.ndarray, depth: int, lam: float, t: float, tol: float) -> bool:
    """Whether no layer would grow in as much time again, and with weight decay none that matters shrinks.

    A layer grows by the rate -μg - λ/2, or μg - λ/2 for v [eq:log_layers].
    """
    d = len(g)
    speed = 0.5 * square ** (0.5 * (depth - 2))
    rate = np.concatenate([-speed[:d] * g, speed[d:] * g]) - 0.5 * lam
    if t * np.max(rate) > GROWING * tol:
        return False
    shrinking = np.sum(square * np.maximum(-rate, 0.0))
    return bool(lam == 0 or shrinking <= np.sqrt(tol) * 0.5 * lam * np.sum(square))


def schedule(X: np.ndarray, y: np.ndarray, net: DiagonalNetwork, t_max: float | None) -> np.ndarray:
    """Times at which training is observed, from 0 to t_max, or without limit if that is None."""
    if t_max is not None:
        return np.concatenate([[0.0], t_max * RATIO ** np.arange(1.0 - POINTS, 1.0)])
    n, d = X.shape
    alpha, depth = float(net.alpha), net.depth
    pull = float(np.max(np.abs(X.T @ y))) * d / n
    curvature = float(np.sum(X**2)) * d / n / min(n, d)
    rate = pull * alpha ** (depth - 2) + curvature * alpha ** (2 * depth - 2) + float(net.lam)
    first = 0.01 / max(rate, 1e-290)
    count = int(np.log(REACH) / np.log(RATIO))
    return np.concatenate([[0.0], first * RATIO ** np.arange(count)])
