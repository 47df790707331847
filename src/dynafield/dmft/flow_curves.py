"""The learning curve of a general flow, as a result."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dynafield.dmft.solved import SolvedRecord, replica_mean
from dynafield.problem.checks import integer
from dynafield.problem.model import MEASURES, Datum
from dynafield.records.flows import FlowRecord
from dynafield.records.record import quantity
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


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FlowCurves(SolvedRecord, FlowRecord):
    """Losses, errors and kernels of a flow over time: parameter axes first, then channels, then times.

    Kernels and overlaps have axes of channels only where w returns a vector.
    """

    title: ClassVar[str] = "learning curve of a flow in the limit of high dimension"
    final: ClassVar[tuple[str, ...]] = MEASURES

    train_loss: Any = quantity("mean loss on the training data", over=TIME)
    train_error: Any = quantity("mean error on the training data", over=TIME)
    test_loss: Any = quantity("mean loss on fresh data", over=TIME)
    test_error: Any = quantity("mean error on fresh data", over=TIME)
    train_loss_se: Any = quantity("estimated error of train_loss", False, over=TIME)
    train_error_se: Any = quantity("estimated error of train_error", False, over=TIME)
    test_loss_se: Any = quantity("estimated error of test_loss", False, over=TIME)
    test_error_se: Any = quantity("estimated error of test_error", False, over=TIME)
    overlap: Any = quantity("cosine between f and the teacher's", over=CHANNELS)
    norm: Any = quantity("root mean square of f", over=CHANNELS)
    C_w: Any = quantity("correlation E[w(t) w(t')]", False, over=KERNEL, optional=True)
    C_ell: Any = quantity("correlation E[ℓ(t) ℓ(t')]", False, over=KERNEL, optional=True)
    R_w: Any = quantity(
        "Jacobian E[∂w(t)/∂u_g(s)] of the discretized flow", False, over=KERNEL, optional=True
    )
    R_ell: Any = quantity(
        "Jacobian E[∂ℓ(t)/∂u_f(s)] of the discretized flow", False, over=KERNEL, optional=True
    )
    theta: Any = quantity("θ(t) of sampled coordinates", False, over=("path", "time", "state"))
    path_target: Any = quantity("their targets", False, over=("path",))
    path_weight: Any = quantity("their weights", False, over=("path",))
    path_variance: Any = quantity("variances of their features", False, over=("path",), optional=True)
    path_replica: Any = quantity("their replica", False, over=("path",))
    f: Any = quantity("f(t) of sampled training data", False, over=("datum", "time", "channel"))
    f_star: Any = quantity("their teacher's output", False, over=("datum",))
    xi: Any = quantity("their label noise", False, over=("datum",))
    z: Any = quantity("their own randomness", False, over=("datum", "z_entry"))
    datum_weight: Any = quantity("their weights", False, over=("datum",))
    datum_replica: Any = quantity("their replica", False, over=("datum",))

    def at(self, times: Any) -> FlowPoints:
        """Losses and errors at any times up to the last that was reached."""
        t = self.reached(times)
        return FlowPoints(t=t, **self.between(MEASURES, t))

    def begins_with_jump(self, values: np.ndarray) -> bool:
        """Whether a curve is elsewhere right after t = 0, as the share of wrong signs is if f(0) = 0.

        A jump is what is larger than the defects that a block may have [eq:dmft_defect].
        """
        s = self.dense.stages
        allowed = 2 * (0.4 * self.tol) ** (s / (s + 1)) * np.max(np.abs(values))
        return s > 1 and self.dense.jump(values) > float(allowed)

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
