r"""When coordinates become active, on the solver's own paths.

A path is active from the first time with \(|\int_0^t g| - \lambda t \geq 2\log(1/\alpha)\) at depth 2
[eq:activation]. Its weight is \(w = \alpha^2e^{-\lambda t}\sinh(-\int_0^t g)\), so that this says
\(|w| \geq (1 - \alpha^4e^{-2\lambda t})/2\): up to a part of order α⁴ that it has come to 1/2. That is the
definition here, at every depth and α, with any level in place of 1/2.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from dynafield.dmft.solved import replica_mean
from dynafield.errors import InputError
from dynafield.numerics.dense import Dense
from dynafield.problem.checks import one_real, real_vector

__all__ = ["LEVEL", "Activation", "activation_times"]

LEVEL = 0.5
"""|w| at which a coordinate becomes active."""
BETWEEN = 8
"""Points at which a path is looked at between two nodes."""
AT_ONCE = 4096
"""Paths at once."""


class Activation(NamedTuple):
    """First times at which sampled paths are active, infinite for those that are not up to the last time."""

    time: Float[np.ndarray, " n"]
    w_star: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    replica: Int[np.ndarray, " n"]
    level: float
    t_max: float

    def chosen(self, true: bool | None) -> Bool[np.ndarray, " n"]:
        """Which paths: those with targets, those without, or all."""
        return np.ones(len(self.time), bool) if true is None else (self.w_star != 0) == true

    def share(self, true: bool | None = None) -> float:
        """The share of true or false coordinates among all."""
        return float(np.sum(self.weight[self.chosen(true)]) / np.sum(self.weight))

    def active(self, t: Any, true: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The share of coordinates (all, true or false) active by the times t, and its standard error.

        Multiplied by d and by `share(true)` it is the number of active coordinates of a network.
        """
        times = real_vector("t", np.atleast_1d(t), lambda x: x >= 0, "times ≥ 0")
        if np.any(times > self.t_max * (1 + 1e-12)):
            raise InputError(f"t must be at most {self.t_max:g}, got {np.max(times):g}")
        which = self.chosen(true)
        if not which.any():
            return np.full(len(times), np.nan), np.full(len(times), np.nan)
        time, weight, replica = self.time[which], self.weight[which] / self.share(true), self.replica[which]
        pairs = [replica_mean(time <= now, weight, replica) for now in times]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    def quantile(self, share: float, true: bool | None = True) -> tuple[float, float]:
        """When this share of the coordinates (all, true or false) is active, and its standard error.

        Infinite if it is not by the last time; the error is the spread over the replicas.
        """
        share = one_real("share", share, lambda x: (x > 0) & (x < 1), "one number between 0 and 1")
        which = self.chosen(true)
        if not which.any():
            return np.nan, np.nan
        whole = first_at(self.time[which], self.weight[which], share)
        count = int(self.replica.max()) + 1
        parts = [which & (self.replica == r) for r in range(count)]
        each = np.array([first_at(self.time[part], self.weight[part], share) for part in parts])
        if not np.all(np.isfinite(each)) or count < 2:
            return whole, np.nan
        return whole, float(np.std(each, ddof=1) / np.sqrt(count))

    def plot(self, ax: Any = None) -> Any:
        """Shares of true and false coordinates that are active, against time: incremental learning."""
        from dynafield.figures.phases import draw_activation

        return draw_activation(self, ax)


def first_at(time: np.ndarray, weight: np.ndarray, share: float) -> float:
    """The time by which this share of the weight is active."""
    order = np.argsort(time)
    place = np.searchsorted(np.cumsum(weight[order]), share * np.sum(weight))
    return float(time[order][min(place, len(time) - 1)])


def activation_times(paths: Float[np.ndarray, "n t"], dense: Dense, level: float) -> Float[np.ndarray, " n"]:
    """First times with |w| ≥ level, from the interpolation between nodes; infinite if there are none."""
    t = dense.t
    fine = np.concatenate([np.linspace(a, b, BETWEEN, endpoint=False) for a, b in pairwise(t)])
    fine = np.append(fine, t[-1])
    rule, found = dense.weights(fine).T, []
    for start in range(0, len(paths), AT_ONCE):
        size = np.abs(paths[start : start + AT_ONCE] @ rule)
        reached = size >= level
        first = np.argmax(reached, axis=1)
        rows, before = np.arange(len(first)), np.maximum(first - 1, 0)
        low, high = (np.log(np.maximum(size[rows, k], 1e-300)) for k in (before, first))
        part = (np.log(level) - low) / np.where(high > low, high - low, 1.0)
        time = fine[before] + np.clip(part, 0, 1) * (fine[first] - fine[before])
        found.append(np.where(reached.any(axis=1), np.where(first == 0, 0.0, time), np.inf))
    return np.concatenate(found)
