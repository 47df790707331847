r"""When coordinates become active, on the solver's own paths.

A path is active from the first time with \(|\int_0^t g| - \lambda t \geq 2\log(1/\alpha)\) at depth 2
[eq:activation]. Its weight is \(w = \alpha^2e^{-\lambda t}\sinh(-\int_0^t g)\), so that this says
\(|w| \geq (1 - \alpha^4e^{-2\lambda t})/2\): up to a part of order α⁴ that it has come to 1/2. That is the
definition here, at every depth and α, with any level in place of 1/2.
"""

import dataclasses
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from dynafield.dmft.results.solved import replica_mean
from dynafield.errors import InputError
from dynafield.numerics.dense import Dense
from dynafield.problem.checks import flag_or_none, one_real, real_list
from dynafield.records.record import Labelled, quantity

__all__ = ["LEVEL", "Activation", "activation_times"]

LEVEL = 0.5
"""|w| at which a coordinate becomes active."""
BETWEEN = 8
"""Points at which a path is looked at between two nodes."""
AT_ONCE = 4096
"""Paths at once."""
PATH = ("path",)


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Activation(Labelled):
    r"""First times at which sampled coordinates are active.

    Attributes
    ----------
    time : array (n,)
        First time with \(|w|\) ≥ level; infinite if it is not reached by the last time.
    w_star : array (n,)
        Targets of the coordinates.
    weight : array (n,)
        Their weights in averages.
    replica : array of int (n,)
        The replica that each belongs to.
    level : float
        Size of a weight that counts as active, in the units of w*.
    t_max : float
        Last time of the curves.
    problem : str
        The problem in words, for a title.
    """

    title: ClassVar[str] = "when coordinates become active"

    time: Any = quantity("first time with |w| ≥ level, infinite if there is none", over=PATH)
    w_star: Any = quantity("their targets", over=PATH)
    weight: Any = quantity("their weights in averages", False, over=PATH)
    replica: Any = quantity("their replica", False, over=PATH)
    level: float
    t_max: float
    problem: str = ""
    """The problem in words, for a title."""

    def facts(self) -> dict[str, Any]:
        """Level, last time and problem."""
        return {"level": self.level, "t_max": self.t_max, "problem": self.problem}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        numbers = {name: float(data.attrs[name]) for name in ("level", "t_max")}
        return numbers | {"problem": str(data.attrs["problem"])}

    @property
    def first_time(self) -> float:
        """A time before which no coordinate becomes active."""
        seen = self.time[np.isfinite(self.time) & (self.time > 0)]
        first = 0.5 * float(np.min(seen)) if len(seen) else 1e-3 * self.t_max
        return min(first, 0.5 * self.t_max)

    def among(self, which: Bool[np.ndarray, " n"]) -> "Activation":
        """Some of the paths.

        Parameters
        ----------
        which : array of bool (n,)
            The paths to keep.

        Returns
        -------
        Activation
            Of these paths.
        """
        return dataclasses.replace(
            self, **{field.name: np.asarray(getattr(self, field.name))[which] for field in self.numbered()}
        )

    def chosen(self, true: bool | None) -> Bool[np.ndarray, " n"]:
        """Which paths have targets, or have none.

        Parameters
        ----------
        true : bool, optional
            True: paths with w* ≠ 0; False: paths with w* = 0; None: all.

        Returns
        -------
        array of bool (n,)
            Whether each path belongs to them.
        """
        true = flag_or_none("true", true)
        return np.ones(len(self.time), bool) if true is None else (self.w_star != 0) == true

    def share(self, true: bool | None = None) -> float:
        """The fraction of true or false coordinates among all.

        Parameters
        ----------
        true : bool, optional
            True: coordinates with w* ≠ 0; False: with w* = 0; None: all.

        Returns
        -------
        float
            A fraction.
        """
        return float(np.sum(self.weight[self.chosen(true)]) / np.sum(self.weight))

    def active(self, t: Any, true: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The fraction of coordinates that are active by given times, and its standard error.

        Multiplied by d and by `share(true)` it is the number of active coordinates of a network.

        Parameters
        ----------
        t : number or array (k,)
            Times, at most the last time of the curves.
        true : bool, optional
            Among which coordinates: those with w* ≠ 0 (True), with w* = 0 (False), or all (None).

        Returns
        -------
        array (k,), array (k,)
            Fractions and standard errors; NaN if there are no such coordinates.
        """
        times = real_list("t", t, lambda x: x >= 0, "times ≥ 0")
        if np.any(times > self.t_max * (1 + 1e-12)):
            raise InputError(f"t must be at most {self.t_max:g}, got {np.max(times):g}")
        which = self.chosen(true)
        if not which.any():
            return np.full(len(times), np.nan), np.full(len(times), np.nan)
        time, weight, replica = self.time[which], self.weight[which] / self.share(true), self.replica[which]
        pairs = [replica_mean(time <= now, weight, replica) for now in times]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    def quantile(self, share: float, true: bool | None = True) -> tuple[float, float]:
        """The time by which a given fraction of the coordinates is active, and its standard error.

        Parameters
        ----------
        share : float
            Fraction between 0 and 1.
        true : bool, optional, default True
            Among which coordinates: those with w* ≠ 0 (True), with w* = 0 (False), or all (None).

        Returns
        -------
        float, float
            Time, infinite if it is not reached by the last time; and the standard error over the replicas.
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


def first_at(time: np.ndarray, weight: np.ndarray, share: float) -> float:
    """The time by which this fraction of the weight is active."""
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
