"""The minimum of a function of a few numbers, within ranges, where values have error bars.

A scan of the whole range comes first. Functions that are exact and cheap in batches (closed results) get
a second scan between the neighbours of the best point, and a polynomial through it. Others (curves) are
minimized from there by L-BFGS-B (scipy): it uses values and slopes, respects bounds, and stops where a step
would change the value by less than its error bar. All curves use the same random points, so that the
function is smooth. Without slopes a simplex is used instead (Nelder and Mead).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial import Polynomial
from scipy import optimize as scipy_optimize

from dynafield.errors import SolveError

__all__ = ["Result", "Search", "Seen", "searched"]

SCANNED = 64
"""Number of closed results of a scan: one compiled batch."""
CURVES = 9
"""Number of curves of a scan of one number."""
NEARBY = 8
"""Points of the second scan on each side of the best one; a polynomial is fitted through them."""
EDGE = 1e-6
"""Distance from a limit of its range, in the logarithm, at which a number counts as being there."""
EQUAL = 1e-7
"""Relative difference of closed results below which all points are equally good."""
APART = 0.05
"""Distance, in the logarithm, of the points whose slopes give the curvature."""


class Seen(NamedTuple):
    """The objective at a point: value, slopes, error bars of both, and a stopping time or None."""

    value: float
    value_se: float
    slope: Float[np.ndarray, " k"]
    slope_se: Float[np.ndarray, " k"]
    stop: float | None = None


class Search(NamedTuple):
    """A search: the objective at one point and at many, and the limits of the ranges in logarithms."""

    see: Callable[[Float[np.ndarray, " k"]], Seen] | None
    scan: Callable[[Float[np.ndarray, "n k"]], np.ndarray]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]


class Result(NamedTuple):
    """The result of a search for one task."""

    point: Float[np.ndarray, " k"]
    seen: Seen
    curvature: Float[np.ndarray, "k k"]
    ends: list[str]
    scan: Float[np.ndarray, "n k"]
    scan_value: Float[np.ndarray, " n"]
    path: Float[np.ndarray, "m k"]
    path_value: Float[np.ndarray, " m"]

    @property
    def errors(self) -> Float[np.ndarray, " k"]:
        """Errors of the best point: errors of slopes divided by the curvature. Zero at a limit of a range,
        infinite where all points are equally good."""
        inside = [k for k, end in enumerate(self.ends) if not end]
        found = np.where(np.array(self.ends) == "any", np.inf, 0.0)
        bend = self.curvature[np.ix_(inside, inside)]
        if not np.all(np.isfinite(bend)):
            found[inside] = np.nan
        elif inside and np.min(np.linalg.eigvalsh(bend)) <= 0:
            found[inside] = np.inf
        elif inside:
            inverse = np.linalg.inv(bend)
            noise = np.diag(self.seen.slope_se[inside] ** 2)
            left = inverse @ self.seen.slope[inside]  # from where the search has ended to the best place
            found[inside] = np.sqrt(np.diag(inverse @ noise @ inverse) + left**2)
        return found


def scanned_points(search: Search) -> Float[np.ndarray, "n k"]:
    """Points that cover the ranges."""
    size = len(search.low)
    counts = {1: SCANNED if search.see is None else CURVES, 2: 5}.get(size, 3)
    axes = [np.linspace(a, b, counts) for a, b in zip(search.low, search.high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)


def searched(search: Search) -> Result:
    """The minimum for one task."""
    points = scanned_points(search)
    values = search.scan(points)
    if not np.any(np.isfinite(values)):
        raise SolveError(
            "the objective has no finite value in these ranges: choose other ranges, or a larger t_max"
        )
    first = points[int(np.argmin(np.where(np.isfinite(values), values, np.inf)))]
    least, most = np.nanmin(values), np.max(values, where=np.isfinite(values), initial=-np.inf)
    if search.see is None and most - least <= EQUAL * abs(least):
        middle, none = 0.5 * (search.low + search.high), np.zeros(len(search.low))
        seen, flat = Seen(float(least), EQUAL * abs(least), none, none), np.zeros((len(none),) * 2)
        return Result(middle, seen, flat, ["any"] * len(none), points, values, middle[None], values[:1])
    if search.see is None:
        point, seen, curvature = zoomed(search, first, points)
        path, path_value = point[None], np.array([seen.value])
    else:
        known = descended(search.see, search, first)
        point, seen = min(known, key=lambda one: one[1].value if np.isfinite(one[1].value) else np.inf)
        curvature = bent(search.see, search, point, seen)
        path, path_value = np.array([x for x, _ in known]), np.array([one.value for _, one in known])
    ends = ["lower" if a else "upper" if b else "" for a, b in zip(*at_ends(search, point), strict=True)]
    return Result(point, seen, curvature, ends, points, values, path, path_value)


def at_ends(search: Search, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which numbers lie at the lower and at the upper limit of their range."""
    return point <= search.low + EDGE, point >= search.high - EDGE


def zoomed(search: Search, first: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, Seen, np.ndarray]:
    """The smallest closed result: by a second, finer scan, and a polynomial around it."""
    cell = points[1] - points[0]
    low, high = np.maximum(first - cell, search.low), np.minimum(first + cell, search.high)
    near = np.linspace(low, high, SCANNED)
    values = search.scan(near)
    k = int(np.argmin(values))
    part = slice(max(k - NEARBY, 0), k + NEARBY + 1)
    shape = Polynomial.fit(near[part, 0], values[part], 4)
    slope, reach = shape.deriv(), near[1, 0] - near[0, 0]
    here = float(near[k, 0])
    inside = [float(x.real) for x in slope.roots() if abs(x.imag) < 1e-12 and abs(x.real - here) <= reach]
    place = min([here, *(x for x in inside if low[0] <= x <= high[0])], key=shape)
    value, none = float(shape(place)), np.zeros(1)
    return np.array([place]), Seen(value, 1e-8 * value, none, none), np.array([[slope.deriv()(place)]])


def descended(see: Any, search: Search, first: np.ndarray) -> list[tuple[np.ndarray, Seen]]:
    """L-BFGS-B with values and slopes in units of the error bar; without slopes, a simplex. All points."""
    known: dict[bytes, tuple[np.ndarray, Seen]] = {}

    def at(x: np.ndarray) -> Seen:
        x = np.array(x, float)
        if x.tobytes() not in known:
            known[x.tobytes()] = x, see(x)
        return known[x.tobytes()][1]

    start = at(first)
    limits = list(zip(search.low, search.high, strict=True))
    options: dict[str, Any]
    if np.isnan(start.value_se):
        options = dict(
            xatol=0.01, fatol=1e-3 * abs(start.value), initial_simplex=simplex(search, first), maxfev=60
        )
        scipy_optimize.minimize(
            lambda x: at(x).value, first, method="Nelder-Mead", bounds=limits, options=options
        )
        return list(known.values())
    unit = max(start.value_se, 1e-12)

    def scaled(x: np.ndarray) -> tuple[float, np.ndarray]:
        one = at(x)
        if not np.isfinite(one.value):  # as if mirrored, so that the line search halves its step
            best = min((seen for _, seen in known.values() if np.isfinite(seen.value)), key=lambda y: y.value)
            return (best.value - start.value) / unit, -best.slope / unit
        return (one.value - start.value) / unit, one.slope / unit

    options = dict(ftol=0.1, gtol=0.3, maxiter=20)
    scipy_optimize.minimize(scaled, first, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return list(known.values())


def simplex(search: Search, first: np.ndarray) -> np.ndarray:
    """Points around a first one, inside the ranges."""
    rows = [first]
    for k in range(len(first)):
        one = first.copy()
        one[k] += 0.3 if first[k] + 0.3 <= search.high[k] else -0.3
        rows.append(one)
    return np.array(rows)


def bent(see: Any, search: Search, point: np.ndarray, seen: Seen) -> np.ndarray:
    """Second derivatives from slopes on both sides; NaN where there are none, and at limits of ranges."""
    size = len(point)
    if np.isnan(seen.value_se):
        return np.full((size, size), np.nan)
    found = np.full((size, size), np.nan)
    ends = np.any(at_ends(search, point), axis=0)
    for k in np.flatnonzero(~ends):
        shift = APART * np.eye(size)[k]
        up, down = np.minimum(point + shift, search.high), np.maximum(point - shift, search.low)
        found[k] = np.where(ends, np.nan, (see(up).slope - see(down).slope) / (up[k] - down[k]))
    return 0.5 * (found + found.T)
