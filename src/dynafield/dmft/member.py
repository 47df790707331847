r"""One problem with one sample: what never changes, what is passed on, and what is written down.

`steps.training_step` and `blocks.solved_block` lead from one state to the next. All are functions of arrays
alone, compiled, and mapped over members [eq:projection].
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dynafield.dmft.equations import CoordinateRow, DataRow
from dynafield.dmft.newton import over_rows
from dynafield.dmft.rows import Rows, Sampled

__all__ = [
    "Chance",
    "Member",
    "Nodes",
    "Numbers",
    "State",
    "fineness",
    "most_directions",
    "observed",
    "rms",
]


class Numbers(NamedTuple):
    """Numbers of a member: δ, what is dropped, and when sweeps end.

    `epsilon` is the size of new directions that are dropped, relative to the drive of the coordinates, or
    to the fraction `faint` of its largest size; `settled` the change of kernels that ends the sweeps,
    relative to the same with the fraction `floor`, with all changes still to come.
    """

    delta: Float[Any, ""]
    epsilon: Float[Any, ""]
    faint: Float[Any, ""]
    settled: Float[Any, ""]
    floor: Float[Any, ""]
    inertia: Float[Any, ""]
    fraction: Float[Any, ""]
    label_noise: Float[Any, ""]


class Member(NamedTuple):
    """What never changes: numbers, the equations of both kinds of rows, and both samples.

    Without `data` the data side is closed [eq:linear_data]. `chance` is there where steps draw numbers of
    their own.
    """

    numbers: Numbers
    coordinate: CoordinateRow
    coordinates: Sampled
    datum: DataRow | None
    data: Sampled | None
    chance: Any


class Chance(NamedTuple):
    """Numbers that sampled rows draw in every step: None for what a trainer does not have.

    Fraction of the sampled data that a step sees, temperature, noise of their labels.
    """

    key: Any
    fraction: Any
    temperature: Any
    label_noise: Any


class State(NamedTuple):
    """A member at the last node.

    `F`, `S` are those of the data at that node, `T` their response within the last block; `sizes` the largest
    F so far of coordinates and data; `drive` moves the next step of discrete training, `optimizer` is what
    the trainer remembers; `batch` is what mini-batches have added.
    """

    coordinates: Rows
    data: Rows | None
    F: Float[Any, "c q"]
    S: Float[Any, "c r"]
    T: Float[Any, "b b"]
    sizes: Float[Any, "2"]
    drive: Any
    optimizer: Any
    batch: Any


class Nodes(NamedTuple):
    """What is known on the nodes of a block: kernels of both sides, curves, and states of some rows.

    `start_w`, `start_ell` are F at the start of the block, `make_w`, `make_ell` turn what the basis leaves
    of outputs into the directions born there. `left` is what unfinished sweeps leave in outputs of both
    sides, relative to their largest sizes, and the fraction of E_train due to noise that is forgotten.
    """

    F_w: Float[Any, "b r"]
    S_w: Float[Any, "b q"]
    F_ell: Float[Any, "b q"]
    S_ell: Float[Any, "b r"]
    start_w: Float[Any, "c r"]
    start_ell: Float[Any, "c q"]
    T_w: Float[Any, "b b"]
    T_ell: Float[Any, "b b"]
    make_w: Float[Any, "b b"]
    make_ell: Float[Any, "b b"]
    count: Any  # type: ignore[assignment]
    curves: Float[Any, "s m"]
    moments: Float[Any, "s c 2"]
    theta: Float[Any, "s k p"]
    w: Float[Any, "s c p"]
    f: Float[Any, "s c p"]
    sweeps: Int[Any, ""]
    left: Float[Any, "3"]
    unsettled: Bool[Any, ""]
    crowded: Bool[Any, ""]


def most_directions(state: State) -> Int[Array, ""]:
    """Directions in use, of the side that has more of them."""
    own = state.coordinates.count
    return own if state.data is None else jnp.maximum(own, state.data.count)


def rms(rows: Float[Array, "b r"]) -> Float[Array, ""]:
    """Largest norm of a row: a root mean square over what is sampled."""
    return jnp.sqrt(jnp.max(jnp.sum(rows**2, axis=1)))


def fineness(state: State, least: Float[Array, ""]) -> Float[Array, ""]:
    """Size of the drive relative to its largest so far, but `least`: what errors are relative to."""
    size = state.sizes[1]
    unit: Any = jnp.where(size > 0, size, 1.0)
    share: Any = jnp.where(size > 0, jnp.maximum(rms(state.F) / unit, least), 1.0)
    return share


def seen_coordinates(
    member: Member, states: Array, outputs: Array, times: Array, keep: int
) -> tuple[Array, Array, Array]:
    """Mean square of outputs and mean penalty (s, 2); E[s w²], E[s w w*] by channel (s, c, 2), s the variance
    of the feature; some of w."""
    model, side = member.coordinate.model, member.coordinates
    k = model.states

    def node(state, t):
        theta = state[:k]
        w = over_rows(lambda y: model.w(y.reshape(model.state_shape), t).reshape(-1))(theta)
        penalty = over_rows(lambda y: model.penalty(y.reshape(model.state_shape), t))(theta)
        o, teacher = side.facts.scale * w, side.facts.teacher
        both = jnp.stack([o**2 @ side.weight, (o * teacher) @ side.weight], axis=-1)
        return penalty @ side.weight, both, w[:, :keep]

    penalty, moments, kept = jax.vmap(node)(states, times)
    square = jnp.sum((outputs**2) @ side.weight, axis=1) + jnp.sum(side.still**2)
    return jnp.stack([square, penalty], axis=1), moments, kept


def seen_data(member: Member, rows: Rows, f: Array, F_w: Array, times: Array) -> Float[Array, "s 4"]:
    """Mean loss and error on the sampled data, and on fresh ones, which have only the noise of f."""
    datum, side = member.datum, member.data
    assert datum is not None
    assert side is not None
    fresh = (F_w @ rows.normals).reshape(f.shape)

    def node(values, t):
        return over_rows(lambda y, fact: datum.measures(y, fact, t))(values, side.facts) @ side.weight

    return jnp.concatenate([jax.vmap(node)(one, times) for one in (f, fresh)], axis=1)


def observed(
    member: Member, state: State, theta: Array, outputs: Array, f: Array | None, F_w: Array, F_ell: Array,
    times: Array, keep: int,
) -> tuple[Array, Array, Array, Array, Array]:  # fmt: skip
    """Curves, moments, and states and w of the first rows, and their f.

    Curves are mean square of coordinates' outputs, penalty, mean square of ℓ, then losses and errors.
    """
    s, k = len(times), member.coordinate.model.states
    own, moments, w = seen_coordinates(member, theta, outputs, times, keep)
    pushed = jnp.sum((F_ell**2).reshape(s, -1), axis=1)[:, None]
    parts = [own, pushed]
    kept = jnp.zeros((s, outputs.shape[1], 0))
    if f is not None and state.data is not None:
        parts.append(seen_data(member, state.data, f, F_w, times))
        kept = f[:, :, :keep]
    return jnp.concatenate(parts, axis=1), moments, theta[:, :k, :keep], w, kept
