"""Independently scrambled replicas of a problem.

Every replica is a complete self-consistent solution, so that their scatter contains the feedback
of sampling errors through the kernels.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dynafield.dmft.grid import LARGEST
from dynafield.dmft.kernels import Kernels
from dynafield.dmft.march import Accuracy, March, Means, Member, Problem, UnsettledError, make_member
from dynafield.dmft.sampling import Sample, Stratum, draw, strata
from dynafield.dmft.walk import Training, Walk, make_walker
from dynafield.errors import SolveError
from dynafield.problem.priors import Components

__all__ = ["Ensemble", "Plan", "Replica", "principal", "run"]

KEPT = 2**14
"""Paths kept per problem for the law of the weights."""


class Plan(NamedTuple):
    """How a problem is to be sampled and marched."""

    components: Components
    points: int
    replicas: int
    accuracy: Accuracy
    stages: int
    seed: int
    means: Means
    training: Training | None = None

    @property
    def strata(self) -> list[Stratum]:
        """How the points are shared out."""
        return strata(self.components, self.points)

    @property
    def paths(self) -> int:
        """Paths of one replica."""
        return sum(part.points for part in self.strata)

    @property
    def kept(self) -> int:
        """Paths of one replica that are kept: a share 1/2^k, itself a smaller sample."""
        return self.paths // 2 ** max(0, int(np.ceil(np.log2(self.paths * self.replicas / KEPT))))

    def dims(self, nodes: int) -> int:
        """Normals per path for so many nodes; those of mini-batches come after the others."""
        return 2 * nodes if self.training is not None and self.training.spread > 0 else nodes

    def member(self, problem: Problem, sample: Sample, capacity: int) -> Member:
        """A problem with one sample, at t = 0."""
        smallest = self.accuracy.smallest
        if self.training is None:
            return make_member(problem, sample, capacity, self.stages, smallest, self.means)
        return make_walker(self.training, problem, sample, capacity, smallest, self.means)

    def march(self, members: list) -> March | Walk:
        """Members on their way."""
        if self.training is None:
            return March(members, self.accuracy, self.stages, self.means)
        return Walk(members, self.training)


@dataclasses.dataclass
class Replica:
    """A finished member: kernels, and some of its paths with their weights."""

    kernels: Kernels
    errors: Float[np.ndarray, "n t"]
    target: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]


@dataclasses.dataclass
class Ensemble:
    """Replicas of every problem on one grid, which ends early after a failure."""

    edges: Float[np.ndarray, " b"]
    replicas: list[list[Replica]]
    points: int
    failure: BaseException | None = None


def run(
    plan: Plan,
    problems: list[Problem],
    turns: list[Float[np.ndarray, "t t"]] | None,
    march: Callable[[Any], None],
    capacity: int,
    together: bool = False,
) -> Ensemble:
    """All replicas of all problems, as many at once as memory allows, or together.

    `turns` are the directions in which the noise of each problem is drawn [eq:dmft_rotation].
    """
    count = plan.replicas * len(problems)
    at_once = count if together else max(1, int(plan.means.memory / plan.means.bytes(plan.paths, capacity)))
    tasks = [(p, r) for r in range(plan.replicas) for p in range(len(problems))]
    found: dict[tuple[int, int], Replica] = {}
    edges, failure = np.zeros(1), None
    grows = turns is None and plan.training is None
    dims = plan.dims(max(capacity, LARGEST) if grows else capacity)
    for first in range(0, len(tasks), at_once):
        group = tasks[first : first + at_once]
        members = []
        for p, r in group:
            sample = draw(plan.strata, dims, (plan.seed, r))
            if turns is not None:
                sample = rotated(sample, turns[p])
            members.append(plan.member(problems[p], sample, capacity))
        one = plan.march(members)
        try:
            march(one)
        except (KeyboardInterrupt, SolveError, UnsettledError) as error:
            failure = error
        if failure is not None and (found or any(m.kernels.nodes != one.nodes for m in members)):
            break  # what is half done is given up
        edges = np.array(one.edges)
        found |= {task: finished(member, plan.kept) for task, member in zip(group, members, strict=True)}
        if failure is not None:
            break
    whole = [r for r in range(plan.replicas) if all((p, r) in found for p in range(len(problems)))]
    done = [[found[p, r] for r in whole] for p in range(len(problems))]
    return Ensemble(edges, done, plan.points, failure)


def rotated(sample: Sample, turn: Float[np.ndarray, "t t"]) -> Sample:
    """The same sample with its first normals along the given directions."""
    k = len(turn)
    normals = np.concatenate([turn @ sample.normals[:k], sample.normals[k:]])
    return sample._replace(normals=normals)


def principal(replicas: list[Replica]) -> Float[np.ndarray, "t t"]:
    """Principal directions of the noise, as columns, largest first: the first Sobol coordinates are best."""
    size = replicas[0].kernels.nodes
    return np.linalg.svd(np.mean([r.kernels.F[:size, :size] for r in replicas], axis=0))[2].T


def finished(member: Member, keep: int) -> Replica:
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
