"""The stages of training: closed forms, and what is measured on an exact curve."""

import dataclasses
from typing import Any

import numpy as np

from dynafield.deprecation import warn_of
from dynafield.dmft.results.activation import LEVEL, Activation
from dynafield.dmft.results.curves import Curves
from dynafield.dmft.results.flow_curves import FlowCurves
from dynafield.errors import InputError
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow
from dynafield.theory.fields import field_law
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.lazy import lazy_errors, lazy_limit
from dynafield.theory.phases import groups_of, predicted, target_size
from dynafield.theory.phases_record import Active, Form, Measure, Phases, Seen

__all__ = ["Reading", "end_of", "phases", "plot_phases", "reading"]

LEFT = 0.05
"""Fraction of the way to the next level at which a plateau counts as left."""
QUANTILES = (0.1, 0.5, 0.9)
"""Fractions of the true coordinates whose activation times are measured."""
CURVES = ("train_error", "test_error", "train_error_se", "test_error_se")
"""What is read of a curve."""
FINE = 4000
"""Times at which a curve is looked at."""
FEW = 300
"""Times at which closed forms and fractions of coordinates are drawn."""


class Reading(Seen):
    """The curve of one problem at many times; of a flow these may be losses in place of errors."""

    def crossing(self, name: str, level: float, above: float, after: float = 0.0) -> tuple[float, float]:
        """The time at which a curve first passes `level`, coming from the side of `above`, and the error of
        that time.

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
    """The stages of training with their times, closed forms and how accurate these are.

    `phases(task, net)` uses the closed forms alone; `phases(curves)`, or `curves.phases()`, also measures
    times and values on a solved curve. Closed forms exist for diagonal networks only; of any other flow the
    curve is measured.

    Parameters
    ----------
    problem : Task, Curves or FlowCurves
        The task; or curves of gradient flow without noise, of one problem: `curves[0, 1]`.
    net : DiagonalNetwork, optional
        The network that goes with a task. None with curves, which have their own.
    *index : int
        Old way to choose one problem of curves; write `curves[0, 1].phases()`.

    Returns
    -------
    Phases
        Stages, measured times and values, and closed forms.
    """
    if not isinstance(problem, Curves | FlowCurves):
        if index:
            raise InputError(f"index must be empty for a task and a network, got {index}")
        found = predicted(problem, net)
        t = np.geomspace(1e-5 * found.horizon, found.horizon, FEW)
        return dataclasses.replace(found, forms=tuple(closed_forms(found, t)))
    if net is not None:
        raise InputError("net must be None beside Curves, which have their own")
    curves = problem.chosen(index, "phases()")
    if not isinstance(curves.trainer, GradientFlow) or curves.trainer.random:
        raise InputError(f"curves must be those of GradientFlow without noise, got {curves.trainer}")
    if curves.shape:
        raise InputError(f"curves of shape {curves.shape} are several: choose one, as in curves[0].phases()")
    found = predicted(curves.task, curves.net)
    seen = reading(curves)
    later = {name: getattr(seen, name)[1:] for name in ("t", *CURVES)}  # log t begins after 0
    return dataclasses.replace(
        found,
        measured=tuple(measure(found, curves)),
        seen=Seen(**later, floor=seen.floor),
        forms=tuple(closed_forms(found, later["t"])),
        active=active_fractions(found, curves),
    )


def reading(curves: Curves | FlowCurves, kind: str = "error") -> Reading:
    """The curve of one problem on fine times, dense in log t: its errors, or of a flow its losses."""
    t = np.asarray(curves.t)
    fine = np.unique(np.concatenate([np.geomspace(min(t[1], 1e-3 * t[-1]), t[-1], FINE), t]))
    points = curves.at(fine)
    names = [name.replace("error", kind) for name in CURVES]
    found = {name: np.asarray(getattr(points, given)) for name, given in zip(CURVES, names, strict=True)}
    floor = 0.0 if curves.rtol is not None else curves.tol * float(found["test_error"][0])
    return Reading(fine, **found, floor=floor)


def measure(found: Phases, curves: Curves | FlowCurves) -> list[Measure]:
    """Times and values that are measured on the curve."""
    seen = reading(curves)
    if isinstance(curves, FlowCurves):
        losses = reading(curves, "loss")
        return [*fall_times(losses), *best_stop(seen), *best_stop(losses, "loss")]
    names = [stage.name for stage in found.stages]
    measured = []
    if "grokking" in names:
        measured += step_times(found, seen)
    if names[0] == "search":
        level = (1 - LEFT) * seen.train_error[0]
        meaning = f"the training error has lost {LEFT:.0%} of its first value"
        crossed = seen.crossing("train_error", level, seen.train_error[0])
        measured.append(timed("plateau_end", crossed, meaning, float(seen.t[-1])))
        measured += activations(curves)
    return [*measured, *best_stop(seen)]


def timed(name: str, crossed: tuple[float, float], meaning: str, last: float) -> Measure:
    """A time with its error as a measure; a time that is not reached lies after the last one."""
    time, se = crossed
    if np.isinf(time):
        return Measure(name, time, last, time, f"not by t = {last:.4g}: {meaning}")
    return Measure(name, time, time - se, time + se, meaning)


def fall_times(seen: Reading) -> list[Measure]:
    """How the training loss falls: when it leaves its first value, is half-way, and nears its last one."""
    first, last = float(seen.train_error[0]), float(seen.train_error[-1])
    if abs(last - first) < 4 * seen.train_error_se[-1]:
        return []
    told = []
    for name, part in (("plateau_end", LEFT), ("half_time", 0.5), ("descent_end", 1 - LEFT)):
        crossed = seen.crossing("train_error", first + part * (last - first), first)
        meaning = f"the training loss has gone {part:.0%} of the way from {first:.4g} to {last:.4g}, its last"
        told.append(timed(name, crossed, meaning, float(seen.t[-1])))
    return told


def step_times(found: Phases, seen: Reading) -> list[Measure]:
    """The fall of the test error from the plateau of the lazy phase to the limit of training."""
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
        crossed = seen.crossing("test_error", plateau + part * (end - plateau), plateau, before)
        meaning = f"the test error has gone {part:.0%} of the way from {plateau:.4g} (lazy) to {end:.4g}"
        told.append(timed(name, crossed, meaning, float(seen.t[-1])))
    return told


def end_of(task: Task, net: DiagonalNetwork) -> float | None:
    """The test error at the fixed point, where there is a formula for it."""
    if (net.lam > 0 and net.depth > 2) or (net.lam == 0 and task.delta == 1):
        return None
    return float(fixed_point(task, net).test_error)


def active_level(task: Task) -> float:
    """Half the size of the targets, at most 1/2: coordinates with larger weights count as active."""
    return min(LEVEL, 0.5 * target_size(task))


def activations(curves: Curves) -> list[Measure]:
    """Activation times of true coordinates, and how many coordinates are active at the last time."""
    active, last = curves.activation(level=active_level(curves.task)), float(curves.t[-1])
    told = []
    for share in QUANTILES:
        meaning = f"{share:.0%} of the true coordinates have |w| ≥ {active.level:g}"
        told.append(timed(f"activation_{share:.0%}", active.quantile(share, True), meaning, last))
    for true, name in ((True, "true"), (False, "false")):
        share, se = (float(x[0]) for x in active.active([last], true))
        meaning = f"fraction of {name} coordinates active at t = {last:g}"
        told.append(Measure(f"{name}_active", share, share - se, share + se, meaning))
    told += activations_of_groups(curves, active)
    return [one for one in told if not np.isnan(one.value)]


def activations_of_groups(curves: Curves, active: Activation) -> list[Measure]:
    """When half of the true coordinates of each group of features are active, where there are groups."""
    if curves.path_variance is None or curves.task.spectrum is None:
        return []
    variance, told = np.asarray(curves.path_variance), []
    for size, share in groups_of(curves.task):
        here = np.isclose(variance, size, rtol=1e-9)
        if np.isnan(share) or not here.any():
            continue
        part = active.among(here)
        meaning = f"half of the true coordinates of variance {size:.3g} have |w| ≥ {active.level:g}"
        crossed = part.quantile(0.5, True)
        told.append(timed(f"activation_50%_s={size:.3g}", crossed, meaning, float(curves.t[-1])))
    return told


def best_stop(seen: Reading, kind: str = "error") -> list[Measure]:
    """The time of the smallest test error, or loss, and the times that its error bars cannot tell apart."""
    t, k = seen.t, int(np.argmin(seen.test_error))
    near = seen.test_error - seen.test_error_se <= seen.test_error[k] + seen.test_error_se[k]
    low, high = k, k
    while low > 0 and near[low - 1]:
        low -= 1
    while high + 1 < len(near) and near[high + 1]:
        high += 1
    last = ""
    if high + 1 == len(near):
        falls = k + 1 == len(near)
        last = "; it still falls at the last time" if falls else "; not seen to rise up to the last time"
    value, error = float(seen.test_error[k]), float(seen.test_error_se[k])
    name = "best_stop" if kind == "error" else f"best_stop_{kind}"
    return [
        Measure(name, float(t[k]), float(t[low]), float(t[high]), f"least test {kind}{last}"),
        Measure(f"best_test_{kind}", value, value - error, value + error, f"test {kind} at {name}"),
    ]


def closed_forms(found: Phases, t: np.ndarray) -> list[Form]:
    """Closed forms on the times of the stages in which they hold."""
    drawn, task, net = [], found.task, found.net
    for stage in found.stages:
        if stage.name == "lazy":
            until = found.stages[1].end
            times = t[t <= until]
            train, test = lazy_errors(task, net, times)
            drawn.append(Form("lazy", times, test, train))
        if stage.name == "search":
            times = t[t <= stage.end]
            error = field_law(task, net).test_error(times, task.sigma)
            drawn.append(Form("search", times, error, np.full(len(times), np.nan)))
        if stage.name == "rich" and (end := end_of(task, net)) is not None:
            times = t[t >= stage.start]
            drawn.append(Form("fixed point", times, np.full(len(times), end), np.full(len(times), np.nan)))
    return [one for one in drawn if len(one.t)]


def active_fractions(found: Phases, curves: Curves | FlowCurves) -> Active | None:
    """How many coordinates are active, beside the closed form of the search; nothing in other regimes."""
    if found.stages[0].name != "search" or not isinstance(curves, Curves):
        return None
    law, active = field_law(found.task, found.net), curves.activation(level=active_level(found.task))
    t = np.geomspace(active.first_time, active.t_max, FEW)
    true, false = (active.active(t, kind) for kind in (True, False))
    return Active(active.level, t, *true, law.active(t, True), *false, law.active(t, False))


def plot_phases(curves: Any, *index: int, ax: Any = None) -> Any:
    """Old way to write `curves.phases().plot(ax)`; it warns.

    Parameters
    ----------
    curves : Curves or FlowCurves
        Solved curves.
    *index : int
        Place of one problem on the parameter axes.
    ax : matplotlib Axes, optional
        Where to draw. None: new axes.

    Returns
    -------
    matplotlib Axes
        The axes.
    """
    if not isinstance(curves, Curves | FlowCurves):
        raise InputError(f"curves must be the Curves of a solved problem, got {type(curves).__name__}")
    warn_of("plot_phases: write curves.phases().plot()")
    return phases(curves, None, *index).plot(ax)
