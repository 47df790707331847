"""Members on their way through time: compiled loops over blocks or steps.

Everything here is a function of arrays: what never changes (members), what is passed on (states), and what is
written down on the way (nodes). Members are the first axis of all of them.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynafield.dmft.blocks import solved_block
from dynafield.dmft.discrete.steps import training_step
from dynafield.dmft.member import Member, Nodes, State
from dynafield.dmft.rules import Blocks, Cut, Stepping
from dynafield.numerics.compiling import lightly_compiled
from dynafield.problem.trainers import DIVERGED

__all__ = [
    "CROWDED",
    "DIVERGING",
    "FINE",
    "PAGES",
    "UNSETTLED",
    "Course",
    "Going",
    "advance",
    "at_start",
    "blank_pages",
    "one_block",
    "part_size",
    "put",
    "room",
    "whole_parts",
]

FINE, UNSETTLED, CROWDED, DIVERGING = range(4)
"""How a member is: well, its kernels do not settle, no room for directions, beyond all bounds."""

PAGES = 17
"""Pages of a part, one per block: a march of any length is made in parts of so many, with one program for all
of them. The first has t = 0 and 16 blocks."""


def room(count: int, first: int = 16) -> int:
    """The next of a few numbers, each at most half larger than the one before: compiled code is used
    again."""
    size = first
    while size < count:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    return size


def part_size(kind: Blocks | Stepping, pages: int) -> int:
    """Pages of a part where a stretch of time has so many. Single steps are all in one part: they take no
    longer than a call, and their programs are small."""
    return PAGES if isinstance(kind, Blocks) else room(pages)


def whole_parts(pages: int, size: int) -> int:
    """The pages of as many parts of a size as are needed for some."""
    return size * -(-pages // size)


class Course(NamedTuple):
    """What code is compiled for: the kind of blocks, and how many rows of each side are written down."""

    kind: Blocks | Stepping
    keep: int


class Going(NamedTuple):
    """Members under way: states, pages written in this part, how each is, sizes at t = 0."""

    states: State
    done: Int[Any, " m"]
    health: Int[Any, " m"]
    first: Float[Any, "m 2"]


def at_start(states: State) -> Going:
    """Members before t = 0."""
    count = len(states.sizes)
    zeros = np.zeros(count, int)
    return Going(states, zeros, zeros, np.zeros((count, 2)))


def over_members(function: Any, *arguments: Any) -> Any:
    """A function of one member, of all at once."""
    if len(jax.tree.leaves(arguments)[0]) > 1:
        return jax.vmap(function)(*arguments)
    alone = function(*jax.tree.map(lambda x: x[0], arguments))
    return jax.tree.map(lambda x: x[None], alone)


def put(k: Any, page: Array, new: Array) -> Array:
    """Write new values on page k."""
    return jax.lax.dynamic_update_index_in_dim(page, new.astype(page.dtype), k, 0)


def judged(nodes: Nodes, first: Float[Array, "2"]) -> Int[Array, ""]:
    """How a member is after a block: sizes of outputs are compared with those at t = 0."""
    sizes = jnp.max(jnp.stack([nodes.curves[:, 0], nodes.curves[:, 2]]), axis=1)
    bounded = jnp.all(jnp.isfinite(nodes.curves)) & jnp.all(sizes <= DIVERGED * (first + jnp.max(first)))
    troubled = jnp.where(nodes.crowded, CROWDED, FINE)
    troubled = jnp.where(nodes.unsettled, UNSETTLED, troubled)
    return jnp.where(bounded | nodes.unsettled, troubled, DIVERGING)


def one_block(course: Course, member: Member, state: State, block: Cut) -> tuple[State, Nodes]:
    """The next block or step of a member."""
    if isinstance(course.kind, Stepping):
        return training_step(course.kind, member, state, block.number, block.start, block.end, course.keep)
    return solved_block(member, state, block, course.keep)


@partial(lightly_compiled, static=0)
def advance(
    course: Course, members: Member, going: Going, pages: Nodes, cut: Cut, last: Any
) -> tuple[Going, Nodes]:
    """All members through the blocks of a part up to number `last`, each as far as it is well."""

    def one(member, now, pages):
        def under_way(carry):
            now, _ = carry
            return (now.done < last) & (now.health == FINE)

        def turn_page(carry):
            now, pages = carry
            k = now.done
            block = jax.tree.map(lambda x: x[k], cut)
            state, nodes = one_block(course, member, now.states, block)
            pages = jax.tree.map(partial(put, k), pages, nodes)
            sizes = jnp.stack([nodes.curves[-1, 0], nodes.curves[-1, 2]])
            first: Any = jnp.where(jnp.any(now.first > 0), now.first, sizes)
            health = judged(nodes, first).astype(now.health.dtype)  # no weak type: it would compile twice
            return Going(state, k + (health == FINE), health, first), pages

        return jax.lax.while_loop(under_way, turn_page, (now, pages))

    return over_members(one, members, going, pages)


def blank_pages(course: Course, members: Member, states: State, blocks: int) -> Nodes:
    """Empty pages for so many blocks."""
    s, model = course.kind.stages, members.coordinate.model
    count, c, k = len(states.sizes), model.outputs, model.states
    own, other = states.coordinates.basis.shape[1], states.coordinates.normals.shape[1]
    sampled, b = states.data is not None, s * c
    heard = min(course.keep, states.data.output.shape[-1]) if states.data is not None else 0
    shapes = dict(
        F_w=(b, own), S_w=(b, other), F_ell=(b, other), S_ell=(b, own),
        start_w=(c, own), start_ell=(c, other),
        T_w=(b, b), T_ell=(b, b), make_w=(b, b), make_ell=(b, b), count=(), curves=(s, 7 if sampled else 3),
        moments=(s, c, 2), theta=(s, k, course.keep), w=(s, c, course.keep),
        f=(s, c, heard), sweeps=(), left=(3,), unsettled=(), crowded=(),
    )  # fmt: skip
    kinds = dict(count=int, sweeps=int, unsettled=bool, crowded=bool)
    return Nodes(**{n: np.zeros((count, blocks, *shape), kinds.get(n, float)) for n, shape in shapes.items()})
