r"""Interpolation of least J: \(\min \sum_i J(w_i)\) subject to \(Xw = y\), at every depth [eq:min_J].

Stationary means \(\Phi(w) = X^\top\nu\). The unknowns are ν and the coordinate s of the mirror
map, in which both Φ and w keep their digits: Newton for \(X w(s) = y\), \(\Phi(s) = X^\top\nu\),
with moves of s bounded, needs no line search. Deep networks of small α are reached by
shrinking α, carrying w over.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from dynafield.errors import SolveError
from dynafield.problem.mirror import MirrorMap

__all__ = ["interpolate"]

LONGEST_MOVE = 1.5
STEPS = 60
ROUNDING = 1e-14
"""A mismatch of Φ below this fraction of its largest entry is rounding, and left alone."""
CLOSE = 1e-5
"""From here on steps are solved to the last digit."""
DIRECT = 1e-8
"""Smallest α, relative to the weights, that depth 2 reaches in one go."""
FACTOR = 10.0
"""First attempt at shrinking α."""


class Interpolation(NamedTuple):
    """Weights, dual vector, and the relative residuals of Xw = y and of stationarity."""

    w: Float[np.ndarray, " d"]
    nu: Float[np.ndarray, " n"]
    residual: float
    stationarity: float


def interpolate(
    X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], alpha: float, depth: int
) -> Interpolation:
    """The interpolator that gradient flow from α converges to."""
    size = float(np.linalg.norm(y))
    if size == 0:
        return Interpolation(np.zeros(X.shape[1]), np.zeros(len(X)), 0.0, 0.0)
    scale = float(np.sqrt(size**2 / len(y))) ** (1 / depth)
    first = max(alpha, scale if depth > 2 else DIRECT * scale)
    here, s, found = first, np.zeros(X.shape[1]), None
    factor, target = FACTOR, first
    while found is None or here > alpha:
        step = newton(X, y, MirrorMap(target, depth), s, target == alpha)
        if step is None:
            factor = float(np.sqrt(factor))
            if found is None or factor < 1.01:
                raise SolveError(
                    f"minimum-J interpolation at alpha={alpha:g}, depth {depth} was not found beyond "
                    f"alpha={here:g}: double precision may not reach that far; take a larger alpha"
                )
        else:
            here, found = target, step
        if here > alpha:
            target = max(alpha, float(here / factor))
            s = coordinate_of_weight(MirrorMap(target, depth), found[0].w)
    return found[0]


def newton(
    X: np.ndarray, y: np.ndarray, mirror: MirrorMap, s: np.ndarray, exact: bool
) -> tuple[Interpolation, np.ndarray] | None:
    """Solve at one α from s; None if it does not converge."""
    nu, last, careful = None, np.inf, False
    for _ in range(STEPS):
        w, dual, slope = mirror.weight(s), mirror.dual(s), mirror.slope(s)
        largest = np.max(slope)
        if not np.isfinite(largest):
            return None
        solve = factor(X, slope / largest, careful)
        if nu is None:
            nu = solve(X @ (slope / largest * dual))
        gap = X.T @ nu - dual
        gap = np.where(np.abs(gap) < ROUNDING * np.max(np.abs(dual)), 0.0, gap)
        turn = solve((y - X @ w - X @ (slope * gap)) / largest)
        move = (X.T @ turn + gap) / mirror.dual_slope(s)
        length = float(np.max(np.abs(move)))
        if not np.isfinite(length):
            return None
        share = min(1.0, LONGEST_MOVE / max(length, 1e-300))
        s, nu = s + share * move, nu + share * turn
        if not exact and length < 0.1:
            return judge(X, y, mirror, s, nu), s
        if careful and (length < 1e-12 or length > 0.5 * last):
            return judge(X, y, mirror, s, nu), s
        last, careful = length, length < CLOSE
    return None


def factor(X: np.ndarray, slope: np.ndarray, careful: bool):
    r"""A solver of \((X K X^\top)\nu = b\), by Cholesky, or by QR, which keeps twice the digits."""
    if not careful:
        try:
            lower = scipy.linalg.cho_factor((X * slope) @ X.T, lower=True, check_finite=False)
            return lambda b: scipy.linalg.cho_solve(lower, b, check_finite=False)
        except scipy.linalg.LinAlgError:
            pass
    r = np.linalg.qr((X * np.sqrt(slope)).T, mode="r")

    def solve(b):
        with np.errstate(all="ignore"):
            half = scipy.linalg.solve_triangular(r, b, trans=1, check_finite=False)
            return scipy.linalg.solve_triangular(r, half, check_finite=False)

    return solve


def judge(X: np.ndarray, y: np.ndarray, mirror: MirrorMap, s: np.ndarray, nu: np.ndarray) -> Interpolation:
    """The result with its two residuals."""
    w, dual = mirror.weight(s), mirror.dual(s)
    residual = np.linalg.norm(X @ w - y) / np.linalg.norm(y)
    return Interpolation(
        w, nu, float(residual), float(np.max(np.abs(X.T @ nu - dual)) / np.max(np.abs(dual)))
    )


def coordinate_of_weight(mirror: MirrorMap, w: np.ndarray) -> np.ndarray:
    """s(w), by Newton in log w from a bound above."""
    size = np.maximum(np.abs(w), 1e-300)
    s = np.maximum(mirror.coordinate_bound(size), 1e-300)
    for _ in range(STEPS):
        excess = np.log(np.maximum(mirror.weight(s), 1e-300) / size)
        step = excess / (1 / np.tanh(s) + np.tanh(mirror.c * s))
        s = np.maximum(s - step, 0.1 * s)
        if np.max(np.abs(step) / s) < 1e-14:
            break
    return np.sign(w) * s
