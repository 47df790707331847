r"""Discrete training, step after step: no step needs to be iterated [eq:dmft_steps]."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.dmft.chunks import split
from dynafield.dmft.densities import Responses, step_densities
from dynafield.dmft.diagonal import (
    DiagonalEquations,
    DiagonalMember,
    Problem,
    Replica,
    sample_of,
    second_moment,
)
from dynafield.dmft.equations import Monitored, Sampling, Stepping
from dynafield.dmft.kernels import Kernels, NewRows
from dynafield.dmft.march import Accuracy, Means, Step, Sweep, room
from dynafield.dmft.mirror import add
from dynafield.dmft.paths import Sums
from dynafield.dmft.sampling import Sample
from dynafield.dmft.steps import (
    Constants,
    Moved,
    StepRows,
    Update,
    Walkers,
    advance,
    project,
    settle,
    start_state,
)
from dynafield.errors import SolveError
from dynafield.problem.networks import Network, TruncatedDiagonalNetwork
from dynafield.problem.priors import Components
from dynafield.problem.trainers import DIVERGED, Steps

__all__ = ["StepEquations", "Training", "Walker", "make_walker", "training_of"]

STEPPING = (128, 32)
"""On a processor: paths solved at once, and by how many times more without tangents."""


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
class Walker(DiagonalMember):
    """A diagonal network between two steps."""

    training: Training
    white: list[np.ndarray | None]
    totals: Any = None
    moved: list[Moved] = dataclasses.field(default_factory=list)

    def enlarge(self, capacity: int) -> None:
        """Room for more steps."""
        self.kernels.enlarge(capacity)
        self.chunks = [
            enlarged(*parts, capacity) for parts in zip(self.chunks, self.reserve, self.white, strict=True)
        ]

    def begin(self, length: float) -> NewRows:
        """Rows of the step before: where new errors are first looked for."""
        return self.kernels.guess()

    def measure(self) -> Float[np.ndarray, " m"]:
        """Weights of the rows, which are never iterated."""
        return np.ones(1)

    def sweep(self, rows: NewRows) -> list[Sums]:
        """The step of all chunks."""
        kernels, constants = self.kernels, self.training.constants(self.problem)
        place: Any = np.asarray(kernels.nodes - 1)
        known = padded(kernels, rows)
        pairs = [advance(self.training.update, one, constants, place, known) for one in self.chunks]
        self.moved = [moved for moved, _ in pairs]
        return [sums for _, sums in pairs]

    def judge(self, rows: NewRows, sums: list[Sums], accuracy: Accuracy) -> Sweep:
        """The rows of the step, or SolveError when its errors have blown up."""
        totals, kernels = add(sums, self.share), self.kernels
        sound = all(np.all(np.isfinite(part)) for part in totals)
        made = kernels.improved(rows, totals) if sound else rows
        grown = np.sum(kernels.noise(made)[0] ** 2) / kernels.scale**2
        if not sound or grown > DIVERGED:
            new = kernels.nodes
            t = new * self.training.trainer.step
            raise SolveError(f"training blew up in step {new} (t={t:.6g}): take a smaller step")
        self.totals = totals
        return Sweep(made, 0.0, 0.0)

    def keep(self, step: Step) -> None:
        """Make the step part of the past."""
        kernels, made, new = self.kernels, step.made, self.kernels.nodes
        # once more: what is left of the errors may be small, and must be orthogonal to the basis
        known = padded(kernels, made)
        again = [project(one, moved, known) for one, moved in zip(self.chunks, self.moved, strict=True)]
        overlap, gram = (np.sum([part[i] for part in again], axis=0) for i in range(2))
        made = kernels.improved(made, self.totals._replace(overlap=overlap, gram=gram))
        fresh = kernels.append(made, self.totals.moments)
        removed, following = padded(kernels, made), jnp.asarray(new)
        parts = (kernels.F[new], kernels.white[new], removed, kernels.R[new], fresh[0, 0])
        copies: list[Any] = [np.copy(part) for part in parts]
        rows = StepRows(*copies)
        self.chunks = [
            settle(one, moved, following, rows) for one, moved in zip(self.chunks, self.moved, strict=True)
        ]
        self.moved = []

    def turns(self, made: NewRows) -> list[tuple[np.ndarray, float]]:
        """None: time is discrete."""
        return []

    def first_length(self) -> float:
        """The step."""
        return self.training.trainer.step

    def longest(self) -> float:
        """The step."""
        return self.training.trainer.step


class StepEquations(DiagonalEquations):
    """Discrete training, in steps."""

    time = Stepping()
    chunks = STEPPING

    def __init__(self, components: Components, training: Training):
        super().__init__(components)
        self.training = training

    def member(self, problem: Problem, how: Sampling) -> Walker:
        """A problem with one sample, at t = 0; normals of mini-batches come after the others."""
        sample = sample_of(self.components, how, how.most * (2 if self.training.spread > 0 else 1))
        return make_walker(self.training, problem, sample, how.capacity, how.smallest, how.means)

    def monitored(self, problem: Problem, replicas: list[Replica]) -> list[Monitored]:
        """Errors that grow beyond all bounds, in unstable training, are known relative to themselves."""
        found = super().monitored(problem, replicas)
        return [one._replace(unit=np.maximum(one.unit, one.value)) for one in found]

    def responses(
        self, problem: Problem, kernels: Kernels, edges: Float[np.ndarray, " b"], t: Float[np.ndarray, " t"]
    ) -> Responses:
        """Both responses per unit of time."""
        return step_densities(kernels, float(edges[1]))


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
    own = (problem.delta, problem.sigma, second_moment(sample))
    kernels = Kernels(*own, 1, min(capacity, room(1)), smallest, training.spread)
    kernels.moments[2, 0] = 2 * problem.alpha**2 / problem.delta
    samples, few, share = split(sample, means, capacity)
    half = sample.normals.shape[0] // 2 if training.spread > 0 else sample.normals.shape[0]
    normals = [part.normals[:half] for part in samples]
    white = [part.normals[half:] if training.spread > 0 else None for part in samples]
    chunks: list[Any] = [
        at_rest(training, problem, kernels, part, own, other, k < few)
        for k, (part, own, other) in enumerate(zip(samples, normals, white, strict=True))
    ]
    folded = [part.folded for part in samples]
    return Walker(problem, kernels, chunks, share, means, normals, folded, training, white)


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


def padded(kernels: Kernels, rows: NewRows) -> Any:
    """The part of a new row on the known basis, over all steps there is room for."""
    return np.pad(rows.known[0], (0, kernels.capacity - rows.known.shape[1]))
