r"""How time is cut: into blocks of a few nodes, or into the single steps of training.

In a block states obey \(Y = Y_b + A\,r\): A holds integrals of gradient flow [eq:radau], or sums over the
many steps of a block [eq:summed_steps]. A single step is a block of one node whose state is known before its
drive, and moves on afterwards [eq:dmft_steps].
"""

import abc
import dataclasses
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from dynafield.numerics.collocation import lagrange, radau
from dynafield.problem.trainers import nearest
from dynafield.problem.updates import Update

__all__ = [
    "FEW",
    "LEAST",
    "STAGES",
    "Blocks",
    "Cut",
    "FlowTime",
    "StepTime",
    "Stepping",
    "Stretch",
    "TimeRule",
]

STAGES = 3
"""Nodes per block."""
LEAST = 6
"""Steps in a block at least: fewer are taken one by one."""
FEW = 200
"""Training of so many steps is taken step by step: nothing would be won."""


class Cut(NamedTuple):
    """Blocks as arrays: number of steps at the end, start and end, times of nodes, and A.

    `count` is A with the number of steps in the place of time.
    """

    number: Int[Any, " b"]
    start: Float[Any, " b"]
    end: Float[Any, " b"]
    times: Float[Any, "b s"]
    integral: Float[Any, "b s s"]
    count: Float[Any, "b s s"]  # type: ignore[assignment]  # as a tuple it has a method of that name


@dataclasses.dataclass(frozen=True)
class Blocks:
    """A block of several nodes, solved as a whole."""

    stages: int = STAGES


class Stepping(Update):
    """A single step of discrete training."""

    stages = 1


class Stretch(NamedTuple):
    """Blocks of one kind, one after another: from edge `first` to edge `last`."""

    kind: Blocks | Stepping
    first: int
    last: int

    @property
    def before(self) -> int:
        """Pages before the first block: t = 0 has one."""
        return 1 if self.first == 0 else 0


class TimeRule(abc.ABC):
    """How all of time is cut; a grid is given by the edges of its blocks."""

    part: str
    most: float
    """Largest number of blocks."""
    per_defect: float = 0.5
    """Error per defect to the power (s+1)/s, from comparison with halved blocks: .1 to .5 was found."""

    @abc.abstractmethod
    def stretches(self, edges: Float[np.ndarray, " e"]) -> list[Stretch]:
        """A grid as stretches of blocks of one kind."""

    @abc.abstractmethod
    def cut(self, edges: Float[np.ndarray, " e"]) -> Cut:
        """Blocks of several nodes, or single steps, between edges, as arrays."""

    @abc.abstractmethod
    def split(self, edges: Float[np.ndarray, " e"], long: Bool[np.ndarray, " c"]) -> Float[np.ndarray, " d"]:
        """The grid with some blocks halved."""

    @abc.abstractmethod
    def fitting(self, edges: Float[np.ndarray, " e"]) -> Float[np.ndarray, " c"]:
        """A grid of blocks that are possible, and no longer than given ones."""

    @abc.abstractmethod
    def share(self, t: float, t_max: float) -> float:
        """Fraction of the work that is done at time t."""

    @property
    @abc.abstractmethod
    def first_kind(self) -> Blocks | Stepping:
        """The kind of the first block, for which states before t = 0 are made."""

    def nodes(self, edges: Float[np.ndarray, " e"]) -> Float[np.ndarray, " t"]:
        """Times of all nodes, 0 first."""
        parts = [
            self.cut(edges[one.first : one.last + 1]).times[:, -one.kind.stages :].ravel()
            for one in self.stretches(edges)
        ]
        return np.concatenate([[0.0], *parts])

    def places(self, edges: Float[np.ndarray, " e"]) -> list[np.ndarray]:
        """Where nodes are within their blocks, from 0 to 1, stretch by stretch."""
        found = []
        for one in self.stretches(edges):
            inside = self.cut(edges[one.first : one.last + 1])
            length = (inside.end - inside.start)[:, None]
            found.append((inside.times[:, -one.kind.stages :] - inside.start[:, None]) / length)
        return found

    def pages(self, edges: Float[np.ndarray, " e"], stretch: Stretch, count: int) -> Cut:
        """Blocks of a stretch for so many pages: t = 0 before the first, the last one again at the end."""
        inside = self.cut(edges[stretch.first : stretch.last + 1])
        start = jax.tree.map(lambda x: np.zeros_like(x[:1]), inside)
        more = count - stretch.before - (stretch.last - stretch.first)
        parts = [*[start] * stretch.before, inside, *[jax.tree.map(lambda x: x[-1:], inside)] * more]
        return jax.tree.map(lambda *x: np.concatenate(x), *parts)


@dataclasses.dataclass(frozen=True)
class FlowTime(TimeRule):
    """Gradient flow, in blocks of collocation nodes."""

    part = "blocks"
    most = 320

    @property
    def first_kind(self) -> Blocks:
        """Flows are cut into blocks."""
        return Blocks()

    def stretches(self, edges: Float[np.ndarray, " e"]) -> list[Stretch]:
        """One stretch of blocks."""
        return [Stretch(Blocks(), 0, len(edges) - 1)]

    def cut(self, edges: Float[np.ndarray, " e"]) -> Cut:
        """Radau's blocks [eq:radau]."""
        rule, length = radau(STAGES), np.diff(edges)
        times = edges[:-1, None] + length[:, None] * rule.nodes
        integral = length[:, None, None] * rule.weights
        return Cut(
            np.zeros(len(length), int), edges[:-1], edges[1:], times, integral, np.zeros_like(integral)
        )

    def split(self, edges: Float[np.ndarray, " e"], long: Bool[np.ndarray, " c"]) -> Float[np.ndarray, " d"]:
        """The grid with some blocks halved."""
        return np.sort(np.concatenate([edges, ((edges[1:] + edges[:-1]) / 2)[long]]))

    def fitting(self, edges: Float[np.ndarray, " e"]) -> Float[np.ndarray, " c"]:
        """All blocks are possible."""
        return edges

    def share(self, t: float, t_max: float) -> float:
        """Fraction of the work done: blocks grow with time."""
        return float(np.log1p(t) / np.log1p(t_max))


@dataclasses.dataclass(frozen=True, eq=False)
class StepTime(TimeRule):
    """Training in steps that end at the times of a `clock`: one by one, or many as one block."""

    clock: Float[np.ndarray, " k"]
    kind: Stepping
    in_blocks: bool
    part = "steps"
    most = np.inf

    @cached_property
    def sizes(self) -> Float[np.ndarray, " k"]:
        """Steps from each time of the clock on; after the last, as before."""
        return np.diff(self.clock, append=2 * self.clock[-1] - self.clock[-2])

    @cached_property
    def known(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Blocks that have been computed, by their first and last step."""
        return {}

    @property
    def per_defect(self) -> float:  # type: ignore[override]
        """Error of a block per defect: with momentum errors of the velocity persist; 1 to 4 was measured."""
        return 4.0 if self.kind.heavy else TimeRule.per_defect

    @property
    def first_kind(self) -> Stepping:
        """Training begins with single steps."""
        return self.kind

    def numbers(self, edges: Float[np.ndarray, " e"]) -> Int[np.ndarray, " e"]:
        """Steps taken at the edges."""
        return nearest(self.clock, np.asarray(edges))

    def stretches(self, edges: Float[np.ndarray, " e"]) -> list[Stretch]:
        """Stretches of single steps, and of blocks of many."""
        single = np.diff(self.numbers(edges)) == 1
        turns = np.flatnonzero(single[1:] != single[:-1]) + 1
        ends = [0, *turns.tolist(), len(single)]
        return [Stretch(self.kind if single[a] else Blocks(), a, b) for a, b in pairwise(ends)]

    def cut(self, edges: Float[np.ndarray, " e"]) -> Cut:
        """Single steps, or blocks that sum over their steps [eq:summed_steps]."""
        numbers = self.numbers(edges)
        ends = list(pairwise(numbers.tolist()))
        for one in ends:
            if one not in self.known:
                self.known[one] = self.block(*one)
        parts = [self.known[one] for one in ends]
        times, integral, count = (np.stack(x) for x in zip(*parts, strict=True))
        return Cut(numbers[1:], edges[:-1], edges[1:], times, integral, count)

    def block(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Times of the nodes, \(A_{ij} = \sum_{m<c_i}\eta_m\ell_j(m)\), and the same with all η = 1.

        Nodes are whole steps, those next to Radau's; ℓ are the polynomials through them, in time, or in the
        number of the step where a velocity has a memory of some steps.
        """
        inside = np.maximum(np.round((last - first) * radau(STAGES).nodes).astype(int), np.arange(1, 4))
        inside = np.minimum(inside, last - first)
        times = self.clock[first + inside]
        if last - first < STAGES:
            return times, np.zeros((STAGES, STAGES)), np.zeros((STAGES, STAGES))
        place = np.arange(last - first + 1.0) if self.kind.heavy else self.clock[first : last + 1]
        place = (place - place[0]) / (place[-1] - place[0])
        shares = lagrange(place[inside], place[:-1])
        sums = np.cumsum(self.sizes[first:last, None] * shares, axis=0), np.cumsum(shares, axis=0)
        return times, sums[0][inside - 1], sums[1][inside - 1]

    def split(self, edges: Float[np.ndarray, " e"], long: Bool[np.ndarray, " c"]) -> Float[np.ndarray, " d"]:
        """The grid with some blocks halved."""
        numbers = self.numbers(edges)
        middle = ((numbers[1:] + numbers[:-1]) // 2)[long]
        return self.fitting(self.clock[np.unique(np.concatenate([numbers, middle]))])

    def fitting(self, edges: Float[np.ndarray, " e"]) -> Float[np.ndarray, " c"]:
        """Whole steps; those of blocks with few of them one by one."""
        numbers = np.unique(self.numbers(edges))
        parts = [range(a, b) if b - a < LEAST else [a] for a, b in pairwise(numbers.tolist())]
        return self.clock[np.concatenate([*parts, numbers[-1:]]).astype(int)]

    def share(self, t: float, t_max: float) -> float:
        """Single steps are alike, blocks grow with time."""
        return FlowTime().share(t, t_max) if self.in_blocks else t / t_max
