"""Features of a finite network: variances and targets, drawn from their joint distribution."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import real_vector
from dynafield.problem.spectra import chosen
from dynafield.problem.task import Task

__all__ = ["Draw", "Features", "read_targets"]


class Features(NamedTuple):
    """Variances and targets of d features."""

    variance: Float[np.ndarray, " d"]
    w_star: Float[np.ndarray, " d"]

    def scaled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Independent inputs with these variances."""
        return X * np.sqrt(self.variance)


Draw = Callable[[Task, int, np.random.Generator], Features]


def drawn(proportions: bool, task: Task, d: int, rng: np.random.Generator) -> Features:
    """Each stratum with its exact fraction of d (to one entry), in random order, or independent draws.

    Entries within a Gaussian component are independent draws.
    """
    if task.spectrum is not None:
        return Features(*task.spectrum.draw(task.prior, d, proportions, rng))
    if not proportions:
        return Features(np.ones(d), task.prior.sample(d, int(rng.integers(2**63))))
    weight, mean, std = task.prior.components
    which = chosen(weight, d, True, rng)
    return Features(np.ones(d), mean[which] + std[which] * rng.standard_normal(d))


def given(vector: np.ndarray, task: Task, d: int, rng: np.random.Generator) -> Features:
    """Targets that are given, with variances in exact proportions."""
    variance = np.ones(d) if task.spectrum is None else task.spectrum.variances(d)
    return Features(variance, np.array(vector))


def read_targets(targets: Any, d: int) -> tuple[str, Draw]:
    """A name and a way to draw, from what the user gave."""
    if isinstance(targets, str):
        if targets not in ("proportions", "iid"):
            raise InputError(f"targets must be 'proportions', 'iid' or a vector, got {targets!r}")
        return targets, partial(drawn, targets == "proportions")
    vector = real_vector("targets", targets, np.isfinite, f"a vector of {d} finite numbers")
    if len(vector) != d:
        raise InputError(f"targets must have d = {d} entries, got {len(vector)}")
    return "given", partial(given, vector)
