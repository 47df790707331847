"""Targets of a finite network, drawn from the prior."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import real_vector
from dynafield.problem.priors import Prior

__all__ = ["Draw", "read_targets"]

Draw = Callable[[Prior, int, np.random.Generator], Float[np.ndarray, " d"]]


def proportions(prior: Prior, d: int, rng: np.random.Generator) -> Float[np.ndarray, " d"]:
    """Each component of the prior in its exact share of d (to one entry), in random order.

    Shares that are not whole are rounded by systematic sampling, without bias. Entries
    within a Gaussian component are independent draws.
    """
    weight, mean, std = prior.components
    ends = np.round(np.cumsum(weight / weight.sum()) * d, 9)
    ends = np.floor(ends + rng.uniform(0.0, 1.0 - 1e-9)).astype(int)
    counts = np.diff(np.concatenate([[0], ends]))
    which = rng.permutation(np.repeat(np.arange(len(weight)), counts))
    return mean[which] + std[which] * rng.standard_normal(d)


def independent(prior: Prior, d: int, rng: np.random.Generator) -> Float[np.ndarray, " d"]:
    """d independent draws."""
    return prior.sample(d, int(rng.integers(2**63)))


def read_targets(targets: Any, d: int) -> tuple[str, Draw]:
    """A name and a way to draw, from what the user gave."""
    known = {"proportions": proportions, "iid": independent}
    if isinstance(targets, str):
        if targets not in known:
            raise InputError(f"targets must be 'proportions', 'iid' or a vector, got {targets!r}")
        return targets, known[targets]
    vector = real_vector("targets", targets, np.isfinite, f"a vector of {d} finite numbers")
    if len(vector) != d:
        raise InputError(f"targets must have d = {d} entries, got {len(vector)}")
    return "given", lambda prior, d, rng: np.array(vector)
