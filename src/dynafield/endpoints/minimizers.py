"""The limit of training on given data: the minimizer that the theory speaks of."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import scipy.optimize
import xarray as xr
from jaxtyping import Float

from dynafield.endpoints.interpolation import interpolate
from dynafield.endpoints.lasso import lasso_path
from dynafield.errors import InputError, SolveError
from dynafield.numerics.threads import fitting_threads
from dynafield.problem.checks import labelled_data, same_shape, untraced
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.records.record import Labelled, quantity
from dynafield.records.text import show

__all__ = ["Minimizer", "basis_pursuit", "check_convex", "check_rank", "minimizer"]

RANK = 1e-10
"""Smallest singular value, relative to the largest, of data that count as of full rank."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Minimizer(Labelled):
    """The weights in the limit of training on given data, and how exactly they satisfy the conditions of a
    minimum.

    Attributes
    ----------
    w : array (…, d)
        Weights, parameter axes first.
    case : str
        "regularized" (lasso), "ridgeless" (least squares), "interpolating" (least J) or "basis pursuit".
    residual : number or array over parameter axes
        Violation of the optimality conditions relative to λ (lasso), gradient relative to that at zero (least
        squares), or relative residual of Xw = y (interpolation, basis pursuit).
    gap : number or array over parameter axes
        Relative duality gap (lasso, basis pursuit), relative residual of stationarity (interpolation), or NaN
        (least squares).
    """

    title: ClassVar[str] = "limit of training on these data"

    w: Any = quantity("weights", over=("feature",))
    case: str
    residual: Any = quantity("violation of the conditions of a minimum, relative")
    gap: Any = quantity("duality gap or stationarity, relative")

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        return [
            ("case", self.case, ""),
            ("w", show(self.w), f"{np.sum(self.w != 0)} of {self.w.size} not zero"),
            ("residual", show(self.residual, 3), "of the conditions, relative"),
            ("gap", show(self.gap, 3), "duality gap or stationarity, relative"),
        ]

    def facts(self) -> dict[str, Any]:
        """The case, as an attribute of a file."""
        return {"case": self.case}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        return {"case": str(data.attrs["case"])}


def minimizer(X: Any, y: Any, net: Network) -> Minimizer:
    """The limit of gradient flow on given data.

    λ > 0 (depth 2): the lasso. λ = 0 and n ≥ d: least squares. λ = 0 and n < d: the
    interpolator of least J, at any depth [eq:min_problem, eq:min_J].

    Parameters
    ----------
    X : array (n, d)
        Inputs, with entries of variance of order 1/d.
    y : array (n,)
        Labels.
    net : DiagonalNetwork
        α, λ and depth. Arrays of α and λ give one row of weights each; a path of λ is solved from its largest
        value down.

    Returns
    -------
    Minimizer
        Weights (…, d) and how exact they are.

    Raises
    ------
    InputError
        If λ > 0 at depth ≥ 3, λ = 0 and λ > 0 are mixed, or X has not full rank where λ = 0.
    SolveError
        If the minimum was not found.
    """
    X, y = labelled_data(X, y)
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    untraced(alpha=net.alpha, lam=net.lam)
    with fitting_threads(X.size):
        return solve(X, y, net)


def solve(X: np.ndarray, y: np.ndarray, net: DiagonalNetwork) -> Minimizer:
    """Each parameter by the method of its case."""
    shape = same_shape(alpha=net.alpha, lam=net.lam)
    alpha, lam = (np.broadcast_to(np.asarray(v, float), shape).ravel() for v in (net.alpha, net.lam))
    if np.any(lam > 0):
        if np.any(lam == 0):
            raise InputError("lam must be 0 for all or > 0 for all in one call: the problems differ")
        return stacked("regularized", penalized(X, y, lam, net.depth), shape)
    check_rank(X)
    if len(X) >= X.shape[1]:
        return stacked("ridgeless", [least_squares(X, y)] * len(lam), shape)
    known = {a: interpolate(X, y, a, net.depth) for a in sorted({float(a) for a in alpha}, reverse=True)}
    rows = [(known[a].w, known[a].residual, known[a].stationarity) for a in alpha]
    return stacked("interpolating", rows, shape)


def stacked(case: str, rows: list[tuple[np.ndarray, float, float]], shape: tuple[int, ...]) -> Minimizer:
    """Results of all parameters on their axes."""
    w, residual, gap = (np.array([row[i] for row in rows]) for i in range(3))
    numbers = [a.reshape(shape) if shape else float(a[0]) for a in (residual, gap)]
    residual, gap = numbers
    return Minimizer(w=w.reshape(*shape, w.shape[1]), case=case, residual=residual, gap=gap)


def penalized(X: np.ndarray, y: np.ndarray, lam: np.ndarray, depth: int) -> list[tuple]:
    """The lasso."""
    check_convex(depth)
    return [(s.w, s.violation, s.gap) for s in lasso_path(X, y, lam)]


def check_convex(depth: int) -> None:
    """InputError unless weight decay amounts to a convex penalty."""
    if depth != 2:
        raise InputError(
            f"lam must be 0 at depth {depth}: with weight decay only depth 2 has a convex limit problem, "
            "the limit of deeper networks depends on their path (use simulate)"
        )


def check_rank(X: Float[np.ndarray, "n d"]) -> None:
    """InputError unless X has full rank, naming what depends on it."""
    squares = np.linalg.eigvalsh(X @ X.T if len(X) < X.shape[1] else X.T @ X)
    if squares[0] > 1e-12 * squares[-1]:
        return  # clear without the singular values themselves
    values = np.linalg.svd(X, compute_uv=False)
    if values[-1] > RANK * values[0]:
        return
    n, d = X.shape
    rank = int(np.sum(values > RANK * values[0]))
    what = "interpolation needs independent rows" if n < d else "least squares needs independent columns"
    raise InputError(f"X must have full rank {min(n, d)}, got rank {rank}: {what}")


def least_squares(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The one minimum of the unregularized loss."""
    q, r = np.linalg.qr(X)
    w = scipy.linalg.solve_triangular(r, q.T @ y)
    at_zero = float(np.linalg.norm(X.T @ y))
    return w, float(np.linalg.norm(X.T @ (X @ w - y))) / (at_zero or 1.0), float("nan")


def basis_pursuit(X: Any, y: Any) -> Minimizer:
    r"""The limit α → 0 of interpolation: \(\min \|w\|_1\) subject to \(Xw = y\), as a linear program.

    Parameters
    ----------
    X : array (n, d)
        Inputs, n ≤ d.
    y : array (n,)
        Labels.

    Returns
    -------
    Minimizer
        Weights (d,) and how exact they are.

    Raises
    ------
    InputError
        If n > d.
    SolveError
        If the linear program was not solved.
    """
    X, y = labelled_data(X, y)
    n, d = X.shape
    if n > d:
        raise InputError(f"X must have at most as many rows as columns, got {n} × {d}: nothing interpolates")
    check_rank(X)
    solved = scipy.optimize.linprog(
        np.ones(2 * d), A_eq=np.hstack([X, -X]), b_eq=y, bounds=(0, None), method="highs"
    )
    if solved.status != 0:
        raise SolveError(f"basis pursuit was not solved: {solved.message}")
    w = solved.x[:d] - solved.x[d:]
    active = w != 0
    if np.sum(active) <= n:  # the program's answer is a vertex: solve it to the last digit
        exact = np.linalg.lstsq(X[:, active], y)[0]
        if np.linalg.norm(X[:, active] @ exact - y) <= np.linalg.norm(X @ w - y):
            w[active] = exact
    nu = solved.eqlin.marginals
    nu = nu / max(1.0, float(np.max(np.abs(X.T @ nu))))
    norm = float(np.sum(np.abs(w)))
    residual = float(np.linalg.norm(X @ w - y) / (np.linalg.norm(y) or 1.0))
    gap = abs(norm - float(nu @ y)) / (norm or 1.0)
    return Minimizer(w=w, case="basis pursuit", residual=residual, gap=gap)
