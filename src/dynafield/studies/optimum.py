"""The best numbers of training, as a record."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from dynafield.problem.checks import plain
from dynafield.problem.model import at_problem, with_numbers
from dynafield.records.record import Record, quantity
from dynafield.records.text import show

__all__ = ["Optimum"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Optimum(Record):
    """The best numbers for a task, what they reach, and how well both are known.

    Derivatives, curvature and error bars of numbers are those of their logarithms: an error of .1 is one of
    10 %.
    """

    title: ClassVar[str] = "the best training"

    over: tuple[str, ...] = ()
    objective: str = "end"
    place: Any = quantity("best numbers", over=("number",))
    place_se: Any = quantity("estimated errors of their logarithms", over=("number",))
    boundary: Any = quantity("end of the range at which a number lies, or any, if either", over=("number",))
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
        """Best numbers by name, the stopping time among them where it was looked for."""
        values = np.asarray(self.place)
        found = {name: plain(values[..., k]) for k, name in enumerate(self.over)}
        return found if self.stop is None else found | {"t": self.stop}

    def network(self, *index: int) -> Any:
        """The model with the best of its own numbers, for the problem at `index`."""
        row = np.unravel_index(np.ravel_multi_index(index, self.shape), self.shape) if index else ()
        own = [name for name in self.over if name in self.net.numbers()]
        best = {name: float(np.asarray(self.best[name])[row]) for name in own}
        return with_numbers(at_problem(self.net, self.shape, row), best)

    def rows(self) -> list[tuple[str, str, str]]:
        """What the optimum shows of itself: every number that was varied by its name."""
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
                    meaning = "all are as good" if ends[k] == "any" else f"best number, at its {ends[k]} end"
            more.append((name, show(value, 6), meaning))
        return [*told[:2], ("objective", self.objective, "that is least"), *more, *told[2:]]

    def facts(self) -> dict[str, Any]:
        """What was varied, and for what."""
        return {"over": " ".join(self.over), "objective": self.objective}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields behind `facts`."""
        return {"over": tuple(str(data.attrs["over"]).split()), "objective": str(data.attrs["objective"])}

    def plot(self, ax: Any = None) -> Any:
        """The objective around its best place; of several tasks, the best numbers along their axis."""
        from dynafield.figures.optimization import draw_optimum

        return draw_optimum(self, ax)
