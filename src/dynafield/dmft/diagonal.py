"""Diagonal networks: what continuous and discrete training have in common.

The residuals are Gaussian given the kernels, so only coordinates are sampled.
"""

import abc
import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dynafield.dmft.densities import Responses
from dynafield.dmft.equations import Equations, Monitored, Sampling
from dynafield.dmft.estimates import Estimate, estimate
from dynafield.dmft.kernels import Kernels
from dynafield.dmft.march import Means, Member
from dynafield.dmft.sampling import Sample, draw, strata
from dynafield.problem.priors import Components

__all__ = ["DiagonalEquations", "DiagonalMember", "Problem", "Replica", "sample_of", "second_moment"]


class Problem(NamedTuple):
    """The numbers of one problem."""

    delta: float
    sigma: float
    alpha: float
    lam: float
    depth: int


@dataclasses.dataclass
class Replica:
    """A finished member: kernels, and some of its paths with their weights."""

    kernels: Kernels
    errors: Float[np.ndarray, "n t"]
    target: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]


@dataclasses.dataclass
class DiagonalMember(Member):
    """Kernels, and paths in chunks, whose normals for later are in reserve.

    The first chunks carry tangents; `share` is the weight of their paths.
    """

    problem: Problem
    kernels: Kernels
    chunks: list[Any]
    share: float
    means: Means
    reserve: list[np.ndarray]
    folded: list[np.ndarray]

    @property
    def nodes(self) -> int:
        """Nodes that are known."""
        return self.kernels.nodes

    @property
    def capacity(self) -> int:
        """Nodes there is room for."""
        return self.kernels.capacity

    def bytes(self, capacity: int) -> float:
        """Memory with room for so many nodes."""
        return self.means.bytes(sum(map(len, self.folded)), capacity)


def sample_of(components: Components, how: Sampling, dims: int) -> Sample:
    """Targets and `dims` normals per path, the first along given directions."""
    sample = draw(strata(components, how.points), dims, how.seed)
    if how.turn is None:
        return sample
    k = len(how.turn)
    return sample._replace(normals=np.concatenate([how.turn @ sample.normals[:k], sample.normals[k:]]))


def second_moment(sample: Sample) -> float:
    """E[w*²] of the sample."""
    return float(np.sum(sample.weight * sample.target**2))


class DiagonalEquations(Equations):
    """Diagonal networks with targets from a prior."""

    def __init__(self, components: Components):
        self.components = components

    @abc.abstractmethod
    def responses(
        self, problem: Problem, kernels: Kernels, edges: Float[np.ndarray, " b"], t: Float[np.ndarray, " t"]
    ) -> Responses:
        """Both responses as densities on the nodes."""

    def paths(self, points: int) -> int:
        """Paths of one replica."""
        return sum(part.points for part in strata(self.components, points))

    def bytes(self, means: Means, points: int, capacity: int) -> float:
        """Memory of one member."""
        return means.bytes(self.paths(points), capacity)

    def estimate(self, problem: Problem, replicas: list[Replica]) -> Estimate:
        """Curves of one problem with their errors."""
        kernels = [replica.kernels for replica in replicas]
        return estimate(problem.delta, problem.lam, kernels, self.time.rule)

    def monitored(self, problem: Problem, replicas: list[Replica]) -> list[Monitored]:
        """Training and test error, in units of the test error at t = 0."""
        found = self.estimate(problem, replicas)
        pairs = (found.train_error, found.train_scatter), (found.test_error, found.test_scatter)
        return [Monitored(value, scatter, found.test_error[0]) for value, scatter in pairs]

    def principal(self, replicas: list[Replica]) -> Float[np.ndarray, "t t"]:
        """Principal directions of the noise, as columns, largest first: early Sobol coordinates are best."""
        size = replicas[0].kernels.nodes
        return np.linalg.svd(np.mean([r.kernels.F[:size, :size] for r in replicas], axis=0))[2].T

    def finished(self, member: DiagonalMember, keep: int) -> Replica:
        """Kernels and paths of a member, its device arrays given up."""
        kernels = member.kernels
        size, parts = kernels.nodes, []
        for paths, folded in zip(member.chunks, member.folded, strict=True):
            root = np.asarray(paths.root_weight)
            used = root > 0
            basis = np.asarray(paths.basis)[:size, used]
            made = (kernels.F[:size, :size] @ basis) / root[used]
            parts.append((made.T, np.asarray(paths.target)[used], root[used] ** 2, folded[used]))
            if sum(len(part[1]) for part in parts) >= keep:
                break
        member.chunks = []
        return unfolded(kernels, *(np.concatenate(column)[:keep] for column in zip(*parts, strict=True)))


def unfolded(
    kernels: Kernels,
    errors: Float[np.ndarray, "n t"],
    target: Float[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    folded: Bool[np.ndarray, " n"],
) -> Replica:
    """Paths with the mirror images of those that stand for both, weights that sum to one."""
    share = weight * np.where(folded, 0.5, 1.0) / np.sum(weight)
    return Replica(
        kernels,
        np.concatenate([errors, -errors[folded]]),
        np.concatenate([target, -target[folded]]),
        np.concatenate([share, share[folded]]),
    )
