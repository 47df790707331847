"""The stages of training beside an exact curve: what the closed forms say, and what the curve shows."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from dynafield.dmft.curves import Curves
from dynafield.errors import InputError
from dynafield.problem.checks import index_of
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.lazy import lazy_curves, lazy_limit
from dynafield.theory.phases import Measure, Phases, predicted
from dynafield.theory.search import search_phase

__all__ = ["Overlay", "Reading", "overlays", "phases", "plot_phases", "reading"]

LEFT = 0.05
"""A plateau is left when so much of the way to its other side is done."""
QUANTILES = (0.1, 0.5, 0.9)
"""Shares of the true coordinates whose activation times are measured."""
FINE = 4000
"""Times at which a curve is looked at."""


class Overlay(NamedTuple):
    """A closed form to lay over the curve."""

    name: str
    t: np.ndarray
    test_error: np.ndarray
    train_error: np.ndarray | None = None


class Reading(NamedTuple):
    """One problem's curve on fine times."""

    t: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray
    train_error_se: np.ndarray
    test_error_se: np.ndarray

    def crossing(self, name: str, level: float, after: float = 0.0) -> tuple[float, float]:
        """The first time after `after` at which a curve comes to `level`, and its error; or infinity."""
        value, error = getattr(self, name), getattr(self, f"{name}_se")
        start = int(np.searchsorted(self.t, after))
        side = np.sign(value[start:] - level)
        turned = np.flatnonzero(side != side[0]) if len(side) else []
        if len(turned) == 0:
            return np.inf, np.nan
        k = start + int(turned[0])
        slope = (value[k] - value[k - 1]) / (self.t[k] - self.t[k - 1])
        return float(self.t[k] + (level - value[k]) / slope), float(error[k] / abs(slope))


def phases(problem: Any, net: Any = None, *index: int) -> Phases:
    """The stages of training with their times, closed forms and how far these hold.

    `phases(task, net)` knows the closed forms alone; `phases(curves)` also measures their counterparts on
    a solved curve (`index` chooses one problem of several: `phases(curves, None, 0, 1)`).
    """
    if not isinstance(problem, Curves):
        if index:
            raise InputError(f"index must be empty for a task and a network, got {index}")
        return predicted(problem, net)
    if net is not None:
        raise InputError("net must be None beside Curves, which have their own")
    if not isinstance(problem.trainer, GradientFlow):
        raise InputError(f"curves must be those of GradientFlow, got {problem.trainer}")
    found = predicted(*one_problem(problem, index))
    return dataclasses.replace(found, measured=tuple(measure(found, problem, index)))


def one_problem(curves: Curves, index: tuple[int, ...]) -> tuple[Task, DiagonalNetwork]:
    """Task and network of one of several problems."""
    shape = curves.shape
    place = np.unravel_index(index_of(index, shape), shape)
    task, net = curves.task, curves.net
    delta, sigma, alpha, lam = (
        float(np.broadcast_to(x, shape)[place]) for x in (task.delta, task.sigma, net.alpha, net.lam)
    )
    return Task(delta, sigma, task.prior), DiagonalNetwork(alpha, lam, net.depth)


def reading(curves: Curves, index: tuple[int, ...]) -> Reading:
    """The curve of one problem on fine times, dense in log t."""
    t = np.asarray(curves.t)
    fine = np.unique(np.concatenate([np.geomspace(min(t[1], 1e-3 * t[-1]), t[-1], FINE), t[1:]]))
    points = curves.at(fine)
    place = np.unravel_index(index_of(index, curves.shape), curves.shape)
    return Reading(fine, *(np.asarray(getattr(points, name))[place] for name in Reading._fields[1:]))


def measure(found: Phases, curves: Curves, index: tuple[int, ...]) -> list[Measure]:
    """What the curve shows of its stages."""
    seen = reading(curves, index)
    names = [stage.name for stage in found.stages]
    measured = []
    if "grokking" in names:
        measured += step_times(found, seen)
    if names[0] == "search":
        level = (1 - LEFT) * seen.train_error[0]
        time, error = seen.crossing("train_error", level)
        meaning = f"the training error has lost {LEFT:.0%} of its first value"
        measured.append(Measure("plateau_end", time, time - error, time + error, meaning))
        measured += activations(curves, index)
    return [*measured, *best_stop(seen)]


def step_times(found: Phases, seen: Reading) -> list[Measure]:
    """The step of the test error between the plateau of the lazy phase and the end of training."""
    plateau = lazy_limit(found.task)
    end = end_of(found.task, found.net)
    end = float(seen.test_error[-1]) if end is None else end
    error = seen.test_error_se[-1]
    if not np.isfinite(plateau) or abs(plateau - end) < 4 * error:
        return []
    parts = (("plateau_end", LEFT), ("grokking_time", 0.5), ("grokking_end", 1 - LEFT))
    flat = found.stages[1]
    told, before = [], np.sqrt(flat.start * flat.end)
    for name, part in parts:
        time, se = seen.crossing("test_error", plateau + part * (end - plateau), before)
        meaning = f"the test error has gone {part:.0%} of the way from {plateau:.4g} (lazy) to {end:.4g}"
        told.append(Measure(name, time, time - se, time + se, meaning))
    return told


def end_of(task: Task, net: DiagonalNetwork) -> float | None:
    """The test error at the fixed point, where there is a formula for it."""
    if (net.lam > 0 and net.depth > 2) or (net.lam == 0 and task.delta == 1):
        return None
    return float(fixed_point(task, net).test_error)


def activations(curves: Curves, index: tuple[int, ...]) -> list[Measure]:
    """Activation times of true coordinates, and how many coordinates are active at the end."""
    active, last = curves.activation(*index), float(curves.t[-1])
    told = []
    for share in QUANTILES:
        time, se = active.quantile(share, True)
        meaning = f"{share:.0%} of the true coordinates have |w| ≥ {active.level:g}"
        told.append(Measure(f"activation_{share:.0%}", time, time - se, time + se, meaning))
    for true, name in ((True, "true"), (False, "false")):
        share, se = (float(x[0]) for x in active.active([last], true))
        meaning = f"share of {name} coordinates active at t = {last:g}"
        told.append(Measure(f"{name}_active", share, share - se, share + se, meaning))
    return [one for one in told if not np.isnan(one.value)]


def best_stop(seen: Reading) -> list[Measure]:
    """Where the test error is least, and the times that its error bars cannot tell from it."""
    t, k = seen.t, int(np.argmin(seen.test_error))
    near = seen.test_error - seen.test_error_se <= seen.test_error[k] + seen.test_error_se[k]
    low, high = k, k
    while low > 0 and near[low - 1]:
        low -= 1
    while high + 1 < len(near) and near[high + 1]:
        high += 1
    last = ", the last time: not yet seen to rise" if high + 1 == len(near) else ""
    value, error = float(seen.test_error[k]), float(seen.test_error_se[k])
    return [
        Measure("best_stop", float(t[k]), float(t[low]), float(t[high]), f"least test error{last}"),
        Measure("best_test_error", value, value - error, value + error, "test error at best_stop"),
    ]


def overlays(found: Phases, t: np.ndarray) -> list[Overlay]:
    """Closed forms on the times of the stages in which they hold."""
    drawn, task, net = [], found.task, found.net
    for stage in found.stages:
        if stage.name == "lazy":
            until = found.stages[1].end
            times = t[t <= until]
            lazy = lazy_curves(task, net, times)
            drawn.append(Overlay("lazy closed form", times, lazy.test_error, lazy.train_error))
        if stage.name == "search":
            times = t[t <= stage.end]
            error = search_phase(task, net).law().test_error(times, task.sigma)
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

    if not isinstance(curves, Curves):
        raise InputError(f"curves must be the Curves of a solved problem, got {type(curves).__name__}")
    found = phases(curves, None, *index)
    seen = reading(curves, index)
    active = None
    if found.stages[0].name == "search":
        law = search_phase(found.task, found.net).law()
        active = (curves.activation(*index), {kind: law.active(seen.t, kind) for kind in (True, False)})
    return draw_phases(found, seen, overlays(found, seen.t), active, ax)
