r"""Which stages training goes through, by the closed forms that hold in each.

Two sizes decide. One is the scale \(\frac{2}{L}\alpha^Le^{-\lambda Lt/2}\) below which a weight moves like
that of a linear model; the other is the size of the targets that carry the signal. If the first is much
the larger, training is lazy until weight decay has brought it down; if it is much the smaller, training has
to search first.
"""

import dataclasses
from typing import Any

import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import one_real
from dynafield.problem.flows import SavedFlow
from dynafield.problem.model import Model
from dynafield.problem.models import NetworkFlow
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.problem.spectra import FINENESS, JointLaw
from dynafield.problem.task import Task
from dynafield.problem.trainers import check_features
from dynafield.theory.fields import FieldLaw, field_law
from dynafield.theory.lazy import lazy_errors, lazy_size
from dynafield.theory.phases_record import GroupTime, Phases, Stage
from dynafield.theory.silverstein import half_time

__all__ = ["STAGES", "groups_of", "predicted", "target_size"]

STAGES = ("lazy", "plateau", "grokking", "rich", "search", "descent", "crossover")
"""Names of all stages there are."""

LARGE = 0.25
"""α is large if the targets are at most this part of the scale; a plateau ends when they are."""
SMALL = 0.05
"""α is small if the scale is at most this part of the targets."""
FITTED = 0.01
"""The lazy phase ends when the training error has lost all but this part of what it can lose."""
FOUND = 0.1
"""The search ends when the root mean square of w is this part of (ρ² + σ²)^½."""
SLOWEST = 0.9
"""The descent ends when this fraction of the true coordinates that grow at all is active."""
MOST_GROUPS = 6
"""Times of groups are listed one by one up to so many."""
FORGOTTEN = 6.0
"""Grokking ends when what the lazy phase has learnt has decayed by e to this power."""


def one_task(task: Any) -> Task:
    """The task of one problem, in plain numbers, or InputError."""
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, or the Curves of a solved one, got {type(task).__name__}")
    delta = one_real("delta", task.delta, lambda x: x > 0, "one number > 0")
    sigma = one_real("sigma", task.sigma, lambda x: x >= 0, "one number ≥ 0")
    return task.at(delta, sigma)


def single(task: Any, net: Any) -> tuple[Task, DiagonalNetwork]:
    """Task and network of one problem, in plain numbers, or InputError."""
    task = one_task(task)
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    check_features(task, net)
    alpha = one_real("alpha", net.alpha, lambda x: x > 0, "one number > 0")
    lam = one_real("lam", net.lam, lambda x: x >= 0, "one number ≥ 0")
    if task.signal + task.sigma == 0:
        raise InputError("task must have targets or noise: with ρ² + σ² = 0 nothing is learnt")
    return task, DiagonalNetwork(alpha, lam, net.depth)


def predicted(task: Any, net: Any) -> Phases:
    """The stages by closed forms alone; one named crossover where none of them holds."""
    if isinstance(net, NetworkFlow):
        net = net.net
    if isinstance(net, Model | SavedFlow) and not isinstance(net, Network):
        return crossover(one_task(task), net, "closed forms are of diagonal networks", "eq:flow_general")
    task, net = single(task, net)
    scale, targets = 2 / net.depth * net.alpha**net.depth, target_size(task)
    learnt = max(targets, lazy_size(task))
    if learnt / scale <= LARGE:
        found = large_stages(task, net, learnt, scale)
        return dataclasses.replace(found, groups=lazy_groups(task, net))
    if scale / targets > SMALL:
        ratio = f"the scale of linear motion is {scale / learnt:.2g} times the weights"
        return crossover(task, net, ratio if np.isfinite(learnt) else "at δ = 1 noise has no lazy limit")
    if net.alpha >= 1:
        return crossover(task, net, "α is small beside the targets, but not below one: rescale the targets")
    found = small_stages(task, net, scale / targets)
    return dataclasses.replace(found, groups=search_groups(task, net))


def groups_of(task: Task) -> list[tuple[float, float]]:
    """Variances and fractions of groups, the largest first; of many groups, those at three quantiles.

    None if all variances are one.
    """
    if task.spectrum is None:
        return []
    law = task.law
    values, which = np.unique(np.round(np.asarray(law.variance, float), 12), return_inverse=True)
    shares = np.bincount(which, law.weight)
    if len(values) > MOST_GROUPS:
        ends = np.cumsum(shares)
        values = values[[int(np.searchsorted(ends, q)) for q in (0.01, 0.5, 0.99)]]
        shares = np.full(3, np.nan)
    return list(zip(values[::-1].tolist(), shares[::-1].tolist(), strict=True))


def lazy_groups(task: Task, net: DiagonalNetwork) -> tuple[GroupTime, ...]:
    """When a linear model has learnt half of what it will learn of a group's targets [eq:group_times]."""
    told = "half of what the lazy phase learns of their targets is learnt"
    slope = net.alpha ** (2 * net.depth - 2)
    law, delta = task.law_at(FINENESS[-1]), float(task.delta)
    return tuple(
        GroupTime(variance, share, half_time(law, delta, variance) / slope, told)
        for variance, share in groups_of(task)
    )


def search_groups(task: Task, net: DiagonalNetwork) -> tuple[GroupTime, ...]:
    """When half of the true coordinates of a group are active, if fields stayed as they are."""
    whole, found = field_law(task, net), []
    for variance, share in groups_of(task):
        near = np.isclose(whole.prior.variance, variance, rtol=1e-9)
        part = whole.prior._replace(weight=np.where(near, whole.prior.weight, 0.0))
        law = dataclasses.replace(whole, prior=JointLaw(*(x[near] for x in part)))
        if law.true.any():
            time, told = (
                law.activation_quantile(0.5, True),
                "half of their true coordinates that grow are active",
            )
            found.append(GroupTime(variance, share, time, told))
    return tuple(found)


def target_size(task: Task) -> float:
    r"""\((E[s\,w^{*4}]/E[s\,w^{*2}])^{1/2}\), s the variance of the feature: the size of the entries that
    carry the signal, or of noise alone."""
    weight, m, b, variance = task.law
    power = task.signal
    if power == 0:
        return float(task.sigma / np.sqrt(task.delta * np.sum(weight * variance)))
    fourth = m**4 + 6 * m**2 * b**2 + 3 * b**4
    return float(np.sqrt(np.sum(weight * variance * fourth) / power))


def crossover(task: Task, net: Any, why: str, label: str = "eq:dmft_dln") -> Phases:
    """One stage for a problem without phases: only the exact equations hold."""
    stage = Stage("crossover", 0.0, np.inf, "no closed form: solve gives the curve", label, np.nan, why)
    return Phases(task, net, "between the limits", (stage,))


def large_stages(task: Task, net: DiagonalNetwork, size: float, scale: float) -> Phases:
    """The stages of large α: lazy, plateau, grokking, rich."""
    lam, depth, fitted = net.lam, net.depth, fitting_time(task, net)
    linear = "size of the weights / scale of linear motion"
    lazy = Stage(
        "lazy", 0.0, fitted, "Marchenko–Pastur averages of exp(-α^(2L-2) x t)", "eq:lazy_sol",
        max(size / scale, lam * fitted), f"{linear}, or λt at its end",
    )  # fmt: skip
    flat = "limit of the linear model", "eq:lazy_sol"
    if lam == 0:
        rest = Stage("plateau", fitted, np.inf, *flat, size / scale, linear)
        return Phases(task, net, "large α", (lazy, rest))

    def when(ratio: float) -> float:  # size/scale(t) = ratio
        return float(2 / (lam * depth) * np.log(scale * ratio / size))

    begin, meeting = when(LARGE), when(1.0)
    if begin <= fitted or lam * fitted > LARGE:
        return crossover(task, net, f"weight decay is felt before the data are fitted, at t = {fitted:.3g}")
    over = meeting + FORGOTTEN * 2 / (lam * depth)
    middle = 0.5 * (fitted + begin)
    ratio = float(size / (scale * np.exp(-0.5 * lam * depth * middle)))
    plateau = Stage("plateau", fitted, begin, *flat, ratio, f"{linear}, in its middle")
    grokking = Stage(
        "grokking", begin, over, "step at 2 log(α)/λ + a shift independent of α", "eq:grokking_time",
        1 / (lam * meeting), "width 1/λ of the step / time at which the scale meets the weights",
    )  # fmt: skip
    rich = Stage(
        "rich", over, np.inf, *ending(task, net), 1 / FORGOTTEN,
        "1/λ / time since the scale met the weights: the limit is approached slowly",
    )  # fmt: skip
    return Phases(task, net, "large α", (lazy, plateau, grokking, rich))


def fitting_time(task: Task, net: DiagonalNetwork) -> float:
    """When the lazy training error has lost all but FITTED of what it can lose."""
    unit = DiagonalNetwork(1.0, depth=net.depth)
    first = task.signal + task.sigma**2
    limit = max(0.0, 1 - 1 / task.delta) * task.sigma**2
    low, high = 1e-8, 1e12
    for _ in range(100):
        middle = np.sqrt(low * high)
        error = lazy_errors(task, unit, np.array([middle]))[0][0]
        low, high = (middle, high) if error - limit > FITTED * (first - limit) else (low, middle)
    return float(high * net.alpha ** (2 - 2 * net.depth))


def ending(task: Task, net: DiagonalNetwork) -> tuple[str, str]:
    """Formula and label of the limit of training."""
    if net.lam > 0:
        soft = ("minimizer with the ℓ1 penalty λ", "eq:fix_case1")
        return soft if net.depth == 2 else ("no closed form: the limit depends on the path", "eq:mirror")
    if task.delta > 1:
        return "least squares", "eq:fix_case2"
    return "interpolation of least potential", "eq:fix_case3"


def small_stages(task: Task, net: DiagonalNetwork, ratio: float) -> Phases:
    """The stages of small α: search, descent, rich."""
    law = field_law(task, net)
    growth = "exp(-λLt/2) h(field × time felt); depth 2: α² exp(-λt) sinh((w* - z(0)/δ) t)"
    found = finding_time(law, task.signal + task.sigma**2)
    searching = Stage(
        "search", 0.0, found, growth, "eq:search_sol", ratio, "scale of linear motion / size of the targets"
    )
    if not np.isfinite(found):
        return Phases(task, net, "small α", (searching,))
    over = max(law.activation_quantile(SLOWEST, True if law.true.any() else None), found)
    waiting = (
        ("|∫g| - λt = 2 log(1/α)", "eq:activation", float(1 / (2 * np.log(1 / net.alpha))))
        if net.depth == 2
        else ("∫exp(-λ(L-2)s/2)|g|ds = 2α^(2-L)/(L-2)", "eq:activation_deep", net.alpha ** (net.depth - 2))
    )
    descent = Stage("descent", found, over, *waiting, "duration of a jump / time before it")
    left = "fraction of coordinates still to jump"
    rich = Stage("rich", over, np.inf, *ending(task, net), 1 - SLOWEST, left)
    return Phases(task, net, "small α", (searching, descent, rich))


def finding_time(law: FieldLaw, power: float) -> float:
    """When the weights that grow in the fields of t = 0 begin to count; infinite if they never do."""
    first = float(law.activation_time(np.array(law.level(1e-6))))
    if not np.isfinite(first):
        return np.inf
    low, high = 1e-3 * first, 1e6 * first
    for _ in range(2):  # first among times a fifth apart, then in fine steps between two of them
        t = np.geomspace(low, high, 120)
        counted = np.flatnonzero(law.moments(law.path, t)[0] >= FOUND**2 * power)
        if not len(counted):
            return np.inf
        low, high = float(t[max(counted[0] - 1, 0)]), float(t[counted[0]])
    return high
