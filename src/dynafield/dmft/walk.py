r"""Discrete training, step after step: no step needs to be iterated [eq:dmft_steps]."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.dmft.kernels import Kernels, NewRows
from dynafield.dmft.march import Means, Member, Problem, add, room, split
from dynafield.dmft.sampling import Sample
from dynafield.dmft.steps import Constants, StepRows, Update, Walkers, advance, project, settle, start_state
from dynafield.errors import SolveError
from dynafield.problem.networks import Network, TruncatedDiagonalNetwork
from dynafield.problem.trainers import DIVERGED, Steps

__all__ = ["Training", "Walk", "make_walker", "training_of", "walk_along"]


@dataclasses.dataclass(frozen=True)
class Training:
    """A discrete trainer for a kind of network."""

    update: Update
    trainer: Steps

    def constants(self, problem: Problem) -> Constants:
        """Numbers of the update rule for one problem."""
        values: list[Any] = [np.asarray(x) for x in (self.trainer.step, problem.lam, self.trainer.inertia)]
        return Constants(*values)

    @property
    def spread(self) -> float:
        """Variance of the weight of a datum in a step, 1/b - 1."""
        return 1.0 / self.trainer.fraction - 1.0


def training_of(net: Network, trainer: Steps) -> Training:
    """The discrete training of a network."""
    bound = net.M if isinstance(net, TruncatedDiagonalNetwork) else None
    return Training(Update(net.depth, bound, trainer.inertia > 0), trainer)


@dataclasses.dataclass
class Walker(Member):
    """One problem with one sample of coordinates."""

    white: list[np.ndarray | None] = dataclasses.field(default_factory=list)

    def enlarge(self, capacity: int) -> None:
        """Room for more steps."""
        self.kernels.enlarge(capacity)
        self.chunks = [
            enlarged(*parts, capacity) for parts in zip(self.chunks, self.reserve, self.white, strict=True)
        ]


def enlarged(walkers: Any, normals: np.ndarray, white: np.ndarray | None, capacity: int) -> Walkers:
    """The same coordinates with room for more steps."""
    more = capacity - len(walkers.basis)
    rows = {name: jnp.pad(getattr(walkers, name), ((0, more), (0, 0))) for name in ("basis", "gradient")}
    if walkers.rates is not None:
        rows["rates"] = jnp.pad(walkers.rates, ((0, more), (0, 0), (0, more)))
        rows["tangent"] = jnp.pad(walkers.tangent, ((0, 0), (0, 0), (0, more)))
    if white is not None:
        rows["white"] = jnp.array(white[:capacity])
    return walkers._replace(normals=jnp.array(normals[:capacity]), **rows)


def make_walker(
    training: Training, problem: Problem, sample: Sample, capacity: int, smallest: float, means: Means
) -> Walker:
    """Kernels and coordinates at t = 0, with little room that will grow up to `capacity`.

    The second half of the normals is for mini-batches, if any.
    """
    second_moment = float(np.sum(sample.weight * sample.target**2))
    kernels = Kernels(
        problem.delta, problem.sigma, second_moment, 1, min(capacity, room(1)), smallest, training.spread
    )
    kernels.moments[2, 0] = 2 * problem.alpha**2 / problem.delta
    samples, few, share = split(sample, means, capacity)
    half = sample.normals.shape[0] // 2 if training.spread > 0 else sample.normals.shape[0]
    normals = [part.normals[:half] for part in samples]
    white = [part.normals[half:] if training.spread > 0 else None for part in samples]
    chunks: list[Any] = [
        at_rest(training, problem, kernels, part, own, other, k < few)
        for k, (part, own, other) in enumerate(zip(samples, normals, white, strict=True))
    ]
    return Walker(problem, kernels, chunks, share, normals, [part.folded for part in samples], white=white)


def at_rest(
    training: Training,
    problem: Problem,
    kernels: Kernels,
    sample: Sample,
    normals: np.ndarray,
    white: np.ndarray | None,
    carrying: bool,
) -> Walkers:
    """Coordinates at t = 0."""
    size, times = len(sample.target), kernels.capacity
    root = np.sqrt(sample.weight / problem.delta)
    basis, gradient = np.zeros((times, size)), np.zeros((times, size))
    basis[0] = -root * sample.target / kernels.scale
    gradient[0] = -sample.target + kernels.scale * normals[0]
    if white is not None:
        gradient[0] += kernels.white[0] * white[0]
    rates = jnp.zeros((times, size, times)).at[0, :, 0].set(1.0) if carrying else None
    tangent = jnp.zeros((training.update.states, size, times)) if carrying else None
    target, roots, own, vectors, gradients = (
        jnp.array(x) for x in (sample.target, root, normals[:times], basis, gradient)
    )
    other = None if white is None else jnp.array(white[:times])
    state = start_state(training.update, problem.alpha, size)
    return Walkers(target, roots, own, other, vectors, gradients, state, rates, tangent)


class Walk:
    """Several members taking the same steps."""

    def __init__(self, members: list[Walker], training: Training):
        self.members = members
        self.training = training
        self.edges = [0.0]

    @property
    def time(self) -> float:
        """Time reached."""
        return self.edges[-1]

    @property
    def nodes(self) -> int:
        """Times that are known."""
        return len(self.edges)

    def forward(self) -> None:
        """One step of all members; when one of them blows up, none has taken it."""
        try:
            for member in self.members:
                self.step(member)
        except SolveError:
            for member in self.members:
                member.kernels.nodes = self.nodes
            raise
        self.edges.append(self.nodes * self.training.trainer.step)

    def step(self, member: Walker) -> None:
        """One step of a member, or SolveError when its errors have blown up."""
        kernels, guess = member.kernels, member.kernels.guess()
        constants, last, new = self.training.constants(member.problem), kernels.nodes - 1, kernels.nodes
        place: Any = np.asarray(last)
        pairs = [
            advance(self.training.update, one, constants, place, padded(kernels, guess))
            for one in member.chunks
        ]
        steps = [step for step, _ in pairs]
        totals = add([sums for _, sums in pairs], member.share)
        sound = all(np.all(np.isfinite(part)) for part in totals)
        made = kernels.improved(guess, totals) if sound else guess
        grown = np.sum(kernels.noise(made)[0] ** 2) / kernels.scale**2
        if not sound or grown > DIVERGED:
            t = new * self.training.trainer.step
            raise SolveError(f"training blew up in step {new} (t={t:.6g}): take a smaller step")
        # once more: what is left of the errors may be small, and must be orthogonal to the basis
        known = padded(kernels, made)
        again = [project(one, step, known) for one, step in zip(member.chunks, steps, strict=True)]
        overlap, gram = (np.sum([part[i] for part in again], axis=0) for i in range(2))
        made = kernels.improved(made, totals._replace(overlap=overlap, gram=gram))
        fresh = kernels.append(made, totals.moments)
        removed, following = padded(kernels, made), jnp.asarray(new)
        parts = (kernels.F[new], kernels.white[new], removed, kernels.R[new], fresh[0, 0])
        copies: list[Any] = [np.copy(part) for part in parts]
        rows = StepRows(*copies)
        member.chunks = [
            settle(one, step, following, rows) for one, step in zip(member.chunks, steps, strict=True)
        ]


def padded(kernels: Kernels, rows: NewRows) -> Any:
    """The part of a new row on the known basis, over all steps there is room for."""
    return np.pad(rows.known[0], (0, kernels.capacity - rows.known.shape[1]))


def walk_along(walk: Walk, edges: Float[np.ndarray, " b"], report: Callable[[Any], None]) -> None:
    """As many steps as there are times."""
    for _ in edges[1:]:
        for member in walk.members:
            if member.kernels.nodes == member.kernels.capacity:
                member.enlarge(min(room(walk.nodes + 1), max(len(edges), walk.nodes + 1)))
        walk.forward()
        report(walk)
