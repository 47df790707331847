r"""One problem with one sample: its equations from node to node [eq:projection, eq:block_drive].

A member is what never changes, a state is what is passed on. `first_node` starts, `training_step` takes a
step of discrete training, `flow_block` a block of gradient flow; each returns the next state and what is
known on the new nodes. All are functions of arrays alone, compiled, and mapped over members.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dynafield.dmft.closed import answer, foreseen, powers_of
from dynafield.dmft.equations import CoordinateRow, DataRow
from dynafield.dmft.newton import outputs_of, over_rows, solve_rows
from dynafield.dmft.rows import (
    Committed,
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

__all__ = ["Member", "Nodes", "Numbers", "State", "flow_block", "training_step"]

SWEEPS = 150
"""Sweeps over a block at most: many more than where blocks are chosen, since samples differ."""
SOLVED = 1e-4
"""Newton steps, relative to 1 + |Y|, so short that one more under the same kernels would do nothing."""
RATIOS = 0.05, 0.95
"""Convergence of sweeps that is believed: at least linear, by these factors."""


class Numbers(NamedTuple):
    """Numbers of a member: δ, what is dropped, and when sweeps end.

    `epsilon` is the size of new directions that are dropped, relative to the drive of the coordinates, or
    to its share `faint` of what it was at most; `settled` the change of kernels that ends the sweeps,
    relative to the same with the share `floor`, with all changes still to come.
    """

    delta: Float[Any, ""]
    epsilon: Float[Any, ""]
    faint: Float[Any, ""]
    settled: Float[Any, ""]
    floor: Float[Any, ""]
    step: Float[Any, ""]
    inertia: Float[Any, ""]
    fraction: Float[Any, ""]


class Member(NamedTuple):
    """What never changes: numbers, the equations of both kinds of rows, and both samples.

    Without `data` the data side is closed [eq:linear_data].
    """

    numbers: Numbers
    coordinate: CoordinateRow
    coordinates: Sampled
    datum: DataRow | None
    data: Sampled | None
    key: Any


class State(NamedTuple):
    """A member at the last node.

    `F`, `S` are those of the data at that node, `T` their response within the last block; `sizes` the largest
    F so far of coordinates and data; `drive` moves the next step of discrete training; `batch` is what
    mini-batches have added.
    """

    coordinates: Rows
    data: Rows | None
    F: Float[Any, "c q"]
    S: Float[Any, "c r"]
    T: Float[Any, "b b"]
    sizes: Float[Any, "2"]
    drive: Any
    batch: Any


class Nodes(NamedTuple):
    """What is known on the nodes of a block: kernels of both sides, curves, and states of some rows.

    `start_w`, `start_ell` are F at the start of the block, `make_w`, `make_ell` turn what the basis leaves
    of outputs into the directions born there. `left` is what unfinished sweeps leave in outputs of both
    sides, relative to their largest sizes.
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
    left: Float[Any, "2"]
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
    """Mean square of outputs and mean penalty (s, 2); E[w²], E[w w*] by channel (s, c, 2); some of w."""
    model, side = member.coordinate.model, member.coordinates
    k = model.states

    def node(state, t):
        theta = state[:k]
        w = over_rows(lambda y: model.w(y.reshape(model.state_shape), t).reshape(-1))(theta)
        penalty = over_rows(lambda y: model.penalty(y.reshape(model.state_shape), t))(theta)
        both = jnp.stack([w**2 @ side.weight, (w * side.facts) @ side.weight], axis=-1)
        return penalty @ side.weight, both, w[:, :keep]

    penalty, moments, kept = jax.vmap(node)(states, times)
    square = jnp.sum((outputs**2) @ side.weight, axis=1) + jnp.sum(side.still**2)
    return jnp.stack([square, penalty], axis=1), moments, kept


def seen_data(member: Member, rows: Rows, f: Array, F_w: Array, times: Array) -> Float[Array, "s 4"]:
    """Mean loss and error on the sampled data, and on fresh ones, which only share the noise of f."""
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


def explicit_node(
    member: Member, state: State, theta: Float[Array, "m n"], t: Any, keep: int
) -> tuple[State, Nodes]:
    """A node whose states are known before its drive: the next state, and what is known."""
    rows, side, row = state.coordinates, member.coordinates, member.coordinate
    times = jnp.asarray(t)[None]
    output = outputs_of(row, theta[None, : row.states], side.facts, times)[0]
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
        batch, more = batched(member, state.batch, output, F_ell)
        drive = drive if more is None else drive + more
    else:
        data, f, S_ell, answered = answering(member, state, done, S, times, fine, t)
        F_ell, crowded = answered.F, done.crowded | answered.crowded
        rows = rows._replace(normals=reordered(rows.normals, state.data.count, answered.order, 0))
        drive = side.amplitude * (F_ell @ rows.normals) + S_ell @ rows.basis
        T, batch, f, make = jnp.zeros((len(output),) * 2), state.batch, f[None], answered.make
    sizes = jnp.maximum(state.sizes, jnp.stack([rms(done.F), rms(F_ell)]))
    after = State(rows, data, F_ell, S_ell, T, sizes, drive, batch)
    curves, moments, kept, kept_w, kept_f = observed(
        member, after, theta[None], output[None], f, done.F, F_ell, times, keep
    )
    if batch is not None:
        curves = curves.at[:, 2].add(jnp.sum(batch.memory**2))
    nothing = jnp.zeros((), int)
    nodes = Nodes(
        done.F, S, F_ell, S_ell, done.F, F_ell, jnp.zeros_like(T), T, done.make, make,
        most_directions(after), curves, moments, kept, kept_w, kept_f, nothing, jnp.zeros(2),
        jnp.zeros((), bool), crowded,
    )  # fmt: skip
    return after, nodes


class Batch(NamedTuple):
    """Mini-batches on a closed data side: normals of every step, their sizes, memory of the last step.

    Every step has a direction of its own, of size \\(n_t^2 = (1/b-1)E_{train}(t)\\) [eq:dmft_batches].
    """

    normals: Float[Any, "t n"]
    memory: Float[Any, " t"]
    sizes: Float[Any, " t"]
    step: Int[Any, ""]


def batched(
    member: Member, batch: Batch | None, output: Float[Array, "c n"], F_ell: Float[Array, "c q"]
) -> tuple[Batch | None, Any]:
    """What mini-batches add to the drive of a step."""
    if batch is None:
        return None, None
    side, k = member.coordinates, batch.step
    past = jnp.arange(len(batch.normals)) < k
    memory: Any = jnp.where(past, side.amplitude * (batch.normals @ (output[0] * side.weight)), 0.0)
    train = jnp.sum(F_ell**2) + jnp.sum(memory**2)
    size = jnp.sqrt((1.0 / member.numbers.fraction - 1.0) * train)
    drive = side.amplitude * ((memory @ batch.normals) + size * batch.normals[k])
    return Batch(batch.normals, memory, batch.sizes.at[k].set(size), k + 1), drive


def answering(
    member: Member, state: State, own: Committed, S: Array, times: Array, fine: Any, t: Any
) -> tuple[Rows, Array, Array, Committed]:
    """The data's side of a node whose outputs w are known."""
    datum, side, rows = member.datum, member.data, state.data
    assert datum is not None
    assert side is not None
    assert rows is not None
    rows = rows._replace(normals=reordered(rows.normals, state.coordinates.count, own.order, 0))
    f = drive_of(rows, side, Kernels(own.F, S, S))
    ell = outputs_of(datum, f[None], side.facts, times)[0] * gain(member, rows, t)
    _, S_ell, _ = projected(rows, side, ell, own.rows.count)
    size = jnp.sqrt(jnp.max(ell**2 @ side.weight))
    done = committed(rows, side, f, ell, fine * jnp.maximum(state.sizes[1], size))
    return done.rows._replace(S=S_ell), f, S_ell, done


def gain(member: Member, rows: Rows, t: Any) -> Any:
    """Weights of the data in a step: a fresh share of them, each by its inverse [eq:batches]."""
    if member.key is None:
        return 1.0
    count, fraction = rows.state.shape[-1], member.numbers.fraction
    number = jnp.round(t / member.numbers.step).astype(int)
    order = jax.random.permutation(jax.random.fold_in(member.key, number), count)
    return (order < fraction * count) / fraction


def training_step(rule: Any, member: Member, state: State, t: Any, keep: int) -> tuple[State, Nodes]:
    """The step that the last drive asks for, and the node after it at time t [eq:dmft_steps].

    At t = 0 there is no step, and the node is the start.
    """
    row, numbers, k = member.coordinate, member.numbers, member.coordinate.states
    before, facts = state.coordinates.state, member.coordinates.facts
    rate = over_rows(lambda y, theta, fact: row.rate(y, theta, fact, t - numbers.step))(
        state.drive, before[:k], facts
    )
    theta = jnp.where(t > 0, rule.after(before, rate, numbers.step, numbers.inertia), before)
    return explicit_node(member, state, theta, t, keep)


def first_sizes(member: Member, state: State, t: Any) -> Float[Array, "2"]:
    """Scales of the outputs; before t = 0 is known, by a look at them."""
    row, side = member.coordinate, member.coordinates
    output = outputs_of(row, state.coordinates.state[None, : row.states], side.facts, t[None])[0]
    own = jnp.sqrt(jnp.max(output**2 @ side.weight + jnp.sum(side.still**2, axis=1)))
    sizes = state.sizes.at[0].max(own)
    if state.data is None or member.datum is None or member.data is None:
        return sizes
    heard = member.data
    f = own * state.data.normals[: len(output)]
    ell = outputs_of(member.datum, f[None], heard.facts, t[None])[0]
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
    member: Member, state: State, times: Array, integral: Array, least: Array, fine: Any, overlaps: Any,
    past: Sweep,
) -> Sweep:  # fmt: skip
    """One more sweep: coordinates under the last kernels of the data, data under those they make."""
    rows, side, row, nodes = state.coordinates, member.coordinates, member.coordinate, len(times)
    c, n = rows.output.shape
    born = rows.count if state.data is None else state.data.count
    known = drive_of(rows, side, past.answer).reshape(nodes, c, n)
    solved = solve_rows(
        row, side.facts, side.weight, times, integral, rows.state, known, past.answer.T, past.states
    )
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
            datum, samples.facts, samples.weight, times, jnp.eye(nodes), zero, known, own.T, past.f
        )
        limit = tenacious(state.data, least[1], past.answer.F)
        new = kernels_of(state.data, samples, heard, own.F, rows.count, limit)
        f, ell, step = heard.states, heard.outputs, jnp.maximum(step, heard.step)
    sizes = jnp.where(state.sizes > 0, state.sizes, 1.0)
    moved = jnp.sqrt(jnp.max((solved.outputs - past.outputs) ** 2 @ side.weight)) / sizes[0]
    change = jnp.maximum(rms(new.F - past.answer.F) / (fine * sizes[1]), moved)
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


def flow_block(
    member: Member, state: State, start: Any, length: Any, rule: Any, keep: int
) -> tuple[State, Nodes]:
    """The next block of gradient flow [eq:block_rows, eq:block_kernels]."""
    times, integral = start + length * jnp.asarray(rule.nodes), length * jnp.asarray(rule.weights)
    nodes, rows = len(times), state.coordinates
    least = fineness(state, member.numbers.faint) * first_sizes(member, state, times[0])
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
    sweep = partial(swept, member, state, times, integral, least, fine, overlaps)
    last = jax.lax.while_loop(unsettled, sweep, first)
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
    after = State(rows, data, F_ell[-c:], S_ell[-c:], T_ell, sizes, None, None)
    curves, moments, theta, w, f = observed(
        member, after, last.states, last.outputs, last.f, done.F, F_ell, times, keep
    )
    lost = ~(last.left <= member.numbers.settled) | ~(last.step <= SOLVED)
    nodes = Nodes(
        done.F, S_w, F_ell, S_ell, done.start, start, T, T_ell, done.make, make,
        most_directions(after), curves, moments, theta, w, f, last.count,
        last.left * jnp.stack([jnp.ones(()), fine]), lost, crowded,
    )  # fmt: skip
    return after, nodes
