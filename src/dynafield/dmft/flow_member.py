"""A general flow on its way: sampled coordinates, and data that are sampled or, where ℓ is affine, solved."""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.dmft.factors import Factor, FactorRows, LinearData
from dynafield.dmft.march import Accuracy, Means, Member, Step, Sweep
from dynafield.dmft.sides import (
    Block,
    Driving,
    Equation,
    Outcome,
    Rows,
    Sums,
    commit,
    last_states,
    project,
    sweep,
)
from dynafield.errors import SolveError
from dynafield.numerics.collocation import Radau
from dynafield.problem.flows import Flow
from dynafield.problem.trainers import DIVERGED

__all__ = ["FlowMember", "FlowProblem", "Models", "Side"]

NEWTON_LOST = 1e-6
"""Newton steps that are still so large when the rows have settled mean that a row was not solved."""


class FlowProblem(NamedTuple):
    """The numbers of one problem."""

    delta: float
    sigma: float
    rho: float


@dataclasses.dataclass(frozen=True, eq=False)
class Models:
    """The equations of a flow for one way to cut time: coordinates, coordinates at t = 0, and data."""

    flow: Flow
    coordinates: Equation
    first: Equation
    data: Equation
    states: int


@dataclasses.dataclass
class Side:
    """One kind of rows: factor and response of their outputs, and chunks with normals for later in reserve.

    The first chunks carry tangents; `share` is the weight of their rows.
    """

    factor: Factor
    chunks: list[Rows]
    share: float
    reserve: list[np.ndarray]
    scale: float
    outcomes: list[Outcome] = dataclasses.field(default_factory=list)
    guesses: list[Any] = dataclasses.field(default_factory=list)

    @property
    def paths(self) -> int:
        """Number of rows."""
        return sum(len(chunk.weight) for chunk in self.chunks)

    def enlarge(self, rows: int, nodes: int, noises: int) -> None:
        """Room for more."""
        self.factor.enlarge(rows)
        self.chunks = [
            enlarged(chunk, normals[:noises], rows, nodes)
            for chunk, normals in zip(self.chunks, self.reserve, strict=True)
        ]

    def launch(self, equation: Equation, block: Block, driving: Driving) -> list[Sums]:
        """A sweep over all chunks."""
        pairs = [
            sweep(equation, chunk, block, driving, guess)
            for chunk, guess in zip(self.chunks, self.guesses, strict=True)
        ]
        self.outcomes = [outcome for outcome, _ in pairs]

        if len(block.times) > 1:
            self.guesses = [outcome.state for outcome in self.outcomes]
        return [sums for _, sums in pairs]

    def made(self, sums: list[Sums], known: np.ndarray, twice: bool) -> tuple[FactorRows, bool, float]:
        """Rows that the outputs make, whether they are finite, and the last Newton step.

        `twice`: what is left of the outputs may be small, and must be orthogonal to the basis.
        """
        overlap, gram = (np.sum(x, axis=0) for x in ([s.overlap for s in sums], [s.gram for s in sums]))
        carried: Any = [one.response for one in sums if one.response is not None]
        response = self.scale / self.share * np.sum(carried, axis=0)[:, : self.factor.size + len(gram)]
        if not (np.all(np.isfinite(gram)) and np.all(np.isfinite(response))):
            empty = np.zeros((len(gram), self.factor.size + len(gram)))
            return FactorRows(empty, np.zeros_like(empty)), False, np.inf
        noise = self.factor.made(known, overlap, gram)
        if twice:
            known = noise[:, : self.factor.size]
            wide = widened(known, self.factor.capacity)
            again = [project(c, o, wide) for c, o in zip(self.chunks, self.outcomes, strict=True)]
            overlap, gram = (np.sum([one[i] for one in again], axis=0) for i in (0, 1))
            noise = self.factor.made(known, overlap, gram)
        return FactorRows(noise, response), True, max(float(one.step) for one in sums)

    def keep(self, equation: Equation, block: Block, driving: Driving, rows: FactorRows) -> None:
        """Add the block to the past of all chunks."""
        fresh = self.factor.basis_maker(rows.noise)
        known = widened(rows.noise[:, : self.factor.size], self.factor.capacity)
        self.chunks = [
            commit(equation, chunk, block, driving, outcome, known, fresh)
            for chunk, outcome in zip(self.chunks, self.outcomes, strict=True)
        ]
        self.factor.append(rows)
        self.outcomes = []


def widened(matrix: np.ndarray, width: int) -> np.ndarray:
    """The matrix with columns of zeros up to a width."""
    wide = np.zeros((len(matrix), width))
    wide[:, : matrix.shape[1]] = matrix
    return wide


def enlarged(chunk: Rows, normals: np.ndarray, rows: int, nodes: int) -> Rows:
    """The same rows with more room."""
    more, later = rows - len(chunk.basis), nodes - len(chunk.states)
    wide: dict[str, Any] = {
        name: jnp.pad(getattr(chunk, name), ((0, more), (0, 0))) for name in ("basis", "outputs")
    }
    wide["states"] = jnp.pad(chunk.states, ((0, later), (0, 0), (0, 0)))
    if chunk.rates is not None and chunk.tangent is not None:
        wide["rates"] = jnp.pad(chunk.rates, ((0, more), (0, 0), (0, more)))
        wide["tangent"] = jnp.pad(chunk.tangent, ((0, 0), (0, 0), (0, more)))
    return chunk._replace(normals=jnp.array(normals), **wide)


@dataclasses.dataclass
class FlowMember(Member):
    """One flow with one sample of coordinates, and one of data unless ℓ is affine (`linear`)."""

    problem: FlowProblem
    models: Models
    coordinates: Side
    data: Side | None
    linear: LinearData | None
    drive: Factor
    room: int
    means: Means
    rule: Radau | None
    constants: np.ndarray
    seed: tuple[int, ...]
    points: int
    tol: float
    block_times: list[np.ndarray] = dataclasses.field(default_factory=list)
    time: float = 0.0
    known_nodes: int = 0
    block: Any = None
    data_block: Any = None
    between: Any = None
    made_rows: Any = None
    data_driving: Any = None
    reach: float = 0.0

    @property
    def nodes(self) -> int:
        """Nodes that are known."""
        return self.known_nodes

    @property
    def capacity(self) -> int:
        """Nodes there is room for."""
        return self.room

    @property
    def channels(self) -> int:
        """Outputs per row."""
        return self.models.flow.outputs

    @property
    def explicit(self) -> bool:
        """Whether time is discrete: new rows follow from the past alone."""
        return self.rule is None or self.known_nodes == 0

    @property
    def sides(self) -> list[Side]:
        """What is sampled."""
        return [self.coordinates] if self.data is None else [self.coordinates, self.data]

    def rows_for(self, nodes: int) -> int:
        """Rows of two-time matrices with so many nodes."""
        return 1 + self.channels * nodes

    def bytes(self, capacity: int) -> float:
        """Memory with room for so many nodes."""
        return sum(self.means.bytes(side.paths, self.rows_for(capacity)) for side in self.sides)

    def enlarge(self, capacity: int) -> None:
        """Room for more nodes."""
        rows = self.rows_for(capacity)
        self.coordinates.enlarge(rows, capacity, self.drive.extra + rows)
        if self.data is not None:
            self.data.enlarge(rows, capacity, rows)
        else:
            self.drive.enlarge(rows)
        self.room = capacity

    def begin(self, length: float) -> FactorRows:
        """Prepare the next block: the last node's rows are the first guess."""
        first, size = self.known_nodes == 0, self.coordinates.factor.size
        times, integral = np.array([self.time + length]), np.zeros((1, 1))
        if self.rule is not None and not first:
            times, integral = self.time + length * self.rule.nodes, length * self.rule.weights
        parts: list[Any] = [np.asarray(self.known_nodes), np.asarray(size), times, integral, self.constants]
        self.block = Block(*parts)
        parts[3] = np.eye(len(times))  # f is the drive itself
        self.data_block = Block(*parts)
        count = len(times) * self.channels
        if first or self.rule is not None:  # a step needs no guess: what it had at first will do
            for side in self.sides:
                side.guesses = [last_states(c.states, len(times), self.block.node) for c in side.chunks]
        self.between = self.tiled(self.coordinates.factor, count)[:, :size]
        width = self.drive.extra + size
        noise = np.zeros((count, width + count))
        response = np.zeros((count, size + count))
        if not first:
            noise[:, :width] = self.tiled(self.drive, count)[:, :width]
            response[:, :size] = np.tile(self.drive.R[size - self.channels : size, :size], (len(times), 1))
        return FactorRows(noise, response)

    def tiled(self, factor: Factor, count: int) -> np.ndarray:
        """The rows of the last node for every node of a block; at t = 0 there are none."""
        if self.known_nodes == 0:
            return np.zeros((count, factor.extra + factor.size))
        return np.tile(factor.last(self.channels), (count // self.channels, 1))

    def measure(self) -> Float[np.ndarray, " m"]:
        """Weights of the rows: a response counts by what it responds to."""
        size, c = self.coordinates.factor.size, self.channels
        count = c * len(self.block.times)
        response = (
            np.linalg.norm(self.coordinates.factor.F[:size], axis=1) + 1e-3 * self.coordinates.factor.scale
        )
        response = np.concatenate([response, np.full(count, response[-1])])
        noise = np.ones((count, self.drive.extra + size + count))
        return np.concatenate([noise.ravel(), np.tile(response, (count, 1)).ravel()])

    @property
    def equation(self) -> Equation:
        """That of the coordinates."""
        return self.models.first if self.known_nodes == 0 else self.models.coordinates

    def driven(self, rows: FactorRows, factor: Factor, known: np.ndarray) -> Driving:
        """Rows of the kernels in the shapes of the path equations."""
        k, capacity = self.coordinates.factor.size, factor.capacity
        parts: list[Any] = [
            widened(rows.noise, factor.F.shape[1]),
            widened(rows.response[:, :k], capacity),
            rows.response[:, k:],
            widened(known, capacity),
        ]
        return Driving(*parts)

    def sweep(self, rows: FactorRows) -> list[Sums]:
        """Start the sweep over the coordinates."""
        driving = self.driven(rows, self.drive, self.between)
        return self.coordinates.launch(self.equation, self.block, driving)

    def judge(self, rows: FactorRows, sums: list[Sums], accuracy: Accuracy) -> Sweep:
        """What the coordinates make drives the data, and what these make should be the rows."""
        made, sound, step = self.coordinates.made(sums, self.between, self.explicit)
        if sound:
            made, sound, step = self.answer(rows, made, step)
        if not sound and self.explicit:
            where = f"step {self.known_nodes} (t={self.block.times[0]:.6g})"
            raise SolveError(f"training blew up in {where}: take a smaller step")
        if not sound:
            return Sweep(rows, np.inf, np.inf, sound=False)
        if self.explicit:
            return Sweep(made, 0.0, 0.0)
        moved, turned = self.distance(rows, made, accuracy.faint)
        return Sweep(made, moved, turned, lost=step > NEWTON_LOST)

    def answer(self, rows: FactorRows, made: FactorRows, step: float) -> tuple[FactorRows, bool, float]:
        """Rows of the data for new rows of the coordinates."""
        size = self.coordinates.factor.size
        self.between, self.made_rows = made.noise[:, :size], made
        self.reach = self.problem.delta * float(np.max(np.sum(np.abs(made.response[:, size:]), axis=1)))
        if self.linear is not None:
            found = self.linear.rows(made, self.drive)
            return found, bool(np.all(np.isfinite(found.noise))) and self.bounded(found, made), step
        data, rho = self.data, self.problem.rho
        assert data is not None
        known = rows.noise[:, :size] if not self.explicit else self.tiled(self.drive, len(rows.noise))
        self.data_driving = self.driven(made, self.coordinates.factor, known)
        sums = data.launch(self.models.data, self.data_block, self.data_driving)
        found, sound, last = data.made(sums, known, self.explicit)
        if sound and rho > 0 and not self.models.data.teacher:
            # Stein's identity: what the noise of f and f* have in common is not the teacher's doing
            common = np.concatenate([self.coordinates.factor.F[:size, 0], made.noise[:, 0]])
            teacher = np.sum([one.teacher for one in sums], axis=0)
            found.response[:, 0] = 0.0
            found.response[:, 0] = teacher / rho**2 - found.response @ common / rho
        return found, sound and self.bounded(found, made), max(step, last)

    def bounded(self, data: FactorRows, coordinates: FactorRows) -> bool:
        """Whether training has not blown up."""
        if self.known_nodes == 0:
            return True
        grown = (
            np.max(np.sum(data.noise**2, axis=1)) / self.drive.scale**2,
            np.max(np.sum(coordinates.noise**2, axis=1)) / self.coordinates.factor.scale**2,
        )
        return bool(max(grown) < DIVERGED)

    def distance(self, old: FactorRows, new: FactorRows, faint: float) -> tuple[float, float]:
        """Change of the rows in units of what they are at t = 0, and relative change of the noise.

        A drive that is wrong by ε throughout a block moves outputs by `reach` ε.
        """
        size, made = self.coordinates.factor.size, self.made_rows
        factor = self.coordinates.factor.F[:size, : made.noise.shape[1]]
        gap = (new.response - old.response) @ np.vstack([factor, made.noise])
        parts = [new.noise - old.noise, gap]
        largest = max(np.sqrt(np.max(np.sum(part**2, axis=1))) for part in parts)
        moved = max(largest / self.drive.scale, self.reach * largest / self.coordinates.factor.scale)
        turned = np.sqrt(np.sum((new.noise - old.noise) ** 2, axis=1))
        norm = np.sqrt(np.sum(new.noise**2, axis=1)) + faint * self.drive.scale
        return float(moved), float(np.max(turned / norm))

    def keep(self, step: Step) -> None:
        """Make the solved block part of the past."""
        rows = step.made if self.explicit else step.drive
        known = self.made_rows.noise[:, : self.coordinates.factor.size]
        driving = self.driven(rows, self.drive, known)
        if self.data is not None:
            data = self.data
            data.keep(self.models.data, self.data_block, self.data_driving, step.made)
        else:
            self.drive.append(step.made)
        self.coordinates.keep(self.equation, self.block, driving, self.made_rows)
        if self.known_nodes == 0:
            self.settle_scales()
        self.known_nodes += len(self.block.times)
        self.block_times.append(np.asarray(self.block.times))
        self.time = float(self.block.times[-1])

    def settle_scales(self) -> None:
        """Sizes at t = 0: of outputs and teacher, and of the drive of the coordinates."""
        problem, c = self.problem, self.channels
        rows = slice(1, 1 + c)
        weights = self.coordinates.factor.F
        size = np.sqrt(problem.rho**2 + np.max(np.sum(weights[rows] ** 2, axis=1)))
        self.coordinates.factor.scale = float(size) or 1.0
        through = self.drive.R[rows, : 1 + c] @ weights[: 1 + c]
        whole = np.max(np.sum(self.drive.F[rows] ** 2, axis=1) + np.sum(through**2, axis=1))
        self.drive.scale = float(np.sqrt(whole)) or 1.0

    def turns(self, made: FactorRows) -> list[tuple[np.ndarray, float]]:
        """Rows of both factors, root mean squares over what is sampled, with what they have grown to."""
        c, found = self.channels, []
        for factor, rows in ((self.coordinates.factor, self.made_rows.noise), (self.drive, made.noise)):
            last = widened(factor.last(c), rows.shape[1])
            size = max(factor.scale, float(np.linalg.norm(last)))
            found.append((np.vstack([last, rows]).reshape(-1, c * rows.shape[1]), size))
        return found

    def first_length(self) -> float:
        """A first block: short beside the fastest relaxation."""
        chunk, c = self.coordinates.chunks[0], self.channels
        own, through = first_rates(self.models.coordinates, chunk, self.drive.scale)
        spectrum = (1 + self.problem.delta**-0.5) ** 2
        slope = float(np.max(np.sum(np.abs(self.drive.R[1 : 1 + c, 1 : 1 + c]), axis=1)))
        return 0.5 / max(float(through) * slope * spectrum + float(own), 1e-300)

    def longest(self) -> float:
        """No limit."""
        return np.inf


@partial(jax.jit, static_argnums=0)
def first_rates(equation: Equation, chunk: Rows, force: Any) -> tuple[Any, Any]:
    """Fastest change of a coordinate by itself, and through the data, under a drive of given size."""
    slope = jax.vmap(jax.jacfwd(equation.output), in_axes=(-1, 0, None))(chunk.carry, chunk.facts, 0.0)
    drive = force * jnp.ones((slope.shape[1], 1)) * jnp.sign(chunk.normals[0])
    rates = jax.vmap(jax.jacfwd(equation.rate, argnums=(0, 1)), in_axes=(-1, -1, None))
    by_drive, by_state = rates(drive, chunk.carry, 0.0)
    through = jnp.abs(jnp.einsum("ncm,nmd->ncd", slope, by_drive)).sum(axis=(1, 2))
    return jnp.max(jnp.abs(by_state).sum(axis=(1, 2))), jnp.sqrt(jnp.mean(through**2))
