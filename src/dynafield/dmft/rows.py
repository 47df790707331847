r"""A sampled side of the theory: coordinates or data, in projection form [eq:projection].

Outputs of the rows are written in an orthonormal basis that grows with time,
\(o(t) = \sum_j F(t,j)\,q_j\), \(E[q_jq_k] = 1_{jk}\), and every direction of the *other* side has a normal
number ζ_j in each row. An output is projected on its own past and on these normals,
\(F = E[o\,q]\), \(S = a\,E[o\,\zeta]\), and on nothing else; a row is driven by
\(y = a\,F'\zeta + S'q\), F' and S' of the other side, a = δ^(-1/2) for coordinates and 1 for data.

Both projections follow the *changes* of outputs: what is left of them beside the basis, and the responses to
directions just born, are then exact zeros, and errors stay relative to the residuals however small these are.
Arrays have rows (coordinates or data) last; B = nodes times channels of a block.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

__all__ = [
    "Committed",
    "Kernels",
    "Rows",
    "Sampled",
    "committed",
    "drive_of",
    "grown",
    "projected",
    "reordered",
    "tenacious",
    "tiled",
]


STAYS = 0.5
"""Factor of the limit for a new direction that a sweep before has kept."""
CANCELLED = 1e-7
"""New directions smaller than this, relative to the change of outputs that they are left of, are rounding."""


class Sampled(NamedTuple):
    """What never changes in a side: weights of rows, their facts, a, and outputs of rows that stand still.

    `still` holds outputs of rows of weight one that never move, such as the label noise of a closed data
    side.
    """

    weight: Float[Any, " n"]
    facts: Any
    amplitude: Float[Any, ""]
    still: Float[Any, "c m"]


class Rows(NamedTuple):
    """A side at the last node: states, outputs, what the basis leaves of them, basis, normals, F and S.

    `count` directions are in use; `still_*` are the same for rows that stand still.
    """

    state: Float[Any, "k n"]
    output: Float[Any, "c n"]
    rest: Float[Any, "c n"]
    still_rest: Float[Any, "c m"]
    basis: Float[Any, "r n"]
    still_basis: Float[Any, "r m"]
    normals: Float[Any, "q n"]
    count: Any  # type: ignore[assignment]  # as a tuple it has a method of that name
    F: Float[Any, "c r"]
    S: Float[Any, "c q"]


class Kernels(NamedTuple):
    """Rows of the two-time functions on the nodes of a block: F, response H to the past alone, and T within.

    Together they drive the other side, \\(y = aF\\zeta + Hq + To\\) [eq:block_drive].
    """

    F: Float[Any, "b r"]
    H: Float[Any, "b q"]
    T: Float[Any, "b b"]


def tiled(rows: Float[Array, "c m"], nodes: int) -> Float[Array, "b m"]:
    """Rows of the last node for every node of a block."""
    return jnp.tile(rows, (nodes, 1))


def products(few: Float[Array, "b n"], many: Float[Array, "r n"]) -> Float[Array, "b r"]:
    """Scalar products of a few rows with many. In this order: on a processor six times faster for one row."""
    return (many @ few.T).T


def drive_of(rows: Rows, side: Sampled, other: Kernels) -> Float[Array, "b n"]:
    """What is known of the drive, \\(aF\\zeta + Hq\\), before outputs within the block add to it."""
    return (side.amplitude * other.F) @ rows.normals + other.H @ rows.basis


def projected(
    rows: Rows, side: Sampled, output: Float[Array, "b n"], born: Int[Array, ""]
) -> tuple[Float[Array, "b r"], Float[Array, "b q"], Float[Array, "b b"]]:
    """F and S of new outputs on what is known, and the Gram matrix of what F leaves [eq:projection].

    S is for the first `born` directions of the other side: the others have not driven anything yet.
    """
    nodes = len(output) // len(rows.output)
    change = output - tiled(rows.output, nodes)
    weighted = change * side.weight
    along = products(weighted, rows.basis)
    F = tiled(rows.F, nodes) + along
    known = jnp.arange(len(rows.normals)) < born
    seen: Any = jnp.where(known, side.amplitude * products(weighted, rows.normals), 0.0)
    S = tiled(rows.S, nodes) + seen
    left = change + tiled(rows.rest, nodes)
    still = tiled(rows.still_rest, nodes)
    gram = (left * side.weight) @ left.T + still @ still.T - along @ along.T
    return F, S, gram - CANCELLED**2 * jnp.max(jnp.sum(weighted * change, axis=1)) * jnp.eye(len(gram))


def factored(
    gram: Float[Array, "b b"], least: Float[Array, " b"], room: Any
) -> tuple[Float[Array, "b b"], Int[Array, " b"]]:
    """Pivoted factor of a Gram matrix, one column per slot, and which number each slot has among those kept.

    The largest remainder comes first, none below `least` squared, none without `room`; slots that are not
    kept have the number b. Slot i belongs to output b-1-i, so that a sweep which keeps one direction more
    does not exchange the others; outputs at the end of the block, which are first since most is left of them
    there, as a rule make the first directions.
    """
    size = len(gram)
    gram, least = gram[::-1, ::-1], least[::-1]

    def pick(number, carry):
        factor, left, place = carry
        pivots = jnp.where(place < size, -jnp.inf, jnp.diag(left))
        i = jnp.argmax(pivots)
        good = (pivots[i] > least[i] ** 2) & room
        column: Any = jnp.where(good, left[:, i] / jnp.sqrt(jnp.where(good, pivots[i], 1.0)), 0.0)
        chosen = jnp.arange(size) == i
        factor = factor + jnp.where(chosen, column[:, None], 0.0)
        left = left - column[:, None] * column
        return factor, left, jnp.where(chosen & good, number, place)

    first = (jnp.zeros_like(gram), gram, jnp.full(size, size))
    factor, _, place = jax.lax.fori_loop(0, size, pick, first)
    return factor[::-1], place


def maker(factor: Float[Array, "b b"], kept: Any) -> Float[Array, "b b"]:
    """The matrix that makes new basis vectors of what old ones leave: inverse of a triangle, rows beyond
    zero."""
    size = len(factor)
    used = jnp.arange(size) < kept
    triangle = jnp.where(used[:, None] & used, factor, jnp.eye(size))
    inverse = jax.lax.linalg.triangular_solve(triangle, jnp.eye(size), left_side=True, lower=True)
    return jnp.where(used[:, None] & used, inverse, 0.0)


def widened(block: Float[Array, "a b"], place: Any, width: int) -> Float[Array, "a r"]:
    """Columns of a block at their place among all."""
    return jax.lax.dynamic_update_slice(jnp.zeros((len(block), width)), block, (0, place))


def tenacious(rows: Rows, least: Any, before: Float[Array, "b r"]) -> Float[Array, " b"]:
    """What new directions must exceed in their slots: those of a sweep before are kept more easily.

    Otherwise a direction just at the limit would come and go, and sweeps would never end.
    """
    size = len(before)
    start = jnp.minimum(rows.count, before.shape[1] - size)
    kept = jnp.any(jax.lax.dynamic_slice_in_dim(before, start, size, 1) != 0, axis=0)
    return least * jnp.where(kept[::-1], STAYS, 1.0)


def grown(
    rows: Rows, F: Float[Array, "b r"], gram: Float[Array, "b b"], least: Float[Array, " b"]
) -> Float[Array, "b r"]:
    """F with the columns of new directions in their slots."""
    room = rows.count + len(gram) <= len(rows.basis)
    return F + widened(factored(gram, least, room)[0], rows.count, len(rows.basis))


class Committed(NamedTuple):
    """A side after a block: rows of F on its nodes and at its start, order of new slots, room missed.

    The start, too, is seen in the directions born in the block: what had been dropped there may be part of
    them.
    """

    rows: Rows
    F: Float[Any, "b r"]
    start: Float[Any, "c r"]
    order: Float[Any, "b b"]
    make: Float[Any, "b b"]
    crowded: Any


def committed(
    rows: Rows, side: Sampled, state: Float[Array, "k n"], output: Float[Array, "b n"], least: Any
) -> Committed:
    """The side with the outputs of a block made part of its past: what is left of them makes new directions.

    Twice: what is left may be small, and must be orthogonal to the basis.
    """
    c, size = len(rows.output), len(output)
    nodes = size // c
    change = output - tiled(rows.output, nodes)
    along = products(change * side.weight, rows.basis)
    rest = tiled(rows.rest, nodes) + change - along @ rows.basis
    still = tiled(rows.still_rest, nodes) - along @ rows.still_basis
    squares = jnp.sum(rest**2 * side.weight, axis=1) + jnp.sum(still**2, axis=1)
    room = rows.count + size <= len(rows.basis)
    least = jnp.maximum(least, CANCELLED * jnp.sqrt(jnp.max(change**2 @ side.weight))) * jnp.ones(size)
    large = jnp.any(squares > least**2)

    def straightened(rest, still):
        again = products(rest * side.weight, rows.basis) + still @ rows.still_basis.T
        return again, rest - again @ rows.basis, still - again @ rows.still_basis

    def unchanged(rest, still):
        return jnp.zeros_like(along), rest, still

    again, rest, still = jax.lax.cond(large & room, straightened, unchanged, rest, still)
    gram = (rest * side.weight) @ rest.T + still @ still.T
    factor, place = factored(gram, least, room)
    kept = jnp.sum(place < size)
    dropped = place == size
    place = jnp.where(dropped, kept + jnp.cumsum(dropped) - 1, place)
    order = (place[:, None] == jnp.arange(size)).astype(float)  # as a matrix: slot i becomes number place[i]
    factor = factor @ order
    make = (maker(order.T @ factor[::-1], kept) @ order.T)[:, ::-1]
    fresh, still_fresh = make @ rest, make @ still
    F = tiled(rows.F, nodes) + along + again + widened(factor, rows.count, len(rows.basis))
    left, still_left = rest - factor @ fresh, still - factor @ still_fresh
    basis = written(rows.basis, fresh, rows.count)
    still_basis = written(rows.still_basis, still_fresh, rows.count)
    after = rows._replace(
        state=state,
        output=output[-c:],
        rest=left[-c:],
        still_rest=still_left[-c:],
        basis=basis,
        still_basis=still_basis,
        count=rows.count + kept,
        F=F[-c:],
    )
    dropped = (rows.rest * side.weight) @ fresh.T + rows.still_rest @ still_fresh.T
    start = rows.F + widened(dropped, rows.count, len(rows.basis))
    return Committed(after, F, start, order, make, large & ~room)


def written(matrix: Float[Array, "r n"], rows: Float[Array, "b n"], place: Any) -> Float[Array, "r n"]:
    """A matrix with new rows added at a place that is empty so far; they are zero where there is no room."""
    start = jnp.minimum(place, len(matrix) - len(rows))
    there = jax.lax.dynamic_slice_in_dim(matrix, start, len(rows), 0)
    return jax.lax.dynamic_update_slice_in_dim(matrix, there + rows, start, 0)


def reordered(
    matrix: Float[Array, "a b"], place: Any, order: Float[Array, "s s"], axis: int
) -> Float[Array, "a b"]:
    """Slots from `place` on, along an axis, in a new order (a permutation matrix)."""
    size = len(order)
    if size == 1:
        return matrix
    start = jnp.minimum(place, matrix.shape[axis] - size)
    part = jax.lax.dynamic_slice_in_dim(matrix, start, size, axis)
    turned = order.T @ part if axis == 0 else part @ order
    return jax.lax.dynamic_update_slice_in_dim(matrix, turned, start, axis)
