"""Curves from replicas, each with an error bar: sampling, time step, unfinished sweeps, dropped directions,
and bias of a sample."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.ensemble import Ensemble, Replica
from dynafield.dmft.grid import FAINT, defects
from dynafield.dmft.preparation import Equations, Order, Problem
from dynafield.problem.model import MEASURES, Model

__all__ = [
    "COARSER",
    "Estimate",
    "Parts",
    "TIME_SHARE",
    "add_bias",
    "curves_of",
    "dropping",
    "estimate",
    "long_blocks",
    "missed_by",
    "on_nodes",
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
"""Share of the tolerance that the error in time of one block may use; later times are left with it."""
SAMPLE_SHARE = 0.4
"""Largest standard error, as a share of the tolerance."""
DROPPED_SHARE = 0.2
"""Largest error by dropped directions, as a share of the tolerance."""
NEARBY = 6
"""Nodes on both sides over which chance is judged."""
SIGNIFICANT = 2.0
"""A difference between rounds is bias as far as it exceeds so many of its standard errors."""


class Parts(NamedTuple):
    """What the error bar of a curve is made of, at every node."""

    scatter: Any
    time: Any = 0.0
    sweeps: Any = 0.0
    dropped: Any = 0.0
    bias: Any = 0.0

    @property
    def whole(self) -> np.ndarray:
        """The error bar."""
        return np.sqrt(sum(np.square(part) for part in self))


WORDS = Parts("sampling", "time steps", "unfinished sweeps", "dropped directions", "the bias of a sample")
"""Where error bars come from, in words."""


@dataclasses.dataclass
class Estimate:
    """Curves of one problem on the nodes by name: means, and the parts of their error bars."""

    value: dict[str, np.ndarray]
    parts: dict[str, Parts]


def on_nodes(first: np.ndarray, later: np.ndarray) -> np.ndarray:
    """Pages of blocks as one array over all nodes, t = 0 first."""
    return np.concatenate([first, later.reshape(-1, *later.shape[2:])])


def curves_of(model: Model, replica: Replica, observed: Any = None) -> dict[str, np.ndarray]:
    """Losses and errors of a replica on all nodes; of sampled data, or by mean squares of affine ones.

    `observed` has losses and errors (time, 4) of affine data on which they had to be observed.
    """
    all_curves = on_nodes(replica.first.curves, replica.later.curves)
    test, penalty, train = all_curves[:, 0], all_curves[:, 1], all_curves[:, 2]
    if all_curves.shape[1] > 3:
        found = dict(zip(MEASURES, all_curves[:, 3:].T, strict=True))
    else:
        found = dict(train_loss=train / 2, train_error=train, test_loss=test / 2, test_error=test)
        for k, name in enumerate(MEASURES):
            if observed is not None and (model.own_loss if name.endswith("loss") else model.own_error):
                found[name] = observed[:, k]
    return found | {"loss": found["train_error"] / 2 + penalty}


def estimate(
    equations: Equations, runs: list[dict[str, np.ndarray]], replicas: list[Replica], dropped: dict[str, Any]
) -> Estimate:
    """Means over replicas, and their error bars but for the bias of a sample."""
    count, value, parts = len(runs), {}, {}
    stepping, sweeping = time_errors(equations, replicas[0], runs[0]), sweep_errors(replicas, runs[0])
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
    equations: Equations, replica: Replica, curves: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Errors in time of the curves on the nodes, zero at t = 0."""
    found = {}
    for name, errors in block_errors(equations, replica, curves).items():
        kept = name.startswith("test")  # weights that no data hold stay where an earlier block has put them
        found[name] = np.concatenate(
            [[0.0], np.maximum.accumulate(errors.ravel()) if kept else errors.ravel()]
        )
    return found


def block_errors(
    equations: Equations, replica: Replica, curves: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Errors in time that every block makes, at its nodes: the smaller of both estimates.

    Training curves follow from F of the data, test curves from F of the coordinates.
    """
    rule = equations.time.rule
    if rule is None:
        return {}
    found, later, s = {}, replica.later, len(rule.nodes)
    for part, start, rows in (("train", later.start_ell, later.F_ell), ("test", later.start_w, later.F_w)):
        starts, nodes = start.reshape(len(start), -1), rows.reshape(len(rows), s, -1)
        scale = float(np.max(np.linalg.norm(starts, axis=1))) or 1.0
        absolute, relative = (x[:, None] for x in defects(rule, starts, nodes, scale))
        for name in (n for n in curves if n.startswith(part) or (part == "train" and n == "loss")):
            values = np.abs(curves[name])
            found[name] = np.minimum(absolute * np.max(values), relative * values[1:].reshape(-1, s))
    return found


def sweep_errors(replicas: list[Replica], curves: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Errors that unfinished sweeps leave [eq:unfinished].

    Those of weights stay and add up; residuals forget them.
    """
    left = np.mean([one.later.left for one in replicas], axis=0)
    nodes = (len(next(iter(curves.values()))) - 1) // len(left)
    found = {}
    for name, values in curves.items():
        share = np.cumsum(left[:, 0]) if name.startswith("test") else left[:, 1]
        share = np.concatenate([[0.0], np.repeat(share, nodes)])
        size, most = np.abs(values), np.max(np.abs(values))
        found[name] = 2 * share * np.sqrt(size * most) + share**2 * most
    return found


def dropping(order: Order, known: Ensemble) -> tuple[float, list[dict[str, np.ndarray]]]:
    """What may be dropped in the rounds to come, and the error that it makes [eq:dropped].

    Errors grow as a power of what is dropped; two replicas of one sample show by how much. Where the same
    normal numbers come to stand for other directions these two differ as any two samples do, and only what is
    beyond that counts.
    """
    epsilon = known.plan.epsilons[0]
    gaps, worst = [], 0.0
    for problem, replicas in zip(order.problems, known.replicas, strict=True):
        fine, coarse = (curves_of(problem.model, replicas[k]) for k in (0, 2))
        other = curves_of(problem.model, replicas[1])
        gap = {}
        for name in fine:
            chance = nearby_largest(np.abs(other[name] - fine[name]))
            beyond = np.maximum(np.abs(coarse[name] - fine[name]) - SIGNIFICANT * chance, 0.0)
            gap[name] = beyond / (COARSER**GROWTH - 1)
        gaps.append(gap)
        for name, values in monitored(order, problem, fine).items():
            allowed = DROPPED_SHARE * order.tolerance.allowed(values, unit_of(values, fine, name))
            worst = max(worst, float(np.max(gap[name] / (allowed + FAINT**2 * np.max(np.abs(values))))))
    factor = 1.0 if order.preview else 1.0 / max(1.0, worst)
    dropped = [{name: factor * gap for name, gap in one.items()} for one in gaps]
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
        errors = block_errors(order.equations, replicas[0], one.value)
        for name, values in monitored(order, problem, one.value).items():
            most = TIME_SHARE * allowed(order, values, one.value, name)[1:]
            found |= np.any(errors[name] > most.reshape(errors[name].shape), axis=1)
    return found


def add_bias(before: list[Estimate], now: list[Estimate], ratio: float) -> None:
    """Add to error bars what a smaller sample had on average beyond its scatter [eq:bias].

    The bias of a sample is of order rank/points: that of the larger one follows from the difference, and the
    `ratio` of their points.
    """
    for old, new in zip(before, now, strict=True):
        for name, parts in new.parts.items():
            gap = np.abs(new.value[name] - old.value[name])
            chance = SIGNIFICANT * np.hypot(old.parts[name].scatter, parts.scatter)
            bias = np.maximum(gap - chance, 0.0) * ratio / (1 - ratio)
            new.parts[name] = parts._replace(bias=np.hypot(parts.bias, bias))
