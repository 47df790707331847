"""What a tab shows: the numbers of one problem, and a view of several, each with its text in a link.

Everything that comes from a link or a field of the page passes through here and is refused by the library's
own checks; nothing is evaluated and no file is read.
"""

import dataclasses
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import numpy as np

from dynafield.errors import InputError
from dynafield.figures.style import SYMBOLS
from dynafield.problem.checks import integer, one_real
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.text import number, read_prior, read_trainer

__all__ = ["AXES", "MOST_PINS", "Setting", "View"]

AXES = ("tradeoff", "alpha", "lam", "delta", "sigma")
"""What the panel of fixed points may run over."""
MOST_PINS = 6
"""Curves kept for comparison at most, so that a page stays bounded."""
DEEPEST = 10
"""Layers at most."""
MOST_STEPS = 400
"""Steps of a discrete trainer at most."""
LARGEST = 1e7
"""Entries of a data matrix at most."""
LONGEST = 400
"""Characters of the text of a prior at most."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """One problem, how it is trained, for how long, how accurately, and beside which finite networks."""

    alpha: float = 0.5
    lam: float = 0.0
    delta: float = 0.5
    sigma: float = 0.1
    prior: str = "bernoulli:0.1"
    depth: int = 2
    t_max: float = 100.0
    step: float | None = None
    tol: float = 3e-3
    d: int | None = None
    seeds: int = 10

    def __post_init__(self):
        if len(self.prior) > LONGEST:
            raise InputError(f"prior must have at most {LONGEST} characters, got {len(self.prior)}")
        trainer = self.trainer
        integer("depth", self.net.depth, 2, DEEPEST)
        if self.task.prior.second_moment + self.task.sigma == 0:
            raise InputError("task must have targets or noise: with ρ² + σ² = 0 nothing is learnt")
        end = one_real("t_max", self.t_max, lambda x: (x > 0) & (x <= 1e6), "one number > 0, at most 1e6")
        one_real("tol", self.tol, lambda x: (x >= 1e-4) & (x <= 0.1), "one number from 1e-4 to 0.1")
        if self.step is not None:
            steps = int(trainer.number("t_max", np.array([end]))[0])
            if steps > MOST_STEPS:
                raise InputError(f"t_max must be at most {MOST_STEPS} steps on this page, got {steps}")
        if self.d is not None:
            d = integer("d", self.d, 10, 5000)
            integer("seeds", self.seeds, 1, 50)
            if self.delta * d * d > LARGEST:
                most = int(np.sqrt(LARGEST / self.delta))
                raise InputError(f"d must be at most {most} on this page for delta={self.delta:g}, got {d}")

    @cached_property
    def task(self) -> Task:
        """Its task."""
        return Task(self.delta, self.sigma, read_prior(self.prior, files=False))

    @cached_property
    def net(self) -> DiagonalNetwork:
        """Its network."""
        return DiagonalNetwork(self.alpha, self.lam, self.depth)

    @cached_property
    def trainer(self) -> Any:
        """Its trainer."""
        return read_trainer(self.step, None, None)

    @property
    def alone(self) -> "Setting":
        """The same without finite networks."""
        return dataclasses.replace(self, d=None, seeds=Setting.seeds)

    def texts(self) -> dict[str, str]:
        """Every field that is set, as text; numbers exactly."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.d is None:
            del values["seeds"]
        return {name: plain(value) for name, value in values.items() if value is not None}

    def changed(self, **texts: str) -> "Setting":
        """The setting with some fields read from text; an empty text means none. InputError as ever."""
        values = {}
        for name, text in texts.items():
            if name not in KINDS:
                raise InputError(f"a link may set {', '.join(KINDS)}, got {name!r}")
            values[name] = read(name, text.strip())
        return dataclasses.replace(self, **values)

    def query(self) -> str:
        """The setting as the query of a link."""
        return urlencode(self.texts(), safe=":@,")

    def kind(self) -> tuple[Any, ...]:
        """What compiled code depends on: settings of one kind share it."""
        parts = len(self.task.prior.components.weight)
        return (self.depth, parts, self.lam > 0, self.delta > 1, self.step is not None)

    def label(self, than: "Setting | None" = None) -> str:
        """The numbers, or those that differ from another setting."""
        texts, other = self.alone.texts(), {} if than is None else than.alone.texts()
        texts.pop("tol")
        told = [f"{NAMES.get(k, k)} = {v}" for k, v in texts.items() if other.get(k) != v]
        return ", ".join(told) or "the same"


KINDS = {field.name: field.type for field in dataclasses.fields(Setting)}
"""Fields of a setting, and what they hold."""
NAMES = SYMBOLS | {"t_max": "T", "depth": "L"}


def plain(value: float | int | str) -> str:
    """A value as short text from which it can be read back exactly."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def read(name: str, text: str) -> Any:
    """The value of a field from its text."""
    if name == "prior":
        return text
    if name in ("step", "d") and text == "":
        return None
    value = number(name, text)
    if name in ("depth", "d", "seeds"):
        if value != np.floor(value) or not np.isfinite(value):
            raise InputError(f"{name} must be a whole number, got {text!r}")
        return int(value)
    return value


def parts(query: str) -> list[tuple[str, str]]:
    """Names and values of a query."""
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=40, errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise InputError("a link must be a query of at most 40 names and values") from None


def alone(pairs: list[tuple[str, str]]) -> Setting:
    """The setting that names and values describe."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f"a link may set each of its names once, got {', '.join(names)}")
    return Setting().changed(**dict(pairs))


class View(NamedTuple):
    """The present setting, the pinned ones, what fixed points run over, and when weights are looked at."""

    setting: Setting = Setting()
    pins: tuple[Setting, ...] = ()
    axis: str = AXES[0]
    at: float = 1.0
    """Time of the histogram as a share of the logarithmic axis."""

    def query(self) -> str:
        """The view as the query of a link."""
        more = [("axis", self.axis), ("at", plain(self.at))] + [("pin", pin.query()) for pin in self.pins]
        return f"{self.setting.query()}&{urlencode(more)}"

    @classmethod
    def read(cls, query: str) -> "View":
        """The view that a link describes, or InputError saying what is wrong with it."""
        pairs = parts(query)
        own = [(name, text) for name, text in pairs if name not in ("pin", "axis", "at")]
        pins = [alone(parts(text)) for name, text in pairs if name == "pin"]
        if len(pins) > MOST_PINS:
            raise InputError(f"a link may have at most {MOST_PINS} pins, got {len(pins)}")
        axis = dict(pairs).get("axis", AXES[0])
        if axis not in AXES:
            raise InputError(f"axis must be one of {', '.join(AXES)}, got {axis!r}")
        at = number("at", dict(pairs).get("at", "1"))
        one_real("at", at, lambda x: (x >= 0) & (x <= 1), "one number from 0 to 1")
        return cls(alone(own), tuple(pins), axis, at)
