"""From single steps of training to blocks of many of them, and back: the same member, seen otherwise."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynafield.dmft.discrete.steps import explicit_node
from dynafield.dmft.equations import CoordinateRow, MovingRow
from dynafield.dmft.member import Member, State
from dynafield.dmft.rules import Blocks, Stepping

__all__ = ["in_blocks", "in_steps"]


def in_blocks(before: Stepping, kind: Blocks, members: Member, states: State) -> tuple[Member, State]:
    """Members for which blocks come next: a velocity is part of the state of a coordinate."""
    rows, row, count = states.coordinates, members.coordinate, len(states.sizes)
    if before.heavy:
        state = jnp.concatenate([rows.state, states.optimizer], axis=1)
        rows = rows._replace(state=state)
        row = MovingRow(row.model, row.slope, row.to_teacher, members.numbers.inertia, before.looks_ahead)
    size = kind.stages * rows.output.shape[1]
    inner = np.eye(size) if states.data is None else np.zeros((size, size))
    changed = states._replace(
        coordinates=rows, T=np.tile(inner, (count, 1, 1)), drive=None, optimizer=(), batch=None
    )
    return members._replace(coordinate=row), changed


def in_steps(kind: Stepping, members: Member, states: State, t: float) -> tuple[Member, State]:
    """Members for which single steps come next: the drive at the last node moves the next one."""
    row = members.coordinate
    if isinstance(row, MovingRow):
        members = members._replace(coordinate=CoordinateRow(row.model, row.slope, row.to_teacher))
    return members, at_node(kind.heavy, members, states, jnp.asarray(t))


@partial(jax.jit, static_argnums=0)
def at_node(heavy: bool, members: Member, states: State, t: Any) -> State:
    """States with what a step needs, at the node where they are."""

    def one(member, state):
        theta, remembered = state.coordinates.state, ()
        if heavy:
            theta, remembered = jnp.split(theta, 2)
        rows = state.coordinates._replace(state=theta)
        now = state._replace(coordinates=rows, optimizer=remembered)
        return explicit_node(member, now, theta, 1, t, 1)[0]

    return jax.vmap(one)(members, states)
