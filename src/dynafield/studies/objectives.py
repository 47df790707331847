"""Objectives of the best training: test errors of fixed points, and properties of learning curves."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from dynafield.dmft.solve import solve
from dynafield.errors import InputError, SolveError
from dynafield.problem.checks import called, plain
from dynafield.problem.model import Model, with_numbers
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.trainers import Steps
from dynafield.studies.searches import Search, Seen
from dynafield.theory.fixed_points import fixed_point

__all__ = ["CurveSearch", "closed_search"]


def closed_search(task: Task, net: Model, over: tuple[str, ...], low: np.ndarray, high: np.ndarray) -> Search:
    """The test error in the limit of training, by fixed points."""
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"objective 'end' needs a DiagonalNetwork, got {net.name}: take 'time'")
    if over not in (("alpha",), ("lam",)):
        raise InputError(
            "over must be alpha or lam alone for the objective 'end': with weight decay the limit of "
            "training "
            "does not depend on α, without it only α matters"
        )
    if over == ("alpha",) and np.any(np.asarray(net.lam) > 0):
        raise InputError(
            "lam must be 0 for the best alpha with the objective 'end': with weight decay the limit of "
            "training "
            "does not depend on α"
        )

    def scan(points: np.ndarray) -> np.ndarray:
        return np.asarray(fixed_point(task, with_numbers(net, {over[0]: np.exp(points[:, 0])})).test_error)

    return Search(None, scan, low, high)


class Reading(NamedTuple):
    """An objective of a solved curve: value, error bar, the time it depends on, and its derivative in the
    value of the curve at that time."""

    value: float
    value_se: float
    time: float
    scale: float = 1.0


@dataclasses.dataclass
class CurveSearch:
    """An objective computed from a learning curve."""

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
        """Curves at one point, or at several points together."""
        values = {name: plain(x) for name, x in zip(self.over, np.exp(points).T, strict=True)}
        step = values.pop("step", None)
        trainer, end = self.trainer, self.t_max
        if step is not None:  # as many steps, whatever their size: derivatives are of that kind
            trainer = self.trainer.with_step(step)
            end = step * max(1, round(self.t_max / self.trainer.step))
        net = with_numbers(self.net, values)
        return solve(self.task, net, end, tol=tol, trainer=trainer, seed=self.seed, progress=False)

    def curve_name(self, curves: Any) -> str:
        """The test error; for a flow with an error of its own, which may jump, the test loss."""
        return "test_loss" if hasattr(curves, "test_loss") and curves.net.own_error else "test_error"

    def scan(self, points: np.ndarray) -> np.ndarray:
        """The objective at many points, to low accuracy."""
        tol = max(self.tol, 1e-2)
        if "step" in self.over or callable(self.objective):
            return np.array([self.tried(one, tol) for one in points])
        curves = self.solved(points, tol)
        t, values = np.asarray(curves.t), np.asarray(getattr(curves, self.curve_name(curves)))
        return np.array([self.of_curve(t, row)[0] for row in values])

    def tried(self, point: np.ndarray, tol: float) -> float:
        """The objective at one point, to low accuracy; infinite where training diverges."""
        try:
            return self.read(self.solved(point, tol)).value
        except SolveError:
            return np.inf

    def of_curve(self, t: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """The objective of a curve, and the time it depends on."""
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
        """The objective and its derivatives at one point; infinite where training diverges."""
        unknown = np.full(len(self.over), np.nan)
        try:
            curves = self.solved(point, self.tol)
        except SolveError:
            return Seen(np.inf, 0.0, unknown, unknown)
        found = self.read(curves)
        stop = found.time if self.objective in ("best_stop", "reach") else None
        if callable(self.objective) or not np.isfinite(found.value):
            return Seen(found.value, found.value_se, unknown, unknown, stop)
        name, rule = self.curve_name(curves), curves.dense.weights(np.array([found.time]))[0]
        slopes = curves.derivatives(*self.over, progress=False).values()
        factor = found.scale * np.exp(point)  # slopes in logarithms
        slope = factor * [rule @ getattr(one, name) for one in slopes]
        slope_se = np.abs(factor) * [np.abs(rule) @ getattr(one, f"{name}_se") for one in slopes]
        return Seen(found.value, found.value_se, slope, slope_se, stop)

    def read(self, curves: Any) -> Reading:
        """The objective of solved curves."""
        if callable(self.objective):
            own: Any = called("objective", self.objective, curves)
            return Reading(float(own), np.nan, np.nan)
        name, last = self.curve_name(curves), float(curves.t[-1])
        steps = isinstance(curves.trainer, Steps)
        t = np.asarray(curves.t) if steps else np.concatenate([[0.0], np.geomspace(1e-4 * last, last, 4000)])
        at = curves.at(t)
        values = np.asarray(getattr(at, name))
        value, time = self.of_curve(t, values)
        k = int(np.argmin(np.abs(t - time)))
        error = float(np.asarray(getattr(at, f"{name}_se"))[k])
        if self.objective != "reach" or not np.isfinite(value):
            return Reading(value, error, time)
        if k == 0:  # reached before training begins
            return Reading(value, 0.0, time, 0.0)
        fall = (values[k] - values[k - 1]) / (t[k] - t[k - 1])
        return Reading(value, abs(error / fall), time, -1.0 / fall)
