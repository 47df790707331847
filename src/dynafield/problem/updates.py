"""One update of the parameters: a step along a velocity, or an update of an optimizer of the user."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from dynafield.problem.trainers import Steps

__all__ = ["Update"]


@dataclasses.dataclass(frozen=True)
class Update:
    """How the velocity of the parameters becomes their change, and what is remembered between steps."""

    heavy: bool
    looks_ahead: bool
    transformation: Any = None
    looks_back: bool = False

    @classmethod
    def of(cls, trainer: Steps) -> Any:
        """How a trainer updates."""
        return cls(trainer.inertia > 0, trainer.looks_ahead, trainer.transformation, trainer.looks_back)

    def begun(self, theta: Any) -> Any:
        """What is remembered before the first step.

        Nothing, a velocity, the last rate and its step, or the state of an optimizer.
        """
        if self.transformation is not None:
            return self.transformation.init(jnp.asarray(theta))
        if self.looks_back:
            return 0.0 * theta, np.asarray(np.inf)
        return 0.0 * theta if self.heavy else ()

    def after(self, theta: Any, memory: Any, rate: Any, step: Any, inertia: Any) -> tuple[Any, Any]:
        """θ and what is remembered after a step [eq:steps, eq:heavy_ball, eq:optimizers]."""
        if self.transformation is not None:
            update, memory = self.transformation.update(-rate, memory, theta)
            return theta + update, memory
        if self.looks_back:  # [eq:two_rates]
            before, last = memory
            return theta + step * (rate + 0.5 * step / last * (rate - before)), (rate, 1.0 * step)
        if not self.heavy:
            return theta + step * rate, memory
        velocity = inertia * memory + rate
        move = inertia * velocity + rate if self.looks_ahead else velocity
        return theta + step * move, velocity
