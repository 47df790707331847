"""The stages of training, as a result."""

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr

from dynafield.errors import FileError
from dynafield.problem.checks import one_real
from dynafield.problem.networks import Network
from dynafield.problem.task import Task
from dynafield.records.problems import add_problem, read_problem
from dynafield.records.record import Labelled

__all__ = ["Active", "Form", "GroupTime", "Measure", "Phases", "Seen", "Stage"]


class Stage(NamedTuple):
    """A stage of training, in which one closed form holds.

    Attributes
    ----------
    name : str
        Name of the stage.
    start, end : float
        Times between which it lies; `end` is infinite for the last one.
    formula : str
        The closed form in words.
    label : str
        Label of its equation in the theory page.
    validity : float
        Size of what the formula neglects, relative to what it keeps: it is good if this is much below one.
    compares : str
        What `validity` compares.
    """

    name: str
    start: float
    end: float
    formula: str
    label: str
    validity: float
    """What the formula neglects beside what it keeps: good if much smaller than one."""
    compares: str
    """What `validity` compares."""


class Measure(NamedTuple):
    """A time or value measured on a solved curve.

    Attributes
    ----------
    name : str
        Name of the measure.
    value : float
        Its value; infinite for a time that is not reached.
    low, high : float
        Limits of its error bar.
    meaning : str
        What was measured, in words.
    """

    name: str
    value: float
    low: float
    high: float
    meaning: str


class GroupTime(NamedTuple):
    """When features of one variance are learnt.

    In the lazy phase half of their targets, in the search half of their true coordinates.

    Attributes
    ----------
    variance : float
        Variance of the features.
    share : float
        Fraction of the features that have this variance, or a similar one if it varies continuously.
    time : float
        The time.
    meaning : str
        What happens then, in words.
    """

    variance: float
    share: float
    """Fraction of the features that have this variance, or around it where it varies continuously."""
    time: float
    meaning: str


class Seen(NamedTuple):
    """The curve on which stages were measured, at many times."""

    t: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray
    train_error_se: np.ndarray
    test_error_se: np.ndarray
    floor: float = 0.0
    """Values below are not resolved by the tolerance that was asked for."""


class Form(NamedTuple):
    """A closed form of the errors at the times of its stage; the training error is NaN if it has none."""

    name: str
    t: np.ndarray
    test_error: np.ndarray
    train_error: np.ndarray


class Active(NamedTuple):
    """Fractions of true and of false coordinates that are active: measured with error bars, and expected."""

    level: float
    t: np.ndarray
    true: np.ndarray
    true_se: np.ndarray
    true_expected: np.ndarray
    false: np.ndarray
    false_se: np.ndarray
    false_expected: np.ndarray


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Phases(Labelled):
    """The stages of training of one problem, in order, as `phases` returns them.

    Attributes
    ----------
    task, net
        The problem.
    regime : str
        Name of the regime.
    stages : tuple of Stage
        The stages by closed forms.
    measured : tuple of Measure
        Times and values measured on a solved curve; empty without one.
    groups : tuple of GroupTime
        When features of different variances are learnt; empty if all variances are one.
    seen : Seen or None
        The curve on which stages were measured.
    forms : tuple of Form
        Closed forms of the errors, at the times of their stages.
    active : Active or None
        Fractions of active coordinates over time.
    """

    title: ClassVar[str] = "stages of training"

    task: Task
    net: Any
    regime: str
    stages: tuple[Stage, ...]
    measured: tuple[Measure, ...] = ()
    groups: tuple[GroupTime, ...] = ()
    seen: Seen | None = None
    forms: tuple[Form, ...] = ()
    active: Active | None = None

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def __getitem__(self, which: int | str) -> Stage | Measure:
        """A stage by its number; a stage or a measure by its name."""
        if isinstance(which, int):
            return self.stages[which]
        for one in (*self.stages, *self.measured):
            if one.name == which:
                return one
        names = [one.name for one in (*self.stages, *self.measured)]
        raise KeyError(f"{which!r}: there are {', '.join(names)}")

    def at(self, t: float) -> Stage:
        """The stage at a time.

        Parameters
        ----------
        t : float
            Training time ≥ 0.

        Returns
        -------
        Stage
            The stage.
        """
        t = one_real("t", t, lambda x: x >= 0, "a time ≥ 0")
        return next(stage for stage in self.stages if t < stage.end or stage is self.stages[-1])

    @property
    def horizon(self) -> float:
        """A time by which all stages have begun."""
        last = self.stages[-1]
        if last.start == 0:
            return 100.0
        return last.start * (100.0 if last.name == "plateau" else 2.0)

    def to_xarray(self) -> xr.Dataset:
        """Stages, measures and curves as a labelled data set."""
        data = add_problem(xr.Dataset(), self.task, self.net)
        for name, rows in (("stage", self.stages), ("measure", self.measured), ("group", self.groups)):
            data = data.merge(table(name, rows))
        for k, form in enumerate(self.forms):
            data = data.merge(columns(f"form_{k}", form._replace(name="")))
        for name, curves in (("seen", self.seen), ("active", self.active)):
            data = data if curves is None else data.merge(columns(name, curves))
        names = "|".join(form.name for form in self.forms)
        return data.assign_attrs(regime=self.regime, forms=names)

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> "Phases":
        """The stages from a labelled data set, as `to_xarray` makes it.

        Parameters
        ----------
        data : xarray.Dataset
            The data set.

        Returns
        -------
        Phases
            The record.

        Raises
        ------
        FileError
            If something is missing.
        """
        try:
            task, net = read_problem(data)
            names = [name for name in str(data.attrs["forms"]).split("|") if name]
            forms = [
                from_columns(f"form_{k}", Form, data)._replace(name=name) for k, name in enumerate(names)
            ]
            return cls(
                task, net, str(data.attrs["regime"]),
                from_table("stage", Stage, data), from_table("measure", Measure, data),
                from_table("group", GroupTime, data),
                from_columns("seen", Seen, data) if "seen_t" in data else None, tuple(forms),
                from_columns("active", Active, data) if "active_t" in data else None,
            )  # fmt: skip
        except KeyError as error:
            raise FileError(f"a {cls.__name__} must contain {error}, and the file does not") from error

    def to_dataframe(self) -> Any:
        """The stages as a table."""
        return table("stage", self.stages).to_dataframe().reset_index(drop=True)

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        told = [(s.name, f"{s.start:.4g} to {s.end:.4g}", f"{s.formula} [{s.label}]") for s in self.stages]
        told += [(f"variance {g.variance:.3g}", f"{g.time:.4g}", g.meaning) for g in self.groups]
        values = {m.name: f"{m.value:.5g} ({m.low:.5g} to {m.high:.5g})" for m in self.measured}
        return told + [(m.name, values[m.name], m.meaning) for m in self.measured]

    def __repr__(self) -> str:
        net = self.net if isinstance(self.net, Network) else self.net.name
        told = f"δ={self.task.delta:g} σ={self.task.sigma:g} {self.task.prior}{self.task.inputs}, {net}"
        lines = [f"Phases: {self.regime}, {told}"]
        for s in self.stages:
            lines.append(f"  {s.name:<10} {s.start:>10.4g} to {s.end:<10.4g} {s.formula}  [{s.label}]")
            lines.append(f"  {'':<10} {'':>24} validity {s.validity:.3g}: {s.compares}")
        for g in self.groups:
            lines.append(f"  features of variance {g.variance:<8.3g} {g.time:>10.4g}  {g.meaning}")
        for m in self.measured:
            lines.append(f"  {m.name:<20} {m.value:>10.5g}  ({m.low:.5g} to {m.high:.5g})  {m.meaning}")
        return "\n".join(lines)


def table(name: str, rows: tuple[Any, ...]) -> xr.Dataset:
    """Named tuples of numbers and texts as variables over an axis of this name."""
    data = xr.Dataset()
    for field in rows[0]._fields if rows else ():
        values = np.array([getattr(row, field) for row in rows])
        data[f"{name}_{field}"] = (name, values if values.dtype.kind == "f" else values.astype(object))
    return data


def from_table(name: str, kind: Any, data: xr.Dataset) -> tuple[Any, ...]:
    """The named tuples that `table` wrote; none if there are none."""
    if f"{name}_{kind._fields[0]}" not in data:
        return ()
    found = [data[f"{name}_{field}"].values for field in kind._fields]
    plain = [column.astype(float) if column.dtype.kind == "f" else column for column in found]
    rows = zip(*(column.tolist() for column in plain), strict=True)
    return tuple(kind(*row) for row in rows)


def columns(name: str, curves: Any) -> xr.Dataset:
    """Arrays over times that belong together, and single numbers."""
    data = xr.Dataset()
    for field, values in curves._asdict().items():
        if not isinstance(values, str):
            data[f"{name}_{field}"] = ((f"{name}_time",) * np.ndim(values), np.asarray(values, float))
    return data


def from_columns(name: str, kind: Any, data: xr.Dataset) -> Any:
    """The arrays that `columns` wrote."""
    values = {field: data[f"{name}_{field}"].values for field in kind._fields if f"{name}_{field}" in data}
    missing = {field: "" for field in kind._fields if field not in values}
    return kind(**missing, **{field: v if v.ndim else float(v) for field, v in values.items()})
