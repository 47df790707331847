"""How large a reproduction is, and on which real data."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from dynafield import datasets
from dynafield.problem.priors import Bernoulli
from dynafield.problem.task import Task

__all__ = ["FULL", "GENES", "QUICK", "SIGMA", "SPARSE", "TASK", "Setting", "cohort", "gene_inputs", "genes"]

SPARSE = Bernoulli(0.1)
SIGMA = 0.1
TASK = Task(delta=0.5, sigma=SIGMA, prior=SPARSE)
"""The task of the paper unless it says otherwise; the paper does not give σ."""
GENES = (100, 200)
"""Samples and features of the real data."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """Sizes of finite networks, their number, and tolerance of the infinite one."""

    name: str
    d: int
    seeds: int
    d_curves: int
    seeds_curves: int
    dimensions: tuple[int, ...]
    """Of what is followed to large d."""
    points: int
    """Values of α or δ at which networks are trained."""
    large: tuple[float, ...]
    small: tuple[float, ...]
    tol: float


QUICK = Scale(
    "quick", d=200, seeds=10, d_curves=200, seeds_curves=20, dimensions=(100, 200, 400), points=7,
    large=(3.0, 10.0, 30.0), small=(0.1, 0.01, 0.001), tol=1e-2,
)  # fmt: skip
FULL = Scale(
    "full", d=500, seeds=10, d_curves=200, seeds_curves=20, dimensions=(100, 200, 400, 800, 1600), points=13,
    large=(3.0, 10.0, 30.0), small=(0.1, 0.01, 0.001, 0.0001), tol=1e-3,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Setting:
    """What an experiment is given: scale, real data ("luad", "pancan" or a local copy of it), seed."""

    scale: Scale
    data: str = "luad"
    seed: int = 0

    def facts(self) -> dict[str, object]:
        """Everything that decides its numbers, in plain types."""
        return dataclasses.asdict(self.scale) | {"data": self.data, "seed": self.seed}


@functools.cache
def cohort(data: str) -> datasets.Expression:
    """The cohort by its name."""
    return (
        datasets.tcga_luad() if data == "luad" else datasets.tcga_pancan(None if data == "pancan" else data)
    )


@functools.cache
def genes(data: str) -> tuple[np.ndarray, str]:
    """The whitened features of a cohort, and where it comes from."""
    return datasets.whiten(datasets.varying(cohort(data).X)), cohort(data).provenance


def gene_inputs(data: str) -> Callable[[np.random.Generator, int, int], np.ndarray]:
    """Random samples and features of the whitened cohort as inputs."""
    features, _ = genes(data)
    return lambda rng, n, d: datasets.design(features, n, d, rng)
