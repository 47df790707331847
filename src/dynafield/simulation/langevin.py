"""Finite models under gradient flow with noise: short steps, made shorter where the curvature asks for it.

Steps of size h are off by \\(\\tfrac12(\\kappa h)^2\\), relatively, in the noise of a mode of curvature κ
[eq:two_rates].
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.errors import SolveError
from dynafield.numerics.powers import fastest_mode
from dynafield.problem.trainers import MOST_STEPS, ShortSteps

__all__ = ["curvature_of_flow", "curvature_of_network", "in_short_steps"]

FINE = 0.15
"""Curvature times step that is aimed at: noise of the stiffest mode is right to a hundredth."""
COARSE = 0.25
"""With more than this a run is made again."""
SHORTER = 8.0
"""Steps are made shorter by at most this factor at once: of a run that blows up curvatures mean nothing."""
FIRST = 0.05
"""First guess of a step."""
POWERS = 25
"""Powers of a matrix by which its largest eigenvalue is found, to a few percent."""


def in_short_steps(plan: Any, train: Callable[[Any], Any]) -> Any:
    """A run of gradient flow with noise, its steps as short as the largest curvature met calls for."""
    times = plan.t if plan.t[-1] >= plan.end * (1 - 1e-12) else np.append(plan.t, plan.end)
    longest = FIRST
    while True:
        short = ShortSteps.through(times, longest, plan.trainer.temperature)
        seen = train(plan._replace(trainer=short))
        if longest * seen.curvature <= COARSE:
            return seen
        wanted = FINE / seen.curvature if np.isfinite(seen.curvature) else 0.0
        longest = max(wanted, longest / SHORTER)
        if plan.end / longest > MOST_STEPS:
            raise SolveError(
                f"gradient flow with noise needs more than {MOST_STEPS:g} short steps to t={plan.end:g}: "
                "take a smaller t_max or temperature, or GradientDescent"
            )


def curvature_of_network(
    X: Float[np.ndarray, "k d"], delta: float, slopes: Float[np.ndarray, " d"], decay: float
) -> float:
    """Largest curvature of one network, \\((SX^TXS/\\delta + λ)/2\\), but for what residuals add to it."""
    vector = np.random.default_rng(0).standard_normal(X.shape[1])
    size = 0.0
    for _ in range(POWERS):
        vector = slopes * (X.T @ (X @ (slopes * vector)))
        size = float(np.linalg.norm(vector))
        if size == 0:
            break
        vector /= size
    return 0.5 * (size / delta + decay)


def curvature_of_flow(rate: Callable[[Any], Any], theta: Any) -> Any:
    """Largest curvature of a rate of change, around θ."""
    return fastest_mode(rate, theta, jax.random.normal(jax.random.key(0), jnp.shape(theta)), POWERS)[1]
