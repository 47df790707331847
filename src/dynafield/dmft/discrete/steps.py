"""A step of training: states are known before their drive, and nothing is iterated [eq:dmft_steps]."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.dmft.discrete.batches import batched, new_numbers
from dynafield.dmft.member import (
    Chance,
    Member,
    Nodes,
    State,
    fineness,
    most_directions,
    observed,
    rms,
)
from dynafield.dmft.newton import outputs_of, over_rows
from dynafield.dmft.rows import Committed, Kernels, Rows, committed, drive_of, projected, reordered

__all__ = ["explicit_node", "training_step"]


def explicit_node(
    member: Member, state: State, theta: Float[Array, "k n"], number: Any, t: Any, keep: int
) -> tuple[State, Nodes]:
    """A node whose states are known before its drive: the next state, and what is known."""
    rows, side, row = state.coordinates, member.coordinates, member.coordinate
    times = jnp.asarray(t)[None]
    output = outputs_of(row, theta[None], side.facts, times)[0]
    size = jnp.sqrt(jnp.max(output**2 @ side.weight + jnp.sum(side.still**2, axis=1)))
    fine = member.numbers.epsilon * fineness(state, member.numbers.faint)
    least = fine * jnp.maximum(state.sizes[0], size)
    born = rows.count if state.data is None else state.data.count
    _, S, _ = projected(rows, side, output, born)
    done = committed(rows, side, theta, output, least)
    rows = done.rows._replace(S=S)
    if state.data is None:  # F + S with new columns: what is left of labels [eq:closed_data]
        rows = rows._replace(normals=reordered(rows.normals, state.coordinates.count, done.order, 0))
        F_ell = S_ell = done.F + S
        drive = side.amplitude * (F_ell @ rows.normals) + S @ rows.basis + output
        data, T, f, crowded = None, jnp.eye(len(output)), None, done.crowded
        make = jnp.zeros_like(T)
        batch = state.batch
        if batch is not None:
            xi = drawn(member.chance, number, 0, output[0].shape)
            xi = new_numbers(xi, batch.parts, (batch.normals, rows.normals))
            batch, more = batched(batch, side, member.numbers, output[0], jnp.sum(F_ell**2), xi)
            drive = drive + more
    else:
        data, f, S_ell, answered = answering(member, state, done, S, times, fine, number)
        F_ell, crowded = answered.F, done.crowded | answered.crowded
        rows = rows._replace(normals=reordered(rows.normals, state.data.count, answered.order, 0))
        drive = side.amplitude * (F_ell @ rows.normals) + S_ell @ rows.basis
        T, batch, f, make = jnp.zeros((len(output),) * 2), state.batch, f[None], answered.make
    sizes = jnp.maximum(state.sizes, jnp.stack([rms(done.F), rms(F_ell)]))
    after = State(rows, data, F_ell, S_ell, T, sizes, drive, state.optimizer, batch)
    curves, moments, kept, kept_w, kept_f = observed(
        member, after, theta[None], output[None], f, done.F, F_ell, times, keep
    )
    nothing, left = jnp.zeros((), int), jnp.zeros(3)
    if batch is not None:
        curves, left = curves.at[:, 2].add(jnp.sum(batch.memory**2)), left.at[2].set(batch.lost)
    nodes = Nodes(
        done.F, S, F_ell, S_ell, done.F, F_ell, jnp.zeros_like(T), T, done.make, make,
        most_directions(after), curves, moments, kept, kept_w, kept_f, nothing, left,
        jnp.zeros((), bool), crowded,
    )  # fmt: skip
    return after, nodes


def answering(
    member: Member, state: State, own: Committed, S: Array, times: Array, fine: Any, number: Any
) -> tuple[Rows, Array, Array, Committed]:
    """The data at a node whose outputs w are known."""
    datum, side, rows = member.datum, member.data, state.data
    assert datum is not None
    assert side is not None
    assert rows is not None
    rows = rows._replace(normals=reordered(rows.normals, state.coordinates.count, own.order, 0))
    f = drive_of(rows, side, Kernels(own.F, S, S))
    ell = outputs_of(datum, f[None], relabelled(member, side.facts, number), times)[0]
    ell = ell * gain(member, rows, number)
    _, S_ell, _ = projected(rows, side, ell, own.rows.count)
    size = jnp.sqrt(jnp.max(ell**2 @ side.weight))
    done = committed(rows, side, f, ell, fine * jnp.maximum(state.sizes[1], size))
    return done.rows._replace(S=S_ell), f, S_ell, done


def gain(member: Member, rows: Rows, number: Any) -> Any:
    """Weights of the data in a step: a fresh fraction of them, each by its inverse [eq:batches]."""
    chance = member.chance
    if chance is None or chance.fraction is None:
        return 1.0
    count = rows.state.shape[-1]
    order = jax.random.permutation(jax.random.fold_in(chance.key, number), count)
    return (order < chance.fraction * count) / chance.fraction


def drawn(chance: Chance, number: Any, kind: int, shape: tuple[int, ...]) -> Array:
    """Normal numbers of a step, of one kind of several."""
    return jax.random.normal(jax.random.fold_in(jax.random.fold_in(chance.key, number), kind), shape)


def relabelled(member: Member, facts: Any, number: Any) -> Any:
    """What data know in a step: labels with fresh noise [eq:label_noise]."""
    chance = member.chance
    if chance is None or chance.label_noise is None:
        return facts
    f_star, xi, z = facts
    return f_star, xi + chance.label_noise * drawn(chance, number, 1, xi.shape), z


def kicked(member: Member, theta: Float[Array, "k n"], number: Any, step: Any) -> Float[Array, "k n"]:
    """Parameters after the Langevin noise of a step [eq:langevin]."""
    chance = member.chance
    if chance is None or chance.temperature is None:
        return theta
    return theta + jnp.sqrt(2 * chance.temperature * step) * drawn(chance, number, 2, theta.shape)


def training_step(
    rule: Any, member: Member, state: State, number: Any, start: Any, end: Any, keep: int
) -> tuple[State, Nodes]:
    """The step that follows from the last drive, and the node after it [eq:dmft_steps].

    Number 0 is no step, and the node is the start.
    """
    row, numbers = member.coordinate, member.numbers
    before, facts = state.coordinates.state, member.coordinates.facts
    rate = over_rows(lambda y, theta, fact: row.rate(y, theta, fact, start))(state.drive, before, facts)
    after, remembered = rule.after(before, state.optimizer, rate, end - start, numbers.inertia)
    moved = kicked(member, after, number, end - start), remembered
    stay = before, state.optimizer
    theta, optimizer = jax.tree.map(lambda new, old: jnp.where(number > 0, new, old), moved, stay)
    return explicit_node(member, state._replace(optimizer=optimizer), theta, number, end, keep)
