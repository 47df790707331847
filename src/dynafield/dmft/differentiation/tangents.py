r"""Derivatives of a march in the numbers of its problem, all at once, with the same random points.

What a member is before t = 0, and how time is cut, are simple functions of δ, σ, the numbers of a model and
the sizes of steps: their derivatives are central differences. From there on derivatives are carried along
with the march itself, exactly [eq:tangents]: through the equations of every block, its sweeps, and the
directions it makes.
"""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.dmft.discrete.transitions import in_blocks, in_steps
from dynafield.dmft.ensemble import course_of
from dynafield.dmft.march import Course, one_block, part_size, put, room, whole_parts
from dynafield.dmft.member import Member, State
from dynafield.dmft.preparation import Equations, Plan, Problem, prepared
from dynafield.dmft.rules import Blocks, Cut, Stepping, StepTime
from dynafield.numerics.compiling import lightly_compiled
from dynafield.numerics.loops import repeated
from dynafield.problem.model import SquaredLoss, with_numbers

__all__ = ["MOST_AT_ONCE", "Direction", "curve_tangents", "sampled_data"]

STEP = 6e-6
"""Central differences are taken so far on both sides, relative to numbers beyond one: errors of 1e-10."""
MOST_AT_ONCE = 8
"""Derivatives that are carried along together, at most."""


class Direction(NamedTuple):
    """A number in which to differentiate: its name, and which step of a schedule or None."""

    name: str
    place: int | None = None


class Setting(NamedTuple):
    """What a march is made of: equations, a problem, and the edges of its grid."""

    equations: Equations
    problem: Problem
    edges: Float[np.ndarray, " e"]


def value_along(equations: Equations, problem: Problem, direction: Direction) -> float:
    """The value of the number along a direction."""
    if direction.name in ("delta", "sigma"):
        return float(getattr(problem, direction.name))
    if direction.name != "step":
        return float(getattr(problem.model, direction.name))
    assert isinstance(equations.time, StepTime)
    return float(equations.time.sizes[direction.place or 0])


def shifted(setting: Setting, direction: Direction, by: float) -> Setting:
    """The same setting with one number changed."""
    equations, problem, edges = setting
    name = direction.name
    if name in ("delta", "sigma"):
        return setting._replace(problem=problem._replace(**{name: getattr(problem, name) + by}))
    if name != "step":
        model = with_numbers(problem.model, {name: getattr(problem.model, name) + by})
        return setting._replace(problem=problem._replace(model=model))
    time = equations.time
    assert isinstance(time, StepTime)
    numbers = time.numbers(edges)
    more = np.zeros(len(time.clock) - 1)
    more[slice(None) if direction.place is None else direction.place] = by
    clock = time.clock + np.concatenate([[0.0], np.cumsum(more)])
    moved = StepTime(clock, time.kind, time.in_blocks)
    return Setting(dataclasses.replace(equations, time=moved), problem, clock[numbers])


def floating(tree: Any) -> Any:
    """The leaves that have derivatives; None in place of the others."""
    return jax.tree.map(lambda x: np.asarray(x) if np.asarray(x).dtype.kind == "f" else None, tree)


def slope(h: float, up: Any, down: Any) -> Any:
    """A central difference; zero for what stands still, infinite or not."""
    still = up == down
    return (np.where(still, 0.0, up) - np.where(still, 0.0, down)) / (2 * h)


def differences(make: Any, setting: Setting, directions: list[Direction]) -> Any:
    """Derivatives of what `make` makes of a setting, one row per direction."""
    rows = []
    for one in directions:
        h = STEP * max(1.0, abs(value_along(setting.equations, setting.problem, one)))
        both = (floating(make(shifted(setting, one, by))) for by in (h, -h))
        rows.append(jax.tree.map(partial(slope, h), *both))
    return jax.tree.map(lambda *x: np.stack(x), *rows)


def pushed(function: Any, given: Any, tangents: Any) -> tuple[Any, Any]:
    """A function of pytrees, and what it makes of tangents of its argument (their first axis)."""
    moving, still = eqx.partition(given, eqx.is_inexact_array)

    def of(moving):
        return eqx.partition(function(eqx.combine(moving, still)), eqx.is_inexact_array)

    def along(tangent):
        return jax.jvp(of, (moving,), (tangent,), has_aux=True)

    values, moved, rest = jax.vmap(along, out_axes=(None, 0, None))(tangents)
    return eqx.combine(values, rest), moved


@partial(lightly_compiled, static=0)
def advance_tangents(
    course: Course, given: tuple[Member, State, Cut], tangents: Any, pages: Float[Any, "b s m"], last: Any
) -> tuple[tuple[Any, State, Any], Any]:
    """One member through the blocks of a part: whether it lacked room for directions, its state and
    curves, and derivatives of these."""

    def march(given):
        member, state, cut = given

        def turn_page(carry):
            k, crowded, state, pages = carry
            state, nodes = one_block(course, member, state, jax.tree.map(lambda x: x[k], cut))
            return k + 1, crowded | nodes.crowded, state, put(k, pages, nodes.curves)

        first = (jnp.zeros((), int), jnp.zeros((), bool), state, pages)
        return repeated(lambda carry: carry[0] < last, turn_page, first, member.numbers.delta)[1:]

    return pushed(march, given, tangents)


@partial(jax.jit, static_argnums=(0, 1))
def change_kind(before: Any, after: Any, given: tuple[Member, State], tangents: Any, t: Any) -> Any:
    """A member seen in steps or in blocks, where these change, with its derivatives."""

    def change(given):
        members, states = jax.tree.map(lambda x: x[None], given)
        if isinstance(after, Stepping):
            changed = in_steps(after, members, states, t)
        else:
            changed = in_blocks(before, after, members, states)
        return jax.tree.map(lambda x: x[0], changed)

    return pushed(change, given, tangents)


def part_of(pages: Any, part: Any) -> Any:
    """Some of the pages."""
    return jax.tree.map(lambda x: x[part], pages)


def curve_tangents(
    equations: Equations, problem: Problem, plan: Plan, replica: int, edges: np.ndarray, directions: list
) -> tuple[Float[np.ndarray, "t m"], Float[np.ndarray, "k t m"]]:
    """Curves of one replica on all nodes, and their derivatives along all directions."""
    blocks = len(edges) - 1
    setting, pages = Setting(equations, problem, edges), room(blocks + 1)

    def at_start(one: Setting) -> tuple[Member, State]:
        made = prepared(one.equations, [one.problem], plan, pages, [(0, replica)])
        return jax.tree.map(lambda x: x[0], (made.members, made.states))

    now, tangents = at_start(setting), differences(at_start, setting, directions)
    columns = 3 if equations.closed else 7
    kind: Blocks | Stepping = equations.time.first_kind
    values, slopes = [], []
    for number, stretch in enumerate(equations.time.stretches(edges)):
        last = stretch.before + stretch.last - stretch.first
        size = part_size(stretch.kind, last)
        course = course_of(equations, plan, stretch.kind, blocks)._replace(keep=1)

        def cut_of(one: Setting, stretch: Any = stretch, size: int = whole_parts(last, size)) -> Cut:
            return one.equations.time.pages(one.edges, stretch, size)

        if stretch.kind != kind:
            here = jnp.asarray(float(edges[stretch.first]))
            now, tangents = change_kind(kind, stretch.kind, now, tangents, here)
            kind = stretch.kind
        cut, cut_tangents = cut_of(setting), differences(cut_of, setting, directions)
        blank = np.zeros((size, stretch.kind.stages, columns))
        for first in range(0, last, size):
            part = slice(first, first + size)
            here, here_tangents = part_of(cut, part), part_of(cut_tangents, (slice(None), part))
            (crowded, state, curves), (_, state_tangents, moved) = advance_tangents(
                course, (*now, here), (*tangents, here_tangents), blank, np.asarray(min(size, last - first))
            )
            if crowded:
                wider = plan._replace(room=room(2 * plan.room))
                return curve_tangents(equations, problem, wider, replica, edges, directions)
            now, tangents = (now[0], state), (tangents[0], state_tangents)
            before = stretch.before if first == 0 else 0
            for found, page in ((values, np.asarray(curves)[None]), (slopes, np.asarray(moved))):
                if number == first == 0:
                    found.append(page[:, 0, -1:])
                found.append(page[:, before : last - first].reshape(len(page), -1, columns))
    return np.concatenate(values, axis=1)[0], np.concatenate(slopes, axis=1)


def sampled_data(equations: Equations, problem: Problem) -> Equations:
    """The same with sampled data where losses of affine ones would have to be observed afterwards."""
    model = problem.model
    if equations.closed and not isinstance(model, SquaredLoss) and (model.own_loss or model.own_error):
        return dataclasses.replace(equations, closed=False)
    return equations
