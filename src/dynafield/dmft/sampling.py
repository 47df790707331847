r"""Sampled coordinates: scrambled Sobol points, every component of the prior with its exact weight.

Few components are strata, each with a number of points in proportion to the root of its weight,
rounded to powers of two; many are drawn from one Sobol coordinate instead. A stratum that is symmetric about
zero is sampled on one half only, since \((w, w^*, \eta) \to -(w, w^*, \eta)\) maps it to the other.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dynafield.numerics.normals import normals_of, sobol
from dynafield.problem.laws import quantile
from dynafield.problem.priors import Components

__all__ = ["Sample", "Stratum", "draw", "strata"]

STRATA = 8
"""Up to so many components each have points of their own."""
SMALLEST = 32
"""Points of the smallest stratum."""


class Stratum(NamedTuple):
    """A part of the prior with its own points: weight, number of points, and its components."""

    weight: float
    points: int
    components: Components

    @property
    def constant(self) -> bool:
        """Whether it is one point mass."""
        return len(self.components.weight) == 1 and bool(self.components.std[0] == 0)

    @property
    def symmetric(self) -> bool:
        """Whether it is one component about zero."""
        return len(self.components.weight) == 1 and bool(self.components.mean[0] == 0)


class Sample(NamedTuple):
    """Targets and weights of the paths, whether each stands for its mirror image too, and standard
    normals, one column per path.

    Any leading share 1/2^k of the columns is a smaller sample of the same kind.
    """

    target: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    folded: Bool[np.ndarray, " n"]
    normals: Float[np.ndarray, "t n"]


def strata(components: Components, points: int) -> list[Stratum]:
    """How about `points` points are shared out."""
    weight, mean, std = components
    kept = weight > 0
    weight, mean, std = weight[kept], mean[kept], std[kept]
    if len(weight) > STRATA:
        order = np.argsort(mean)
        return [Stratum(1.0, power_of_two(float(points)), Components(weight[order], mean[order], std[order]))]
    return [
        Stratum(
            float(w),
            power_of_two(float(max(points * np.sqrt(w), SMALLEST))),
            Components(np.ones(1), np.array([m]), np.array([s])),
        )
        for w, m, s in zip(weight, mean, std, strict=True)
    ]


def power_of_two(x: float) -> int:
    """The power of two next to x, on a logarithmic scale."""
    return int(2 ** np.round(np.log2(x)))


def draw(parts: list[Stratum], dims: int, seed: tuple[int, ...], fold: bool = True) -> Sample:
    """One scrambled sample with `dims` normals per path; `fold` where there is a symmetry."""
    drawn = [one(part, dims, (*seed, k), fold and part.symmetric) for k, part in enumerate(parts)]
    rank = np.concatenate([np.arange(part.points) / part.points for part in parts])
    order = np.argsort(rank, kind="stable")
    return Sample(
        np.concatenate([d.target for d in drawn])[order],
        np.concatenate([d.weight for d in drawn])[order],
        np.concatenate([d.folded for d in drawn])[order],
        np.concatenate([d.normals for d in drawn], axis=1)[:, order],
    )


def one(part: Stratum, dims: int, seed: tuple[int, ...], folded: bool) -> Sample:
    """The points of one stratum, or of half of it."""
    uniform = sobol(dims if part.constant else dims + 1, part.points, seed)
    if folded:
        uniform[0] *= 0.5
    weight = np.full(part.points, part.weight / part.points)
    halves = np.full(part.points, folded)
    if part.constant:
        return Sample(np.full(part.points, part.components.mean[0]), weight, halves, normals_of(uniform))
    target = quantile(part.components, uniform[0])
    if np.all(part.components.std > 0):  # the second moment exactly; atoms stay where they are
        exact = np.sum(part.components.weight * (part.components.mean**2 + part.components.std**2))
        target = target * np.sqrt(exact / np.mean(target**2))
    return Sample(target, weight, halves, normals_of(uniform[1:]))
