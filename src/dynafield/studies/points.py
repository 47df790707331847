"""One point of a study: its parameters and its problem."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dynafield.problem.networks import DiagonalNetwork, Network, TruncatedDiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.text import read_task, read_trainer
from dynafield.problem.trainers import Trainer

__all__ = ["PARAMETERS", "Point", "together"]

PARAMETERS: dict[str, type] = {
    "delta": float,
    "sigma": float,
    "prior": str,
    "spectrum": str,
    "alpha": float,
    "lam": float,
    "depth": int,
    "M": float,
    "step": float,
    "momentum": float,
    "batch_fraction": float,
}
"""Parameters that a study may fix or vary, with their kinds."""


class Point(NamedTuple):
    """The parameters of one point; None for those it does not have."""

    delta: float
    sigma: float
    prior: str
    alpha: float
    lam: float = 0.0
    depth: int = 2
    M: float | None = None
    step: float | None = None
    momentum: float | None = None
    batch_fraction: float | None = None
    spectrum: str | None = None

    @property
    def trainer(self) -> Trainer:
        """The trainer of this point."""
        return read_trainer(self.step, self.momentum, self.batch_fraction)

    def problem(self) -> tuple[Task, Network, Trainer]:
        """Task, network and trainer, or InputError."""
        return *together([self]), self.trainer


def together(points: Sequence[Point]) -> tuple[Task, Network]:
    """Task and network of points that differ in δ, σ, α and λ only; of several, α is a vector."""

    def column(name: str) -> Any:
        values = [getattr(point, name) for point in points]
        same = len(points) == 1 or (len(set(values)) == 1 and name != "alpha")
        return values[0] if same else np.array(values)

    first = points[0]
    task = read_task(column("delta"), column("sigma"), first.prior, first.spectrum)
    scales = column("alpha"), column("lam"), first.depth
    return task, DiagonalNetwork(*scales) if first.M is None else TruncatedDiagonalNetwork(*scales, first.M)
