r"""How time is cut: gradient flow into blocks of collocation nodes, training into its steps.

In a block states obey \(Y = Y_b + A\,r\) with a matrix A [eq:radau]; a step is a block of one node whose
state is known before its drive, A = 0, and moves on afterwards [eq:dmft_steps].
"""

import abc
import dataclasses
from typing import Any

import jax
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
    transformation: Any = None
    part = "steps"
    stages = 1

    @property
    def rule(self) -> None:
        """None."""
        return None

    @classmethod
    def of(cls, trainer: Steps) -> "Stepping":
        """How a trainer cuts time."""
        return cls(trainer.inertia > 0, trainer.looks_ahead, trainer.transformation)

    def nodes(self, edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " t"]:
        """The times of the steps."""
        return edges

    def share(self, t: float, t_max: float) -> float:
        """All steps are alike."""
        return t / t_max

    def begun(self, theta: Float[np.ndarray, "k n"]) -> Any:
        """What the optimizer remembers before the first step: nothing, a velocity, or what is its own."""
        if self.transformation is not None:
            return jax.tree.map(np.asarray, self.transformation.init(jnp.asarray(theta)))
        return np.zeros_like(theta) if self.heavy else ()

    def after(self, theta: Any, memory: Any, rate: Any, step: Any, inertia: Any) -> tuple[Any, Any]:
        """θ and what the optimizer remembers after a step [eq:steps, eq:heavy_ball, eq:optimizers]."""
        if self.transformation is not None:
            update, memory = self.transformation.update(-rate, memory, theta)
            return theta + update, memory
        if not self.heavy:
            return theta + step * rate, memory
        velocity = inertia * memory + rate
        move = inertia * velocity + rate if self.looks_ahead else velocity
        return theta + step * move, velocity
