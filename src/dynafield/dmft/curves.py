"""The learning curve of the infinite network, as a result."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.dmft.dense import Dense
from dynafield.errors import InputError
from dynafield.problem.checks import index_of, integer, one_real, real_vector
from dynafield.problem.trainers import GradientFlow, Steps, Trainer, trainer_facts, trainer_of
from dynafield.records.record import quantity
from dynafield.records.text import show
from dynafield.records.timed import TIME, TwoTimeRecord

__all__ = ["Curves", "Law", "Points", "check_reached", "replica_mean"]


class Points(NamedTuple):
    """The errors at chosen times, each with its estimated error."""

    t: Float[np.ndarray, " k"]
    train_error: Float[np.ndarray, "... k"]
    test_error: Float[np.ndarray, "... k"]
    train_error_se: Float[np.ndarray, "... k"]
    test_error_se: Float[np.ndarray, "... k"]
    loss: Float[np.ndarray, "... k"]


class Law(NamedTuple):
    """Weighted draws of (w(t), w*), and averages over them."""

    w: Float[np.ndarray, " n"]
    w_star: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    replica: np.ndarray

    def average(self, function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> tuple[float, float]:
        """E[function(w, w*)] and its standard error from the replicas."""
        return replica_mean(function(self.w, self.w_star), self.weight, self.replica)

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """n independent draws (w, w*) from the weighted ones."""
        rng = np.random.default_rng(integer("seed", seed, 0))
        which = rng.choice(len(self.w), size=integer("n", n, 1), p=self.weight / self.weight.sum())
        return self.w[which], self.w_star[which]


def check_reached(trainer: Trainer, last: float, times: np.ndarray) -> None:
    """InputError for times beyond the last, or between the steps of discrete training."""
    if isinstance(trainer, Steps):
        trainer.number("times", times)
    if np.any(times > last * (1 + 1e-12)):
        raise InputError(f"times must be at most {last:g}, got {np.max(times):g}")


def replica_mean(values: Any, weight: np.ndarray, replica: np.ndarray) -> tuple[float, float]:
    """A weighted mean, and its standard error from the replicas."""
    count = int(replica.max()) + 1
    means = np.bincount(replica, np.asarray(values, float) * weight, count) * count
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(count)) if count > 1 else np.nan


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Curves(TwoTimeRecord):
    """Errors and kernels over time: parameter axes first, then times. Errors are in absolute units."""

    title: ClassVar[str] = "learning curve of the infinite network"

    loss: Any = quantity("train_error/2 + λ E[u² + v²]/2", over=TIME)
    train_error_se: Any = quantity("estimated error of train_error", False, over=TIME)
    test_error_se: Any = quantity("estimated error of test_error", False, over=TIME)
    paths: Any = quantity("weights w(t) of sampled paths", False, over=("path", "time"))
    path_target: Any = quantity("their targets", False, over=("path",))
    path_weight: Any = quantity("their weights", False, over=("path",))
    path_replica: Any = quantity("their replica", False, over=("path",))
    edges: Any = quantity("ends of the blocks of time", False, over=("edge",), swept=False)
    t_max: float = 0.0
    tol: float = 1e-3
    rtol: float | None = None
    points: int = 0
    replicas: int = 0
    seed: int = 0
    status: str = "finished"
    trainer: Trainer = GradientFlow()

    @property
    def complete(self) -> bool:
        """Whether t_max was reached."""
        return bool(self.t[-1] >= self.t_max * (1 - 1e-9))

    @property
    def dense(self) -> Dense:
        """Interpolation between the nodes."""
        return Dense(np.asarray(self.t), np.asarray(self.edges))

    def at(self, times: Any) -> Points:
        """The errors at any times up to the last that was reached."""
        t = real_vector("times", np.atleast_1d(times), lambda x: x >= 0, "times ≥ 0")
        self.check_reached(t)
        rule = self.dense.weights(t)
        logs = {
            name: np.log(np.maximum(getattr(self, name), 1e-300)) for name in ("train_error", "test_error")
        }
        errors = {
            name: np.asarray(getattr(self, name)) @ np.abs(rule.T)
            for name in ("train_error_se", "test_error_se")
        }
        values = {name: np.exp(log @ rule.T) for name, log in logs.items()}
        return Points(t=t, loss=np.asarray(self.loss) @ rule.T, **values, **errors)

    def law(self, t: Any, *index: int) -> Law:
        """Weighted draws (w(t), w*) at a time; `index` chooses one problem of several."""
        time = np.atleast_1d(one_real("t", t, lambda x: x >= 0, "a time ≥ 0"))
        self.check_reached(time)
        row = np.unravel_index(index_of(index, self.shape), self.shape)
        rule = self.dense.weights(time)[0]
        return Law(
            np.asarray(self.paths)[row] @ rule,
            np.asarray(self.path_target)[row],
            np.asarray(self.path_weight)[row],
            np.asarray(self.path_replica)[row].astype(int),
        )

    def observable(self, function: Callable, t: Any, *index: int) -> tuple[float, float]:
        """E[function(w(t), w*)] and its standard error."""
        return self.law(t, *index).average(function)

    def check_reached(self, times: np.ndarray) -> None:
        """InputError for times beyond the solution, or between the steps of discrete training."""
        check_reached(self.trainer, float(self.t[-1]), times)

    def plot(self, ax: Any = None) -> Any:
        """Test and training error against time, with bands of two estimated errors."""
        from dynafield.figures.dmft import draw_curves

        return draw_curves(self, ax)

    def rows(self) -> list[tuple[str, str, str]]:
        """What the curves show of themselves."""
        told = super().rows()
        sampled = f"{self.replicas} replicas of {self.points} points, seed {self.seed}"
        parts = "steps" if isinstance(self.trainer, Steps) else "blocks"
        method = f"tol={self.tol:g}, {len(self.edges) - 1} {parts}, {sampled}: {self.status}"
        told[2:2] = [("trainer", repr(self.trainer), ""), ("method", method, "")]
        last = [
            (f"final {name}", show(np.asarray(getattr(self, name))[..., -1], 6), "at the last time")
            for name in ("train_error", "test_error", "test_error_se")
        ]
        return told + last

    def facts(self) -> dict[str, Any]:
        """Tolerances, sizes, seed and status."""
        names = ("t_max", "tol", "points", "replicas", "seed", "status")
        relative = {"rtol": self.rtol} if self.rtol else {}
        return {name: getattr(self, name) for name in names} | relative | trainer_facts(self.trainer)

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields behind `facts`."""
        kinds = {"t_max": float, "tol": float, "points": int, "replicas": int, "seed": int, "status": str}
        values = {name: kind(data.attrs[name]) for name, kind in kinds.items()}
        values |= {"rtol": float(data.attrs["rtol"]) if "rtol" in data.attrs else None}
        return values | {"trainer": trainer_of(data.attrs) if "trainer" in data.attrs else GradientFlow()}
