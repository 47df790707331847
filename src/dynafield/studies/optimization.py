r"""The best numbers of training for a task, from theory: by closed results where there are some, else by
curves.

Numbers are varied on a logarithmic scale. A scan of the whole range comes first. Closed results are cheap in
batches: another scan between the neighbours of the best, and a polynomial through it. On curves L-BFGS-B
(scipy) goes on from there: it needs values and first derivatives, knows bounds, and can be told to end where
a step would change the objective by less than its error bar. All curves have the same random points, so that
what it sees is smooth.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.polynomial import Polynomial
from scipy import optimize as scipy_optimize

from dynafield.dmft.solve import solve
from dynafield.errors import InputError, SolveError
from dynafield.problem.checks import integer, one_real, same_shape
from dynafield.problem.model import Model, at_problem
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientDescent, GradientFlow, Steps
from dynafield.progress import Progress, Wanted
from dynafield.records.record import Record, quantity
from dynafield.records.text import show
from dynafield.theory.fixed_points import fixed_point

__all__ = ["OBJECTIVES", "Optimum", "optimize"]

OBJECTIVES = ("end", "time", "best_stop", "reach")
"""Objectives by name."""
RANGES = {"alpha": (1e-3, 30.0), "lam": (1e-4, 3.0)}
"""Where numbers are looked for at the end of training, unless told otherwise."""
NARROW = {"alpha": (0.03, 3.0), "lam": (1e-3, 1.0)}
"""And on curves, which take long where they are stiff."""
SCANNED = 64
"""Closed results of a scan: one compiled batch."""
CURVES = 9
"""Curves of a scan of one number."""
NEARBY = 8
"""Places of the second scan on both sides of the best, through which a polynomial is laid."""
EDGE = 1e-6
"""So near an end of its range, in the logarithm, a number is at that end."""
APART = 0.05
"""Distance, in the logarithm, of the points whose derivatives make a curvature."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Optimum(Record):
    """The best numbers for a task, what they reach, and how well both are known.

    Derivatives, curvature and error bars of numbers are those of their logarithms: an error of .1 is one of
    10 %.
    """

    title: ClassVar[str] = "the best training"

    over: tuple[str, ...] = ()
    objective: str = "end"
    place: Any = quantity("best numbers", over=("number",))
    place_se: Any = quantity("estimated errors of their logarithms", over=("number",))
    boundary: Any = quantity("end of the range at which a number lies, if it does", over=("number",))
    value: Any = quantity("objective there")
    value_se: Any = quantity("its estimated error")
    stop: Any = quantity("best stopping time", optional=True)
    curvature: Any = quantity("second derivatives in the logarithms", False, over=("number", "number_too"))
    scan: Any = quantity("numbers that were tried first", False, over=("tried", "number"))
    scan_value: Any = quantity("objective there", False, over=("tried",))
    path: Any = quantity("numbers on the way from the best of them", False, over=("step", "number"))
    path_value: Any = quantity("objective on the way", False, over=("step",))

    @property
    def best(self) -> dict[str, Any]:
        """Best numbers by name, the stopping time among them where it was looked for."""
        values = np.asarray(self.place)
        found = {name: plain(values[..., k]) for k, name in enumerate(self.over)}
        return found if self.stop is None else found | {"t": self.stop}

    def network(self, *index: int) -> Any:
        """The model with the best of its own numbers, for the problem at `index`."""
        row = np.unravel_index(np.ravel_multi_index(index, self.shape), self.shape) if index else ()
        model = at_problem(self.net, self.shape, row)
        own = [name for name in self.over if name in self.net.numbers()]
        values = [float(np.asarray(self.best[name])[row]) for name in own]
        return eqx.tree_at(lambda m: [getattr(m, n) for n in own], model, values) if own else model

    def rows(self) -> list[tuple[str, str, str]]:
        """What the optimum shows of itself: every number that was varied by its name."""
        skipped = ("place", "place_se", "boundary", "stop")
        told = [row for row in super().rows() if row[0] not in skipped]
        names, errors = np.asarray(self.over), np.asarray(self.place_se)
        ends = np.asarray(self.boundary)
        more = []
        for name, value in self.best.items():
            meaning = "best stopping time"
            if name in self.over:
                k = int(np.flatnonzero(names == name)[0])
                at = f", at its {ends[k]} end" if not self.shape and ends[k] else ""
                meaning = f"best number, known to {100 * np.max(errors[..., k]):.2g} %{at}"
            more.append((name, show(value, 6), meaning))
        return [*told[:2], ("objective", self.objective, "that is least"), *more, *told[2:]]

    def facts(self) -> dict[str, Any]:
        """What was varied, and for what."""
        return {"over": " ".join(self.over), "objective": self.objective}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields behind `facts`."""
        return {"over": tuple(str(data.attrs["over"]).split()), "objective": str(data.attrs["objective"])}

    def plot(self, ax: Any = None) -> Any:
        """The objective around its best place; of several tasks, the best numbers along their axis."""
        from dynafield.figures.optimization import draw_optimum

        return draw_optimum(self, ax)


def plain(value: Any) -> Any:
    """A number where it is one."""
    return float(value) if np.ndim(value) == 0 else value


class Seen(NamedTuple):
    """The objective at a place: value and error bar, the same of its slopes, and a stopping time or None."""

    value: float
    value_se: float
    slope: Float[np.ndarray, " k"]
    slope_se: Float[np.ndarray, " k"]
    stop: float | None = None


class Search(NamedTuple):
    """What is looked for: how a place is seen, ends of the ranges in logarithms, and how many to scan."""

    see: Callable[[Float[np.ndarray, " k"]], Seen] | None
    scan: Callable[[Float[np.ndarray, "n k"]], np.ndarray]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]


def optimize(
    task: Task,
    net: Model,
    over: Any = ("alpha",),
    objective: Any = "end",
    t_max: float | None = None,
    error: float | None = None,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    bounds: dict[str, tuple[float, float]] | None = None,
    tol: float = 5e-3,
    seed: int = 0,
    progress: Wanted = None,
) -> Optimum:
    """The numbers of training that make an objective least [eq:optimum].

    `over` names what is varied: numbers of the model (`alpha`, `lam`, …), or the `step` of discrete training.
    The objective is the test error at the `end` of training (closed results, milliseconds), at the `time`
    `t_max`, at the `best_stop` up to there, the time to `reach` a test error `error`, or a function of the
    record that `solve` returns, written for NumPy. `bounds` are the ends of ranges by name. Of a model with
    an error of its own the loss takes its place. Arrays of tasks are solved one by one, and give a curve of
    optima. Where the step is varied, training takes as many steps of every size: those of `trainer` up to
    `t_max`.
    """
    over = (over,) if isinstance(over, str) else tuple(over)
    name = checked_objective(objective, over, t_max, error)
    low, high = checked_ranges(net, trainer, over, (RANGES if name == "end" else NARROW) | (bounds or {}))
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    seed = integer("seed", seed, 0)
    fixed = {n: x for n, x in net.numbers().items() if n not in over}
    shape = same_shape(delta=task.delta, sigma=task.sigma, **fixed)
    found = []
    with Progress("optimizing", float(np.prod(shape, dtype=int)), progress) as bar:
        for number, place in enumerate(np.ndindex(shape)):
            delta, sigma = (
                float(np.broadcast_to(np.asarray(x, float), shape)[place]) for x in (task.delta, task.sigma)
            )
            model = one_problem(net, fixed, shape, place)
            if name == "end":
                search = closed_search(task.at(delta, sigma), model, over, low, high)
            else:
                curves = CurveSearch(
                    task.at(delta, sigma), model, over, objective, t_max, error, trainer, tol, seed
                )
                search = Search(curves.see, curves.scan, low, high)
            found.append(searched(search))
            bar.show(number + 1.0, f"{number + 1} of {int(np.prod(shape, dtype=int))} tasks")
    return collected(task, net, over, name, shape, found)


def one_problem(net: Model, fixed: dict[str, Any], shape: tuple[int, ...], place: tuple) -> Model:
    """The model of one task of several; numbers that are varied stay as they are."""
    names = list(fixed)
    values = [float(np.broadcast_to(np.asarray(fixed[n], float), shape)[place]) for n in names]
    return eqx.tree_at(lambda m: [getattr(m, n) for n in names], net, values) if names else net


def checked_objective(objective: Any, over: tuple[str, ...], t_max: Any, error: Any) -> str:
    """The name of an objective, or InputError."""
    if not callable(objective) and objective not in OBJECTIVES:
        raise InputError(
            f"objective must be one of {', '.join(OBJECTIVES)}, or a function of the record, "
            f"got {objective!r}"
        )
    name = getattr(objective, "__name__", "own") if callable(objective) else objective
    if name != "end" or callable(objective):
        if t_max is None:
            raise InputError(f"t_max must be given for the objective {name!r}: curves are solved up to it")
        one_real("t_max", t_max, lambda x: (x > 0) & np.isfinite(x), "one finite number > 0")
    if objective == "reach":
        if "step" in over:
            raise InputError("over must not name step for the objective 'reach': steps are counted there")
        if error is None:
            raise InputError("error must be given for the objective 'reach': the test error to come down to")
        one_real("error", error, lambda x: x > 0, "one number > 0")
    return f"own: {name}" if callable(objective) else name


def checked_ranges(
    net: Any, trainer: Any, over: tuple[str, ...], bounds: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the ends of all ranges, or InputError."""
    if not isinstance(net, Model):
        raise InputError(f"net must be a network or another model, got {type(net).__name__}")
    constant = isinstance(trainer, GradientDescent) and not trainer.scheduled
    known = list(net.numbers()) + (["step"] if constant else [])
    if not over or len(set(over)) < len(over) or not set(over) <= set(known):
        raise InputError(
            f"over must name some of {', '.join(known)}, each once, got {', '.join(over) or 'none'}"
        )
    ranges = dict(bounds)
    if constant:
        ranges.setdefault("step", (0.01 * trainer.step, 3.0 * trainer.step))
    ends = []
    for name in over:
        if name not in ranges:
            raise InputError(f"bounds must have a range for {name}, such as {{{name!r}: (0.1, 10.0)}}")
        low, high = (
            one_real(f"bounds[{name!r}]", x, lambda x: x > 0, "two numbers > 0") for x in ranges[name]
        )
        if low >= high:
            raise InputError(f"bounds[{name!r}] must be two increasing numbers, got {low:g} and {high:g}")
        ends.append((np.log(low), np.log(high)))
    low, high = np.array(ends).T
    return low, high


def closed_search(task: Task, net: Model, over: tuple[str, ...], low: np.ndarray, high: np.ndarray) -> Search:
    """The end of training, by fixed points."""
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"objective 'end' must be that of a DiagonalNetwork, got {net.name}: take 'time'")
    if over not in (("alpha",), ("lam",)):
        raise InputError(
            "over must be alpha or lam alone for the objective 'end': with weight decay training ends where "
            "α does not matter, without it only α does"
        )
    if over == ("alpha",) and np.any(np.asarray(net.lam) > 0):
        raise InputError(
            "lam must be 0 to look for the best alpha at the end: with weight decay α is forgotten"
        )

    def network(logs: np.ndarray) -> DiagonalNetwork:
        if over == ("alpha",):
            return DiagonalNetwork(np.exp(logs), 0.0, net.depth)
        return DiagonalNetwork(1.0, np.exp(logs), net.depth)

    def scan(points: np.ndarray) -> np.ndarray:
        return np.asarray(fixed_point(task, network(points[:, 0])).test_error)

    return Search(None, scan, low, high)


@dataclasses.dataclass
class CurveSearch:
    """An objective that is read off a learning curve."""

    task: Task
    net: Model
    over: tuple[str, ...]
    objective: Any
    t_max: Any
    error: Any
    trainer: Any
    tol: float
    seed: int

    def solved(self, points: np.ndarray, tol: float) -> Any:
        """Curves at one place, or at several together."""
        values = dict(zip(self.over, np.exp(points).T, strict=True))
        own = [name for name in self.over if name != "step"]
        net, trainer = self.net, self.trainer
        if own:
            given = [float(values[n]) if points.ndim == 1 else values[n] for n in own]
            net = eqx.tree_at(lambda m: [getattr(m, n) for n in own], net, given)
        end = self.t_max
        if "step" in values:  # as many steps, whatever their size: derivatives are of that kind
            count = max(1, round(self.t_max / self.trainer.step))
            trainer = self.trainer.with_step(float(values["step"]))
            end = count * trainer.step
        return solve(self.task, net, end, tol=tol, trainer=trainer, seed=self.seed, progress=False)

    def curve_name(self, curves: Any) -> str:
        """The test error; the loss where a flow has an error of its own, which may jump."""
        return "test_loss" if hasattr(curves, "test_loss") and curves.net.own_error else "test_error"

    def scan(self, points: np.ndarray) -> np.ndarray:
        """The objective at many places, roughly."""
        tol = max(self.tol, 1e-2)
        if "step" in self.over or callable(self.objective):
            return np.array([self.tried(one, tol) for one in points])
        curves = self.solved(points, tol)
        t, values = np.asarray(curves.t), np.asarray(getattr(curves, self.curve_name(curves)))
        return np.array([self.of_curve(t, row)[0] for row in values])

    def tried(self, point: np.ndarray, tol: float) -> float:
        """The objective at one place, roughly; infinite where training blows up."""
        try:
            return self.read(self.solved(point, tol), ()).value
        except SolveError:
            return np.inf

    def of_curve(self, t: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """The objective of a curve, and the time it is about."""
        if self.objective == "time":
            return float(values[-1]), float(t[-1])
        if self.objective == "best_stop":
            k = int(np.argmin(values))
            return float(values[k]), float(t[k])
        below = np.flatnonzero(values <= self.error)
        if len(below) == 0:
            return np.inf, float(t[-1])
        k = int(below[0])
        if k == 0:
            return float(t[0]), float(t[0])
        share = (values[k - 1] - self.error) / (values[k - 1] - values[k])
        time = float(t[k - 1] + share * (t[k] - t[k - 1]))
        return time, time

    def see(self, point: np.ndarray) -> Seen:
        """The objective and its derivatives at one place; infinite where training blows up."""
        try:
            curves = self.solved(point, self.tol)
        except SolveError:
            none = np.zeros(len(self.over))
            return Seen(np.inf, 0.0, none, none)
        return self.read(curves, point)

    def read(self, curves: Any, point: Any) -> Seen:
        """The objective of solved curves; its derivatives too where a place is given."""
        name = self.curve_name(curves)
        if callable(self.objective):
            own: Any = self.objective(curves)
            return Seen(float(own), np.nan, np.zeros(len(self.over)), np.zeros(len(self.over)))
        last = float(curves.t[-1])
        steps = isinstance(curves.trainer, Steps)
        t = np.asarray(curves.t) if steps else np.concatenate([[0.0], np.geomspace(1e-4 * last, last, 4000)])
        at = curves.at(t)
        values = np.asarray(getattr(at, name))
        value, time = self.of_curve(t, values)
        k = int(np.argmin(np.abs(t - time)))
        error, scale = float(np.asarray(getattr(at, f"{name}_se"))[k]), 1.0
        if self.objective == "reach" and np.isfinite(value):
            fall = (values[k] - values[max(k - 1, 0)]) / (t[k] - t[max(k - 1, 0)]) if k else -np.inf
            scale = -1.0 / fall
            error = abs(scale) * error
        slope, slope_se = np.zeros(len(self.over)), np.zeros(len(self.over))
        if len(point) and np.isfinite(value):
            rule = curves.dense.weights(np.array([time]))[0]
            for number, found in enumerate(curves.derivatives(*self.over, progress=False).values()):
                factor = scale * float(np.exp(point[number]))
                slope[number] = factor * float(rule @ getattr(found, name))
                slope_se[number] = abs(factor) * float(np.abs(rule) @ getattr(found, f"{name}_se"))
        stop = time if self.objective in ("best_stop", "reach") else None
        return Seen(value, error, slope, slope_se, stop)


class Result(NamedTuple):
    """What a search has found for one task."""

    point: Float[np.ndarray, " k"]
    seen: Seen
    curvature: Float[np.ndarray, "k k"]
    ends: list[str]
    scan: Float[np.ndarray, "n k"]
    scan_value: Float[np.ndarray, " n"]
    path: Float[np.ndarray, "m k"]
    path_value: Float[np.ndarray, " m"]


def scanned_points(search: Search) -> Float[np.ndarray, "n k"]:
    """Places all over the ranges."""
    size = len(search.low)
    counts = {1: SCANNED if search.see is None else CURVES, 2: 5}.get(size, 3)
    axes = [np.linspace(a, b, counts) for a, b in zip(search.low, search.high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)


def searched(search: Search) -> Result:
    """The least value of one task."""
    points = scanned_points(search)
    values = search.scan(points)
    if not np.any(np.isfinite(values)):
        raise SolveError("the objective has no finite value in these ranges: take others, or a larger t_max")
    first = points[int(np.argmin(np.where(np.isfinite(values), values, np.inf)))]
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
    """Which numbers lie at the lower and at the upper end of their range."""
    return point <= search.low + EDGE, point >= search.high - EDGE


def zoomed(search: Search, first: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, Seen, np.ndarray]:
    """The least closed result: of a second, finer scan, and of a polynomial around it."""
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
    """L-BFGS-B by values and slopes in units of the error bar; without slopes, by a simplex. All places."""
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
        if not np.isfinite(one.value):
            return 1e6, np.zeros(len(x))
        return (one.value - start.value) / unit, one.slope / unit

    options = dict(ftol=0.1, gtol=0.3, maxiter=20)
    scipy_optimize.minimize(scaled, first, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return list(known.values())


def simplex(search: Search, first: np.ndarray) -> np.ndarray:
    """Places around a first one, inside the ranges."""
    rows = [first]
    for k in range(len(first)):
        one = first.copy()
        one[k] += 0.3 if first[k] + 0.3 <= search.high[k] else -0.3
        rows.append(one)
    return np.array(rows)


def bent(see: Any, search: Search, point: np.ndarray, seen: Seen) -> np.ndarray:
    """Second derivatives from slopes on both sides; NaN where there are none, and at ends of ranges."""
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


def errors_of(result: Result) -> np.ndarray:
    """Errors of the logarithms of the best numbers: those of slopes through the curvature; zero at an end."""
    inside = [k for k, end in enumerate(result.ends) if not end]
    found = np.zeros(len(result.point))
    if inside:
        bend = result.curvature[np.ix_(inside, inside)]
        if np.all(np.isfinite(bend)) and np.min(np.linalg.eigvalsh(bend)) > 0:
            inverse = np.linalg.inv(bend)
            noise = np.diag(result.seen.slope_se[inside] ** 2)
            left = (
                inverse @ result.seen.slope[inside]
            )  # where the search has ended is not quite the best place
            found[inside] = np.sqrt(np.diag(inverse @ noise @ inverse) + left**2)
        else:
            found[inside] = np.nan if np.any(~np.isfinite(bend)) else np.inf
    return found


def padded(rows: list[np.ndarray]) -> np.ndarray:
    """Arrays of several lengths as one, with NaN at the end."""
    longest = max(map(len, rows))
    return np.stack([np.concatenate([x, np.full((longest - len(x), *x.shape[1:]), np.nan)]) for x in rows])


def collected(
    task: Task, net: Model, over: tuple[str, ...], name: str, shape: tuple[int, ...], found: list[Result]
) -> Optimum:
    """The results of all tasks as one record."""

    def over_tasks(values: Any) -> Any:
        values = np.asarray(values)
        return values.reshape(*shape, *values.shape[1:]) if shape else values[0]

    stops = [one.seen.stop for one in found]
    rest = [n for n in over if n in net.numbers()]
    # numbers that are varied have no axis of their own in the record
    kept = eqx.tree_at(
        lambda m: [getattr(m, n) for n in rest], net, [float(np.ravel(getattr(net, n))[0]) for n in rest]
    )
    return Optimum(
        task,
        kept if rest else net,
        over=over,
        objective=name,
        place=over_tasks([np.exp(one.point) for one in found]),
        place_se=over_tasks([errors_of(one) for one in found]),
        boundary=over_tasks([one.ends for one in found]),
        value=plain(over_tasks([one.seen.value for one in found])),
        value_se=plain(over_tasks([one.seen.value_se for one in found])),
        stop=None if stops[0] is None else plain(over_tasks(stops)),
        curvature=over_tasks([one.curvature for one in found]),
        scan=over_tasks([np.exp(one.scan) for one in found]),
        scan_value=over_tasks([one.scan_value for one in found]),
        path=over_tasks(padded([np.exp(one.path) for one in found])),
        path_value=over_tasks(padded([one.path_value for one in found])),
    )
