r"""How time is cut: gradient flow into blocks of collocation nodes, training into its steps.

In a block states obey \(Y = Y_b + A\,r\) with a matrix A [eq:radau]; a step is a block of one node whose
state is known before its drive, A = 0, and moves on afterwards [eq:dmft_steps].
"""

import abc
import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.numerics.collocation import Radau, radau
from dynafield.problem.trainers import Steps

__all__ = ["Blocks", "Stepping", "TimeRule"]

STAGES = 3
"""Nodes per block."""


class TimeRule(abc.ABC):
    """How time is cut."""

    part: str
    stages: int

    @property
    @abc.abstractmethod
    def rule(self) -> Radau | None:
        """Radau's, or none where time is discrete."""

    @abc.abstractmethod
    def nodes(self, edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " t"]:
        """Times of all nodes, 0 first."""

    @abc.abstractmethod
    def share(self, t: float, t_max: float) -> float:
        """Share of the work that is done at time t."""


@dataclasses.dataclass(frozen=True)
class Blocks(TimeRule):
    """Blocks of collocation nodes."""

    stages: int = STAGES
    part = "blocks"
    most = 320
    """Largest number of blocks."""

    @property
    def rule(self) -> Radau:
        """Radau's."""
        return radau(self.stages)

    def nodes(self, edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " t"]:
        """Times of all nodes, 0 first."""
        inside = edges[:-1, None] + np.diff(edges)[:, None] * self.rule.nodes
        return np.concatenate([[0.0], inside.ravel()])

    def share(self, t: float, t_max: float) -> float:
        """Blocks grow with time."""
        return float(np.log1p(t) / np.log1p(t_max))


@dataclasses.dataclass(frozen=True)
class Stepping(TimeRule):
    """Steps of discrete training."""

    heavy: bool
    looks_ahead: bool
    part = "steps"
    stages = 1

    @property
    def rule(self) -> None:
        """None."""
        return None

    @classmethod
    def of(cls, trainer: Steps) -> "Stepping":
        """How a trainer cuts time."""
        return cls(trainer.inertia > 0, trainer.looks_ahead)

    def nodes(self, edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " t"]:
        """The times of the steps."""
        return edges

    def share(self, t: float, t_max: float) -> float:
        """All steps are alike."""
        return t / t_max

    def begun(self, theta: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "m n"]:
        """State of the trainer at rest: θ, and its velocity if that matters."""
        return np.concatenate([theta, np.zeros_like(theta)]) if self.heavy else theta

    def after(self, state: Any, rate: Any, step: Any, inertia: Any) -> Any:
        """The state after a step [eq:steps, eq:heavy_ball]."""
        if not self.heavy:
            return state + step * rate
        theta, velocity = jnp.split(state, 2)
        velocity = inertia * velocity + rate
        move = inertia * velocity + rate if self.looks_ahead else velocity
        return jnp.concatenate([theta + step * move, velocity])
