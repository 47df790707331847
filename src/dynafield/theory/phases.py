r"""Which stages training goes through, by the closed forms that hold in each.

Two sizes decide. One is the scale \(\frac{2}{L}\alpha^Le^{-\lambda Lt/2}\) below which a weight moves like
that of a linear model; the other is the size of the targets that carry the signal. If the first is much
the larger, training is lazy until weight decay has brought it down; if it is much the smaller, training has
to search first.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import one_real
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.theory.closed_forms import search, small_composite
from dynafield.theory.fields import FieldLaw
from dynafield.theory.lazy import lazy_curves

__all__ = ["Measure", "Phases", "Stage", "predicted", "single"]

LARGE = 0.25
"""α is large if the targets are at most this part of the scale; a plateau ends when they are."""
SMALL = 0.05
"""α is small if the scale is at most this part of the targets."""
FITTED = 0.01
"""The lazy phase ends when the training error is so near to its limit, in units of E(0)."""
FOUND = 0.1
"""The search ends when the root mean square of w is this part of (ρ² + σ²)^½."""
SLOWEST = 0.9
"""The descent ends when this share of the true coordinates that grow at all is active."""
FORGOTTEN = 6.0
"""Grokking ends when what the lazy phase has learnt has decayed by e to this power."""


class Stage(NamedTuple):
    """A stage of training: from `start` to `end` the formula with this label in docs/theory.md holds."""

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
    """A time or value read off a solved curve, with its error bar."""

    name: str
    value: float
    low: float
    high: float
    meaning: str


@dataclasses.dataclass(frozen=True)
class Phases:
    """The stages of one problem, in order, and what was measured on its curve."""

    task: Task
    net: DiagonalNetwork
    regime: str
    stages: tuple[Stage, ...]
    measured: tuple[Measure, ...] = ()

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
        """The stage at time t."""
        t = one_real("t", t, lambda x: x >= 0, "a time ≥ 0")
        return next(stage for stage in self.stages if t < stage.end or stage is self.stages[-1])

    @property
    def horizon(self) -> float:
        """A time by which all stages are seen."""
        last = self.stages[-1]
        if last.start == 0:
            return 100.0
        return last.start * (100.0 if last.name == "plateau" else 2.0)

    def __repr__(self) -> str:
        told = f"δ={self.task.delta:g} σ={self.task.sigma:g} {self.task.prior}, {self.net}"
        lines = [f"Phases: {self.regime}, {told}"]
        for s in self.stages:
            lines.append(f"  {s.name:<10} {s.start:>10.4g} to {s.end:<10.4g} {s.formula}  [{s.label}]")
            lines.append(f"  {'':<10} {'':>24} validity {s.validity:.3g}: {s.compares}")
        for m in self.measured:
            lines.append(f"  {m.name:<20} {m.value:>10.5g}  ({m.low:.5g} to {m.high:.5g})  {m.meaning}")
        return "\n".join(lines)


def single(task: Any, net: Any) -> tuple[Task, DiagonalNetwork]:
    """Task and network of one problem, in plain numbers, or InputError."""
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, or the Curves of a solved one, got {type(task).__name__}")
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    delta = one_real("delta", task.delta, lambda x: x > 0, "one number > 0")
    sigma = one_real("sigma", task.sigma, lambda x: x >= 0, "one number ≥ 0")
    alpha = one_real("alpha", net.alpha, lambda x: x > 0, "one number > 0")
    lam = one_real("lam", net.lam, lambda x: x >= 0, "one number ≥ 0")
    if task.prior.second_moment + sigma == 0:
        raise InputError("task must have targets or noise: with ρ² + σ² = 0 nothing is learnt")
    return Task(delta, sigma, task.prior), DiagonalNetwork(alpha, lam, net.depth)


def predicted(task: Any, net: Any) -> Phases:
    """The stages by closed forms alone; one named crossover where none of them holds."""
    task, net = single(task, net)
    size, scale = target_size(task), 2 / net.depth * net.alpha**net.depth
    if size / scale <= LARGE:
        return large_stages(task, net, size, scale)
    if scale / size <= SMALL and net.alpha < 1:
        return small_stages(task, net, scale / size)
    return crossover(task, net, f"the scale of linear motion is {scale / size:.2g} times that of the targets")


def target_size(task: Task) -> float:
    r"""\((E[w^{*4}]/E[w^{*2}])^{1/2}\), the size of the entries that carry the signal, or of noise alone."""
    weight, m, s = task.prior.components
    power = task.prior.second_moment
    if power == 0:
        return float(task.sigma / np.sqrt(task.delta))
    return float(np.sqrt(np.sum(weight * (m**4 + 6 * m**2 * s**2 + 3 * s**4)) / power))


def crossover(task: Task, net: DiagonalNetwork, why: str) -> Phases:
    """No phase is there: the exact equations are all there is."""
    stage = Stage("crossover", 0.0, np.inf, "none: follow `solve`", "eq:dmft_dln", np.nan, why)
    return Phases(task, net, "between the limits", (stage,))


def large_stages(task: Task, net: DiagonalNetwork, size: float, scale: float) -> Phases:
    """Lazy, plateau, grokking, rich."""
    lam, depth = net.lam, net.depth
    fitted = fitting_time(task, net)
    linear = "size of the targets / scale of linear motion"
    lazy = Stage(
        "lazy", 0.0, fitted, "Marchenko–Pastur averages of exp(-α^(2L-2) x t)", "eq:lazy_sol",
        max(size / scale, lam * fitted), f"{linear}, or λt at its end",
    )  # fmt: skip
    if lam == 0:
        rest = Stage(
            "plateau", fitted, np.inf, "limit of the linear model", "eq:lazy_sol", size / scale, linear
        )
        return Phases(task, net, "large α", (lazy, rest))

    def when(ratio: float) -> float:  # size/scale(t) = ratio
        return 2 / (lam * depth) * np.log(scale * ratio / size)

    begin, over = when(LARGE), when(1.0) + FORGOTTEN * 2 / (lam * depth)
    if begin <= fitted or lam * fitted > LARGE:
        return crossover(task, net, f"weight decay is felt before the data are fitted, at t = {fitted:.3g}")
    middle = 0.5 * (fitted + begin)
    ratio = size / (scale * np.exp(-0.5 * lam * depth * middle))
    plateau = Stage(
        "plateau",
        fitted,
        begin,
        "limit of the linear model",
        "eq:lazy_sol",
        ratio,
        f"{linear}, in its middle",
    )
    grokking = Stage(
        "grokking", begin, over, "step at 2 log(α)/λ + a shift independent of α", "eq:grokking_time",
        1 / (2 * np.log(net.alpha)), "width 1/λ of the step / its time 2 log(α)/λ",
    )  # fmt: skip
    left = scale * np.exp(-0.5 * lam * depth * over) / size
    rich = Stage(
        "rich", over, np.inf, *ending(task, net), left, "scale of linear motion / size of the targets"
    )
    return Phases(task, net, "large α", (lazy, plateau, grokking, rich))


def fitting_time(task: Task, net: DiagonalNetwork) -> float:
    """When the lazy training error is within FITTED of its limit."""
    unit = net.alpha ** (2 - 2 * net.depth)
    low, high = 0.0, 1e10
    first = task.prior.second_moment + task.sigma**2
    limit = max(0.0, 1 - 1 / task.delta) * task.sigma**2
    for _ in range(100):
        middle = np.sqrt(max(low, 1e-6) * high)
        error = lazy_curves(task, DiagonalNetwork(1.0, depth=net.depth), [middle]).train_error[0]
        low, high = (middle, high) if error - limit > FITTED * first else (low, middle)
    return float(high * unit)


def ending(task: Task, net: DiagonalNetwork) -> tuple[str, str]:
    """Formula and label of the end of training."""
    if net.lam > 0:
        soft = ("minimizer with the ℓ1 penalty λ", "eq:fix_case1")
        return soft if net.depth == 2 else ("no closed form: the end depends on the path", "eq:mirror")
    if task.delta > 1:
        return "least squares", "eq:fix_case2"
    return "interpolation of least potential", "eq:fix_case3"


def small_stages(task: Task, net: DiagonalNetwork, ratio: float) -> Phases:
    """Search, descent, rich."""
    power = task.prior.second_moment + task.sigma**2
    law = FieldLaw(task.prior.components, float(np.sqrt(power / task.delta)), net)
    growth = "exp(-λLt/2) h(field × time felt); depth 2: α² exp(-λt) sinh((w* - z(0)/δ) t)"
    found = finding_time(law, power)
    search = Stage(
        "search", 0.0, found, growth, "eq:search_sol", ratio, "scale of linear motion / size of the targets"
    )
    if not np.isfinite(found):
        return Phases(task, net, "small α", (search,))
    over = max(law.activation_quantile(SLOWEST, True if law.true.any() else None), found)
    waiting = (
        ("|∫g| - λt = 2 log(1/α)", "eq:activation", 1 / (2 * np.log(1 / net.alpha)))
        if net.depth == 2
        else ("∫exp(-λ(L-2)s/2)|g|ds = 2α^(2-L)/(L-2)", "eq:activation_deep", net.alpha ** (net.depth - 2))
    )
    descent = Stage("descent", found, over, *waiting, "duration of a jump / time before it")
    rich = Stage(
        "rich", over, np.inf, *ending(task, net), ratio, "scale of linear motion / size of the targets"
    )
    return Phases(task, net, "small α", (search, descent, rich))


def finding_time(law: FieldLaw, power: float) -> float:
    """When the weights that grow in the fields of t = 0 begin to count; infinite if they never do."""
    path = small_composite if law.net.depth == 2 else search
    t = law.activation_time(np.array(law.level(1e-6))) * np.geomspace(1e-3, 1e6, 2000)
    if not np.isfinite(t[-1]):
        return np.inf
    x = np.linspace(0, np.max(np.abs(law.fields.mean) + 8 * law.fields.std), 800)
    w = path(x[:, None], law.net, t)
    w = np.where(np.isnan(w), x[:, None], np.minimum(w, x[:, None]))  # beyond the jump of a deep network
    square = np.zeros(len(t))
    for weight, mean, std in zip(*law.fields, strict=True):
        rule = np.exp(-0.5 * ((x - mean) / std) ** 2) + np.exp(-0.5 * ((x + mean) / std) ** 2)
        square += weight * rule @ w**2 / np.sum(rule)
    counted = np.flatnonzero(square >= FOUND**2 * power)
    return float(t[counted[0]]) if len(counted) else np.inf
