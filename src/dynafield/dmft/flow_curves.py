"""The learning curve of a general flow, as a result."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.dmft.curves import check_reached, replica_mean
from dynafield.dmft.dense import Dense
from dynafield.problem.checks import index_of, integer, one_real, real_vector
from dynafield.problem.flows import MEASURES, Datum
from dynafield.problem.trainers import GradientFlow, Steps, Trainer, trainer_facts, trainer_of
from dynafield.records.flows import FlowRecord
from dynafield.records.record import quantity
from dynafield.records.text import show
from dynafield.records.timed import TIME

__all__ = ["DataLaw", "FlowCurves", "FlowPoints", "ThetaLaw"]

CHANNELS = ("channel", "time")
KERNEL = ("channel", "time", "channel_before", "time_before")


class FlowPoints(NamedTuple):
    """Losses and errors at chosen times, each with its estimated error."""

    t: Float[np.ndarray, " k"]
    train_loss: Float[np.ndarray, "... k"]
    train_error: Float[np.ndarray, "... k"]
    test_loss: Float[np.ndarray, "... k"]
    test_error: Float[np.ndarray, "... k"]
    train_loss_se: Float[np.ndarray, "... k"]
    train_error_se: Float[np.ndarray, "... k"]
    test_loss_se: Float[np.ndarray, "... k"]
    test_error_se: Float[np.ndarray, "... k"]


class ThetaLaw(NamedTuple):
    """Weighted draws of (θ(t), w*), and averages over them."""

    theta: np.ndarray
    w_star: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    replica: np.ndarray

    def average(self, function: Callable) -> tuple[float, float]:
        """E[function(theta, w_star)] of one row, and its standard error from the replicas."""
        return replica_mean(jax.vmap(function)(self.theta, self.w_star), self.weight, self.replica)

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """n independent draws (theta, w_star) from the weighted ones."""
        which = chosen(self.weight, n, seed)
        return self.theta[which], self.w_star[which]


class DataLaw(NamedTuple):
    """Weighted draws of f(t) on a training datum with what it knows, and averages over them."""

    f: np.ndarray
    datum: Datum
    weight: Float[np.ndarray, " n"]
    replica: np.ndarray

    def average(self, function: Callable) -> tuple[float, float]:
        """E[function(f, datum)] of one row, and its standard error from the replicas."""
        return replica_mean(jax.vmap(function)(self.f, self.datum), self.weight, self.replica)

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, Datum]:
        """n independent draws (f, datum) from the weighted ones."""
        which = chosen(self.weight, n, seed)
        return self.f[which], Datum(*(part[which] for part in self.datum))


def chosen(weight: np.ndarray, n: int, seed: int) -> np.ndarray:
    """n indices drawn by weight."""
    rng = np.random.default_rng(integer("seed", seed, 0))
    return rng.choice(len(weight), size=integer("n", n, 1), p=weight / weight.sum())


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class FlowCurves(FlowRecord):
    """Losses, errors and kernels of a flow over time: parameter axes first, then channels, then times.

    Kernels and overlaps have axes of channels only where w returns a vector.
    """

    title: ClassVar[str] = "learning curve of a flow in the limit of high dimension"

    train_loss: Any = quantity("mean loss on the training data", over=TIME)
    train_error: Any = quantity("mean error on the training data", over=TIME)
    test_loss: Any = quantity("mean loss on fresh data", over=TIME)
    test_error: Any = quantity("mean error on fresh data", over=TIME)
    train_loss_se: Any = quantity("estimated error of train_loss", False, over=TIME)
    train_error_se: Any = quantity("estimated error of train_error", False, over=TIME)
    test_loss_se: Any = quantity("estimated error of test_loss", False, over=TIME)
    test_error_se: Any = quantity("estimated error of test_error", False, over=TIME)
    overlap: Any = quantity("cosine between w and the teacher", over=CHANNELS)
    norm: Any = quantity("root mean square of w", over=CHANNELS)
    C_w: Any = quantity("correlation E[w(t) w(t')]", False, over=KERNEL)
    C_ell: Any = quantity("correlation E[ℓ(t) ℓ(t')]", False, over=KERNEL)
    R_w: Any = quantity("Jacobian E[∂w(t)/∂u_g(s)] of the discretized flow", False, over=KERNEL)
    R_ell: Any = quantity("Jacobian E[∂ℓ(t)/∂u_f(s)] of the discretized flow", False, over=KERNEL)
    theta: Any = quantity("θ(t) of sampled coordinates", False, over=("path", "time", "state"))
    path_target: Any = quantity("their targets", False, over=("path",))
    path_weight: Any = quantity("their weights", False, over=("path",))
    path_replica: Any = quantity("their replica", False, over=("path",))
    f: Any = quantity("f(t) of sampled training data", False, over=("datum", "time", "channel"))
    f_star: Any = quantity("their teacher's output", False, over=("datum",))
    xi: Any = quantity("their label noise", False, over=("datum",))
    z: Any = quantity("their own randomness", False, over=("datum", "z_entry"))
    datum_weight: Any = quantity("their weights", False, over=("datum",))
    datum_replica: Any = quantity("their replica", False, over=("datum",))
    edges: Any = quantity("ends of the blocks of time", False, over=("edge",), swept=False)
    t_max: float = 0.0
    tol: float = 1e-3
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

    def at(self, times: Any) -> FlowPoints:
        """Losses and errors at any times up to the last that was reached."""
        t = real_vector("times", np.atleast_1d(times), lambda x: x >= 0, "times ≥ 0")
        check_reached(self.trainer, float(self.t[-1]), t)
        rule = self.dense.weights(t).T
        errors = {f"{n}_se": np.asarray(getattr(self, f"{n}_se")) @ np.abs(rule) for n in MEASURES}
        return FlowPoints(t=t, **{n: between(np.asarray(getattr(self, n)), rule) for n in MEASURES}, **errors)

    def law(self, t: Any, *index: int) -> ThetaLaw:
        """Weighted draws (θ(t), w*) at a time; `index` chooses one problem of several."""
        row, rule = self.place(t, index)
        theta = np.einsum("nt...,t->n...", np.asarray(self.theta)[row], rule)
        target, weight, replica = (
            np.asarray(x)[row] for x in (self.path_target, self.path_weight, self.path_replica)
        )
        return ThetaLaw(theta, target, weight, replica.astype(int))

    def data_law(self, t: Any, *index: int) -> DataLaw:
        """Weighted draws of f(t) on the training data at a time."""
        row, rule = self.place(t, index)
        f = np.einsum("nt...,t->n...", np.asarray(self.f)[row], rule)
        facts = Datum(*(np.asarray(x)[row] for x in (self.f_star, self.xi, self.z)))
        replica = np.asarray(self.datum_replica)[row].astype(int)
        return DataLaw(f, facts, np.asarray(self.datum_weight)[row], replica)

    def place(self, t: Any, index: tuple[int, ...]) -> tuple[tuple, np.ndarray]:
        """Which problem of several, and weights of the nodes at a time."""
        time = np.atleast_1d(one_real("t", t, lambda x: x >= 0, "a time ≥ 0"))
        check_reached(self.trainer, float(self.t[-1]), time)
        return np.unravel_index(index_of(index, self.shape), self.shape), self.dense.weights(time)[0]

    def observable(self, function: Callable, t: Any, *index: int) -> tuple[float, float]:
        """E[function(theta, w_star)] at a time, and its standard error; the function is that of one row."""
        return self.law(t, *index).average(function)

    def data_observable(self, function: Callable, t: Any, *index: int) -> tuple[float, float]:
        """E[function(f, datum)] over the training data, and its standard error."""
        return self.data_law(t, *index).average(function)

    def plot(self, ax: Any = None) -> Any:
        """Test and training error against time, with bands of two estimated errors."""
        from dynafield.figures.dmft import draw_curves

        return draw_curves(self, ax)

    def rows(self) -> list[tuple[str, str, str]]:
        """What the curves show of themselves."""
        told = super().rows()
        parts = "steps" if isinstance(self.trainer, Steps) else "blocks"
        sampled = f"{self.replicas} replicas of {self.points} points, seed {self.seed}"
        method = f"tol={self.tol:g}, {len(self.edges) - 1} {parts}, {sampled}: {self.status}"
        told[2:2] = [("trainer", repr(self.trainer), ""), ("method", method, "")]
        final = {n: np.asarray(getattr(self, n))[..., -1] for n in MEASURES}
        return told + [(f"final {n}", show(x, 6), "at the last time") for n, x in final.items()]

    def facts(self) -> dict[str, Any]:
        """Tolerances, sizes, seed and status."""
        names = ("t_max", "tol", "points", "replicas", "seed", "status")
        return {name: getattr(self, name) for name in names} | trainer_facts(self.trainer)

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields behind `facts`."""
        kinds = {"t_max": float, "tol": float, "points": int, "replicas": int, "seed": int, "status": str}
        values = {name: kind(data.attrs[name]) for name, kind in kinds.items()}
        return values | {"trainer": trainer_of(data.attrs)}


def between(values: np.ndarray, rule: np.ndarray) -> np.ndarray:
    """Values at other times: of positive curves the logarithm is interpolated."""
    if np.all(values > 0):
        return np.exp(np.log(values) @ rule)
    return values @ rule
