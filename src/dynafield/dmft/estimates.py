"""Errors over time from replicas, each with an error bar: scatter of sampling and error of the time step."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.grid import defects
from dynafield.dmft.kernels import Kernels
from dynafield.numerics.collocation import Radau

__all__ = ["Estimate", "estimate"]

FEW = 4
"""Fewer replicas may agree at one time by chance: the largest scatter so far stands for theirs, times
CAUTION, with which 95 % of the times of eight problems were within two of these errors of the exact curve."""
CAUTION = 2.5


class Estimate(NamedTuple):
    """Curves of one problem on the nodes."""

    train_error: Float[np.ndarray, " t"]
    test_error: Float[np.ndarray, " t"]
    loss: Float[np.ndarray, " t"]
    train_scatter: Float[np.ndarray, " t"]
    test_scatter: Float[np.ndarray, " t"]
    train_error_se: Float[np.ndarray, " t"]
    test_error_se: Float[np.ndarray, " t"]


def estimate(delta: float, lam: float, replicas: list[Kernels], rule: Radau | None) -> Estimate:
    """Means over replicas, their standard errors, and the same with the error of the time step.

    Without a `rule` time is discrete, and there is no such error.
    """
    size = replicas[0].nodes
    test = np.array([delta * np.sum(one.F[:size] ** 2, axis=1) for one in replicas])
    train = np.array([delta * np.sum(one.residual_factor**2, axis=1) for one in replicas])
    square = np.array([delta * one.moments[2, :size] for one in replicas])
    loss = np.mean(train / 2 + lam * square / 2, axis=0)
    values = [np.mean(x, axis=0) for x in (train, test)]
    scatter = [np.std(x, axis=0, ddof=1) / np.sqrt(len(replicas)) for x in (train, test)]
    if len(replicas) < FEW:
        scatter = [CAUTION * np.maximum.accumulate(x) for x in scatter]
    total = scatter
    if rule is not None:
        first = replicas[0]
        stepping = [time_error(delta, first, rows[:size], rule) for rows in (first.U, first.F)]
        total = [np.hypot(a, b) for a, b in zip(scatter, stepping, strict=True)]
    return Estimate(*(*values, loss, *scatter, *total))


def time_error(
    delta: float, kernels: Kernels, rows: Float[np.ndarray, "k m"], rule: Radau
) -> Float[np.ndarray, " t"]:
    """Error in time of E = δ|row|² at the nodes, zero at t = 0: the smaller of both estimates."""
    absolute, relative = defects(rule, rows, kernels.scale)
    values, s = delta * np.sum(rows**2, axis=1), len(rule.nodes)
    absolute = np.repeat(absolute, s) * delta * kernels.scale**2
    return np.concatenate([[0.0], np.minimum(absolute, np.repeat(relative, s) * values[1:])])
