r"""The equations of many rows in a block of time, by Newton's method.

\(Y_i = Y_b + \sum_l A_{il}\,r(y_l, Y_l)\), \(y_l = k_l + \sum_j T_{lj}\,o(Y_j)\): states Y on s nodes,
driven by what is known, k, and through the response T by the row's own outputs within the block
[eq:block_rows]. Arrays have rows as their last axis; A may differ
between the entries of a state.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.dmft.equations import Row
from dynafield.numerics.loops import repeated
from dynafield.numerics.small import solve_small

__all__ = ["local", "outputs_and_slopes", "outputs_of", "over_rows", "rates_and_slopes", "solve_rows"]

MOST = 20
"""Newton steps at most."""
NEAR = 0.03
"""Newton steps, relative to 1 + |Y|, that are short enough for one sweep: the next one takes another."""


class BlockSolution(NamedTuple):
    """States, outputs, average response of outputs to the drive, and the last Newton step."""

    states: Float[Array, "s k n"]
    outputs: Float[Array, "s c n"]
    response: Float[Array, "b b"]
    step: Float[Array, ""]


def over_rows(function: Any) -> Any:
    """A function of one row's arrays, of all rows (the last axis of each)."""
    return jax.vmap(function, in_axes=-1, out_axes=-1)


def outputs_of(row: Row, states: Float[Array, "s k n"], facts: Any, times: Float[Array, " s"]) -> Array:
    """Outputs on the nodes."""

    def node(state, t):
        return over_rows(lambda y, fact: row.output(y, fact, t))(state, facts)

    return jax.vmap(node)(states, times)


class Local(NamedTuple):
    """Outputs and rates on the nodes with their derivatives, rows last."""

    output: Float[Array, "s c n"]
    output_slope: Float[Array, "s c k n"]
    rate: Float[Array, "s k n"]
    rate_by_drive: Float[Array, "s k c n"]
    rate_by_state: Float[Array, "s k k n"]


def outputs_and_slopes(row: Row, states: Array, facts: Any, times: Array) -> tuple[Array, Array]:
    """Outputs on the nodes, and their derivatives in the states."""

    def one(state, fact, t):
        value = row.output(state, fact, t)
        return value, jax.jacfwd(row.output)(state, fact, t)

    def node(state, t):
        return over_rows(lambda y, fact: one(y, fact, t))(state, facts)

    return jax.vmap(node)(states, times)


def rates_and_slopes(row: Row, drive: Array, states: Array, facts: Any, times: Array) -> tuple:
    """Rates on the nodes, and their derivatives in drive and state."""

    def one(y, state, fact, t):
        slopes = jax.jacfwd(row.rate, argnums=(0, 1))(y, state, fact, t)
        return row.rate(y, state, fact, t), *slopes

    def node(y, state, t):
        return over_rows(lambda a, b, fact: one(a, b, fact, t))(y, state, facts)

    return jax.vmap(node)(drive, states, times)


def local(row: Row, facts: Any, times: Array, known: Array, inner: Array, states: Array) -> Local:
    """Everything that Newton's method needs where the states are."""
    s, c, n = known.shape
    output, output_slope = outputs_and_slopes(row, states, facts, times)
    drive = known + (inner @ output.reshape(s * c, n)).reshape(s, c, n)
    rate, by_drive, by_state = rates_and_slopes(row, drive, states, facts, times)
    return Local(output, output_slope, rate, by_drive, by_state)


def newton_matrix(at: Local, integral: Array, inner: Array) -> Float[Array, "m m n"]:
    r"""\(J = 1 - A(r_Y + r_y\,T\,o_Y)\), entries written out."""
    s, c, k, n = at.output_slope.shape
    T = inner.reshape(s, c, s, c)
    through: Any = sum(
        at.rate_by_drive[:, :, a, None, None] * T[:, None, a, :, :, None] for a in range(c)
    )  # node, state, node', channel', row
    slope = sum(
        through[:, :, :, d, None] * at.output_slope[None, None, :, d] for d in range(c)
    )  # node, state, node', state', row
    same = jnp.eye(s)[:, None, :, None, None]
    slope = slope + same * at.rate_by_state[:, :, None]
    moved = sum(integral[:, j, :, None, None, None] * slope[None, j] for j in range(s))
    one = jnp.eye(s * k).reshape(s, k, s, k, 1)
    return (one - moved).reshape(s * k, s * k, n)


def moved_by(integral: Array, values: Array) -> Array:
    """A applied to values on the nodes."""
    size = len(values)
    return jnp.stack([sum(integral[i, j, :, None] * values[j] for j in range(size)) for i in range(size)])


def solve_rows(
    row: Row,
    facts: Any,
    weight: Float[Array, " n"],
    times: Float[Array, " s"],
    integral: Float[Array, "s s #k"],
    start: Float[Array, "k n"],
    known: Float[Array, "s c n"],
    inner: Float[Array, "b b"],
    guess: Float[Array, "s k n"],
    near: float = NEAR,
) -> BlockSolution:
    """States that obey the equations of the block, and what follows from them.

    Newton steps shorter than `near`, relative to 1 + |Y|, end the iteration.
    """
    s, c, n = known.shape
    k = start.shape[0]

    def improve(carry):
        states, _, _, count = carry
        at = local(row, facts, times, known, inner, states)
        gap = start + moved_by(integral, at.rate) - states
        sides = moved_by_drive(integral, at.rate_by_drive).reshape(s * k, s * c, n)
        sides = jnp.concatenate([gap.reshape(s * k, 1, n), sides], axis=1)
        solved = solve_small(newton_matrix(at, integral, inner), sides)
        step = jax.vmap(over_rows(row.admissible))(solved[:, 0].reshape(s, k, n), states)
        turned = solved[:, 1:].reshape(s, k, s * c, n)
        response: Any = sum(at.output_slope[:, :, a, None] * turned[:, None, a] for a in range(k))
        size = jax.lax.stop_gradient(jnp.max(jnp.abs(step) / (1.0 + jnp.abs(states))))
        return states + step, response.reshape(s * c, s * c, n) @ weight, size, count + 1

    def unsettled(carry):
        _, _, size, count = carry
        return (size > near) & (count < MOST)

    first = (guess, jnp.zeros((s * c, s * c)), jnp.asarray(jnp.inf), 0)
    states, response, size, _ = repeated(unsettled, improve, first, weight[0])
    return BlockSolution(states, outputs_of(row, states, facts, times), response, size)


def moved_by_drive(integral: Array, by_drive: Array) -> Array:
    """A r_y, as (node, state, node', channel', row)."""
    return jnp.moveaxis(integral, 2, 1)[:, :, :, None, None] * jnp.moveaxis(by_drive, 0, 1)[None]
