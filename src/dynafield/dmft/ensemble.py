"""Independently scrambled replicas of a problem.

Every replica is a complete self-consistent solution, so that their scatter contains the feedback
of sampling errors through the kernels.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.equations import Equations, Sampling
from dynafield.dmft.march import Accuracy, March, Means, UnsettledError
from dynafield.errors import SolveError

__all__ = ["Ensemble", "Plan", "run"]

KEPT = 2**14
"""Paths kept per problem for the law of the weights."""


class Plan(NamedTuple):
    """How a problem is to be sampled and marched."""

    equations: Equations
    points: int
    replicas: int
    accuracy: Accuracy
    seed: int
    means: Means
    tol: float

    @property
    def kept(self) -> int:
        """Paths of one replica that are kept: a share 1/2^k, itself a smaller sample."""
        paths = self.equations.paths(self.points)
        return paths // 2 ** max(0, int(np.ceil(np.log2(paths * self.replicas / KEPT))))

    def bytes(self, capacity: int) -> float:
        """Memory of one member."""
        return self.equations.bytes(self.means, self.points, capacity)


@dataclasses.dataclass
class Ensemble:
    """Replicas of every problem on one grid, which ends early after a failure."""

    edges: Float[np.ndarray, " b"]
    replicas: list[list[Any]]
    points: int
    failure: BaseException | None = None


def run(
    plan: Plan,
    problems: list[Any],
    turns: list[Any] | None,
    march: Callable[[March], None],
    capacity: int,
    together: bool = False,
) -> Ensemble:
    """All replicas of all problems, as many at once as memory allows, or together.

    `turns` are the directions in which the noise of each problem is drawn [eq:dmft_rotation].
    """
    count, time = plan.replicas * len(problems), plan.equations.time
    at_once = count if together else max(1, int(plan.means.memory / plan.bytes(capacity)))
    tasks = [(p, r) for r in range(plan.replicas) for p in range(len(problems))]
    found: dict[tuple[int, int], Any] = {}
    edges, failure = np.zeros(1), None
    most = time.largest(capacity) if turns is None else capacity
    for first in range(0, len(tasks), at_once):
        group = tasks[first : first + at_once]
        members = []
        for p, r in group:
            turn = None if turns is None else turns[p]
            least = plan.accuracy.smallest
            how = Sampling(plan.points, (plan.seed, r), turn, capacity, most, least, plan.means, plan.tol)
            members.append(plan.equations.member(problems[p], how))
        one = March(members, plan.accuracy, time.stages, plan.means.memory, time.largest(capacity))
        try:
            march(one)
        except (KeyboardInterrupt, SolveError, UnsettledError) as error:
            failure = error
        if failure is not None and (found or any(m.nodes != one.nodes for m in members)):
            break  # what is half done is given up
        edges = np.array(one.edges)
        for task, member in zip(group, members, strict=True):
            found[task] = plan.equations.finished(member, plan.kept)
        if failure is not None:
            break
    whole = [r for r in range(plan.replicas) if all((p, r) in found for p in range(len(problems)))]
    done = [[found[p, r] for r in whole] for p in range(len(problems))]
    return Ensemble(edges, done, plan.points, failure)
