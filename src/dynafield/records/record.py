"""Results: labelled numbers that print, plot, save and load."""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import pandas as pd
import xarray as xr
from jax.core import Tracer

from dynafield.deprecation import warn_of
from dynafield.errors import FileError, InputError
from dynafield.problem.checks import index_of
from dynafield.problem.task import Task
from dynafield.records import doors, files
from dynafield.records.axes import parameter_axes
from dynafield.records.problems import add_problem, described, parameters, problem_at, read_problem
from dynafield.records.text import as_html, as_text, show

__all__ = ["Labelled", "Record", "quantity"]

Kind = TypeVar("Kind", bound="Record")


def quantity(
    meaning: str, shown: bool = True, over: tuple[str, ...] = (), swept: bool = True, optional: bool = False
) -> Any:
    """A field that holds numbers.

    Parameters
    ----------
    meaning : str
        What the numbers are; the label in tables and files.
    shown : bool, default True
        Whether the printed table has a row for them.
    over : tuple of str, default ()
        Names of their axes, after those of the parameters.
    swept : bool, default True
        Whether they have the parameter axes.
    optional : bool, default False
        Whether they may be None.
    """
    facts = {"meaning": meaning, "shown": shown, "over": over, "swept": swept, "optional": optional}
    return dataclasses.field(metadata=facts)


class Labelled:
    """A result as labelled numbers: a dataclass whose `quantity` fields are its numbers."""

    title: ClassVar[str]

    def plot(self, ax: Any = None) -> Any:
        """Draw the result.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. None: new axes.

        Returns
        -------
        matplotlib Axes or array of these
            The axes.
        """
        return doors.draw(self, ax)

    def to_xarray(self) -> xr.Dataset:
        """Everything as a labelled data set."""
        return times_as_coordinate(self.variables(())).assign_attrs(self.facts())

    def variables(self, parameters: tuple[str, ...]) -> xr.Dataset:
        """The labelled numbers as variables.

        Parameters
        ----------
        parameters : tuple of str
            Names of the parameter axes, which those numbers have first that are swept.

        Returns
        -------
        xarray.Dataset
            Without coordinates and attributes.
        """
        data = xr.Dataset()
        for field in self.numbered():
            value, facts = getattr(self, field.name), field.metadata
            if value is not None:
                values, swept = np.asarray(value), parameters if facts["swept"] else ()
                dims = (*swept, *self.axes_of(facts["over"], values.ndim - len(swept)))
                data[field.name] = (dims, values, {"long_name": facts["meaning"]})
        return data

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> "Labelled":
        """The result from a labelled data set, as `to_xarray` makes it.

        Parameters
        ----------
        data : xarray.Dataset
            The data set.

        Returns
        -------
        Labelled
            A record of this class.

        Raises
        ------
        FileError
            If something is missing.
        """
        try:
            values = cls.values_in(times_as_variable(data)) | cls.settings(data)
            return cls(**cls.problem_in(data), **values)
        except KeyError as error:
            raise FileError(f"a {cls.__name__} must contain {error}, and the file does not") from error

    @classmethod
    def problem_in(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that say what was asked, from a data set; KeyError if one is missing.

        Parameters
        ----------
        data : xarray.Dataset
            The data set.

        Returns
        -------
        dict
            Values by name.
        """
        return {}

    def axes_of(self, over: tuple[str, ...], count: int) -> tuple[str, ...]:
        """Names of the axes of a field, first those that have no name.

        Parameters
        ----------
        over : tuple of str
            Axes of the field besides those of parameters.
        count : int
            Number of axes that its values have.

        Returns
        -------
        tuple of str
            Names.
        """
        return (*(f"axis_{k}" for k in range(count - len(over))), *over)

    @classmethod
    def numbered(cls) -> list[Any]:
        """The fields that are labelled numbers."""
        return [field for field in dataclasses.fields(cast(Any, cls)) if "meaning" in field.metadata]

    @classmethod
    def quantities(cls) -> dict[str, str]:
        """The labelled numbers of this kind of result: name and meaning."""
        return {field.name: field.metadata["meaning"] for field in cls.numbered()}

    @classmethod
    def values_in(cls, data: xr.Dataset) -> dict[str, Any]:
        """The labelled numbers that a data set holds.

        Parameters
        ----------
        data : xarray.Dataset
            The data set.

        Returns
        -------
        dict
            Values by name; None for optional ones that are missing. KeyError if another is missing.
        """
        return {
            field.name: None
            if field.metadata["optional"] and field.name not in data
            else unwrap(data[field.name].values)
            for field in cls.numbered()
        }

    def has(self) -> list[str]:
        """Names of the labelled numbers that this result has, or can compute."""
        return list(self.quantities())

    def facts(self) -> dict[str, Any]:
        """Fields that are neither problem nor numbers, as attributes of the data set."""
        return {}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set.

        Parameters
        ----------
        data : xarray.Dataset
            The data set.

        Returns
        -------
        dict
            Values of the fields by name.
        """
        return {}

    def to_dataframe(self) -> pd.DataFrame:
        """The curves, or the numbers over parameters, as a table with one row for each point.

        Numbers with further axes (two-time kernels, weights) are only in `to_xarray`.
        """
        data = self.to_xarray()
        names = [name for name in self.quantities() if name in data]
        axes = next((data[name].dims for name in ("test_error", *names) if name in names), ())
        table = data[[name for name in names if set(data[name].dims) <= set(axes)]]
        if not axes:
            return pd.DataFrame([{str(name): table[name].item() for name in table.variables}])
        frame = table.to_dataframe(dim_order=[str(axis) for axis in axes])
        return frame.drop(columns=[name for name in axes if name in frame.columns]).reset_index()

    def save(self, path: str | Path) -> Path:
        """Write everything to a netCDF file, which `dynafield.load` reads back; or the curves as a table.

        Parameters
        ----------
        path : str or Path
            File to write, in an existing folder: `.nc` for everything, `.csv` for the table of
            `to_dataframe`.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        FileError
            If the file cannot be written there, or has another suffix.
        """
        path = files.writable(path, (".nc", ".csv"))
        if path.suffix == ".csv":
            return files.write_table(self.to_dataframe(), path)
        return files.write(self.to_xarray(), type(self).__name__, path)

    def content(self) -> bytes:
        """The bytes of the file that `save` writes."""
        return files.content(self.to_xarray(), type(self).__name__)

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table: name, value, meaning."""
        shown = [f for f in self.numbered() if f.metadata.get("shown") and getattr(self, f.name) is not None]
        return [(f.name, show(getattr(self, f.name)), f.metadata["meaning"]) for f in shown]

    def __repr__(self) -> str:
        return as_text(f"{type(self).__name__}: {self.title}", self.rows())

    def _repr_html_(self) -> str:
        return as_html(f"{type(self).__name__}: {self.title}", self.rows())


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Record(Labelled):
    """A result for a task and a network, over the axes of their parameters."""

    task: Task
    net: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameter axes; () for one problem."""
        return np.broadcast_shapes(*(a.shape for a in parameters(self.task, self.net).values()))

    def __getitem__(self: Kind, index: int | tuple[int, ...]) -> Kind:
        """The result of one problem of several, by its place on the parameter axes: `curves[0, 1]`."""
        index = index if isinstance(index, tuple) else (index,)
        place = np.unravel_index(index_of(index, self.shape), self.shape)
        task, net = problem_at(self.task, self.net, index)
        values = {field.name: self.part(field.name, place) for field in self.swept()}
        return dataclasses.replace(self, task=task, net=net, **values, **self.more_of(place))

    def more_of(self, place: tuple) -> dict[str, Any]:
        """Values of fields besides the labelled numbers that differ between problems.

        Parameters
        ----------
        place : tuple of int
            The problem's place on the parameter axes.

        Returns
        -------
        dict
            Values by name.
        """
        return {}

    def __iter__(self: Kind) -> Iterator[Kind]:
        """The results of all problems, in order; of one problem, itself."""
        return (self[index] if index else self for index in np.ndindex(self.shape))

    def __len__(self) -> int:
        """Number of problems."""
        return math.prod(self.shape)

    @classmethod
    def swept(cls) -> list[Any]:
        """The labelled numbers that have parameter axes."""
        return [field for field in cls.numbered() if field.metadata["swept"]]

    def part(self, name: str, place: tuple) -> Any:
        """A labelled number of one problem.

        Parameters
        ----------
        name : str
            Name of the number.
        place : tuple of int
            The problem's place on the parameter axes.

        Returns
        -------
        number or array
            Its value, without parameter axes.
        """
        value = getattr(self, name)
        return None if value is None else unwrap(np.asarray(np.asarray(value)[place]))

    def chosen(self: Kind, index: tuple[int, ...], call: str) -> Kind:
        """The old way to choose a problem, by indices after the other arguments; it warns.

        Parameters
        ----------
        index : tuple of int
            Place on the parameter axes; empty for the record itself.
        call : str
            The call as it should be written, for the warning.

        Returns
        -------
        Record
            Of one problem, or the record itself.
        """
        if not index:
            return self
        warn_of(f"write record[{', '.join(map(str, index))}].{call}")
        return self[index]

    def to_xarray(self) -> xr.Dataset:
        """Everything as a labelled data set; parameters are coordinates."""
        for name in self.quantities():
            if isinstance(getattr(self, name), Tracer):
                raise InputError(
                    f"{name} is being traced by JAX and has no value yet: use it outside jax.grad and jax.jit"
                )
        data = self.variables(parameter_axes(parameters(self.task, self.net)))
        return times_as_coordinate(add_problem(data, self.task, self.net)).assign_attrs(self.facts())

    def axes_of(self, over: tuple[str, ...], count: int) -> tuple[str, ...]:
        """Names of the axes of a field besides those of parameters.

        Parameters
        ----------
        over : tuple of str
            Axes of the field besides those of parameters.
        count : int
            Number of axes that its values have besides these.

        Returns
        -------
        tuple of str
            Names.
        """
        return over

    @classmethod
    def problem_in(cls, data: xr.Dataset) -> dict[str, Any]:
        """Task and network, from a data set; KeyError if something is missing.

        Parameters
        ----------
        data : xarray.Dataset
            The data set.

        Returns
        -------
        dict
            Values by name.
        """
        return dict(zip(("task", "net"), read_problem(data), strict=True))

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table: name, value, meaning."""
        task = self.task
        problem = [
            ("task", f"δ={show(task.delta, 6)} σ={show(task.sigma, 6)} {task.prior}{task.inputs}", ""),
            ("network", described(self.net), ""),
        ]
        return problem + super().rows()


def times_as_coordinate(data: xr.Dataset) -> xr.Dataset:
    """Training times `t` as the coordinate `time`, with an index: for `sel`, and for rows of tables."""
    if "t" not in data or data["t"].dims != ("time",):
        return data
    return data.drop_vars("t").assign_coords(time=data["t"].variable)


def times_as_variable(data: xr.Dataset) -> xr.Dataset:
    """The coordinate `time` as training times `t`."""
    return data.assign(t=data["time"]) if "time" in data.coords else data


def unwrap(values: np.ndarray) -> Any:
    """A scalar array as the number or text it holds."""
    if values.ndim:
        return values
    return values.item()
