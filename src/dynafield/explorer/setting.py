"""What a tab shows: the numbers of one problem, and a view of several, each with its text in a link.

Everything that comes from a link or a field of the page passes through `Setting.changed`, where `rules` read
and check it; nothing is evaluated and no file is read.
"""

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from dynafield.errors import InputError
from dynafield.figures.style import SYMBOLS

if TYPE_CHECKING:
    from dynafield.problem.networks import DiagonalNetwork
    from dynafield.problem.task import Task

__all__ = ["AXES", "MOST_PINS", "Setting", "View"]

AXES = {
    "tradeoff": "convergence rate γ (no weight decay)",
    "alpha": "initial scale α",
    "lam": "weight decay λ",
    "delta": "samples per dimension δ",
    "sigma": "label noise σ",
}
"""What the panel of fixed points may run over."""
MOST_PINS = 6
"""Curves kept for comparison at most, so that a page stays bounded."""
SPARSE = ("bernoulli", "gauss-bernoulli")
"""Priors with a share of targets that are not zero."""


def rules() -> Any:
    """The rules of the library, which take a second to import: the first page is shown without them."""
    from dynafield.explorer import rules as found

    return found


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
    spectrum: str | None = None

    @cached_property
    def task(self) -> "Task":
        """Its task."""
        return rules().task_of(self)

    @cached_property
    def net(self) -> "DiagonalNetwork":
        """Its network."""
        return rules().network_of(self)

    @cached_property
    def trainer(self) -> Any:
        """Its trainer."""
        return rules().trainer_of(self)

    @property
    def sparsity(self) -> float | None:
        """The share of targets that are not zero, for priors that have one."""
        name, numbers = self.prior_parts()
        return float(numbers[0]) if name in SPARSE else None

    def with_sparsity(self, text: str) -> str:
        """Text of the prior with another share."""
        name, numbers = self.prior_parts()
        return f"{name}:{','.join([text.strip() or '?', *numbers[1:]])}"

    def prior_parts(self) -> tuple[str, list[str]]:
        """Its name and its numbers."""
        name, _, numbers = self.prior.partition(":")
        return name, [text for text in numbers.split(",") if text]

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

    def differs(self, other: "Setting") -> set[str]:
        """Names of the fields in which another setting differs; one that is no longer set is one of them."""
        return {name for name, _ in self.texts().items() ^ other.texts().items()}

    def changed(self, **texts: str) -> "Setting":
        """The setting with some fields read from text; an empty text means none. InputError as ever."""
        values = {}
        for name, text in texts.items():
            if name not in KINDS:
                raise InputError(f"a link may set {', '.join(KINDS)}, got {name!r}")
            values[name] = rules().read(name, text.strip())
        new = dataclasses.replace(self, **values)
        rules().check(new)
        return new

    def query(self) -> str:
        """The setting as the query of a link."""
        return urlencode(self.texts(), safe=":@,")

    def kind(self) -> tuple[Any, ...]:
        """What compiled code depends on: settings of one kind share it."""
        atoms = len(self.task.law.weight)
        return (self.depth, atoms, self.lam > 0, self.delta > 1, self.step is not None)

    @property
    def decisive(self) -> str:
        """The number that decides where training ends: α without weight decay, λ with it."""
        return "lam" if self.lam > 0 else "alpha"

    def question(self) -> tuple[Any, ...]:
        """What the best value of that number depends on."""
        return (self.decisive, self.delta, self.sigma, self.prior, self.spectrum, self.depth)

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


def parts(query: str) -> list[tuple[str, str]]:
    """Names and values of a query."""
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=40, errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise InputError("a link must be a query of at most 40 names and values") from None


def setting_of(pairs: list[tuple[str, str]]) -> Setting:
    """The setting that names and values describe."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f"a link may set each of its names once, got {', '.join(names)}")
    return Setting().changed(**dict(pairs))


class View(NamedTuple):
    """The present setting, the pinned ones, what fixed points run over, and when weights are looked at."""

    setting: Setting = Setting()
    pins: tuple[Setting, ...] = ()
    axis: str = "tradeoff"
    at: float = 1.0
    """Time of the histogram as a share of the logarithmic axis."""

    def query(self) -> str:
        """The view as the query of a link."""
        more = [("axis", self.axis), ("at", plain(self.at))] + [("pin", pin.query()) for pin in self.pins]
        return f"{self.setting.query()}&{urlencode(more)}"

    @classmethod
    def read(cls, query: str) -> "View":
        """The view that a link describes, or InputError saying what is wrong with it."""
        if not query:
            return cls()
        pairs = parts(query)
        own = [(name, text) for name, text in pairs if name not in ("pin", "axis", "at")]
        pins = [setting_of(parts(text)) for name, text in pairs if name == "pin"]
        if len(pins) > MOST_PINS:
            raise InputError(f"a link may have at most {MOST_PINS} pins, got {len(pins)}")
        axis = dict(pairs).get("axis", cls().axis)
        if axis not in AXES:
            raise InputError(f"axis must be one of {', '.join(AXES)}, got {axis!r}")
        at = rules().read_share("at", dict(pairs).get("at", "1"))
        return cls(setting_of(own), tuple(pins), axis, at)
