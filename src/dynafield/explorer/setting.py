"""What the page shows, as plain data: the numbers of one problem, and a view of several.

These classes know their own texts in links and labels. Texts are read and checked in `rules`, which imports
the library; this module does not, so that the first page can be shown without waiting for it.
"""

import dataclasses
from typing import NamedTuple
from urllib.parse import urlencode

from dynafield.figures.style import SYMBOLS

__all__ = ["AXES", "KERNELS", "MOST_PINS", "MOST_STEPS", "SCALES", "TRAINERS", "Setting", "View", "plain"]

AXES = {
    "tradeoff": "convergence rate γ (no weight decay)",
    "alpha": "initial scale α",
    "lam": "weight decay λ",
    "delta": "samples per dimension δ",
    "sigma": "label noise σ",
}
"""Horizontal axes of the panel of fixed points."""
KERNELS = {
    "C_w": "errors of weights, C_w(t, s)",
    "C_f": "residuals, C_f(t, s)",
    "R_w": "response of weights, R_w(t, s)",
    "R_f": "response of residuals, R_f(t, s)",
}
"""Two-time kernels that can be shown as a heat map."""
SCALES = {"log": "logarithmic", "linear": "linear"}
"""Scales of the error axis."""
TRAINERS = {
    "flow": "gradient flow",
    "descent": "gradient descent",
    "momentum": "heavy ball (momentum)",
    "batches": "SGD (mini-batches)",
    "both": "SGD with momentum",
}
"""Ways to train."""
STARTS = {"step": 0.1, "momentum": 0.9, "batch_fraction": 0.5}
"""Values with which a trainer begins when it is chosen."""
FIRST_STEPS = 200
"""Steps at most when a trainer in steps is chosen."""
MOST_STEPS = 400
"""Steps at most."""
MOST_PINS = 6
"""Curves kept for comparison at most, so that a page stays bounded."""
SPARSE = ("bernoulli", "gauss-bernoulli")
"""Priors whose first number is the fraction of targets that are not zero."""


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
    runs: int = 10
    spectrum: str | None = None
    momentum: float | None = None
    batch_fraction: float | None = None

    @property
    def sparsity(self) -> float | None:
        """The fraction of targets that are not zero, for priors that have one."""
        name, numbers = self.prior_parts()
        return float(numbers[0]) if name in SPARSE else None

    def with_sparsity(self, text: str) -> str:
        """Text of the prior with another fraction of targets that are not zero."""
        name, numbers = self.prior_parts()
        return f"{name}:{','.join([text.strip() or '?', *numbers[1:]])}"

    def prior_parts(self) -> tuple[str, list[str]]:
        """Name and numbers of the prior."""
        name, _, numbers = self.prior.partition(":")
        return name, [text for text in numbers.split(",") if text]

    @property
    def way(self) -> str:
        """How it is trained: a key of `TRAINERS`."""
        if self.step is None:
            return "flow"
        inertia, batches = self.momentum is not None, self.batch_fraction is not None
        return {(False, False): "descent", (True, False): "momentum", (False, True): "batches"}.get(
            (inertia, batches), "both"
        )

    def trained_by(self, way: str) -> "Setting":
        """The same problem trained in another way; numbers that are not set yet get their first values."""
        steps, inertia, batches = way != "flow", way in ("momentum", "both"), way in ("batches", "both")
        step, momentum, fraction = (
            (STARTS[name] if getattr(self, name) is None else getattr(self, name)) if wanted else None
            for name, wanted in (("step", steps), ("momentum", inertia), ("batch_fraction", batches))
        )
        new = dataclasses.replace(self, step=step, momentum=momentum, batch_fraction=fraction)
        return new if self.step is not None else new.in_whole_steps(FIRST_STEPS)

    def in_whole_steps(self, most: int = MOST_STEPS) -> "Setting":
        """The same with the nearest training time that is a whole number of steps, `most` at most."""
        if self.step is None:
            return self
        count = max(1, min(round(self.t_max / self.step), most))
        return dataclasses.replace(self, t_max=float(f"{count * self.step:.12g}"))

    @property
    def alone(self) -> "Setting":
        """The same without finite networks."""
        return dataclasses.replace(self, d=None, runs=Setting.runs)

    def texts(self) -> dict[str, str]:
        """Every field that is set, as text; numbers exactly."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.d is None:
            del values["runs"]
        return {name: plain(value) for name, value in values.items() if value is not None}

    def differs(self, other: "Setting") -> set[str]:
        """Names of the fields in which two settings differ, also those that are set in one of them only."""
        return {name for name, _ in self.texts().items() ^ other.texts().items()}

    def query(self) -> str:
        """The setting as the query of a link."""
        return urlencode(self.texts(), safe=":@,")

    @property
    def decisive(self) -> str:
        """The number that decides the limit of training: α without weight decay, λ with it."""
        return "lam" if self.lam > 0 else "alpha"

    def question(self) -> tuple[object, ...]:
        """Everything that the best value of that number depends on."""
        way = "flow" if self.way == "flow" else "steps" if self.batch_fraction is None else "batches"
        return (self.decisive, self.delta, self.sigma, self.prior, self.spectrum, self.depth, way)

    def label(self, than: "Setting | None" = None) -> str:
        """All numbers, or those that differ from another setting, as text for a legend."""
        texts, other = self.alone.texts(), {} if than is None else than.alone.texts()
        texts.pop("tol")
        told = [f"{NAMES.get(k, k)} = {v}" for k, v in texts.items() if other.get(k) != v]
        return ", ".join(told) or "the same"


NAMES = SYMBOLS | {"t_max": "T", "depth": "L", "batch_fraction": "batch"}
"""Short names of fields in legends."""


def plain(value: float | int | str) -> str:
    """A value as short text from which it can be read back exactly."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


class View(NamedTuple):
    """The present setting, the pinned ones, and what the pictures show of them."""

    setting: Setting = Setting()
    pins: tuple[Setting, ...] = ()
    axis: str = "tradeoff"
    """Horizontal axis of the panel of fixed points: a key of `AXES`."""
    at: float = 1.0
    """Time of the histogram, from 0 to 1 along the logarithmic time axis."""
    scale: str = "log"
    """Scale of the error axis: a key of `SCALES`."""
    kernel: str = "C_w"
    """The kernel of the heat map: a key of `KERNELS`."""

    def query(self) -> str:
        """The view as the query of a link."""
        more = [("axis", self.axis), ("at", plain(self.at))]
        more += [("scale", self.scale)] if self.scale != View().scale else []
        more += [("kernel", self.kernel)] if self.kernel != View().kernel else []
        return f"{self.setting.query()}&{urlencode(more + [('pin', pin.query()) for pin in self.pins])}"
