"""Curves from replicas, each with an error bar: sampling, time step, unfinished sweeps, dropped directions,
and bias of a sample."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from dynafield.dmft.ensemble import Replica
from dynafield.dmft.grid import defects
from dynafield.dmft.preparation import Equations
from dynafield.problem.model import MEASURES, Model

__all__ = ["Estimate", "Extra", "curves_of", "estimate", "on_nodes"]

FEW = 4
"""Fewer replicas may agree at one time by chance: the largest scatter so far stands for theirs, times
CAUTION, with which 95 % of the times of eight problems were within two of these errors of the exact curve."""
CAUTION = 2.5


class Extra(NamedTuple):
    """Errors that replicas of one size do not show: of dropped directions, and of order rank/points."""

    dropped: Any = 0.0
    bias: Any = 0.0


@dataclasses.dataclass
class Estimate:
    """Curves of one problem on the nodes by name: means, scatter of the mean, and the whole error bar."""

    value: dict[str, np.ndarray]
    scatter: dict[str, np.ndarray]
    error: dict[str, np.ndarray]


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
    equations: Equations, runs: list[dict[str, np.ndarray]], replicas: list[Replica], extra: dict[str, Extra]
) -> Estimate:
    """Means over replicas, their standard errors, and the same with all other errors."""
    count, value, scatter, total = len(runs), {}, {}, {}
    stepping, sweeping = time_errors(equations, replicas[0], runs[0]), sweep_errors(replicas, runs[0])
    for name in runs[0]:
        rows = np.array([one[name] for one in runs])
        value[name] = np.mean(rows, axis=0)
        spread = (
            np.std(rows, axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full(rows.shape[1], np.inf)
        )
        if count < FEW:
            spread = CAUTION * np.maximum.accumulate(spread)
        scatter[name] = spread
        more = extra.get(name, Extra())
        parts = (spread, stepping.get(name, 0.0), sweeping[name], more.dropped, more.bias)
        total[name] = np.sqrt(sum(np.square(part) for part in parts))
    return Estimate(value, scatter, total)


def time_errors(
    equations: Equations, replica: Replica, curves: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Errors in time of the curves on the nodes, zero at t = 0: the smaller of both estimates.

    Training curves follow from F of the data, test curves from F of the coordinates.
    """
    rule = equations.time.rule
    if rule is None:
        return {}
    found, later, s = {}, replica.later, len(rule.nodes)
    for part, start, rows in (("train", later.start_ell, later.F_ell), ("test", later.start_w, later.F_w)):
        starts, nodes = start.reshape(len(start), -1), rows.reshape(len(rows), s, -1)
        scale = float(np.max(np.linalg.norm(starts, axis=1))) or 1.0
        absolute, relative = (np.repeat(x, s) for x in defects(rule, starts, nodes, scale))
        for name in (n for n in curves if n.startswith(part) or (part == "train" and n == "loss")):
            values = np.abs(curves[name])
            bound = np.minimum(absolute * np.max(values), relative * values[1:])
            if part == "test":  # weights that no data hold stay where an earlier block has put them
                bound = np.maximum.accumulate(bound)
            found[name] = np.concatenate([[0.0], bound])
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
