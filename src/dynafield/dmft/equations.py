"""What a solver solves: an interface between sets of equations and marching, sampling and refinement."""

import abc
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.march import Means, Member, room
from dynafield.numerics.collocation import Radau, radau

__all__ = ["LARGEST", "STAGES", "Blocks", "Equations", "Monitored", "Sampling", "Stepping", "TimeRule"]

STAGES = 3
"""Nodes per block."""
LARGEST = 320
"""Most nodes of a grid of blocks."""


class Sampling(NamedTuple):
    """How a member is sampled: points, seed, directions of the noise or None, room, nodes to come, means.

    Noise below `smallest`, relative to its size at t = 0, is dropped; `tol` is what is aimed at.
    """

    points: int
    seed: tuple[int, ...]
    turn: Any
    capacity: int
    most: int
    smallest: float
    means: Means
    tol: float


class Monitored(NamedTuple):
    """A curve whose error the tolerance bounds: values, standard error of sampling, and unit (or units)."""

    value: Float[np.ndarray, " t"]
    scatter: Float[np.ndarray, " t"]
    unit: Any


class TimeRule(abc.ABC):
    """How time is cut: in blocks of nodes, or in steps."""

    part: str
    stages: int
    rule: Radau | None
    first: float

    @abc.abstractmethod
    def nodes(self, edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " t"]:
        """Times of all nodes, 0 first."""

    @abc.abstractmethod
    def room_for(self, edges: Float[np.ndarray, " b"]) -> int:
        """Room for all nodes of a grid."""

    @abc.abstractmethod
    def largest(self, capacity: int) -> int:
        """Most nodes that a march with room for so many at first may grow to."""

    @abc.abstractmethod
    def share(self, t: float, t_max: float) -> float:
        """Share of the work that is done at time t."""

    @abc.abstractmethod
    def carrying(self, parts: int) -> float:
        """By how much fewer paths than usual carry tangents with so many parts of time."""


class Blocks(TimeRule):
    """Blocks of collocation nodes."""

    part = "blocks"
    stages = STAGES
    rule = radau(STAGES)
    first = 2.0
    """Points of the first replicas, divided by the tolerance."""

    def nodes(self, edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " t"]:
        """Times of all nodes, 0 first."""
        inside = edges[:-1, None] + np.diff(edges)[:, None] * radau(STAGES).nodes
        return np.concatenate([[0.0], inside.ravel()])

    def room_for(self, edges: Float[np.ndarray, " b"]) -> int:
        """Room for the nodes of a grid."""
        return room(1 + STAGES * (len(edges) - 1))

    def largest(self, capacity: int) -> int:
        """As many as are ever allowed."""
        return max(capacity, LARGEST)

    def share(self, t: float, t_max: float) -> float:
        """Blocks grow with time."""
        return float(np.log1p(t) / np.log1p(t_max))

    def carrying(self, parts: int) -> float:
        """Not by any."""
        return 1.0


class Stepping(TimeRule):
    """Steps of discrete training: every step is a node, and costs less than a block."""

    part = "steps"
    stages = 1
    rule = None
    first = 4.0
    """Points of the first replicas, divided by the tolerance."""
    long = 120
    """Steps beyond which fewer paths carry tangents, whose cost is cubic in steps."""

    def nodes(self, edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " t"]:
        """The times of the steps."""
        return edges

    def room_for(self, edges: Float[np.ndarray, " b"]) -> int:
        """Exactly as much as is needed."""
        return len(edges)

    def largest(self, capacity: int) -> int:
        """Their number is known."""
        return capacity

    def share(self, t: float, t_max: float) -> float:
        """Every step works with all those before."""
        return (t / t_max) ** 2

    def carrying(self, parts: int) -> float:
        """In proportion to their number."""
        return min(1.0, self.long / (parts + 1))


class Equations(abc.ABC):
    """A set of equations: what is sampled, and how members are made and read."""

    time: TimeRule
    share: float = 0.125
    """Share of paths that carry tangents, to begin with: responses often scatter less than correlations."""
    chunks: tuple[int, int] | None = None
    """Paths solved at once on a processor, and by how many times more without tangents; None: as usual."""

    @abc.abstractmethod
    def member(self, problem: Any, how: Sampling) -> Member:
        """A problem with one sample, at t = 0."""

    @abc.abstractmethod
    def finished(self, member: Any, keep: int) -> Any:
        """What is kept of a member; its device arrays are given up."""

    @abc.abstractmethod
    def paths(self, points: int) -> int:
        """Paths of one replica."""

    @abc.abstractmethod
    def bytes(self, means: Means, points: int, capacity: int) -> float:
        """Memory of one member."""

    @abc.abstractmethod
    def principal(self, replicas: list[Any]) -> Any:
        """Directions in which the noise of a problem is best drawn [eq:dmft_rotation]."""

    @abc.abstractmethod
    def monitored(self, problem: Any, replicas: list[Any]) -> list[Monitored]:
        """The curves that must meet the tolerance."""
