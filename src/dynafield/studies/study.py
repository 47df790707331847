"""A study: which problems, along which axes, and what to compute at each point."""

import dataclasses
import hashlib
import itertools
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import checked_path, integer, one_real, real_vector, seed_of, shown, text_of
from dynafield.problem.text import numbers, read_prior, read_spectrum
from dynafield.studies.computations import COMPUTATIONS, Computation
from dynafield.studies.points import PARAMETERS, Point
from dynafield.version import __version__

__all__ = ["Batch", "Study"]

SECTIONS = {
    "task": ("delta", "sigma", "prior", "spectrum"),
    "network": ("alpha", "lam", "depth", "M"),
    "trainer": ("step", "momentum", "batch_fraction"),
}
TOP = ("name", "seed", "batch", "zip")
RANGE = ("first", "last", "count", "scale")
MOST = 10**6
"""Largest number of points of a study."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """Parameters that vary together: the first one names the axis."""

    members: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @property
    def name(self) -> str:
        """The axis of the data set."""
        return self.members[0]

    def __len__(self) -> int:
        return len(self.values[0])


@dataclasses.dataclass(frozen=True)
class Batch:
    """Points that are computed together; batches depend on the study alone, not on what is done already."""

    computation: str
    number: int
    points: tuple[int, ...]

    @property
    def name(self) -> str:
        """A name for its file."""
        return f"{self.computation}-{self.number:05d}"


@dataclasses.dataclass(frozen=True)
class Study:
    """A study: which problems, along which axes, and what to compute at each point.

    Made from a file by `Study.read`, or from tables by `Study.make`.

    Parameters
    ----------
    name : str
        Name of the study.
    fixed : dict
        Parameters that are the same at all points.
    axes : tuple of Axis
        Parameters that vary, with their values.
    computations : tuple of Computation
        What is computed at each point.
    seed : int, default 0
        Seed of all computations.
    batch : int, default 16
        Largest number of points that are computed together.
    """

    name: str
    fixed: Mapping[str, Any]
    axes: tuple[Axis, ...]
    computations: tuple[Computation, ...]
    seed: int = 0
    batch: int = 16

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """A study from a TOML file.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Study
            The checked study.

        Raises
        ------
        InputError
            If the file cannot be read, or has a mistake; the message says where.
        """
        path = checked_path("study", path)
        if path.exists() and not path.is_file():
            raise InputError(f"study must be a readable TOML file, got {str(path)!r}")
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"study must be a readable TOML file: {error}") from None
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path} is not TOML: {error}") from None
        return cls.make(content, path.stem)

    @classmethod
    def make(cls, content: Mapping[str, Any], name: str = "study") -> "Study":
        """A study from tables, as in the file.

        Parameters
        ----------
        content : dict
            Tables `task`, `network` and others by name.
        name : str, default "study"
            Name of the study, unless the content has one.

        Returns
        -------
        Study
            The checked study.
        """
        known = (*TOP, *SECTIONS, *COMPUTATIONS)
        refuse_unknown("", content, known)
        given: dict[str, Any] = {}
        for section, keys in SECTIONS.items():
            table = content.get(section, {})
            refuse_unknown(f"{section}.", as_table(section, table), keys)
            given |= {key: spread(f"{section}.{key}", value) for key, value in table.items()}
        for required in ("delta", "sigma", "prior", "alpha"):
            if required not in given:
                section = "network" if required == "alpha" else "task"
                raise InputError(f"{section}.{required} is missing")
        axes = zipped(given, content.get("zip", []))
        fixed = {key: value for key, value in given.items() if not isinstance(value, tuple)}
        chosen = [
            COMPUTATIONS[key].read(as_table(key, content[key])) for key in content if key in COMPUTATIONS
        ]
        if not chosen:
            raise InputError(f"a study needs something to compute: a table {', '.join(COMPUTATIONS)}")
        study = cls(
            text_of("name", content.get("name", name)),
            fixed,
            axes,
            tuple(chosen),
            seed_of("seed", content.get("seed", 0)),
            integer("batch", content.get("batch", 16), 1, 4096),
        )
        return study.checked()

    def checked(self) -> "Study":
        """The study, if each of its problems is valid; otherwise InputError."""
        if self.size > MOST:
            raise InputError(f"a study has at most {MOST} points, got {self.size}")
        self.point_at([0] * len(self.axes)).problem()
        for axis in self.axes:
            for which in range(len(axis)):
                self.point_at([which if other is axis else 0 for other in self.axes]).problem()
        for computation in self.computations:
            computation.admit(self.point_at([0] * len(self.axes)))
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of points."""
        return int(np.prod(self.shape, dtype=int))

    def point_at(self, index: Any) -> Point:
        """One point by its place along the axes.

        Parameters
        ----------
        index : sequence of int
            One index for each axis.

        Returns
        -------
        Point
            The parameters of the point.
        """
        values = dict(self.fixed)
        for axis, which in zip(self.axes, index, strict=True):
            values |= {name: column[which] for name, column in zip(axis.members, axis.values, strict=True)}
        return Point(**values)

    def points(self) -> list[Point]:
        """All points, the last axis fastest."""
        return [self.point_at(index) for index in itertools.product(*map(range, self.shape))]

    def batches(self) -> list[Batch]:
        """Points of one shape together, in order, at most `batch` of them."""
        points, made = self.points(), []
        for computation in self.computations:
            groups: dict[Any, list[int]] = {}
            for number, point in enumerate(points):
                groups.setdefault(computation.group(point), []).append(number)
            cuts = [
                tuple(group[k : k + self.batch])
                for group in groups.values()
                for k in range(0, len(group), self.batch)
            ]
            made += [Batch(computation.name, k, cut) for k, cut in enumerate(cuts)]
        return made

    def computation(self, name: str) -> Computation:
        """One of the computations by name.

        Parameters
        ----------
        name : str
            Such as "solve".

        Returns
        -------
        Computation
            The computation with its settings.
        """
        return next(one for one in self.computations if one.name == name)

    def facts(self) -> dict[str, Any]:
        """All settings that determine its numbers, in plain types."""
        return {
            "name": self.name,
            "fixed": dict(self.fixed),
            "axes": [{"members": list(a.members), "values": [list(v) for v in a.values]} for a in self.axes],
            "computations": {one.name: one.settings() for one in self.computations},
            "seed": self.seed,
            "batch": self.batch,
            "dynafield": __version__,
        }

    @property
    def fingerprint(self) -> str:
        """The same for two studies if and only if their settings are the same."""
        return hashlib.sha256(json.dumps(self.facts(), sort_keys=True).encode()).hexdigest()


def refuse_unknown(where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise InputError for unknown keys."""
    for key in table:
        if key not in known:
            raise InputError(f"{where}{key} is not known here: there are {', '.join(known)}")


def as_table(where: str, value: Any) -> Mapping[str, Any]:
    """A table, or InputError."""
    if not isinstance(value, Mapping):
        raise InputError(f"{where} must be a table, got {value!r}")
    return value


def spread(where: str, value: Any) -> Any:
    """One value, or a tuple of them from a list, a range in text or a table with first, last, count."""
    name = where.rpartition(".")[2]
    kind = PARAMETERS[name]
    if isinstance(value, Mapping):
        refuse_unknown(f"{where}.", value, RANGE)
        missing = [key for key in RANGE[:3] if key not in value]
        if missing:
            raise InputError(f"{where}.{missing[0]} is missing")
        scale = value.get("scale", "linear")
        if scale not in ("linear", "log"):
            raise InputError(f"{where}.scale must be linear or log, got {scale!r}")
        ends = [one_real(f"{where}.{key}", value[key], np.isfinite, "a number") for key in RANGE[:2]]
        count = integer(f"{where}.count", value["count"], 1, MOST)
        value = f"{ends[0]!r}:{ends[1]!r}:{count}" + (":log" if scale == "log" else "")
    if isinstance(value, str) and kind is int and ":" not in value and "," not in value:
        raise InputError(f"{where} must be an integer, not text, got {value!r}")
    if isinstance(value, str) and kind is not str:
        value = np.atleast_1d(numbers(where, value)).tolist()
    if isinstance(value, list):
        if not value:
            raise InputError(f"{where} must not be an empty list")
        if kind is float:
            return tuple(real_vector(where, value, np.isfinite, "finite numbers").tolist())
        return tuple(one_value(f"{where}[{k}]", entry, kind) for k, entry in enumerate(value))
    return one_value(where, value, kind)


def one_value(where: str, value: Any, kind: type) -> Any:
    """One entry, converted to the right kind."""
    if kind is str:
        if not isinstance(value, str):
            raise InputError(f"{where} must be text such as bernoulli:0.1 or power:1.5, got {shown(value)}")
        (read_spectrum if where.partition("[")[0].endswith("spectrum") else read_prior)(value)
        return value
    if kind is int:
        return integer(where, int(value) if isinstance(value, float) and value.is_integer() else value, 2)
    return one_real(where, value, np.isfinite, "a finite number")


def zipped(given: Mapping[str, Any], groups: Any) -> tuple[Axis, ...]:
    """Axes in the order in which they are given; those named together in `zip` are one."""
    swept = [name for name, value in given.items() if isinstance(value, tuple)]
    if not (isinstance(groups, list) and all(isinstance(group, list) for group in groups)):
        raise InputError(f"zip must be a list of lists of names, got {groups!r}")
    taken: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for name in group:
            if name not in swept or name in taken:
                raise InputError(
                    f"zip must name swept parameters once each ({', '.join(swept)}), got {name!r}"
                )
            taken[name] = tuple(group)
        lengths = {name: len(given[name]) for name in group}
        if len(set(lengths.values())) > 1:
            raise InputError(f"zip needs lists of one length, got {lengths}")
    axes = []
    for name in swept:
        members = taken.get(name, (name,))
        if members[0] == name:
            axes.append(Axis(members, tuple(given[member] for member in members)))
    return tuple(axes)
