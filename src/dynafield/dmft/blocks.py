"""A block of gradient flow or of many steps: its equations are solved, its kernels iterated until they
settle.

A sweep solves all rows under the last kernels, and finds the kernels that they make [eq:block_drive].
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.dmft.closed import answer, foreseen, powers_of
from dynafield.dmft.member import Member, Nodes, State, fineness, most_directions, observed, rms
from dynafield.dmft.newton import outputs_of, solve_rows
from dynafield.dmft.rows import (
    Kernels,
    Rows,
    Sampled,
    committed,
    drive_of,
    grown,
    projected,
    reordered,
    tenacious,
    tiled,
)
from dynafield.dmft.rules import Cut
from dynafield.numerics.loops import repeated

__all__ = ["solved_block"]

SWEEPS = 150
"""Sweeps over a block at most: many more than where blocks are chosen, since samples differ."""
SOLVED = 1e-4
"""Newton steps, relative to 1 + |Y|, so short that one more under the same kernels would do nothing."""
RATIOS = 0.05, 0.95
"""Convergence of sweeps that is believed: at least linear, by these factors."""


def first_sizes(member: Member, state: State, block: Cut) -> Float[Array, "2"]:
    """Scales of the outputs; before t = 0 is known, by a look at them."""
    row, side = member.coordinate, member.coordinates
    t = block.times[:1]
    output = outputs_of(row, state.coordinates.state[None], side.facts, t)[0]
    own = jnp.sqrt(jnp.max(output**2 @ side.weight + jnp.sum(side.still**2, axis=1)))
    sizes = state.sizes.at[0].max(own)
    if state.data is None or member.datum is None or member.data is None:
        return sizes
    heard = member.data
    f = own * state.data.normals[: len(output)]
    ell = outputs_of(member.datum, f[None], heard.facts, t)[0]
    return jnp.where(state.sizes[1] > 0, sizes, sizes.at[1].set(jnp.sqrt(jnp.max(ell**2 @ heard.weight))))


class Sweep(NamedTuple):
    """Sweeps over a block so far: kernels of the data that drive, of the coordinates they make, solutions."""

    answer: Kernels
    own: Kernels
    states: Array
    f: Any
    outputs: Array
    ell: Any
    change: Float[Any, ""]
    left: Float[Any, ""]
    step: Float[Any, ""]
    count: Any  # type: ignore[assignment]


def swept(
    member: Member, state: State, block: Cut, least: Array, fine: Any, overlaps: Any, past: Sweep
) -> Sweep:
    """One more sweep: coordinates under the last kernels of the data, data under those they make."""
    rows, side, row, times = state.coordinates, member.coordinates, member.coordinate, block.times
    nodes = len(times)
    c, n = rows.output.shape
    born = rows.count if state.data is None else state.data.count
    known = drive_of(rows, side, past.answer).reshape(nodes, c, n)
    solved = solve_rows(
        row, side.facts, side.weight, times, row.sums(block.integral, block.count), rows.state, known,
        past.answer.T, past.states,
    )  # fmt: skip
    own = kernels_of(rows, side, solved, past.answer.F, born, tenacious(rows, least[0], past.own.F))
    f, ell, step = past.f, past.ell, solved.step
    if state.data is None:
        found = answer(own)
        ahead = foreseen(past.answer, own, found, member.numbers.delta, overlaps, born)
        new = Kernels(*(jnp.where(past.count > 0, x, y) for x, y in zip(ahead, found, strict=True)))
    else:
        datum, samples = member.datum, member.data
        assert datum is not None
        assert samples is not None
        width = state.data.output.shape[1]
        known = drive_of(state.data, samples, own).reshape(nodes, c, width)
        zero = jnp.zeros((c, width))
        heard = solve_rows(
            datum,
            samples.facts,
            samples.weight,
            times,
            jnp.eye(nodes)[:, :, None],
            zero,
            known,
            own.T,
            past.f,
        )
        limit = tenacious(state.data, least[1], past.answer.F)
        new = kernels_of(state.data, samples, heard, own.F, rows.count, limit)
        f, ell, step = heard.states, heard.outputs, jnp.maximum(step, heard.step)
    sizes = jnp.where(state.sizes > 0, state.sizes, 1.0)
    moved = jnp.sqrt(jnp.max((solved.outputs - past.outputs) ** 2 @ side.weight)) / sizes[0]
    change = jnp.maximum(rms(new.F - past.answer.F) / (fine * sizes[1]), moved)
    change, step = jax.lax.stop_gradient((change, step))
    left = change * remaining(change / past.change)
    return Sweep(new, own, solved.states, f, solved.outputs, ell, change, left, step, past.count + 1)


def remaining(ratio: Float[Array, ""]) -> Float[Array, ""]:
    """What is left after a change that is `ratio` of the change before: a geometric series."""
    ratio = jnp.clip(ratio, *RATIOS)
    return ratio / (1 - ratio)


def kernels_of(
    rows: Rows, side: Sampled, solved: Any, drive: Float[Array, "b q"], born: Any, least: Any
) -> Kernels:
    """Kernels that the solved rows of a block make; `drive` is the F that drove them [eq:block_kernels]."""
    output = solved.outputs.reshape(-1, rows.output.shape[1])
    F, S, gram = projected(rows, side, output, born)
    T = side.amplitude**2 * solved.response
    known = jnp.arange(drive.shape[1]) < born
    return Kernels(grown(rows, F, gram, least), jnp.where(known, S - T @ drive, 0.0), T)


def solved_block(member: Member, state: State, block: Cut, keep: int) -> tuple[State, Nodes]:
    """The next block [eq:block_rows, eq:block_kernels]."""
    times, nodes, rows = block.times, len(block.times), state.coordinates
    least = fineness(state, member.numbers.faint) * first_sizes(member, state, block)
    least, fine = member.numbers.epsilon * least, fineness(state, member.numbers.floor)
    past_F, past_own = tiled(state.F, nodes), tiled(rows.F, nodes)
    guess = Kernels(past_F, tiled(state.S, nodes) - state.T @ past_own, state.T)
    own = Kernels(past_own, jnp.zeros((len(past_own), past_F.shape[1])), jnp.zeros_like(state.T))
    held = jnp.tile(rows.state[None], (nodes, 1, 1))
    f = ell = None
    if state.data is not None:
        f = jnp.tile(state.data.state[None], (nodes, 1, 1))
        ell = jnp.tile(state.data.output[None], (nodes, 1, 1))
    outputs = jnp.tile(rows.output[None], (nodes, 1, 1))
    infinite = jnp.asarray(jnp.inf)
    first = Sweep(guess, own, held, f, outputs, ell, infinite, infinite, infinite, jnp.zeros((), int))

    def unsettled(sweep):
        going = ((sweep.left > member.numbers.settled) | (sweep.step > SOLVED)) & jnp.isfinite(sweep.change)
        return (going & (sweep.count < SWEEPS)) | (sweep.count < 2)

    overlaps = None
    if state.data is None:
        known = jnp.arange(len(rows.normals)) < rows.count
        along = (rows.basis * member.coordinates.weight) @ rows.normals.T
        overlap: Any = jnp.where(known, along, 0.0)
        overlaps = powers_of(overlap)
    sweep = partial(swept, member, state, block, least, fine, overlaps)
    last = repeated(unsettled, sweep, first, member.numbers.delta)
    return kept_block(member, state, last, times, least, fine, keep)


def kept_block(
    member: Member, state: State, last: Sweep, times: Array, least: Array, fine: Any, keep: int
) -> tuple[State, Nodes]:
    """A settled block made part of the past."""
    before, c, n = state.coordinates, *state.coordinates.output.shape
    limit = tenacious(before, least[0], last.own.F)
    done = committed(before, member.coordinates, last.states[-1], last.outputs.reshape(-1, n), limit)
    rows, T, T_ell = done.rows, last.own.T, last.answer.T
    if state.data is None:
        F_ell = reordered(last.answer.F, before.count, done.order, 1)
        S_ell, data, crowded, make = F_ell, None, done.crowded, jnp.zeros_like(T)
        start = state.F + done.start - before.F
        rows = rows._replace(normals=reordered(before.normals, before.count, done.order, 0))
    else:
        heard, side = state.data, member.data
        assert side is not None
        width = heard.output.shape[1]
        limit = tenacious(heard, least[1], last.answer.F)
        told = committed(heard, side, last.f[-1], last.ell.reshape(-1, width), limit)
        F_ell, crowded, make = told.F, done.crowded | told.crowded, told.make
        S_ell, start = last.answer.H + T_ell @ done.F, told.start
        rows = rows._replace(normals=reordered(before.normals, heard.count, told.order, 0))
        data = told.rows._replace(normals=reordered(heard.normals, before.count, done.order, 0), S=S_ell[-c:])
    S_w = last.own.H + T @ F_ell
    rows = rows._replace(S=S_w[-c:])
    sizes = jnp.maximum(state.sizes, jnp.stack([rms(done.F), rms(F_ell)]))
    after = State(rows, data, F_ell[-c:], S_ell[-c:], T_ell, sizes, None, state.optimizer, None)
    curves, moments, theta, w, f = observed(
        member, after, last.states, last.outputs, last.f, done.F, F_ell, times, keep
    )
    lost = ~(last.left <= member.numbers.settled) | ~(last.step <= SOLVED)
    nodes = Nodes(
        done.F, S_w, F_ell, S_ell, done.start, start, T, T_ell, done.make, make,
        most_directions(after), curves, moments, theta, w, f, last.count,
        last.left * jnp.stack([jnp.ones(()), fine, jnp.zeros(())]), lost, crowded,
    )  # fmt: skip
    return after, nodes
