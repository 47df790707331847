"""The stages of training beside an exact curve: what the closed forms say, and what the curve shows."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from dynafield.dmft.activation import LEVEL, Activation
from dynafield.dmft.curves import Curves
from dynafield.dmft.flow_curves import FlowCurves
from dynafield.errors import InputError
from dynafield.problem.checks import index_of
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow
from dynafield.records.problems import problem_at
from dynafield.theory.fields import field_law
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.lazy import lazy_errors, lazy_limit
from dynafield.theory.phases import Measure, Phases, groups_of, predicted, target_size

__all__ = ["Overlay", "Reading", "overlays", "phases", "plot_phases", "reading"]

LEFT = 0.05
"""A plateau is left when so much of the way to its other side is done."""
QUANTILES = (0.1, 0.5, 0.9)
"""Shares of the true coordinates whose activation times are measured."""
PATHS = ("time", "w_star", "weight", "replica")
"""What an activation has for every path."""
FINE = 4000
"""Times at which a curve is looked at."""


class Overlay(NamedTuple):
    """A closed form to lay over the curve."""

    name: str
    t: np.ndarray
    test_error: np.ndarray
    train_error: np.ndarray | None = None


class Reading(NamedTuple):
    """One problem's curve on fine times; of a flow these may be losses in place of errors."""

    t: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray
    train_error_se: np.ndarray
    test_error_se: np.ndarray

    def crossing(self, name: str, level: float, above: float, after: float = 0.0) -> tuple[float, float]:
        """When a curve first passes `level`, coming from the side of `above`, and the error of that time.

        Times before `after` do not count; infinite if it never does.
        """
        value, error = getattr(self, name), getattr(self, f"{name}_se")
        start = max(1, int(np.searchsorted(self.t, after)))
        passed = np.flatnonzero(np.sign(value[start:] - level) != np.sign(above - level))
        if len(passed) == 0:
            return np.inf, np.nan
        k = start + int(passed[0])
        slope = (value[k] - value[k - 1]) / (self.t[k] - self.t[k - 1])
        time = np.clip(self.t[k] + (level - value[k]) / slope, self.t[k - 1], self.t[k])
        return float(time), float(error[k] / abs(slope))


def phases(problem: Any, net: Any = None, *index: int) -> Phases:
    """The stages of training with their times, closed forms and how far these hold.

    `phases(task, net)` knows the closed forms alone; `phases(curves)` also measures their counterparts on
    a solved curve (`index` chooses one problem of several: `phases(curves, None, 0, 1)`). There are closed
    forms of diagonal networks only; of any other flow its curve is measured.
    """
    if not isinstance(problem, Curves | FlowCurves):
        if index:
            raise InputError(f"index must be empty for a task and a network, got {index}")
        return predicted(problem, net)
    if net is not None:
        raise InputError("net must be None beside Curves, which have their own")
    if not isinstance(problem.trainer, GradientFlow) or problem.trainer.random:
        raise InputError(f"curves must be those of GradientFlow without noise, got {problem.trainer}")
    found = predicted(*problem_at(problem.task, problem.net, index))
    return dataclasses.replace(found, measured=tuple(measure(found, problem, index)))


def reading(curves: Curves | FlowCurves, index: tuple[int, ...], kind: str = "error") -> Reading:
    """The curve of one problem on fine times, dense in log t: its errors, or of a flow its losses."""
    t = np.asarray(curves.t)
    fine = np.unique(np.concatenate([np.geomspace(min(t[1], 1e-3 * t[-1]), t[-1], FINE), t]))
    points = curves.at(fine)
    place = np.unravel_index(index_of(index, curves.shape), curves.shape)
    names = [name.replace("error", kind) for name in Reading._fields[1:]]
    return Reading(fine, *(np.asarray(getattr(points, name))[place] for name in names))


def measure(found: Phases, curves: Curves | FlowCurves, index: tuple[int, ...]) -> list[Measure]:
    """What the curve shows of its stages."""
    seen = reading(curves, index)
    if isinstance(curves, FlowCurves):
        losses = reading(curves, index, "loss")
        return [*fall_times(losses), *best_stop(seen), *best_stop(losses, "loss")]
    names = [stage.name for stage in found.stages]
    measured = []
    if "grokking" in names:
        measured += step_times(found, seen)
    if names[0] == "search":
        level = (1 - LEFT) * seen.train_error[0]
        time, error = seen.crossing("train_error", level, seen.train_error[0])
        meaning = f"the training error has lost {LEFT:.0%} of its first value"
        measured.append(Measure("plateau_end", time, time - error, time + error, meaning))
        measured += activations(curves, index)
    return [*measured, *best_stop(seen)]


def fall_times(seen: Reading) -> list[Measure]:
    """How the training loss falls: when it leaves its first value, is half-way, and nears its last one."""
    first, last = float(seen.train_error[0]), float(seen.train_error[-1])
    if abs(last - first) < 4 * seen.train_error_se[-1]:
        return []
    told = []
    for name, part in (("plateau_end", LEFT), ("half_time", 0.5), ("descent_end", 1 - LEFT)):
        time, se = seen.crossing("train_error", first + part * (last - first), first)
        meaning = f"the training loss has gone {part:.0%} of the way from {first:.4g} to {last:.4g}, its last"
        told.append(Measure(name, time, time - se, time + se, meaning))
    return told


def step_times(found: Phases, seen: Reading) -> list[Measure]:
    """The step of the test error between the plateau of the lazy phase and the end of training."""
    plateau = lazy_limit(found.task)
    end, flat = end_of(found.task, found.net), found.stages[1]
    if end is None and seen.t[-1] < found.stages[2].end:
        return []
    end = float(seen.test_error[-1]) if end is None else end
    if not np.isfinite(plateau) or abs(plateau - end) < 4 * seen.test_error_se[-1]:
        return []
    parts = (("plateau_end", LEFT), ("grokking_time", 0.5), ("grokking_end", 1 - LEFT))
    told, before = [], 0.5 * (flat.start + flat.end)
    for name, part in parts:
        time, se = seen.crossing("test_error", plateau + part * (end - plateau), plateau, before)
        meaning = f"the test error has gone {part:.0%} of the way from {plateau:.4g} (lazy) to {end:.4g}"
        told.append(Measure(name, time, time - se, time + se, meaning))
    return told


def end_of(task: Task, net: DiagonalNetwork) -> float | None:
    """The test error at the fixed point, where there is a formula for it."""
    if (net.lam > 0 and net.depth > 2) or (net.lam == 0 and task.delta == 1):
        return None
    return float(fixed_point(task, net).test_error)


def active_level(task: Task) -> float:
    """Half the size of the targets, at most 1/2: coordinates with larger weights count as active."""
    return min(LEVEL, 0.5 * target_size(task))


def activations(curves: Curves, index: tuple[int, ...]) -> list[Measure]:
    """Activation times of true coordinates, and how many coordinates are active at the end."""
    active, last = curves.activation(*index, level=active_level(curves.task)), float(curves.t[-1])
    told = []
    for share in QUANTILES:
        time, se = active.quantile(share, True)
        meaning = f"{share:.0%} of the true coordinates have |w| ≥ {active.level:g}"
        told.append(Measure(f"activation_{share:.0%}", time, time - se, time + se, meaning))
    for true, name in ((True, "true"), (False, "false")):
        share, se = (float(x[0]) for x in active.active([last], true))
        meaning = f"share of {name} coordinates active at t = {last:g}"
        told.append(Measure(f"{name}_active", share, share - se, share + se, meaning))
    told += activations_of_groups(curves, index, active)
    return [one for one in told if not np.isnan(one.value)]


def activations_of_groups(curves: Curves, index: tuple[int, ...], active: Activation) -> list[Measure]:
    """When half of the true coordinates of each group of features are active, where there are groups."""
    if curves.path_variance is None or curves.task.spectrum is None:
        return []
    row, _ = curves.place(0.0, index)
    variance, told = np.asarray(curves.path_variance)[row], []
    for size, share in groups_of(curves.task):
        here = np.isclose(variance, size, rtol=1e-9)
        if np.isnan(share) or not here.any():
            continue
        part = active._replace(**{name: getattr(active, name)[here] for name in PATHS})
        time, se = part.quantile(0.5, True)
        meaning = f"half of the true coordinates of variance {size:.3g} have |w| ≥ {active.level:g}"
        told.append(Measure(f"activation_50%_s={size:.3g}", time, time - se, time + se, meaning))
    return told


def best_stop(seen: Reading, kind: str = "error") -> list[Measure]:
    """Where the test error, or loss, is least, and the times that its error bars cannot tell from it."""
    t, k = seen.t, int(np.argmin(seen.test_error))
    near = seen.test_error - seen.test_error_se <= seen.test_error[k] + seen.test_error_se[k]
    low, high = k, k
    while low > 0 and near[low - 1]:
        low -= 1
    while high + 1 < len(near) and near[high + 1]:
        high += 1
    last = "; not seen to rise up to the last time" if high + 1 == len(near) else ""
    value, error = float(seen.test_error[k]), float(seen.test_error_se[k])
    name = "best_stop" if kind == "error" else f"best_stop_{kind}"
    return [
        Measure(name, float(t[k]), float(t[low]), float(t[high]), f"least test {kind}{last}"),
        Measure(f"best_test_{kind}", value, value - error, value + error, f"test {kind} at {name}"),
    ]


def overlays(found: Phases, t: np.ndarray) -> list[Overlay]:
    """Closed forms on the times of the stages in which they hold."""
    drawn, task, net = [], found.task, found.net
    for stage in found.stages:
        if stage.name == "lazy":
            until = found.stages[1].end
            times = t[t <= until]
            train, test = lazy_errors(task, net, times)
            drawn.append(Overlay("lazy closed form", times, test, train))
        if stage.name == "search":
            times = t[t <= stage.end]
            error = field_law(task, net).test_error(times, task.sigma)
            drawn.append(Overlay("search closed form", times, error))
        if stage.name == "rich" and (end := end_of(task, net)) is not None:
            times = t[t >= stage.start]
            drawn.append(Overlay("fixed point", times, np.full(len(times), end)))
    return [one for one in drawn if len(one.t)]


def plot_phases(curves: Any, *index: int, ax: Any = None) -> Any:
    """The curve on a logarithmic axis of time, its stages shaded, their closed forms laid over it.

    For small α a second panel shows how many coordinates are active, unless `ax` is given.
    """
    from dynafield.figures.phases import draw_phases

    if not isinstance(curves, Curves | FlowCurves):
        raise InputError(f"curves must be the Curves of a solved problem, got {type(curves).__name__}")
    found = phases(curves, None, *index)
    seen = Reading(*(column[1:] for column in reading(curves, index)))  # log t begins after 0
    active = None
    if found.stages[0].name == "search" and isinstance(curves, Curves):
        law, level = field_law(found.task, found.net), active_level(found.task)
        expected = {kind: law.active(seen.t, kind) for kind in (True, False)}
        active = (curves.activation(*index, level=level), expected)
    return draw_phases(found, seen, overlays(found, seen.t), active, ax)
