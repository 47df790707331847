"""Results: labelled numbers that print, plot, save and load."""

import abc
import dataclasses
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import xarray as xr
from jax.core import Tracer

from dynafield.errors import FileError, InputError
from dynafield.problem.task import Task
from dynafield.records import files
from dynafield.records.axes import parameter_axes
from dynafield.records.problems import add_problem, described, parameters, read_problem
from dynafield.records.text import as_html, as_text, show

__all__ = ["Labelled", "Record", "quantity"]


def quantity(
    meaning: str, shown: bool = True, over: tuple[str, ...] = (), swept: bool = True, optional: bool = False
) -> Any:
    """A field that holds numbers; `meaning` labels it everywhere.

    Its axes are those of the parameters (unless not `swept`), then `over`. An `optional`
    one may be None.
    """
    facts = {"meaning": meaning, "shown": shown, "over": over, "swept": swept, "optional": optional}
    return dataclasses.field(metadata=facts)


class Labelled(abc.ABC):
    """A result as labelled numbers: a dataclass whose `quantity` fields are its numbers."""

    title: ClassVar[str]

    @abc.abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw the result on `ax`, or on new axes, and return them."""

    @abc.abstractmethod
    def to_xarray(self) -> xr.Dataset:
        """Everything as a labelled data set."""

    @classmethod
    @abc.abstractmethod
    def from_xarray(cls, data: xr.Dataset) -> "Labelled":
        """The result that `to_xarray` described."""

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
        """The labelled numbers that a data set holds; KeyError where one is missing."""
        return {
            field.name: None
            if field.metadata["optional"] and field.name not in data
            else unwrap(data[field.name].values)
            for field in cls.numbered()
        }

    def has(self) -> list[str]:
        """Names of the labelled numbers that this result has, or can make."""
        return list(self.quantities())

    def facts(self) -> dict[str, Any]:
        """Fields that are neither problem nor numbers, as attributes of the data set."""
        return {}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields behind `facts`, from the attributes of the data set."""
        return {}

    def save(self, path: str | Path) -> Path:
        """Write everything to a netCDF file; `dynafield.load` reads it back."""
        return files.write(self.to_xarray(), type(self).__name__, path)

    def content(self) -> bytes:
        """The bytes of the file that `save` writes."""
        return files.content(self.to_xarray(), type(self).__name__)

    def rows(self) -> list[tuple[str, str, str]]:
        """What the result shows of itself: name, value, meaning."""
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

    def to_xarray(self) -> xr.Dataset:
        """Everything as a labelled data set; parameters are coordinates."""
        for name in self.quantities():
            if isinstance(getattr(self, name), Tracer):
                raise InputError(
                    f"{name} is being traced by JAX and has no value yet: use it outside jax.grad and jax.jit"
                )
        axes = parameter_axes(parameters(self.task, self.net))
        data = xr.Dataset()
        for field in self.numbered():
            facts = field.metadata
            if getattr(self, field.name) is not None:
                values = np.asarray(getattr(self, field.name))
                swept = axes if facts["swept"] else ()
                dims = (*swept, *self.axes_of(facts["over"], values.ndim - len(swept)))
                data[field.name] = (dims, values, {"long_name": facts["meaning"]})
        return add_problem(data, self.task, self.net).assign_attrs(self.facts())

    def axes_of(self, over: tuple[str, ...], count: int) -> tuple[str, ...]:
        """Names of the axes of a field that is over `over` and has so many."""
        return over

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> "Record":
        """The result that `to_xarray` described."""
        try:
            task, net = read_problem(data)
            values = cls.values_in(data) | cls.settings(data)
        except KeyError as error:
            raise FileError(f"a {cls.__name__} must contain {error}, and the file does not") from error
        return cls(task, net, **values)

    def rows(self) -> list[tuple[str, str, str]]:
        """What the result shows of itself: name, value, meaning."""
        task = self.task
        problem = [
            ("task", f"δ={show(task.delta, 6)} σ={show(task.sigma, 6)} {task.prior}{task.inputs}", ""),
            ("network", described(self.net), ""),
        ]
        return problem + super().rows()


def unwrap(values: np.ndarray) -> Any:
    """A scalar array as the number or text it holds."""
    if values.ndim:
        return values
    return values.item()
