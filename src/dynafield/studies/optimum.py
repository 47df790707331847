"""The best numbers of training, as a record."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from dynafield.problem.checks import plain
from dynafield.problem.model import with_numbers
from dynafield.records.record import Record, quantity
from dynafield.records.text import show

__all__ = ["Optimum"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Optimum(Record):
    """The best numbers for a task, the objective there, and error bars of both, as `optimize` returns them.

    Derivatives, curvature and error bars of numbers are those of their logarithms: an error of 0.1 is one of
    10 %. Arrays have the parameter axes first, written as …, then the axes given here; v is the number of
    numbers that were varied.

    Attributes
    ----------
    task, net
        The problem.
    over : tuple of str
        Names of the numbers that were varied.
    objective : str
        Name of the objective.
    place : array (…, v)
        Best numbers.
    place_se : array (…, v)
        Estimated errors of their logarithms.
    boundary : array of str (…, v)
        "lower" or "upper" if the best number lies at that limit of its range, "any" if all are equally good,
        or "".
    value, value_se : array (…)
        Objective there, and its estimated error.
    stop : array (…) or None
        Best stopping time, if it was optimized.
    curvature : array (…, v, v)
        Second derivatives of the objective in the logarithms.
    scan, scan_value : array (…, m, v), array (…, m)
        Numbers that were tried first, and the objective there.
    path, path_value : array (…, k, v), array (…, k)
        Numbers on the way from the best of them, and the objective there.
    """

    title: ClassVar[str] = "the best training"

    over: tuple[str, ...] = ()
    objective: str = "end"
    place: Any = quantity("best numbers", over=("number",))
    place_se: Any = quantity("estimated errors of their logarithms", over=("number",))
    boundary: Any = quantity("limit of the range that was met; any: all are equally good", over=("number",))
    value: Any = quantity("objective there")
    value_se: Any = quantity("its estimated error")
    stop: Any = quantity("best stopping time", optional=True)
    curvature: Any = quantity("second derivatives in the logarithms", False, over=("number", "number_too"))
    scan: Any = quantity("numbers that were tried first", False, over=("tried", "number"))
    scan_value: Any = quantity("objective there", False, over=("tried",))
    path: Any = quantity("numbers on the way from the best of them", False, over=("step", "number"))
    path_value: Any = quantity("objective on the way", False, over=("step",))

    @property
    def best(self) -> dict[str, Any]:
        """Best numbers by name, including the stopping time if it was optimized."""
        values = np.asarray(self.place)
        found = {name: plain(values[..., k]) for k, name in enumerate(self.over)}
        return found if self.stop is None else found | {"t": self.stop}

    def network(self, *index: int) -> Any:
        """The model with the best of its own numbers, of one problem.

        Parameters
        ----------
        *index : int
            Old way to choose one problem; write `optimum[0, 1].network()`.

        Returns
        -------
        Model
            A copy of `net`.
        """
        one = self.chosen(index, "network()")
        own = [name for name in one.over if name in one.net.numbers()]
        return with_numbers(one.net, {name: float(one.best[name]) for name in own})

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table: every number that was varied by its name."""
        skipped = ("place", "place_se", "boundary", "stop")
        told = [row for row in super().rows() if row[0] not in skipped]
        names, errors = np.asarray(self.over), np.asarray(self.place_se)
        ends = np.asarray(self.boundary)
        more = []
        for name, value in self.best.items():
            meaning = "best stopping time"
            if name in self.over:
                k = int(np.flatnonzero(names == name)[0])
                meaning = f"best number, known to {100 * np.max(errors[..., k]):.2g} %"
                if not self.shape and ends[k]:
                    meaning = f"best number, at its {ends[k]} limit"
                    meaning = "all are equally good" if ends[k] == "any" else meaning
            more.append((name, show(value, 6), meaning))
        return [*told[:2], ("objective", self.objective, "what is minimized"), *more, *told[2:]]

    def facts(self) -> dict[str, Any]:
        """The numbers that were varied, and the objective."""
        return {"over": " ".join(self.over), "objective": self.objective}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        return {"over": tuple(str(data.attrs["over"]).split()), "objective": str(data.attrs["objective"])}
