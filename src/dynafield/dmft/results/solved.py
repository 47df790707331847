"""What the learning curves of this solver have in common: grid, tolerance, sampling, status."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr

from dynafield.dmft.differentiation.derivatives import CurveDerivative, for_every_curve
from dynafield.errors import InputError
from dynafield.numerics.dense import Dense
from dynafield.problem.checks import one_real, real_list
from dynafield.problem.text import trainer_facts, trainer_of
from dynafield.problem.trainers import GradientFlow, Steps, Trainer
from dynafield.records import doors
from dynafield.records.record import quantity
from dynafield.records.text import show
from dynafield.records.timed import TimedRecord

__all__ = ["Deferred", "SolvedRecord", "replica_mean"]


class DerivingOne(NamedTuple):
    """Differentiates one of several curves that were solved together."""

    all: Any
    place: tuple

    def derivatives(self, names: tuple[str, ...], progress: Any = None) -> dict[str, dict[str, Any]]:
        """For each name, derivatives and their error bars by the names of curves."""
        found = self.all.derivatives(names, progress)
        return {
            name: {key: np.asarray(values)[self.place] for key, values in one.items()}
            for name, one in found.items()
        }


class Deferred(NamedTuple):
    """A quantity that is computed when it is first asked for, or the reason why it cannot be."""

    make: Callable[[], Any]
    why_not: Callable[[], str | None]


def replica_mean(values: Any, weight: np.ndarray, replica: np.ndarray) -> tuple[float, float]:
    """A weighted mean, and its standard error from the replicas."""
    count = int(replica.max()) + 1
    means = np.bincount(replica, np.asarray(values, float) * weight, count) * count
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(count)) if count > 1 else np.nan


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SolvedRecord(TimedRecord):
    """A learning curve on the nodes of a grid of time."""

    final: ClassVar[tuple[str, ...]]
    """Curves whose last values it shows."""

    edges: Any = quantity("edges of the blocks of time", False, over=("edge",), swept=False)
    t_max: float = 0.0
    tol: float = 1e-3
    rtol: float | None = None
    points: int = 0
    replicas: int = 0
    seed: int = 0
    status: str = "finished"
    trainer: Trainer = GradientFlow()
    deriving: Any = None
    """What differentiates the curves; nothing in a record that was read from a file."""

    def derivative(self, name: str, progress: Any = None) -> CurveDerivative:
        """Derivatives of the curves in one number [eq:tangents].

        Standard errors are those of replicas, each differentiated with its own random points, combined with
        the difference to smaller samples in halved blocks of time. Where sampling cannot resolve a
        derivative, its standard error is large. For several numbers `derivatives` is cheaper.

        Parameters
        ----------
        name : str
            "delta", "sigma", the name of a number of the model, or "step" for the step of training.
        progress : bool or callable, optional
            As in `solve`.

        Returns
        -------
        CurveDerivative
            Derivatives with standard errors, at the times of the curves.

        Raises
        ------
        InputError
            If the curves were read from a file, or there is no such derivative.
        """
        return self.derivatives(name, progress=progress)[name]

    def derivatives(self, *names: str, progress: Any = None) -> dict[str, CurveDerivative]:
        """Derivatives of the curves in several numbers, computed together.

        Parameters
        ----------
        *names : str
            Names as in `derivative`.
        progress : bool or callable, optional
            As in `solve`.

        Returns
        -------
        dict
            A `CurveDerivative` for each name.

        Raises
        ------
        InputError
            If the curves were read from a file, or there is no such derivative.
        """
        if self.deriving is None:
            raise InputError("curves that were read from a file cannot be differentiated: solve them again")
        found = self.deriving.derivatives(names, progress)
        return {
            name: CurveDerivative(self.task, self.net, t=self.t, parameter=name, **for_every_curve(one))
            for name, one in found.items()
        }

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if isinstance(value, Deferred):
            reason = value.why_not()
            if reason is not None:
                raise InputError(f"{name} {reason}")
            value = value.make()
            object.__setattr__(self, name, value)
        return value

    def has(self) -> list[str]:
        """Names of all quantities except two-time functions that cannot be computed."""
        own = vars(self)
        return [n for n in super().has() if not isinstance(own[n], Deferred) or own[n].why_not() is None]

    def to_xarray(self) -> xr.Dataset:
        """Everything as a labelled data set, except two-time functions that cannot be computed."""
        missing = [name for name in self.quantities() if name not in self.has()]
        whole = dataclasses.replace(self, **dict.fromkeys(missing)) if missing else self
        return super(SolvedRecord, whole).to_xarray()

    @property
    def complete(self) -> bool:
        """Whether t_max was reached."""
        return bool(self.t[-1] >= self.t_max * (1 - 1e-9))

    @property
    def dense(self) -> Dense:
        """Interpolation between the nodes."""
        return Dense(np.asarray(self.t), np.asarray(self.edges))

    def reached(self, times: Any) -> np.ndarray:
        """Times as an array, checked.

        Parameters
        ----------
        times : number or array (k,)
            Times ≥ 0.

        Returns
        -------
        array (k,)
            The same times.

        Raises
        ------
        InputError
            If a time is beyond the solution, or between two steps of training.
        """
        t = real_list("times", times, lambda x: x >= 0, "times ≥ 0")
        if isinstance(self.trainer, Steps):
            self.trainer.number("times", t)
        last = float(self.t[-1])
        if np.any(t > last * (1 + 1e-12)):
            raise InputError(f"times must be at most {last:g}, got {np.max(t):g}")
        return t

    def begins_with_jump(self, values: np.ndarray) -> bool:
        """Whether a curve jumps right after t = 0.

        Parameters
        ----------
        values : array (…, k)
            A curve on the nodes.

        Returns
        -------
        bool
            False unless a kind of curve can jump.
        """
        return False

    def between(self, names: tuple[str, ...], t: np.ndarray) -> dict[str, np.ndarray]:
        """Curves and their error bars at other times; positive curves are interpolated by their logarithm.

        Parameters
        ----------
        names : tuple of str
            Names of curves.
        t : array (k,)
            Times.

        Returns
        -------
        dict
            An array (…, k) for each name, and for each name with `_se` added.
        """
        found = {}
        for name in names:
            values, errors = (np.asarray(getattr(self, n), float) for n in (name, f"{name}_se"))
            jump, positive = self.begins_with_jump(values), np.all(values > 0, axis=-1, keepdims=True)
            known = np.where(positive, np.log(np.where(positive, values, 1.0)), values)
            rule, unsure = self.dense.weights(t, jump).T, self.dense.uncertainty(known, t, jump)
            here = np.where(positive, np.exp(known @ rule), known @ rule)
            unsure = np.where(positive, here, 1.0) * unsure
            found |= {name: here, f"{name}_se": np.hypot(errors @ np.abs(rule), unsure)}
        return found

    def rule(self, t: Any) -> np.ndarray:
        """Weights with which values at the nodes are interpolated to one time, for one problem.

        Parameters
        ----------
        t : float
            Time.

        Returns
        -------
        array (k,)
            One weight for each node.

        Raises
        ------
        InputError
            If the record has several problems, or the time was not reached.
        """
        if self.shape:
            raise InputError(f"there are problems of shape {self.shape}: choose one, as in curves[0]")
        return self.dense.weights(self.reached(one_real("t", t, lambda x: x >= 0, "a time ≥ 0")))[0]

    def part(self, name: str, place: tuple) -> Any:
        """A labelled number of one problem; one that is not computed yet stays so.

        Parameters
        ----------
        name : str
            Name of the number.
        place : tuple of int
            The problem's place on the parameter axes.

        Returns
        -------
        number, array or Deferred
            The part of this problem.
        """
        value = vars(self)[name]
        if isinstance(value, Deferred):
            return Deferred(lambda: np.asarray(getattr(self, name))[place], value.why_not)
        return super().part(name, place)

    def more_of(self, place: tuple) -> dict[str, Any]:
        """What differentiates the curves of one problem.

        Parameters
        ----------
        place : tuple of int
            The problem's place on the parameter axes.

        Returns
        -------
        dict
            Values of fields by name.
        """
        return {"deriving": self.deriving and DerivingOne(self.deriving, place)}

    def phases(self) -> Any:
        """The stages of training with their times, closed forms, and what was measured on the curve."""
        return doors.stages_of(self)

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        told = super().rows()
        sampled = f"{self.replicas} replicas of {self.points} points, seed {self.seed}"
        parts = "steps" if isinstance(self.trainer, Steps) else "blocks"
        method = f"tol={self.tol:g}, {len(self.edges) - 1} {parts}, {sampled}: {self.status}"
        told[2:2] = [("trainer", repr(self.trainer), ""), ("method", method, "")]
        last = {name: np.asarray(getattr(self, name))[..., -1] for name in self.final}
        return told + [(f"final {name}", show(value, 6), "at the last time") for name, value in last.items()]

    def facts(self) -> dict[str, Any]:
        """Tolerances, sizes, seed and status, as attributes of a file."""
        names = ("t_max", "tol", "points", "replicas", "seed", "status")
        relative = {"rtol": self.rtol} if self.rtol else {}
        return (
            {name: getattr(self, name) for name in names} | relative | trainer_facts(self.trainer, self.t_max)
        )

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        kinds = {"t_max": float, "tol": float, "points": int, "replicas": int, "seed": int, "status": str}
        values = {name: kind(data.attrs[name]) for name, kind in kinds.items()}
        values |= {"rtol": float(data.attrs["rtol"]) if "rtol" in data.attrs else None}
        return values | {"trainer": trainer_of(data.attrs) if "trainer" in data.attrs else GradientFlow()}
