"""The computations behind the paper's figures."""

import numpy as np

from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.priors import Bernoulli
from dynafield.problem.task import Task
from dynafield.theory.fixed_points import FixedPoint, fixed_point
from dynafield.theory.rates import ConvergenceRate, convergence_rate

__all__ = ["fixed_points", "rates_theory"]

SPARSE = Bernoulli(0.1)
SIGMA = 0.1


def rates_theory() -> ConvergenceRate:
    """`rates-theory`: γ against α for δ = 2 and 0.5."""
    task = Task(delta=np.array([[2.0], [0.5]]), sigma=SIGMA, prior=SPARSE)
    return convergence_rate(task, DiagonalNetwork(alpha=np.geomspace(1e-3, 1e1, 201)))


def fixed_points() -> FixedPoint:
    """`fixed-points`: test error at the fixed point against α at δ = 0.5."""
    task = Task(delta=0.5, sigma=SIGMA, prior=SPARSE)
    return fixed_point(task, DiagonalNetwork(alpha=np.geomspace(1e-3, 1e1, 201)))
