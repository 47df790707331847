r"""Gradient flow of diagonal networks by their mirror map [eq:dmft_path, eq:dmft_tangent]."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.dmft.chunks import split
from dynafield.dmft.densities import Responses, densities
from dynafield.dmft.diagonal import DiagonalEquations, DiagonalMember, Problem, sample_of, second_moment
from dynafield.dmft.equations import Blocks, Sampling
from dynafield.dmft.kernels import Kernels, NewRows, Totals
from dynafield.dmft.layers import growth, start
from dynafield.dmft.march import Accuracy, Means, Step, Sweep
from dynafield.dmft.paths import Block, Outcome, Paths, Rows, Sums, commit, extrapolated, sweep
from dynafield.dmft.sampling import Sample
from dynafield.numerics.collocation import Radau, radau

__all__ = ["STEEPEST", "MirrorEquations", "MirrorMember", "add", "make_member"]

NEWTON_LOST = 1e-6
"""Newton steps that are still so large when the rows have settled mean that a path was not solved."""
STEEPEST = 1.5
"""Largest μh: beyond, the rule no longer grows as the layers do."""


@dataclasses.dataclass
class MirrorMember(DiagonalMember):
    """A diagonal network in a block: its constants, guesses for its paths and what they came to."""

    rule: Radau = dataclasses.field(default_factory=lambda: radau(Blocks.stages))
    constants: Any = None
    length: float = 0.0
    totals: Any = None
    guesses: list[Any] = dataclasses.field(default_factory=list)
    outcomes: list[Outcome] = dataclasses.field(default_factory=list)

    def enlarge(self, capacity: int) -> None:
        """Room for more nodes, with normals from the reserve."""
        self.kernels.enlarge(capacity)
        self.chunks = [
            enlarged(paths, normals[:capacity])
            for paths, normals in zip(self.chunks, self.reserve, strict=True)
        ]

    def block(self, length: float) -> Block:
        """Constants of the next block."""
        problem, c, a = self.problem, self.rule.nodes, length * self.rule.weights
        free = np.linalg.inv(np.eye(len(c)) - growth(problem.depth, problem.lam) * a)
        drift = -problem.lam * length * c if problem.depth == 2 else np.zeros_like(c)
        integral = free @ a
        parts: list[Any] = [
            np.asarray(self.kernels.nodes),
            integral,
            np.linalg.inv(integral),
            free @ np.ones_like(c),
            drift,
            np.asarray(problem.alpha),
        ]
        return Block(*parts)

    def begin(self, length: float) -> NewRows:
        """Prepare the next block."""
        self.constants, self.length = self.block(length), length
        self.guesses = [extrapolated(paths, self.constants) for paths in self.chunks]
        return self.kernels.guess()

    def measure(self) -> Float[np.ndarray, " m"]:
        """Weights of the rows that make their errors comparable."""
        return self.kernels.measure().flat()

    def sweep(self, rows: NewRows) -> list[Sums]:
        """One sweep over all chunks."""
        driving, depth = device_rows(self.kernels, rows), self.problem.depth
        pairs = [
            sweep(depth, paths, self.constants, driving, guess)
            for paths, guess in zip(self.chunks, self.guesses, strict=True)
        ]
        self.outcomes = [outcome for outcome, _ in pairs]
        self.guesses = [outcome.phi for outcome in self.outcomes]
        return [sums for _, sums in pairs]

    def judge(self, rows: NewRows, sums: list[Sums], accuracy: Accuracy) -> Sweep:
        """Rows that the paths make, and how far they are from those that drove them."""
        totals = self.totals = add(sums, self.share)
        if not np.all(np.isfinite(totals.gram)) or not np.all(np.isfinite(totals.response)):
            return Sweep(rows, np.inf, np.inf, sound=False)
        made = self.kernels.improved(rows, totals)
        reach = self.length * self.problem.delta * float(np.max(totals.moments[0]))
        moved, turned = self.kernels.distance(rows, made, reach, accuracy.faint)
        return Sweep(made, moved, turned, lost=max(float(one.step) for one in sums) > NEWTON_LOST)

    def keep(self, step: Step) -> None:
        """Make the solved block part of the past."""
        kernels, made = self.kernels, step.made
        correction = np.zeros((kernels.stages, kernels.capacity))
        correction[:, : kernels.nodes] = made.known - step.drive.known
        fresh = kernels.append(made, self.totals.moments)
        self.chunks = [
            commit(paths, self.constants, outcome, correction, fresh)
            for paths, outcome in zip(self.chunks, self.outcomes, strict=True)
        ]
        self.outcomes = []

    def turns(self, made: NewRows) -> list[tuple[np.ndarray, float]]:
        """Rows of F and of U, which are root mean squares over paths."""
        kernels, last = self.kernels, self.kernels.nodes - 1
        pairs = (kernels.F[last], kernels.noise(made)), (kernels.U[last], kernels.residuals(made))
        return [(np.vstack([before, new]), kernels.scale) for before, new in pairs]

    def first_length(self) -> float:
        """A first block: short beside the fastest relaxation and the first unit of movement."""
        problem, largest = self.problem, float(np.max(np.abs(self.chunks[0].target)))
        slope = problem.alpha ** (2 * problem.depth - 2)
        spectrum = (1 + problem.delta**-0.5) ** 2
        force = (4 * self.kernels.scale + largest) * max(1.0, problem.alpha ** (problem.depth - 2))
        return 0.5 / (slope * spectrum + force + problem.lam * problem.depth)

    def longest(self) -> float:
        """No block may be longer."""
        mu = growth(self.problem.depth, self.problem.lam)
        return STEEPEST / mu if mu > 0 else np.inf


class MirrorEquations(DiagonalEquations):
    """Continuous time, in blocks."""

    time = Blocks()

    def member(self, problem: Problem, how: Sampling) -> MirrorMember:
        """A problem with one sample, at t = 0."""
        sample = sample_of(self.components, how, how.most)
        return make_member(problem, sample, how.capacity, self.time.stages, how.smallest, how.means)

    def responses(
        self, problem: Problem, kernels: Kernels, edges: Float[np.ndarray, " b"], t: Float[np.ndarray, " t"]
    ) -> Responses:
        """Both responses as densities on the nodes."""
        return densities(kernels, radau(self.time.stages), edges, t, growth(problem.depth, problem.lam))


def make_member(
    problem: Problem, sample: Sample, capacity: int, stages: int, smallest: float, means: Means
) -> MirrorMember:
    """Kernels and paths at t = 0; some of the chunks carry tangents."""
    kernels = Kernels(problem.delta, problem.sigma, second_moment(sample), stages, capacity, smallest)
    slope = problem.alpha ** (2 * problem.depth - 2)
    kernels.moments[:, 0] = np.array([slope, slope**2, 2 * problem.alpha**2]) / problem.delta
    samples, few, share = split(sample, means, capacity)
    chunks = [at_rest(problem, kernels, part, k < few) for k, part in enumerate(samples)]
    normals, folded = [part.normals for part in samples], [part.folded for part in samples]
    return MirrorMember(problem, kernels, chunks, share, means, normals, folded, radau(stages))


def at_rest(problem: Problem, kernels: Kernels, sample: Sample, carrying: bool) -> Paths:
    """Paths at t = 0."""
    size, times = len(sample.target), kernels.capacity
    normals = sample.normals[:times]
    root = np.sqrt(sample.weight / problem.delta)
    basis, gradient = np.zeros((times, size)), np.zeros((times, size))
    basis[0] = -root * sample.target / kernels.scale
    gradient[0] = -sample.target + kernels.scale * normals[0]
    layer = np.full(size, start(problem.depth, problem.alpha))
    rates = jnp.zeros((times, size, times)) if carrying else None
    tangent = jnp.zeros((size, times)) if carrying else None
    arrays = [jnp.array(x) for x in (sample.target, root, normals, basis, gradient, layer, layer)]
    return Paths(*arrays, rates=rates, tangent=tangent)


def enlarged(paths: Paths, normals: Float[np.ndarray, "t n"]) -> Paths:
    """The same paths with room for as many nodes as there are normals."""
    more = len(normals) - len(paths.basis)
    rows: dict = {name: jnp.pad(getattr(paths, name), ((0, more), (0, 0))) for name in ("basis", "gradient")}
    if paths.rates is not None and paths.tangent is not None:
        rows["rates"] = jnp.pad(paths.rates, ((0, more), (0, 0), (0, more)))
        rows["tangent"] = jnp.pad(paths.tangent, ((0, 0), (0, more)))
    return paths._replace(normals=jnp.array(normals), **rows)


def device_rows(kernels: Kernels, drive: NewRows) -> Rows:
    """Rows in the shapes of the path equation: noise and response that drive, basis part to remove."""
    k, noise = kernels.nodes, kernels.noise(drive)
    known, response = np.zeros_like(noise), np.zeros_like(noise)
    known[:, :k], response[:, :k] = drive.known, drive.response[:, :k]
    parts: list[Any] = [noise, known, response, drive.response[:, k:]]
    return Rows(*parts)


def add(sums: list[Sums], share: float) -> Totals:
    """Totals over chunks; the response comes from those that carry tangents."""
    responses = [one.response for one in sums if one.response is not None]
    return Totals(
        np.sum([one.overlap for one in sums], axis=0),
        np.sum([one.gram for one in sums], axis=0),
        np.sum(responses, axis=0) / share,
        np.sum([one.moments for one in sums], axis=0),
    )
