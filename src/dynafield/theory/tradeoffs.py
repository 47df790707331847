"""Better solutions are harder to find: test error against speed."""

import dataclasses
from typing import Any, ClassVar

from dynafield.deprecation import old_calls
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.records.record import Record, quantity
from dynafield.theory.rates import solve_both

__all__ = ["Tradeoff", "tradeoff"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Tradeoff(Record):
    """Test error in the limit of training and the rate of convergence, over α.

    Attributes
    ----------
    task, net
        The problem; `net.alpha` has all α.
    test_error : array (m,)
        Population error C_w + σ².
    gamma : array (m,)
        Rate γ: the loss decays as exp(-2γt).
    """

    title: ClassVar[str] = "generalization against speed"

    test_error: Any = quantity("population error C_w + σ²")
    gamma: Any = quantity("rate γ: the loss decays as exp(-2γt)")


@old_calls()
def tradeoff(task: Task, alphas: Any, *, depth: int = 2) -> Tradeoff:
    """Test error against convergence rate as α varies, without weight decay.

    Parameters
    ----------
    task : Task
        δ, σ and the prior.
    alphas : array (m,)
        Initial scales α > 0.
    depth : int, default 2
        Number of layers.

    Returns
    -------
    Tradeoff
        Test errors and rates over α.
    """
    net = DiagonalNetwork(alpha=alphas, lam=0.0, depth=depth)
    point, rate = solve_both(task, net)
    return Tradeoff(task, net, point.test_error, rate.gamma)
