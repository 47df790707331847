r"""Marching through time, block after block, with the past frozen.

In every block the new rows of the kernels are a fixed point: paths make rows, rows drive
paths. The iteration is accelerated; if it does not settle, the block is too long.
"""

import dataclasses
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.dmft.kernels import Kernels, NewRows, Totals
from dynafield.dmft.layers import growth, start
from dynafield.dmft.paths import Block, Outcome, Paths, Rows, Sums, commit, extrapolated, sweep
from dynafield.dmft.sampling import Sample
from dynafield.numerics.acceleration import Anderson
from dynafield.numerics.collocation import Radau, radau

__all__ = [
    "Accuracy",
    "March",
    "Means",
    "Member",
    "Problem",
    "UnsettledError",
    "add",
    "make_member",
    "room",
    "split",
]

NEWTON_LOST = 1e-6
"""Newton steps that are still so large when the rows have settled mean that a path was not solved."""
CHUNK = {"cpu": 1280, "gpu": 40960}
"""Paths solved at once: what the caches of a processor hold, or what fills an accelerator."""
STEPPING = (128, 32)
"""For discrete training on a processor: paths solved at once, and by how many times more without tangents."""
SIZES = np.array([24, 40, 64, 96, 144, 216, 320, 480, 640])
"""Numbers of nodes that arrays have room for: few, so that compiled code is used again."""


def room(nodes: int) -> int:
    """The next larger of a few numbers of nodes."""
    fitting = SIZES[nodes <= SIZES]
    return int(fitting[0]) if len(fitting) else int(np.ceil(nodes / 1000) * 1000)


class Means(NamedTuple):
    """What a member may use: share of its paths that carry tangents (at least one chunk), and bytes.

    `chunk` paths are solved at once, `joined` times as many where they carry no tangents.
    """

    share: float
    memory: float
    chunk: int
    joined: int = 1

    @classmethod
    def of_device(cls, share: float, memory: float, steps: bool) -> "Means":
        """Chunks that suit the device in use, for blocks of time or for steps."""
        backend = jax.default_backend()
        if steps and backend == "cpu":
            return cls(share, memory, *STEPPING)
        return cls(share, memory, CHUNK.get(backend, CHUNK["gpu"]))

    def carrying(self, paths: int, capacity: int) -> float:
        """Number of paths that carry tangents, up to whole chunks."""
        affordable = (self.memory / (8.0 * capacity) - 4 * paths) / (1.5 * capacity)
        return float(max(min(paths, self.chunk), min(self.share * paths, affordable)))

    def bytes(self, paths: int, capacity: int) -> float:
        """Memory of one member, with the room its sweeps take."""
        return 8.0 * capacity * (4 * paths + 1.5 * self.carrying(paths, capacity) * capacity)


class Problem(NamedTuple):
    """The numbers of one problem."""

    delta: float
    sigma: float
    alpha: float
    lam: float
    depth: int


class Accuracy(NamedTuple):
    """When an iteration has settled: change of rows, of U relative to itself unless faint; sweeps allowed.

    The relative part is waived after `patience` sweeps.
    """

    absolute: float
    relative: float
    faint: float = 1e-4
    sweeps: int = 150
    patience: int = 30

    def met(self, moved: float, turned: float, count: int) -> bool:
        """Whether changes of rows and of U after some sweeps are small enough."""
        return moved < self.absolute and (turned < self.relative or count >= self.patience)

    @property
    def smallest(self) -> float:
        """Noise that is too small to matter."""
        return max(2e-8, 0.01 * self.absolute * min(1.0, 10 * self.relative))


class UnsettledError(Exception):
    """A block whose iteration does not converge."""


@dataclasses.dataclass
class Member:
    """One problem with one sample of paths: its kernels, and its paths in chunks.

    The first chunks carry tangents; `share` is the weight of their paths.
    """

    problem: Problem
    kernels: Kernels
    chunks: list[Any]
    share: float
    reserve: list[np.ndarray]
    folded: list[np.ndarray]
    guesses: list[Any] = dataclasses.field(default_factory=list)
    outcomes: list[Outcome] = dataclasses.field(default_factory=list)

    def enlarge(self, capacity: int) -> None:
        """Room for more nodes, with normals from the reserve."""
        self.kernels.enlarge(capacity)
        self.chunks = [
            enlarged(paths, normals[:capacity])
            for paths, normals in zip(self.chunks, self.reserve, strict=True)
        ]


def make_member(
    problem: Problem, sample: Sample, capacity: int, stages: int, smallest: float, means: Means
) -> Member:
    """Kernels and paths at t = 0; some of the chunks carry tangents."""
    second_moment = float(np.sum(sample.weight * sample.target**2))
    kernels = Kernels(problem.delta, problem.sigma, second_moment, stages, capacity, smallest)
    slope = problem.alpha ** (2 * problem.depth - 2)
    kernels.moments[:, 0] = np.array([slope, slope**2, 2 * problem.alpha**2]) / problem.delta
    samples, few, share = split(sample, means, capacity)
    chunks = [at_rest(problem, kernels, part, k < few) for k, part in enumerate(samples)]
    normals, folded = [part.normals for part in samples], [part.folded for part in samples]
    return Member(problem, kernels, chunks, share, normals, folded)


def split(sample: Sample, means: Means, capacity: int) -> tuple[list[Sample], int, float]:
    """A sample in chunks, how many of them carry tangents, and the weight of these.

    Chunks are filled up to one of few sizes, so that compiled code is used again.
    """
    count, chunk = len(sample.target), means.chunk
    pieces = 2 ** max(0, int(np.ceil(np.log2(count / chunk))))
    ends = np.round(np.linspace(0, count, pieces + 1)).astype(int)
    largest = int(np.max(np.diff(ends)))
    size = max(chunk // 2 ** int(np.floor(np.log2(chunk / largest))), largest)
    few = max(1, int(means.carrying(count, capacity) / count * pieces))
    marks = [*range(few), *range(few, pieces, means.joined), pieces]
    samples = [
        filled(Sample(*(part[..., ends[i] : ends[j]] for part in sample)), size * (j - i))
        for i, j in itertools.pairwise(marks)
    ]
    return samples, few, float(np.sum(sample.weight[: ends[few]]))


def filled(sample: Sample, size: int) -> Sample:
    """The sample filled up to `size` with paths of weight zero."""
    fill = size - len(sample.target)
    return Sample(*(np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, fill)]) for part in sample))


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


class Step(NamedTuple):
    """A block that is solved but not yet kept: rows driving the paths, rows they make, moments."""

    block: Block
    drive: NewRows
    made: NewRows
    moments: Float[np.ndarray, "3 s"]
    sweeps: int


class March:
    """Several members on one grid of time."""

    def __init__(self, members: list[Member], accuracy: Accuracy, stages: int, means: Means):
        self.members = members
        self.means = means
        self.accuracy = accuracy
        self.rule: Radau = radau(stages)
        self.edges = [0.0]

    @property
    def time(self) -> float:
        """Time reached."""
        return self.edges[-1]

    @property
    def nodes(self) -> int:
        """Nodes that are known."""
        return 1 + len(self.rule.nodes) * (len(self.edges) - 1)

    def needs(self, capacity: int) -> float:
        """Memory with room for so many nodes."""
        return sum(self.means.bytes(sum(map(len, member.folded)), capacity) for member in self.members)

    def block(self, member: Member, length: float) -> Block:
        """Constants of the next block."""
        problem, c, a = member.problem, self.rule.nodes, length * self.rule.weights
        free = np.linalg.inv(np.eye(len(c)) - growth(problem.depth, problem.lam) * a)
        drift = -problem.lam * length * c if problem.depth == 2 else np.zeros_like(c)
        integral = free @ a
        parts: list[Any] = [
            np.asarray(member.kernels.nodes),
            integral,
            np.linalg.inv(integral),
            free @ np.ones_like(c),
            drift,
            np.asarray(problem.alpha),
        ]
        return Block(*parts)

    def attempt(self, length: float) -> list[Step]:
        """Solve the next block for all members, or raise UnsettledError."""
        blocks = [self.block(member, length) for member in self.members]
        rows = [member.kernels.guess() for member in self.members]
        helpers = [Anderson(member.kernels.measure().flat()) for member in self.members]
        for member, block in zip(self.members, blocks, strict=True):
            member.guesses = [extrapolated(paths, block) for paths in member.chunks]
        done: dict[int, Step] = {}
        for count in range(1, self.accuracy.sweeps + 1):
            waiting = [k for k in range(len(self.members)) if k not in done]
            sums = {k: self.sweep(self.members[k], blocks[k], rows[k]) for k in waiting}
            for k in waiting:
                member = self.members[k]
                totals = add(sums[k], member.share)
                if not np.all(np.isfinite(totals.gram)) or not np.all(np.isfinite(totals.response)):
                    raise UnsettledError(self.where(length))
                made = member.kernels.improved(rows[k], totals)
                reach = length * member.problem.delta * float(np.max(totals.moments[0]))
                moved, turned = member.kernels.distance(rows[k], made, reach, self.accuracy.faint)
                if self.accuracy.met(moved, turned, count):
                    if max(float(one.step) for one in sums[k]) > NEWTON_LOST:
                        raise UnsettledError(self.where(length))
                    done[k] = Step(blocks[k], rows[k], made, totals.moments, count)
                    continue
                rows[k] = made.like(helpers[k].next(rows[k].flat(), made.flat()))
            if len(done) == len(self.members):
                return [done[k] for k in range(len(self.members))]
        raise UnsettledError(self.where(length))

    def where(self, length: float) -> str:
        """The block that is being solved, in words."""
        return f"between t={self.time:.6g} and {self.time + length:.6g}"

    def sweep(self, member: Member, block: Block, rows: NewRows) -> list[Sums]:
        """One sweep over all chunks of a member."""
        driving, depth = device_rows(member.kernels, rows), member.problem.depth
        pairs = [
            sweep(depth, paths, block, driving, guess)
            for paths, guess in zip(member.chunks, member.guesses, strict=True)
        ]
        member.outcomes = [outcome for outcome, _ in pairs]
        member.guesses = [outcome.phi for outcome in member.outcomes]
        return [sums for _, sums in pairs]

    def keep(self, length: float, steps: list[Step]) -> None:
        """Make a solved block part of the past."""
        for member, step in zip(self.members, steps, strict=True):
            correction = np.zeros((len(self.rule.nodes), member.kernels.capacity))
            correction[:, : member.kernels.nodes] = step.made.known - step.drive.known
            fresh = member.kernels.append(step.made, step.moments)
            member.chunks = [
                commit(paths, step.block, outcome, correction, fresh)
                for paths, outcome in zip(member.chunks, member.outcomes, strict=True)
            ]
            member.outcomes = []
        self.edges.append(self.time + length)


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
