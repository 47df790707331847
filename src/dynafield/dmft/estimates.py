"""Curves from replicas, each with an error bar: sampling, time step, unfinished sweeps, dropped directions,
and bias of a sample."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.ensemble import Ensemble, Replica
from dynafield.dmft.grid import FAINT, defects
from dynafield.dmft.preparation import Order, Problem
from dynafield.dmft.rules import TimeRule
from dynafield.problem.model import MEASURES, Model

__all__ = [
    "COARSER",
    "LIKELY",
    "SIGNIFICANT",
    "TIME_SHARE",
    "Estimate",
    "Parts",
    "add_bias",
    "biased",
    "curves_of",
    "dropping",
    "estimate",
    "largest",
    "long_blocks",
    "missed_by",
    "named_curves",
    "shortfall",
]

FEW = 4
"""Fewer replicas may agree at one time by chance: the largest scatter so far stands for theirs, times
CAUTION, with which 95 % of the times of eight problems were within two of these errors of the exact curve."""
CAUTION = 2.5
GROWTH = 1.5
"""Power of what is dropped in the error that it makes: 1.6 to 2 was found in three problems."""
COARSER = 4.0
"""Factor of what is dropped in a replica of the pilot that is solved twice."""
TIME_SHARE = 0.2
"""Fraction of the tolerance that the error in time of one block may use; later times are left with it."""
SAMPLE_SHARE = 0.4
"""Largest standard error, as a fraction of the tolerance."""
DROPPED_SHARE = 0.2
"""Largest error by dropped directions, as a fraction of the tolerance."""
NEARBY = 6
"""Nodes on both sides over which chance is judged."""
SIGNIFICANT = 2.0
"""A difference between rounds is bias as far as it exceeds so many of its standard errors."""
LIKELY = 1.0
"""The same where steps have noise of their own, and samples as many directions as steps: it is there."""


class Parts(NamedTuple):
    """What the error bar of a curve is made of, at every node."""

    scatter: Any
    time: Any = 0.0
    sweeps: Any = 0.0
    dropped: Any = 0.0
    bias: Any = 0.0

    @property
    def whole(self) -> np.ndarray:
        """The whole error bar."""
        return np.sqrt(sum(np.square(part) for part in self))


WORDS = Parts(
    "sampling",
    "time steps",
    "unfinished sweeps or forgotten noise",
    "dropped directions",
    "the bias of a sample",
)
"""Where error bars come from, in words."""


@dataclasses.dataclass
class Estimate:
    """Curves of one problem on the nodes by name: means, and the parts of their error bars."""

    value: dict[str, np.ndarray]
    parts: dict[str, Parts]


def curves_of(model: Model, replica: Replica, observed: Any = None) -> dict[str, np.ndarray]:
    """Losses and errors of a replica on all nodes; of sampled data, or by mean squares of affine ones.

    `observed` has losses and errors (time, 4) of affine data on which they had to be observed.
    """
    found = named_curves(replica.on_nodes("curves"))
    for k, name in enumerate(MEASURES):
        if observed is not None and (model.own_loss if name.endswith("loss") else model.own_error):
            found[name] = observed[:, k]
    return found


def named_curves(columns: Float[np.ndarray, "... m"]) -> dict[str, np.ndarray]:
    """Losses and errors as a linear function of the columns that a march records."""
    test, penalty, train = (columns[..., k] for k in range(3))
    found = dict(train_loss=train / 2, train_error=train, test_loss=test / 2, test_error=test)
    if columns.shape[-1] > 3:
        found = {name: columns[..., 3 + k] for k, name in enumerate(MEASURES)}
    return found | {"loss": found["train_error"] / 2 + penalty}


def estimate(
    time: TimeRule, edges: np.ndarray, runs: list[dict[str, np.ndarray]], replicas: list[Replica],
    dropped: dict[str, Any],
) -> Estimate:  # fmt: skip
    """Means over replicas, and their error bars without the bias of a sample."""
    count, value, parts = len(runs), {}, {}
    stepping, sweeping = time_errors(time, edges, replicas[0], runs[0]), sweep_errors(replicas, runs[0])
    for name in runs[0]:
        rows = np.array([one[name] for one in runs])
        value[name] = np.mean(rows, axis=0)
        spread = (
            np.std(rows, axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full(rows.shape[1], np.inf)
        )
        if count < FEW:
            spread = CAUTION * np.maximum.accumulate(spread)
        parts[name] = Parts(spread, stepping.get(name, 0.0), sweeping[name], dropped.get(name, 0.0))
    return Estimate(value, parts)


def time_errors(
    time: TimeRule, edges: np.ndarray, replica: Replica, curves: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Errors in time of the curves on the nodes, zero at t = 0."""
    found = {}
    for name, errors in block_errors(time, edges, replica, curves).items():
        on_nodes = np.concatenate([[0.0], *(part.ravel() for part in errors)])
        found[name] = np.maximum.accumulate(on_nodes)  # weights that no data hold stay where a block put them
        if not name.startswith("test"):  # as residuals of slow directions fall, so do errors of early blocks
            size = np.abs(curves[name]) + FAINT**2 * np.max(np.abs(curves[name]))
            found[name] = np.minimum(found[name], size * np.maximum.accumulate(on_nodes / size))
    return found


def block_errors(
    time: TimeRule, edges: np.ndarray, replica: Replica, curves: dict[str, np.ndarray]
) -> dict[str, list[np.ndarray]]:
    """Errors in time that blocks make, at their nodes, stretch by stretch: the smaller of both estimates.

    Training curves follow from F of the data, test curves from F of the coordinates. Single steps make no
    error.
    """
    places = time.places(edges)
    found: dict[str, list[np.ndarray]] = {}
    for part, start, F in (("train", "start_ell", "F_ell"), ("test", "start_w", "F_w")):
        starts = np.concatenate([getattr(one, start).reshape(len(one.count), -1) for one in replica.later])
        scale = float(np.max(np.linalg.norm(starts, axis=1))) or 1.0
        names = [n for n in curves if n.startswith(part) or (part == "train" and n == "loss")]
        found |= {name: [] for name in names}
        place = 1
        for pages, where in zip(replica.later, places, strict=True):
            blocks, s = where.shape
            absolute = relative = np.zeros((blocks, 1))
            if s > 1:
                rows = getattr(pages, F).reshape(blocks, s, -1)
                first = getattr(pages, start).reshape(blocks, -1)
                absolute, relative = (x[:, None] for x in defects(time, where, first, rows, scale))
            here = slice(place, place + blocks * s)
            for name in names:
                values = np.abs(curves[name])
                error = np.minimum(absolute * np.max(values), relative * values[here].reshape(-1, s))
                found[name].append(error)
            place = here.stop
    return found


def sweep_errors(replicas: list[Replica], curves: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Errors that unfinished sweeps leave [eq:unfinished], and noise that is forgotten [eq:faded_noise].

    Errors of weights add up over time; those of residuals fade.
    """
    left = np.mean([np.concatenate([part.left for part in one.later]) for one in replicas], axis=0)
    nodes = np.concatenate([np.full(len(part.count), part.w.shape[1]) for part in replicas[0].later])
    found = {}
    for name, values in curves.items():
        share = np.cumsum(left[:, 0]) if name.startswith("test") else left[:, 1]
        share = np.concatenate([[0.0], np.repeat(share, nodes)])
        size, most = np.abs(values), np.max(np.abs(values))
        found[name] = (
            2 * share * np.sqrt(size * most) + share**2 * most + forgotten(left, nodes, curves, name)
        )
    return found


def forgotten(left: np.ndarray, nodes: np.ndarray, curves: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Error of the training curve by noise that is forgotten; the test curve has the same error, which
    stays.
    """
    share = np.concatenate([[0.0], np.repeat(left[:, 2], nodes)])
    gone = share * np.abs(curves[name.replace("test", "train")])
    return np.maximum.accumulate(gone) if name.startswith("test") else gone


def dropping(order: Order, known: Ensemble) -> tuple[float, list[dict[str, np.ndarray]]]:
    """What may be dropped in later rounds, and the error that it makes [eq:dropped].

    Errors grow as a power of what is dropped; two replicas of one sample show by how much. If the same normal
    numbers come to stand for other directions, these two differ as any two samples do, and only what is
    beyond that difference decides what may be dropped. Error bars have all of it, as far as it may be.
    """
    epsilon = known.plan.epsilons[0]
    gaps, worst = [], 0.0
    for problem, replicas in zip(order.problems, known.replicas, strict=True):
        fine, coarse = (curves_of(problem.model, replicas[k]) for k in (0, 2))
        other = curves_of(problem.model, replicas[1])
        gap, bar = {}, {}
        for name, values in fine.items():
            difference = np.abs(coarse[name] - values) / (COARSER**GROWTH - 1)
            chance = nearby_largest(np.abs(other[name] - values)) / (COARSER**GROWTH - 1)
            gap[name] = np.maximum(difference - SIGNIFICANT * chance, 0.0)
            size = np.abs(values) + FAINT**2 * np.max(np.abs(values))
            most = DROPPED_SHARE * order.tolerance.allowed(values, unit_of(values, fine, name))
            bar[name] = np.maximum(gap[name], np.minimum(size * nearby_largest(difference / size), most))
        gaps.append(bar)
        for name, values in monitored(order, problem, fine).items():
            allowed = DROPPED_SHARE * order.tolerance.allowed(values, unit_of(values, fine, name))
            worst = max(worst, float(np.max(gap[name] / (allowed + FAINT**2 * np.max(np.abs(values))))))
    factor = 1.0 if order.preview else 1.0 / max(1.0, worst)
    dropped = [{name: factor * bar for name, bar in one.items()} for one in gaps]
    return factor ** (1 / GROWTH) * epsilon, dropped


def nearby_largest(values: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """The largest of the values around each: two samples may agree at one time by chance."""
    wide = np.pad(values, NEARBY, mode="edge")
    return np.max(np.lib.stride_tricks.sliding_window_view(wide, 2 * NEARBY + 1), axis=1)


def monitored(order: Order, problem: Problem, curves: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Curves that the tolerance bounds: errors, and losses where errors may jump with f."""
    own = problem.model.own_error
    names = ("train_loss", "test_loss") if own else ("train_error", "test_error")
    return {name: curves[name] for name in names}


def unit_of(values: np.ndarray, curves: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The unit of a curve's error: the test curve at t = 0, or its own value where it has grown beyond."""
    start = np.abs(curves[name.replace("train", "test")][0])
    return np.maximum(start, np.abs(values))


def shortfall(order: Order, estimates: list[Estimate]) -> float:
    """Largest standard error in units of what sampling may contribute."""
    return largest(order, estimates, lambda parts: parts.scatter) / SAMPLE_SHARE


def biased(order: Order, estimates: list[Estimate]) -> float:
    """Largest bias in units of the tolerance, if it is the main reason why error bars miss the tolerance."""
    worst, part = missed_by(order, estimates)
    return largest(order, estimates, lambda parts: parts.bias) if worst > 1 and part == WORDS.bias else 0.0


def missed_by(order: Order, estimates: list[Estimate]) -> tuple[float, str]:
    """Largest error bar in units of what is allowed, and its largest part in words."""
    sizes = [largest(order, estimates, lambda parts, k=k: parts[k]) for k in range(len(WORDS))]
    return largest(order, estimates, lambda parts: parts.whole), WORDS[int(np.argmax(sizes))]


def largest(order: Order, estimates: list[Estimate], part: Callable[[Parts], Any]) -> float:
    """The largest of some part of all error bars, in units of the tolerance."""
    worst = 0.0
    for problem, one in zip(order.problems, estimates, strict=True):
        for name, values in monitored(order, problem, one.value).items():
            error = part(one.parts[name])
            worst = max(worst, float(np.max(error / allowed(order, values, one.value, name))))
    return worst


def allowed(order: Order, values: np.ndarray, curves: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The error that a curve may have at every node."""
    unit = unit_of(values, curves, name)
    return order.tolerance.allowed(values, unit) + FAINT**2 * np.min(unit)


def long_blocks(order: Order, ensemble: Ensemble, estimates: list[Estimate]) -> np.ndarray:
    """Which blocks make errors in time that are larger than those of a pilot may be."""
    found = np.zeros(len(ensemble.edges) - 1, bool)
    for problem, one, replicas in zip(order.problems, estimates, ensemble.replicas, strict=True):
        errors = block_errors(order.time, ensemble.edges, replicas[0], one.value)
        for name, values in monitored(order, problem, one.value).items():
            most = TIME_SHARE * allowed(order, values, one.value, name)
            node, block = 1, 0
            for part in errors[name]:
                here, size = most[node : node + part.size].reshape(part.shape), len(part)
                found[block : block + size] |= np.any(part > here, axis=1)
                node, block = node + part.size, block + size
    return found


def add_bias(
    before: list[Estimate], now: list[Estimate], ratio: float, significant: float = SIGNIFICANT
) -> None:
    """Add to error bars what a smaller sample had on average beyond its scatter [eq:bias].

    The bias of a sample is of order rank/points: that of the larger one follows from the difference, and the
    `ratio` of their points. A difference is bias as far as it exceeds `significant` of its standard errors.
    """
    for old, new in zip(before, now, strict=True):
        for name, parts in new.parts.items():
            gap = np.abs(new.value[name] - old.value[name])
            chance = significant * np.hypot(old.parts[name].scatter, parts.scatter)
            bias = np.maximum(gap - chance, 0.0) * ratio / (1 - ratio)
            new.parts[name] = parts._replace(bias=np.hypot(parts.bias, bias))
