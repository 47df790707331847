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

__all__ = ["Solution", "lasso_path"]

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
    """The lasso at every λ, each found from the next larger one."""
    found: dict[int, Solution] = {}
    model = Lasso(fit_intercept=False, warm_start=True, tol=1e-5, max_iter=1000)
    columns = np.asfortranarray(X)
    for index in np.argsort(-lams):
        found[int(index)] = solve(X, columns, y, float(lams[index]), model)
    return [found[index] for index in range(len(lams))]


def solve(X: np.ndarray, columns: np.ndarray, y: np.ndarray, lam: float, model: Lasso) -> Solution:
    """One λ: coordinate descent, or the path from λ = ∞ where that stays dense; then exactly."""
    d = X.shape[1]
    largest = float(np.max(np.abs(X.T @ y))) * d / len(y)
    if largest <= lam:
        return judge(X, y, lam, np.zeros(d))
    model.set_params(alpha=lam / d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it has not converged: what follows does
        model.fit(columns, y)
        w = np.array(model.coef_)
        if np.sum(w != 0) > min(len(y), d):
            w = lars_path(X, y, alpha_min=lam / d, method="lasso")[2][:, -1]
    best = judge(X, y, lam, active_set(X, y, lam, w))
    if not best.violation <= max(OPTIMAL, ROUNDING * largest / lam):
        raise SolveError(
            f"the lasso at lam={lam:g} was not solved: conditions violated by {best.violation:.1e} λ; "
            "are there columns of X that are equal or nearly so?"
        )
    model.coef_ = best.w.copy()
    return best


def active_set(X: np.ndarray, y: np.ndarray, lam: float, w: np.ndarray) -> np.ndarray:
    """The minimizer, from an approximate one."""
    delta = len(y) / X.shape[1]
    sign = np.sign(w)
    for _ in range(EXCHANGES):
        w, settled = walk(X, y, lam * delta, w, sign)
        sign = np.sign(w)
        if not settled:
            continue
        pull = X.T @ (y - X @ w) / delta
        excess = np.where(w == 0, np.abs(pull) - lam, 0.0)
        worst = int(np.argmax(excess))
        if excess[worst] <= 1e-12 * lam:
            break
        sign[worst] = np.sign(pull[worst])
    return w


def walk(
    X: np.ndarray, y: np.ndarray, pull: float, w: np.ndarray, sign: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Towards the minimum for given signs, to the lowest point among the zeros on the way.

    Also says whether it got all the way.
    """
    active = np.flatnonzero(sign)
    if not len(active):
        return w, True
    columns, now = X[:, active], w[active]
    goal = solve_signed(columns, y, pull * sign[active])
    if goal is None:  # more columns than they can tell apart: along what does not change Xw
        direction = np.linalg.svd(columns)[2][-1]
        direction *= -np.sign(sign[active] @ direction) or 1.0
        zeros = crossings(now, direction)
        shares = zeros[:1] if len(zeros) else np.zeros(0)
        if not len(shares):
            return w, True
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
    new[active] = goal if goal is not None and share == 1.0 else moved
    return new, bool(goal is not None and share == 1.0)


def crossing_shares(now: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """How far along `direction` each coordinate reaches zero (infinity where it does not)."""
    ahead = now * direction < 0
    return np.where(ahead, -now / np.where(ahead, direction, 1.0), np.inf)


def crossings(now: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The finite ones, in order."""
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
