"""General flows: what is sampled, and what is read off [eq:dmft_general]."""

import dataclasses
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from dynafield.dmft.chunks import split
from dynafield.dmft.equations import Blocks, Equations, Monitored, Sampling, Stepping
from dynafield.dmft.factors import Factor, LinearData
from dynafield.dmft.flow_data import datum_of, draw_data, observe, own_normals, static_part
from dynafield.dmft.flow_member import FlowMember, FlowProblem, Models, Side
from dynafield.dmft.grid import defects
from dynafield.dmft.march import Accuracy, Means, Step
from dynafield.dmft.sampling import Sample, draw, strata
from dynafield.dmft.sides import Equation, Rows
from dynafield.problem.flows import MEASURES, Datum, Flow
from dynafield.problem.priors import Components
from dynafield.problem.trainers import Steps

__all__ = ["FlowEquations", "FlowReplica"]

SHARE = 0.5
"""Share of rows that carry tangents where data are sampled: slopes of ℓ may jump, and then scatter most."""
STEPPING = (256, 16)
"""In steps, on a processor: rows solved at once, and by how many times more without tangents."""


class FlowTurn(NamedTuple):
    """Directions in which noise is drawn, for coordinates and for data."""

    coordinates: Float[np.ndarray, "e e"]
    data: Float[np.ndarray, "r r"]


@dataclasses.dataclass
class FlowReplica:
    """A finished member: factors and responses, curves (4, time), and some of its rows."""

    F_w: np.ndarray
    R_w: np.ndarray
    F_ell: np.ndarray
    R_ell: np.ndarray
    scales: tuple[float, float]
    curves: np.ndarray
    theta: np.ndarray
    w_star: np.ndarray
    theta_weight: np.ndarray
    f: np.ndarray
    datum: Datum
    f_weight: np.ndarray


@lru_cache(maxsize=64)
def models_of(flow: Flow, steps: bool, heavy: bool) -> Models:
    """The equations of a flow in the shapes of sampled rows: vectors, whatever the user's shapes are.

    The same flow gets the same functions, for which code has been compiled.
    """
    k = flow.states

    def output(state, facts, t):
        return flow.weight(state[:k].reshape(flow.start.shape), t).reshape(-1)

    def rate(g, state, t):
        return flow.move(g.reshape(flow.channels), state[:k].reshape(flow.start.shape), t).reshape(-1)

    def push(state, facts, t):
        return flow.push(state.reshape(flow.channels), Datum(*facts), t).reshape(-1)

    def step(g, state, t, constants):
        move = constants[0] * rate(g, state, t)
        if not heavy:
            return state + move
        move = move + constants[1] * state[k:]
        return jnp.concatenate([state[:k] + move, move])

    def rest(g, state, t, constants):
        return state

    data = Equation(push, lambda f, state, t: f, teacher=flow.differentiable, memory=False)

    def whole(g, state, t):
        moved = rate(g, state, t)
        return jnp.concatenate([moved, jnp.zeros(k)]) if heavy else moved

    taken = Equation(output, whole, step if steps else None)
    first = taken if steps else Equation(output, whole, rest)
    return Models(flow, taken, first, data, 2 * k if heavy else k)


class FlowEquations(Equations):
    """A flow, with the targets of a prior, in continuous time or in steps."""

    def __init__(self, flow: Flow, components: Components, trainer: Steps | None):
        self.flow, self.components, self.trainer = flow, components, trainer
        self.time = Blocks() if trainer is None else Stepping()
        self.chunks = None if trainer is None else STEPPING
        self.models = models_of(flow, trainer is not None, trainer is not None and trainer.inertia > 0)
        self.slope = None if self.fraction < 1 else flow.affine()
        self.statics: dict[FlowProblem, LinearData] = {}
        if self.slope is None:
            self.share = SHARE

    @property
    def fraction(self) -> float:
        """Share of the data that a step sees."""
        return 1.0 if self.trainer is None else self.trainer.fraction

    def paths(self, points: int) -> int:
        """Coordinates of one replica."""
        return sum(part.points for part in strata(self.components, points))

    def bytes(self, means: Means, points: int, capacity: int) -> float:
        """Memory of one member."""
        rows = 1 + self.flow.outputs * capacity
        data = means.bytes(points, rows) if self.slope is None else 0.0
        return means.bytes(self.paths(points), rows) + data

    def member(self, problem: FlowProblem, how: Sampling) -> FlowMember:
        """A problem with one sample, at t = 0."""
        c = self.flow.outputs
        rows, most = (1 + c * nodes for nodes in (how.capacity, how.most))
        linear = self.linear(problem)
        extra = 0 if linear is None else c
        coordinates = self.coordinates(problem, how, rows, extra + most, extra)
        data = None if linear is not None else self.data(problem, how, rows, most)
        drive = Factor(rows, how.smallest, extra) if data is None else data.factor
        constants = np.zeros(2)
        if self.trainer is not None:
            constants = np.array([self.trainer.step, self.trainer.inertia])
        member = FlowMember(
            problem, self.models, coordinates, data, linear, drive, how.capacity, how.means,
            self.time.rule, constants, how.seed, how.points, how.tol,
        )  # fmt: skip
        guess = member.begin(0.0)
        found = member.judge(guess, member.sweep(guess), Accuracy(1.0, 1.0))  # nothing is iterated
        member.keep(Step(guess, found.made, 1))
        return member

    def linear(self, problem: FlowProblem) -> LinearData | None:
        """Data that need no sampling, if ℓ is affine."""
        if self.slope is None:
            return None
        if problem not in self.statics:
            static = static_part(self.flow, problem, self.slope)
            self.statics[problem] = LinearData(static, problem.delta, problem.rho)
        return self.statics[problem]

    def coordinates(self, problem: FlowProblem, how: Sampling, rows: int, most: int, extra: int) -> Side:
        """Sampled coordinates: targets, starts, noise."""
        own = self.flow.start.normals
        parts = strata(self.components, how.points)
        sample = draw(parts, own + most, (*how.seed, 0), fold=False)
        turn = None if how.turn is None else how.turn.coordinates
        sample = sample._replace(normals=turned(sample.normals, own, turn))
        factor = Factor(rows, how.smallest)
        factor.F[0, 0] = problem.rho
        samples, few, share = split(sample, how.means, rows)
        chunks = [self.coordinate_rows(problem, s, how, rows, extra, k < few) for k, s in enumerate(samples)]
        return Side(factor, chunks, share, [s.normals[own:] for s in samples], 1 / problem.delta)

    def coordinate_rows(
        self, problem: FlowProblem, sample: Sample, how: Sampling, rows: int, extra: int, carrying: bool
    ) -> Rows:
        """One chunk of coordinates."""
        own, count = self.flow.start.normals, len(sample.target)
        theta = self.flow.start.rows(sample.normals[:own].T, sample.target).reshape(count, -1).T
        carry = np.zeros((self.models.states, count))
        carry[: len(theta)] = theta
        root = np.sqrt(sample.weight)
        basis, outputs = np.zeros((rows, count)), np.zeros((rows, count))
        if problem.rho > 0:
            basis[0], outputs[0] = root * sample.target / problem.rho, sample.target
        normals = sample.normals[own : own + extra + rows]
        facts = (jnp.array(sample.target),)
        return at_rest(
            facts, None, sample.weight, root, normals, basis, outputs, carry, how.capacity, carrying
        )

    def data(self, problem: FlowProblem, how: Sampling, rows: int, most: int) -> Side:
        """Sampled data, with mini-batches if any."""
        masks = how.most if self.fraction < 1 else 0
        turn = None if how.turn is None else how.turn.data
        drawn = draw_data(self.flow, problem, how.points, most, masks, turn, (*how.seed, 1))
        samples, few, share = split(drawn, how.means, rows)
        chunks = [self.data_rows(problem, s, how, rows, most, k < few) for k, s in enumerate(samples)]
        own = own_normals(self.flow, problem)
        return Side(
            Factor(rows, how.smallest), chunks, share, [s.normals[own : own + most] for s in samples], 1.0
        )

    def data_rows(
        self, problem: FlowProblem, sample: Sample, how: Sampling, rows: int, most: int, carrying: bool
    ) -> Rows:
        """One chunk of data."""
        own, count = own_normals(self.flow, problem), len(sample.target)
        normals = sample.normals[own : own + rows]
        datum = datum_of(self.flow, problem, sample.normals[:own], normals[0])
        gain = None
        if self.fraction < 1:
            uniform = ndtr(sample.normals[own + most :])
            gain = jnp.array((uniform < self.fraction) / self.fraction)
        zero = np.zeros((rows, count))
        root = np.sqrt(sample.weight / problem.delta)
        carry = np.zeros((self.flow.outputs, count))
        facts = tuple(jnp.array(x) for x in datum)
        return at_rest(facts, gain, sample.weight, root, normals, zero, zero, carry, how.capacity, carrying)

    def finished(self, member: FlowMember, keep: int) -> FlowReplica:
        """Factors, curves and some rows of a member; its device arrays are given up."""
        size, k = member.coordinates.factor.size, self.flow.states
        factors = member.coordinates.factor, member.drive
        F_w, F_ell = (one.F[:size, : one.extra + size] for one in factors)
        R_w, R_ell = (one.R[:size, :size] for one in factors)
        theta, facts, theta_weight = kept_rows(member.coordinates, member.nodes, keep)
        seen = observe(self.models.data, self.flow, member, self.fraction, keep)
        member.coordinates.chunks = []
        if member.data is not None:
            member.data.chunks = []
        curves = seen.curves
        if member.linear is not None:
            curves = exact_where_possible(self.flow, member, curves, F_w)

        scales = (factors[0].scale, factors[1].scale)
        return FlowReplica(
            F_w, R_w, F_ell, R_ell, scales, curves, theta[:, :, :k], facts[0], theta_weight,
            seen.f, seen.datum, np.full(len(seen.f), 1 / len(seen.f)),
        )  # fmt: skip

    def principal(self, replicas: list[FlowReplica]) -> FlowTurn:
        """Principal directions of both noises, as columns, largest first."""
        drive, weights = (np.mean([getattr(r, n) for r in replicas], axis=0) for n in ("F_ell", "F_w"))
        return FlowTurn(*(np.linalg.svd(matrix)[2].T for matrix in (drive, weights[:, 1:])))

    def curves(self, replicas: list[FlowReplica]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means over replicas (4, time), their standard errors, and the same with that of the time step."""
        values = np.array([r.curves for r in replicas])
        mean, scatter = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(len(replicas))
        if self.time.rule is None:
            return mean, scatter, scatter
        first, c = replicas[0], self.flow.outputs
        errors = []
        for rows, scale in ((first.F_ell[1:], first.scales[1]), (first.F_w[1:], first.scales[0])):
            by_node = rows.reshape(-1, c * rows.shape[1])
            absolute, _ = defects(self.time.rule, by_node, scale)
            errors.append(np.concatenate([[0.0], np.repeat(absolute, self.time.stages)]))
        units = np.abs(mean[:, :1])
        stepping = np.stack([errors[0], errors[0], errors[1], errors[1]]) * units
        return mean, scatter, np.hypot(scatter, stepping)

    def monitored(self, problem: FlowProblem, replicas: list[FlowReplica]) -> list[Monitored]:
        """Curves in units of their value at t = 0, or of their own where they have grown: both losses.

        A user's own errors may jump with f, and are then known as well as observed data tell; more points
        would not help.
        """
        mean, scatter, _ = self.curves(replicas)
        units = np.maximum(np.abs(mean[:, :1]), np.abs(mean))
        rows = zip(MEASURES, mean, scatter, units, strict=True)
        return [Monitored(*one) for name, *one in rows if self.flow.error is None or name.endswith("loss")]


def turned(normals: np.ndarray, own: int, turn: np.ndarray | None) -> np.ndarray:
    """Normals whose noise, after their `own` first rows, is along given directions."""
    if turn is None:
        return normals
    end = own + len(turn)
    return np.concatenate([normals[:own], turn @ normals[own:end], normals[end:]])


def at_rest(
    facts: Any, gain: Any, weight: Any, root: Any, normals: Any, basis: Any, outputs: Any, carry: Any,
    nodes: int, carrying: bool,
) -> Rows:  # fmt: skip
    """Rows before the first node."""
    rows, count = basis.shape
    rates = jnp.zeros((rows, count, rows)) if carrying else None
    tangent = jnp.zeros((len(carry), count, rows)) if carrying else None
    states = jnp.zeros((nodes, *carry.shape))
    arrays = [jnp.array(x) for x in (weight, root, normals, basis, outputs)]
    return Rows(facts, gain, *arrays, states=states, carry=jnp.array(carry), rates=rates, tangent=tangent)


def kept_rows(side: Side, nodes: int, keep: int) -> tuple[np.ndarray, tuple, np.ndarray]:
    """States (row, time, entry), facts and weights of the first rows."""
    states, facts, weight = [], [], []
    for chunk in side.chunks:
        used = np.asarray(chunk.weight) > 0
        states.append(np.asarray(chunk.states[:nodes]).transpose(2, 0, 1)[used])
        facts.append([np.asarray(x)[used] for x in chunk.facts])
        weight.append(np.asarray(chunk.weight)[used])
        if sum(map(len, weight)) >= keep:
            break
    whole = np.concatenate(weight)[:keep]
    joined = tuple(np.concatenate(column)[:keep] for column in zip(*facts, strict=True))
    return np.concatenate(states)[:keep], joined, whole / np.sum(whole)


def exact_where_possible(flow: Flow, member: FlowMember, curves: np.ndarray, F_w: np.ndarray) -> np.ndarray:
    """Curves of an affine ℓ with mean squares of ℓ, which need no sample, where these are asked for."""
    linear, c = member.linear, flow.outputs
    assert linear is not None
    square = member.problem.delta * np.sum(member.drive.F[1 : len(F_w)] ** 2, axis=1)
    for i, exact in enumerate((np.sum(square.reshape(-1, c), axis=1), linear.fresh_square(F_w[1:]))):
        if flow.loss is None:
            curves[2 * i] = exact / 2
        if flow.error is None:
            curves[2 * i + 1] = exact
    return curves
