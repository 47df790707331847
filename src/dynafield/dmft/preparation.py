"""From a problem and a plan to members before t = 0: samples, equations, states at rest, and their memory."""

import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dynafield.dmft.closed import Affine, affine_part
from dynafield.dmft.discrete.batches import batch_at_rest, remembered
from dynafield.dmft.equations import CoordinateRow, DataRow, Feature
from dynafield.dmft.member import Chance, Member, Numbers, State
from dynafield.dmft.rows import Rows, Sampled
from dynafield.dmft.rules import STAGES, FlowTime, Stepping, StepTime, TimeRule
from dynafield.dmft.sampling import Sample, draw, draw_data, strata, turned
from dynafield.problem.model import Datum, Model, SquaredLoss, bare
from dynafield.problem.spectra import JointLaw
from dynafield.problem.trainers import Steps

__all__ = [
    "FEWEST",
    "Equations",
    "Order",
    "Plan",
    "Prepared",
    "Problem",
    "Tolerance",
    "Turns",
    "affine_of",
    "coordinate_rows",
    "kept_rows",
    "member_bytes",
    "prepared",
]

KEPT = 2**11
"""Paths of a replica that are kept for the distribution of the weights, at most."""
FEWEST = 64
"""And at least."""
WRITTEN, LONG = 2**21, 1000
"""Numbers written down of these paths over all times, at most; fewer where there are more times than that."""


class Problem(NamedTuple):
    """One problem of several: δ, σ, and the model in plain numbers."""

    delta: float
    sigma: float
    model: Model


@dataclasses.dataclass(frozen=True)
class Equations:
    """Common to all problems of a solve: distribution of variances and targets, how time is cut, trainer,
    affine data or not."""

    law: JointLaw
    time: FlowTime | StepTime
    trainer: Steps | None
    closed: bool

    @property
    def rho(self) -> float:
        """Root mean square of the teacher's output."""
        return float(np.sqrt(self.law.signal))

    @property
    def symmetric(self) -> bool:
        """Whether training does not break the symmetry of odd models."""
        return self.trainer is None or self.trainer.odd

    @property
    def fraction(self) -> float:
        """Fraction of the data that a step sees."""
        return 1.0 if self.trainer is None else self.trainer.fraction

    @property
    def label_noise(self) -> float:
        """Standard deviation of the fresh noise of labels."""
        return 0.0 if self.trainer is None else self.trainer.label_noise

    @property
    def random(self) -> bool:
        """Whether steps have noise of their own."""
        return self.trainer is not None and self.trainer.random

    @property
    def new_directions(self) -> bool:
        """Whether this noise makes new directions of outputs in every step."""
        trainer = self.trainer
        return trainer is not None and (trainer.temperature > 0 or (trainer.random and not self.closed))

    @property
    def inertia(self) -> float:
        """What a step keeps of the velocity before."""
        return 0.0 if self.trainer is None else self.trainer.inertia


class Turns(NamedTuple):
    """Orthogonal matrices that turn the normals of coordinates and of data, or None [eq:leading]."""

    coordinates: Float[np.ndarray, "r r"] | None = None
    data: Float[np.ndarray, "q q"] | None = None


class Plan(NamedTuple):
    """How problems are sampled: points and replicas, room for directions, and accuracy of a march.

    `epsilons` has the sizes of dropped directions for every replica; `seeds` their seeds. `turns` are for
    every problem, once they are known. Rows are repeated so that there are as many as for `like` points, if
    these are more: then both run the same compiled code.
    """

    points: int
    seeds: tuple[int, ...]
    epsilons: tuple[float, ...]
    room: int
    faint: float
    settled: float
    floor: float
    seed: int
    turns: tuple[Turns, ...] = ()
    like: int = 0

    @property
    def data_rows(self) -> int:
        """Rows of sampled data."""
        return max(self.points, self.like)


def coordinate_rows(law: JointLaw, plan: Plan) -> int:
    """Rows of coordinates."""
    return sum(part.points for part in strata(law, plan.data_rows))


def kept_rows(paths: int, nodes: int) -> int:
    """Paths of one replica that are kept: a fraction 1/2^k, itself a smaller sample."""
    most = min(KEPT, max(int(WRITTEN / nodes * min(1.0, LONG / nodes) ** 2), FEWEST))
    return paths // 2 ** max(0, int(np.ceil(np.log2(paths / most))))


def member_bytes(equations: Equations, model: Model, plan: Plan, blocks: int) -> float:
    """Memory of one member: normals, basis, and room for a sweep, of both sides; and what is written down."""
    paths = coordinate_rows(equations.law, plan)
    single = isinstance(equations.time, StepTime) and not equations.time.in_blocks
    stages = 1 if single else STAGES
    nodes = blocks * stages + 1
    states = model.states * (2 if equations.inertia > 0 else 1)
    wide = 3 * plan.room + 40 * stages * (states + model.outputs)
    if (equations.fraction < 1 or equations.label_noise > 0) and equations.closed:
        wide += 3 * remembered(nodes)
    rows = paths if equations.closed else paths + plan.data_rows
    pages = nodes * (4 * model.outputs * plan.room + (model.states + 1) * kept_rows(paths, nodes))
    return 8.0 * (rows * wide + 2 * pages)


class Tolerance(NamedTuple):
    """Error allowed in E_train and E_test: absolute, in units of E_test(0) or of what has grown beyond, and
    relative or None."""

    absolute: float
    relative: float | None = None

    def times(self, share: float) -> "Tolerance":
        """The tolerance times a factor."""
        return Tolerance(share * self.absolute, None if self.relative is None else share * self.relative)

    def allowed(self, values: np.ndarray, unit: float | np.ndarray) -> np.ndarray:
        """The error allowed beside each value."""
        size = np.full_like(values, self.absolute) * unit
        return size if self.relative is None else np.minimum(size, self.relative * np.abs(values))


class Order(NamedTuple):
    """The checked arguments of `solve`."""

    equations: Equations
    problems: list[Problem]
    shape: tuple[int, ...]
    t_max: float
    tolerance: Tolerance
    points: int | None
    edges: Float[np.ndarray, " b"] | None
    seed: int
    memory: float
    preview: bool = False

    @property
    def time(self) -> TimeRule:
        """The rule by which time is cut."""
        return self.equations.time

    @property
    def fixed(self) -> bool:
        """Whether the user has fixed points or grid, and takes the error bars that come."""
        blocks = isinstance(self.time, FlowTime)
        return self.points is not None or (self.edges is not None and blocks)


class Prepared(NamedTuple):
    """Members and states before t = 0, and the samples behind them."""

    members: Member
    states: State
    samples: list[Sample]
    data: list[Datum | None]


def prepared(
    equations: Equations, problems: list[Problem], plan: Plan, steps: int, tasks: list[tuple[int, int]]
) -> Prepared:
    """All members of a march at rest, one per pair of a problem and a replica."""
    turns = plan.turns or (Turns(),) * len(problems)
    parts = [one_member(equations, problems[p], plan, r, steps, turns[p]) for p, r in tasks]
    stacked = jax.tree.map(lambda *x: np.stack(x), *[(part[0], part[1]) for part in parts])
    return Prepared(*stacked, *(list(column) for column in zip(*(part[2:] for part in parts), strict=True)))


def affine_of(equations: Equations, problem: Problem) -> Affine:
    """The closed form of the data, or nothing but w as output where they are sampled."""
    model, c = problem.model, problem.model.outputs
    if not equations.closed:
        return Affine(np.eye(c), np.zeros(c), np.zeros((c, 0)))
    if isinstance(model, SquaredLoss):
        return Affine(np.eye(1), -np.ones(1), np.array([[problem.sigma]]))
    slope = model.affine()
    assert slope is not None
    return affine_part(model, slope, equations.rho, problem.sigma)


def one_member(
    equations: Equations, problem: Problem, plan: Plan, replica: int, steps: int, turns: Turns
) -> tuple:
    """A problem with one sample, before t = 0."""
    model, c = problem.model, problem.model.outputs
    affine = affine_of(equations, problem)
    seed = (plan.seed, plan.seeds[replica])
    own, size = model.start.normals, plan.room
    trainer = equations.trainer
    batches = equations.fraction < 1 or equations.label_noise > 0
    fold = model.odd and equations.closed and own == 0 and equations.symmetric
    sample = draw(strata(equations.law, plan.points), own + size, (*seed, 0), fold)
    sample = repeated_rows(sample, coordinate_rows(equations.law, plan))
    weight, target = sample.weight, sample.target
    theta = np.asarray(model.start.rows(sample.normals[:own].T, target), float).reshape(len(target), -1).T
    amplitude = problem.delta**-0.5
    accuracy = (plan.epsilons[replica], plan.faint, plan.settled, plan.floor)
    values = (problem.delta, *accuracy, equations.inertia, equations.fraction, equations.label_noise)
    numbers = Numbers(*(np.asarray(x, float) for x in values))
    feature = Feature(target, np.sqrt(sample.variance))
    side = Sampled(weight, feature, np.asarray(amplitude), affine.rest)
    row = CoordinateRow(bare(model), affine.slope, affine.to_teacher)
    kind = equations.time.first_kind
    remembered = kind.begun(theta) if isinstance(kind, Stepping) else ()
    normals = turned(sample.normals[own : own + size], turns.coordinates)
    rows = at_rest(theta, normals, c, size, size, affine.rest)
    data = datum = None
    if not equations.closed:
        rho = equations.rho
        rows.basis[0], count = (feature.teacher / rho if rho > 0 else 0.0), np.ones((), int)
        rows = rows._replace(count=count)
        facts, normals = draw_data(model, rho, problem.sigma, plan.points, size, (*seed, 1), turns.data)
        n = plan.data_rows
        place = np.arange(n) % plan.points
        datum, normals = Datum(*(np.asarray(x)[place] for x in facts)), normals[:, place]
        by_rows = Datum(datum.f_star, datum.xi, np.moveaxis(datum.z, 0, -1))
        other = Sampled(np.full(n, 1.0 / n), tuple(by_rows), np.ones(()), np.zeros((c, 0)))
        data = other, at_rest(np.zeros((c, n)), normals, c, size, size, np.zeros((c, 0)))
    heard = None if data is None else DataRow(bare(model))
    member = Member(numbers, row, side, heard, data and data[0], chance_of(trainer, data is not None, seed))
    zeros = np.zeros((c, size))
    first = size_at_rest(model, sample, theta, affine)
    batch = batch_at_rest(steps + 1, sample.part) if batches and equations.closed else None
    inner = np.eye(kind.stages * c) if equations.closed else np.zeros((kind.stages * c,) * 2)
    drive = np.zeros((c, len(target))) if isinstance(kind, Stepping) else None
    state = State(rows, data and data[1], zeros, zeros, inner, first, drive, remembered, batch)
    return member, state, sample._replace(normals=normals[:0]), datum


def repeated_rows(sample: Sample, count: int) -> Sample:
    """So many rows, the weight of each shared between its copies."""
    if count == len(sample.weight):
        return sample
    place = np.arange(count) % len(sample.weight)
    found = Sample(*(part[..., place] for part in sample))
    return found._replace(weight=found.weight / np.bincount(place)[place])


def chance_of(trainer: Steps | None, sampled: bool, seed: tuple[int, int]) -> Chance | None:
    """What rows draw in every step, or None."""
    if trainer is None or not trainer.random:
        return None
    key = jax.random.key_data(jax.random.key(np.random.default_rng([*seed, 2]).integers(2**31)))
    shares = trainer.fraction if sampled and trainer.fraction < 1 else None
    labels = trainer.label_noise if sampled and trainer.label_noise > 0 else None
    heat = trainer.temperature if trainer.temperature > 0 else None
    return Chance(key, *(None if x is None else np.asarray(x, float) for x in (shares, heat, labels)))


def size_at_rest(model: Model, sample: Sample, theta: np.ndarray, affine: Affine) -> Float[np.ndarray, "2"]:
    """Scales of outputs that are known before t = 0: teacher and label noise; nothing of sampled data."""
    teacher = np.max(np.abs(affine.to_teacher)) if affine.rest.size else 1.0
    square = teacher**2 * np.sum(sample.weight * sample.variance * sample.target**2) + np.sum(affine.rest**2)
    size = np.sqrt(square)
    return np.array([size, size if affine.rest.size else 0.0])


def at_rest(
    state: np.ndarray, normals: np.ndarray, c: int, room_own: int, room_other: int, still: np.ndarray
) -> Any:
    """A side before t = 0, without directions."""
    n, m = state.shape[1], still.shape[1]
    parts = dict(
        state=state, output=np.zeros((c, n)), rest=np.zeros((c, n)), still_rest=still,
        basis=np.zeros((room_own, n)), still_basis=np.zeros((room_own, m)), normals=normals[:room_other],
        count=np.zeros((), int), F=np.zeros((c, room_own)), S=np.zeros((c, room_other)),
    )  # fmt: skip
    return Rows(**parts)
