"""Better solutions are harder to find: test error against speed."""

import dataclasses
from typing import Any, ClassVar

from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.records.record import Record, quantity
from dynafield.theory.rates import solve_both

__all__ = ["Tradeoff", "tradeoff"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Tradeoff(Record):
    """Test error at the end of training, and the rate of getting there, over α."""

    title: ClassVar[str] = "generalization against speed"

    test_error: Any = quantity("population error C_w + σ²")
    gamma: Any = quantity("rate γ: the loss decays as exp(-2γt)")

    def plot(self, ax: Any = None) -> Any:
        """Test error against γ, α along the curve."""
        from dynafield.figures.theory import draw_tradeoff

        return draw_tradeoff(self, ax)


def tradeoff(task: Task, alphas: Any, depth: int = 2) -> Tradeoff:
    """Test error against convergence rate as α varies, without weight decay."""
    net = DiagonalNetwork(alpha=alphas, lam=0.0, depth=depth)
    point, rate = solve_both(task, net)
    return Tradeoff(task, net, point.test_error, rate.gamma)
