r"""The lasso, \(\frac{1}{2n}\|y - Xw\|^2 + \frac{\lambda}{d}\|w\|_1\) [eq:min_problem].

Coordinate descent by scikit-learn, whose answer may be poor for small λ without saying so;
then an active-set method that ends at the exact minimum: solve on the active set, walk
there no further than the lowest point where a coordinate changes sign, let the worst
violator in, until the optimality conditions hold.
"""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float
from sklearn.linear_model import Lasso, lars_path

from dynafield.errors import SolveError

__all__ = ["lasso_path"]

OPTIMAL = 1e-8
"""Largest violation of the optimality conditions, relative to λ ..."""
ROUNDING = 1e-13
"""... or to the smallest λ whose minimizer is zero: below, residuals are rounding."""
EXCHANGES = 2000


class Solution(NamedTuple):
    """Weights, violation of the conditions relative to λ, duality gap relative to the objective."""

    w: Float[np.ndarray, " d"]
    violation: float
    gap: float


def lasso_path(
    X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], lams: Float[np.ndarray, " l"]
) -> list[Solution]:
    """The lasso at every λ, each found from the next larger one.

    Of columns that are equal, or opposite, the first one gets all the weight.
    """
    found: dict[int, Solution] = {}
    model = Lasso(fit_intercept=False, warm_start=True, tol=1e-5, max_iter=1000)
    kept = distinct(X)
    columns = np.asfortranarray(X[:, kept])
    for index in np.argsort(-lams):
        lam = float(lams[index])
        part = solve(columns, y, lam * len(kept) / X.shape[1], model)
        w = np.zeros(X.shape[1])
        w[kept] = part.w
        found[int(index)] = judge(X, y, lam, w)
    return [found[index] for index in range(len(lams))]


def distinct(X: np.ndarray) -> np.ndarray:
    """Columns that differ from all before them, and from their negatives."""
    first = np.argmax(X != 0, axis=0)
    turned = X * np.sign(X[first, np.arange(X.shape[1])] + (X == 0).all(axis=0)) + 0.0
    return np.sort(np.unique(turned, axis=1, return_index=True)[1])


def solve(X: np.ndarray, y: np.ndarray, lam: float, model: Lasso) -> Solution:
    """One λ: coordinate descent, or the path from λ = ∞ where that stays dense; then exactly."""
    d = X.shape[1]
    largest = float(np.max(np.abs(X.T @ y))) * d / len(y)
    if largest <= lam:
        return judge(X, y, lam, np.zeros(d))
    model.set_params(alpha=lam / d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it has not converged: what follows does
        model.fit(X, y)
        w = np.array(model.coef_)
        if np.sum(w != 0) > min(len(y), d):
            w = lars_path(X, y, alpha_min=lam / d, method="lasso")[2][:, -1]
    best = judge(X, y, lam, active_set(X, y, lam, w))
    if not max(best.violation, best.gap) <= max(OPTIMAL, 10 * ROUNDING * largest / lam):
        raise SolveError(
            f"the lasso at lam={lam:g} was not solved: conditions violated by {best.violation:.1e} λ; "
            "are there columns of X that are equal or nearly so?"
        )
    model.coef_ = best.w.copy()
    return best


def active_set(X: np.ndarray, y: np.ndarray, lam: float, w: np.ndarray) -> np.ndarray:
    """The minimizer, from an approximate one."""
    delta = len(y) / X.shape[1]
    least = max(1e-12 * lam, ROUNDING * float(np.max(np.abs(X.T @ y))) / delta)
    sign, newcomer = np.sign(w), -1
    for _ in range(EXCHANGES):
        w, settled = walk(X, y, lam * delta, w, sign, newcomer)
        sign, newcomer = np.sign(w), -1
        if not settled:
            continue
        pull = X.T @ (y - X @ w) / delta
        excess = np.where(w == 0, np.abs(pull) - lam, 0.0)
        worst = int(np.argmax(excess))
        if excess[worst] <= least:
            break
        newcomer, sign[worst] = worst, np.sign(pull[worst])
    return w


def walk(
    X: np.ndarray, y: np.ndarray, pull: float, w: np.ndarray, sign: np.ndarray, newcomer: int
) -> tuple[np.ndarray, bool]:
    """Towards the minimum for given signs, to the lowest point among the zeros on the way.

    Also says whether it got all the way with those signs.
    """
    active = np.flatnonzero(sign)
    if not len(active):
        return w, True
    columns, now = X[:, active], w[active]
    goal = solve_signed(columns, y, pull * sign[active])
    if goal is None:  # more columns than they can tell apart: along what does not change Xw
        direction = null_direction(columns, sign[active], active == newcomer)
        zeros = crossings(now, direction)
        if not len(zeros):
            return w, True
        shares = zeros[:1]
    else:
        direction = goal - now
        zeros = crossings(now, direction)
        shares = np.append(zeros[zeros < 1.0], 1.0)
    fit, change = columns @ now - y, columns @ direction
    values = [
        0.5 * np.sum((fit + t * change) ** 2) + pull * np.sum(np.abs(now + t * direction)) for t in shares
    ]
    share = shares[int(np.argmin(values))]
    moved = now + share * direction
    moved[np.isclose(crossing_shares(now, direction), share, rtol=1e-12, atol=0.0)] = 0.0
    new = np.zeros_like(w)
    arrived = goal is not None and share == 1.0
    new[active] = goal if arrived else moved
    return new, bool(arrived and np.all(goal * sign[active] > 0))


def null_direction(columns: np.ndarray, sign: np.ndarray, newcomer: np.ndarray) -> np.ndarray:
    """A move that leaves Xw as it is and does not raise the penalty; a newcomer moves to its own side."""
    direction = np.linalg.svd(columns)[2][-1]
    direction = np.where(np.abs(direction) > 1e-12 * np.max(np.abs(direction)), direction, 0.0)
    slope = float(sign @ direction)
    if abs(slope) <= 1e-10 * np.sum(np.abs(direction)):
        slope = -float(sign[newcomer] @ direction[newcomer]) if newcomer.any() else 0.0
    return -direction if slope > 0 else direction


def crossing_shares(now: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """How far along `direction` each coordinate reaches zero (infinity where it does not)."""
    ahead = now * direction < 0
    return np.where(ahead, -now / np.where(ahead, direction, 1.0), np.inf)


def crossings(now: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The finite ones of `crossing_shares`, in order."""
    shares = crossing_shares(now, direction)
    return np.sort(shares[np.isfinite(shares)])


def solve_signed(columns: np.ndarray, y: np.ndarray, pull: np.ndarray) -> np.ndarray | None:
    """Least squares with a linear penalty, by QR; None where the columns are dependent."""
    if columns.shape[1] > columns.shape[0]:
        return None
    q, r = np.linalg.qr(columns)
    size = np.abs(np.diag(r))
    if np.min(size) <= 1e-12 * np.max(size):
        return None
    return scipy.linalg.solve_triangular(r, q.T @ y - scipy.linalg.solve_triangular(r, pull, trans=1))


def judge(X: np.ndarray, y: np.ndarray, lam: float, w: np.ndarray) -> Solution:
    """How well g = -λ sign(w) where w is not zero and |g| ≤ λ where it is; and the duality gap."""
    residual, delta = y - X @ w, len(y) / X.shape[1]
    pull = X.T @ residual / delta
    bad = np.where(w != 0, np.abs(pull - lam * np.sign(w)), np.maximum(np.abs(pull) - lam, 0.0))
    feasible = residual * min(1.0, lam / max(float(np.max(np.abs(pull))), 1e-300))
    primal = residual @ residual / (2 * delta) + lam * np.sum(np.abs(w))
    dual = (y @ y - (y - feasible) @ (y - feasible)) / (2 * delta)
    return Solution(w, float(np.max(bad)) / lam, float((primal - dual) / max(primal, 1e-300)))
