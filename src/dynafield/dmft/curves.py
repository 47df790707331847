"""The learning curve of the infinite network, as a result."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.activation import LEVEL, Activation, activation_times
from dynafield.dmft.solved import SolvedRecord, replica_mean
from dynafield.problem.checks import integer, one_real
from dynafield.records.record import quantity
from dynafield.records.timed import TIME, TwoTimeRecord

__all__ = ["Curves", "Law", "Points"]


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


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Curves(SolvedRecord, TwoTimeRecord):
    """Errors and kernels over time: parameter axes first, then times. Errors are in absolute units."""

    title: ClassVar[str] = "learning curve of the infinite network"
    final: ClassVar[tuple[str, ...]] = ("train_error", "test_error", "test_error_se")

    loss: Any = quantity("train_error/2 + λ E[u² + v²]/2", over=TIME)
    train_error_se: Any = quantity("estimated error of train_error", False, over=TIME)
    test_error_se: Any = quantity("estimated error of test_error", False, over=TIME)
    paths: Any = quantity("weights w(t) of sampled paths", False, over=("path", "time"))
    path_target: Any = quantity("their targets", False, over=("path",))
    path_weight: Any = quantity("their weights", False, over=("path",))
    path_variance: Any = quantity("variances of their features", False, over=("path",), optional=True)
    path_replica: Any = quantity("their replica", False, over=("path",))

    def at(self, times: Any) -> Points:
        """The errors at any times up to the last that was reached."""
        t = self.reached(times)
        loss = np.asarray(self.loss) @ self.dense.weights(t).T
        return Points(t=t, loss=loss, **self.between(("train_error", "test_error"), t))

    def law(self, t: Any, *index: int) -> Law:
        """Weighted draws (w(t), w*) at a time; `index` chooses one problem of several."""
        row, rule = self.place(t, index)
        return Law(np.asarray(self.paths)[row] @ rule, *self.known(row))

    def activation(self, *index: int, level: float = LEVEL) -> Activation:
        r"""First times at which sampled coordinates have \(|w|\) ≥ level [eq:activation]; see `law`."""
        level = one_real("level", level, lambda x: x > 0, "one number > 0")
        row, _ = self.place(0.0, index)
        times = activation_times(np.asarray(self.paths)[row], self.dense, level)
        return Activation(times, *self.known(row), level, float(self.t[-1]))

    def known(self, row: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Targets, weights and replicas of the paths of one problem."""
        target, weight, replica = (
            np.asarray(x)[row] for x in (self.path_target, self.path_weight, self.path_replica)
        )
        return target, weight, replica.astype(int)

    def observable(self, function: Callable, t: Any, *index: int) -> tuple[float, float]:
        """E[function(w(t), w*)] and its standard error."""
        return self.law(t, *index).average(function)

    def plot(self, ax: Any = None) -> Any:
        """Test and training error against time, with bands of two estimated errors."""
        from dynafield.figures.dmft import draw_curves

        return draw_curves(self, ax)
