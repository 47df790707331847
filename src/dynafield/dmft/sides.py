r"""Sampled rows of a general flow: coordinates, or data [eq:dmft_general].

Both are driven by noise and by their own outputs through a response,
\(y = F\zeta + R\,o\), and make outputs o of a state Y: coordinates have \(o = w(\theta)\) and
\(\theta = \theta_b + Bp(g, \theta)\) in a block, data \(o = \ell(f)\) and \(Y = f\). So one code follows
both: \(Y = Y_b + B\,r(y, Y)\), \(o = o(Y)\), for all nodes of a block together; and tangents, the derivatives
of outputs with respect to shifts of y at every node, follow from the same linear system.

Rows of all two-time matrices are static (the teacher) first, then channels node by node.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dynafield.numerics.products import rows_times
from dynafield.numerics.small import solve_small

__all__ = [
    "Block",
    "Driving",
    "Equation",
    "Outcome",
    "Rows",
    "Sums",
    "commit",
    "last_states",
    "project",
    "solved_rows",
    "sweep",
]

NEWTON = 40
"""Largest number of Newton steps in a sweep."""
STRIDE = 0.5
"""Largest Newton step of a coordinate beyond its straight motion, relative to its size."""
SETTLED = 1e-6
"""After a Newton step this small, relative to 1 + |Y|, what is left is of the order of its square."""


@dataclasses.dataclass(frozen=True, eq=False)
class Equation:
    """Functions of one row: output of (state, known facts, time), rate of (drive, state, time).

    With `step`, a function of (drive, state, time, constants), the state of a node is what the step from the
    node before made it. `teacher`: whether outputs are differentiated with respect to the teacher's output,
    the first of the known facts. `memory`: whether a block begins where the one before ended (coordinates),
    or at zero (data).
    """

    output: Callable
    rate: Callable
    step: Callable | None = None
    teacher: bool = False
    memory: bool = True


class Rows(NamedTuple):
    """One chunk of rows and their history; unused rows of time are zero."""

    facts: Any
    gain: Float[Array, "t n"] | None
    weight: Float[Array, " n"]
    root: Float[Array, " n"]
    normals: Float[Array, "e n"]
    basis: Float[Array, "r n"]
    outputs: Float[Array, "r n"]
    states: Float[Array, "t m n"]
    carry: Float[Array, "m n"]
    rates: Float[Array, "r n r"] | None
    tangent: Float[Array, "m n r"] | None


class Block(NamedTuple):
    """Constants of a block: number of its first node and row, times, integration, constants of a step."""

    node: Int[Array, ""]
    place: Int[Array, ""]
    times: Float[Array, " s"]
    integral: Float[Array, "s s"]
    constants: Float[Array, " q"]


class Driving(NamedTuple):
    """New rows of the kernels that drive: noise, response to the past, within the block; basis to remove."""

    noise: Float[Array, "b e"]
    response: Float[Array, "b r"]
    inner: Float[Array, "b b"]
    known: Float[Array, "b r"]


class Sums(NamedTuple):
    """What one chunk contributes to the new rows."""

    overlap: Float[Array, "b r"]
    gram: Float[Array, "b b"]
    teacher: Float[Array, " b"]
    response: Float[Array, "b r"] | None
    step: Float[Array, ""]


class Outcome(NamedTuple):
    """Rows over a block: states, outputs, and the tangents of these."""

    state: Float[Array, "s m n"]
    output: Float[Array, "b n"]
    tangent: Float[Array, "b n r"] | None


class Local(NamedTuple):
    """Everything at the nodes of a block: outputs, drive, rates, and the derivatives of these."""

    output: Float[Array, "s c n"]
    slope: Float[Array, "s c m n"]
    drive: Float[Array, "s c n"]
    rate: Float[Array, "s m n"]
    by_drive: Float[Array, "s m c n"]
    by_state: Float[Array, "s m m n"]


def by_rows(function: Callable, *axes: Any) -> Callable:
    """A function of one row at one time over all rows (last axis) and nodes (first axis)."""
    return jax.vmap(jax.vmap(function, in_axes=axes, out_axes=-1), in_axes=tuple(AXES[a] for a in axes))


AXES = {-1: 0, None: 0, 0: None}
"""Axis of the nodes: arguments by node and row, by node only (times), by row only (facts)."""


def gains(rows: Rows, block: Block, count: int) -> Array:
    """Factors of the outputs, for mini-batches."""
    if rows.gain is None:
        return jnp.ones((count, 1, 1))
    return jax.lax.dynamic_slice_in_dim(rows.gain, block.node, count)[:, None]


def outputs(equation: Equation, rows: Rows, block: Block, state: Array) -> Array:
    """Outputs at all nodes, (s, c, n)."""
    made = by_rows(equation.output, -1, 0, None)(state, rows.facts, block.times)
    return made * gains(rows, block, len(state))


def slopes(equation: Equation, rows: Rows, block: Block, state: Array) -> Array:
    """Derivatives of outputs by states, (s, c, m, n)."""
    made = by_rows(jax.jacfwd(equation.output), -1, 0, None)(state, rows.facts, block.times)
    return made * gains(rows, block, len(state))[:, :, None]


def mixed(inner: Array, values: Array) -> Array:
    """(b, b) matrix times values (s, c, ...) of a block."""
    flat = values.reshape(len(inner), -1)
    return (inner @ flat).reshape(values.shape)


def local(
    equation: Equation, rows: Rows, block: Block, driving: Driving, known: Array, state: Array
) -> Local:
    """All that Newton's method and the tangents need."""
    output = outputs(equation, rows, block, state)
    slope = slopes(equation, rows, block, state)
    drive = known.reshape(output.shape) + mixed(driving.inner, output)
    at = by_rows(equation.rate, -1, -1, None)
    derivatives = by_rows(jax.jacfwd(equation.rate, argnums=(0, 1)), -1, -1, None)
    by_drive, by_state = derivatives(drive, state, block.times)
    return Local(output, slope, drive, at(drive, state, block.times), by_drive, by_state)


def newton_matrix(block: Block, driving: Driving, here: Local) -> Array:
    """1 - B (dr/dY + dr/dy R do/dY), (s m, s m, n)."""
    s, c, m, n = here.slope.shape
    inner = driving.inner.reshape(s, c, s, c)
    through = jnp.einsum("lacn,lcjd,jdbn->lajbn", here.by_drive, inner, here.slope)
    direct = jnp.einsum("labn,lj->lajbn", here.by_state, jnp.eye(s))
    matrix = -jnp.einsum("il,lajbn->iajbn", block.integral, through + direct).reshape(s * m, s * m, n)
    return matrix + jnp.eye(s * m)[:, :, None]


def follow(
    equation: Equation, rows: Rows, block: Block, driving: Driving, known: Array, guess: Array
) -> tuple[Array, Array]:
    """States at the nodes of a block by Newton's method, and the size of its last step."""

    rate = local(equation, rows, block, driving, known, guess).rate
    straight = jnp.abs(jnp.einsum("il,lan->ian", block.integral, rate))
    sizes = STRIDE * jnp.abs(rows.carry) + straight
    reach = sizes + jnp.sqrt(jnp.mean(sizes**2))

    def improve(state):
        value, _, count = state
        here = local(equation, rows, block, driving, known, value)
        gap = rows.carry + jnp.einsum("il,lan->ian", block.integral, here.rate) - value
        s, m, n = value.shape
        step = solve_small(newton_matrix(block, driving, here), gap.reshape(s * m, 1, n)).reshape(s, m, n)
        if equation.memory:  # or large steps end on another branch of solutions
            step = jnp.clip(step, -reach, reach)
        return value + step, jnp.max(jnp.abs(step) / (1.0 + jnp.abs(value))), count + 1

    def unsettled(state):
        _, size, count = state
        return (size > SETTLED) & (count < NEWTON)

    value, size, _ = jax.lax.while_loop(unsettled, improve, (guess, jnp.asarray(jnp.inf), 0))
    return value, size


class Linear(NamedTuple):
    """States of a block as linear functions of shifts of the drive and of the start of the block."""

    by_shift: Float[Array, "k b n"]
    by_start: Float[Array, "k m n"]


def linear(block: Block, driving: Driving, here: Local) -> Linear:
    """The linear system of the tangents, solved."""
    s, c, m, n = here.slope.shape
    source = jnp.einsum("il,lacn->ialcn", block.integral, here.by_drive).reshape(s * m, s * c, n)
    start = jnp.broadcast_to(jnp.tile(jnp.eye(m), (s, 1))[:, :, None], (s * m, m, n))
    solved = solve_small(newton_matrix(block, driving, here), jnp.concatenate([source, start], axis=1))
    return Linear(solved[:, : s * c], solved[:, s * c :])


def shifts(rows: Rows, block: Block, driving: Driving) -> Array:
    """Derivatives of the drive in the block, as far as the past and the shifts themselves give them."""
    assert rows.rates is not None
    times, count, _ = rows.rates.shape
    size = len(driving.inner)
    past = rows_times(driving.response, rows.rates.reshape(times, -1)).reshape(size, count, times)
    own = jax.lax.dynamic_update_slice(jnp.zeros((size, times)), jnp.eye(size), (0, block.place))
    return past + own[:, None, :]


def combine(matrix: Array, vectors: Array) -> Array:
    """A matrix for every row, (a, b, n), times vectors (b, n, r)."""
    parts = [sum(matrix[i, j][:, None] * vectors[j] for j in range(len(vectors))) for i in range(len(matrix))]
    return jnp.stack(parts)


def tangents(
    equation: Equation, rows: Rows, block: Block, driving: Driving, here: Local
) -> Float[Array, "b n r"]:
    """Derivatives of the outputs in a block."""
    s, c, m, n = here.slope.shape
    assert rows.tangent is not None
    if equation.step is not None:
        return combine(here.slope[0], rows.tangent)
    system, source = linear(block, driving, here), shifts(rows, block, driving)
    by_shift = jnp.einsum("icmn,imbn->icbn", here.slope, system.by_shift.reshape(s, m, s * c, n))
    by_start = jnp.einsum("icmn,iman->ican", here.slope, system.by_start.reshape(s, m, m, n))
    direct = None
    if equation.teacher:  # the teacher's output moves the outputs themselves, and through them the drive
        direct = teacher_slopes(equation, rows, block, here)
        source = source.at[:, :, 0].add(driving.inner @ direct)
    made = combine(by_shift.reshape(s * c, s * c, n), source)
    if equation.memory:
        made += combine(by_start.reshape(s * c, m, n), rows.tangent)
    return made if direct is None else made.at[:, :, 0].add(direct)


def teacher_slopes(equation: Equation, rows: Rows, block: Block, here: Local) -> Float[Array, "b n"]:
    """Derivatives of the outputs by the first of the known facts, at fixed states."""

    def of_teacher(first, state, facts, t):
        return equation.output(state, (first, *facts[1:]), t)

    def derivative(state, facts, t):
        return jax.jacfwd(of_teacher)(facts[0], state, facts, t)

    state = here.drive  # of data, whose state is the drive
    made = by_rows(derivative, -1, 0, None)(state, rows.facts, block.times)
    return (made * gains(rows, block, len(state))).reshape(-1, made.shape[-1])


@functools.partial(jax.jit, static_argnums=1)
def last_states(states: Float[Array, "t m n"], count: int, node: Int[Array, ""]) -> Float[Array, "s m n"]:
    """A first guess for a block: the states of the node before."""
    last = jax.lax.dynamic_index_in_dim(states, node - 1, keepdims=False)
    return jnp.broadcast_to(last, (count, *last.shape))


@functools.partial(jax.jit, static_argnums=0)
def sweep(
    equation: Equation, rows: Rows, block: Block, driving: Driving, guess: Float[Array, "s m n"]
) -> tuple[Outcome, Sums]:
    """Solve the rows for given rows of the kernels; return them and what they make."""
    known = rows_times(driving.noise, rows.normals) + rows_times(driving.response, rows.outputs)
    if equation.step is not None:
        state, size = rows.carry[None], jnp.zeros(())
    else:
        state, size = follow(equation, rows, block, driving, known, guess)
    here = local(equation, rows, block, driving, known, state)
    output = here.output.reshape(-1, here.output.shape[-1])
    rest = rows.root * output - rows_times(driving.known, rows.basis)
    response = tangent = None
    if rows.rates is not None:
        tangent = tangents(equation, rows, block, driving, here)
        response = jnp.einsum("n,bnr->br", rows.weight, tangent)
    first = rows.facts[0]
    sums = Sums(rows_times(rest, rows.basis.T), rest @ rest.T, output @ (rows.weight * first), response, size)
    return Outcome(state, output, tangent), sums


@functools.partial(jax.jit, static_argnums=0)
def solved_rows(
    equation: Equation, facts: Any, gain: Any, times: Any, inner: Any, known: Any
) -> tuple[Float[Array, "b n"], Float[Array, "b n"]]:
    """States and outputs of rows without memory in a block, whose drive is known up to their own outputs."""
    count, size = len(times), known.shape[1]
    shape = (count, len(known) // count, size)
    empty: Any = None
    zero = jnp.zeros(shape[1:])
    rows = Rows(facts, gain, *[empty] * 6, carry=zero, rates=None, tangent=None)
    block = Block(jnp.asarray(0), jnp.asarray(0), times, jnp.eye(count), empty)
    driving = Driving(empty, empty, inner, empty)
    state, _ = follow(equation, rows, block, driving, known, known.reshape(shape))
    return state.reshape(-1, size), outputs(equation, rows, block, state).reshape(-1, size)


@jax.jit
def project(
    rows: Rows, outcome: Outcome, known: Float[Array, "b r"]
) -> tuple[Float[Array, "b r"], Float[Array, "b b"]]:
    """Overlap with the basis, and squares, of what `known` leaves of the outputs."""
    rest = rows.root * outcome.output - rows_times(known, rows.basis)
    return rows_times(rest, rows.basis.T), rest @ rest.T


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def commit(
    equation: Equation,
    rows: Rows,
    block: Block,
    driving: Driving,
    outcome: Outcome,
    known: Float[Array, "b r"],
    fresh: Float[Array, "b b"],
) -> Rows:
    """The history with the block added; `fresh` makes new basis vectors of what `known` leaves."""
    put = jax.lax.dynamic_update_slice
    rest = rows.root * outcome.output - rows_times(known, rows.basis)
    carry, tangent = moved(equation, rows, block, driving, outcome)
    rates = None
    if rows.rates is not None and outcome.tangent is not None:
        rates = put(rows.rates, outcome.tangent, (block.place, 0, 0))
    return rows._replace(
        basis=put(rows.basis, fresh @ rest, (block.place, 0)),
        outputs=put(rows.outputs, outcome.output, (block.place, 0)),
        states=put(rows.states, outcome.state, (block.node, 0, 0)),
        carry=carry,
        rates=rates,
        tangent=tangent,
    )


def moved(
    equation: Equation, rows: Rows, block: Block, driving: Driving, outcome: Outcome
) -> tuple[Array, Array | None]:
    """The state with which the next block begins, and its tangents."""
    if not equation.memory:
        return rows.carry, rows.tangent
    known = rows_times(driving.noise, rows.normals) + rows_times(driving.response, rows.outputs)
    here = local(equation, rows, block, driving, known, outcome.state)
    tangent = None if outcome.tangent is None else rows.tangent
    if equation.step is None:
        if tangent is None:
            return outcome.state[-1], None
        m = outcome.state.shape[1]
        system, source = linear(block, driving, here), shifts(rows, block, driving)
        end = combine(system.by_shift[-m:], source) + combine(system.by_start[-m:], tangent)
        return outcome.state[-1], end
    after = jax.vmap(equation.step, in_axes=(-1, -1, None, None), out_axes=-1)
    where = (here.drive[0], outcome.state[0], block.times[0], block.constants)
    if tangent is None:
        return after(*where), None
    rule = jax.jacfwd(equation.step, argnums=(0, 1))
    by_drive, by_state = jax.vmap(rule, in_axes=(-1, -1, None, None), out_axes=-1)(*where)
    source = shifts(rows, block, driving) + jnp.einsum("bd,dnr->bnr", driving.inner, outcome.tangent)
    return after(*where), combine(by_drive, source) + combine(by_state, tangent)
