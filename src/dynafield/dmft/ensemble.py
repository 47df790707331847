"""Independently scrambled replicas of problems, as members of one march.

Every replica is a complete self-consistent solution, so that their scatter contains the feedback of sampling
errors through the kernels.
"""

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float

from dynafield.dmft.discrete.transitions import in_blocks, in_steps
from dynafield.dmft.march import (
    FINE,
    Course,
    Going,
    advance,
    at_start,
    blank_pages,
    part_size,
    room,
    whole_parts,
)
from dynafield.dmft.member import Nodes
from dynafield.dmft.preparation import (
    Equations,
    Plan,
    Prepared,
    Problem,
    coordinate_rows,
    kept_rows,
    prepared,
)
from dynafield.dmft.rules import Blocks, Cut, Stepping, StepTime
from dynafield.numerics.threads import cores
from dynafield.problem.model import Datum

__all__ = [
    "Ensemble",
    "Lane",
    "Replica",
    "StoppedError",
    "all_moved",
    "collected",
    "course_of",
    "cut",
    "entering",
    "lanes_at_rest",
    "least_done",
    "march_along",
    "threads",
]

MANY_NODES = 1000
"""Nodes that a grid of blocks may have."""
PIECES = 8
"""Pieces in which a march is made, between which it may be stopped."""


class Replica(NamedTuple):
    """One finished member: what is known at t = 0 and on all later nodes, and the rows that were kept.

    `later` has one set of pages per stretch of time. `teacher_basis` is E[q √s w*] of the directions,
    `still_basis` their part in rows that stand still.
    """

    first: Nodes
    later: tuple[Nodes, ...]
    target: Float[np.ndarray, " p"]
    variance: Float[np.ndarray, " p"]
    weight: Float[np.ndarray, " p"]
    folded: Bool[np.ndarray, " p"]
    datum: Datum | None
    teacher_basis: Float[np.ndarray, " r"]
    still_basis: Float[np.ndarray, "r m"]

    def on_nodes(self, name: str) -> np.ndarray:
        """What the pages hold under a name, as one array over all nodes, t = 0 first."""
        parts = [getattr(part, name) for part in self.later]
        return np.concatenate([getattr(self.first, name), *(x.reshape(-1, *x.shape[2:]) for x in parts)])


@dataclasses.dataclass
class Ensemble:
    """Replicas of every problem on one grid, which ends before the `planned` one after a failure."""

    edges: Float[np.ndarray, " b"]
    replicas: list[list[Replica]]
    plan: Plan
    health: int = FINE
    failure: BaseException | None = None
    planned: Any = ()


class Lane(NamedTuple):
    """Members that march together: all on an accelerator, else one of them, beside others in other threads.

    `pages` are those of the part they are in, `written` those of parts before; `turned` is how many of the
    latter belong to the same stretch of time.
    """

    ready: Prepared
    going: Going
    pages: Nodes
    tasks: list[tuple[int, int]]
    kind: Blocks | Stepping
    written: tuple[Nodes, ...] = ()
    turned: int = 0

    @property
    def size(self) -> int:
        """Pages of a part."""
        return self.pages.F_w.shape[1]

    @property
    def done(self) -> int:
        """Pages that all members have written in their stretch of time."""
        return self.turned + int(np.min(np.asarray(self.going.done)))


def lanes_at_rest(
    equations: Equations, problems: list[Problem], plan: Plan, blocks: int, tasks: list
) -> list:
    """Members before t = 0, with no pages yet; there may be so many blocks."""
    size = 1 if jax.default_backend() == "cpu" else len(tasks)
    lanes = []
    for first in range(0, len(tasks), size):
        group = tasks[first : first + size]
        ready = prepared(equations, problems, plan, blocks, group)
        nothing: Any = None  # what has begun is not kept as it was before
        going, ready = at_start(ready.states), ready._replace(states=nothing)
        lanes.append(Lane(ready, going, nothing, group, equations.time.first_kind))
    return lanes


def turn_over(course: Course, lane: Lane, size: int) -> Lane:
    """A lane with so many blank pages, and those it has filled put away."""
    written, turned = lane.written, lane.done
    if lane.pages is not None:
        full = turned - lane.turned
        written = (*written, jax.tree.map(lambda x: np.asarray(x)[:, :full], lane.pages))
    going = lane.going._replace(done=np.zeros_like(np.asarray(lane.going.done)))
    blank = blank_pages(course, lane.ready.members, going.states, size)
    return lane._replace(going=going, pages=blank, written=written, turned=turned)


def entering(lane: Lane, course: Course, size: int, t: float) -> Lane:
    """A lane at the start of a stretch of time, with blank pages for it."""
    members, going = lane.ready.members, lane.going
    if lane.kind != course.kind:
        if isinstance(course.kind, Stepping):
            members, states = in_steps(course.kind, members, going.states, t)
        else:
            assert isinstance(lane.kind, Stepping)
            members, states = in_blocks(lane.kind, course.kind, members, going.states)
        going = going._replace(states=states)
    changed = lane._replace(ready=lane.ready._replace(members=members), going=going, kind=course.kind)
    return turn_over(course, changed, size)._replace(turned=0)


def threads(lanes: int) -> int:
    """Lanes that march at the same time."""
    return max(1, min(lanes, cores()))


def moved(course: Course, lane: Lane, cut: Cut, last: int) -> Lane:
    """Advance the members of a lane up to a page of their stretch, part by part."""
    while lane.done < last:
        if lane.done == lane.turned + lane.size:
            lane = turn_over(course, lane, lane.size)
        first, size = lane.turned, lane.size
        here = jax.tree.map(lambda x, part=slice(first, first + size): x[part], cut)
        to = min(size, last - first)
        going, pages = advance(course, lane.ready.members, lane.going, lane.pages, here, to)
        lane = lane._replace(going=jax.block_until_ready(going), pages=pages)
        if lane.done < first + to:  # not all are well
            break
    return lane


def all_moved(pool: ThreadPoolExecutor, course: Course, lanes: list[Lane], cut: Cut, last: int) -> list:
    """Advance all lanes; on a first page the first lane goes alone, so that code is compiled only once."""
    if lanes[0].done == 0:
        lanes = [moved(course, lanes[0], cut, 1), *lanes[1:]]
    work = [pool.submit(moved, course, lane, cut, last) for lane in lanes]
    try:
        return [one.result() for one in work]
    except KeyboardInterrupt as error:  # what has begun is finished first: nothing is half done
        raise StoppedError([one.result() for one in work]) from error


class StoppedError(Exception):
    """An interruption, with the lanes as far as they are."""

    def __init__(self, lanes: list[Lane]):
        super().__init__()
        self.lanes = lanes


def course_of(equations: Equations, plan: Plan, kind: Blocks | Stepping, blocks: int = 0) -> Course:
    """How members of a plan march through blocks of a kind, where there are so many in all."""
    single = isinstance(equations.time, StepTime) and not equations.time.in_blocks
    return Course(kind, kept_rows(coordinate_rows(equations.law, plan), blocks if single else MANY_NODES))


def march_along(
    equations: Equations,
    problems: list[Problem],
    plan: Plan,
    edges: Float[np.ndarray, " e"],
    report: Callable[[float, int], None],
    at_once: int,
) -> Ensemble:
    """All replicas of all problems along a known grid, as many at once as memory allows."""
    count, blocks = len(plan.seeds), len(edges) - 1
    tasks = [(p, r) for r in range(count) for p in range(len(problems))]
    found: dict[tuple[int, int], Replica] = {}
    reached, health, failure = blocks, FINE, None
    for first in range(0, len(tasks), at_once):
        group = tasks[first : first + at_once]
        lanes = lanes_at_rest(equations, problems, plan, room(blocks + 1), group)
        share = (first / len(tasks), len(group) / len(tasks))
        lanes, here, failure = marched(equations, plan, lanes, edges, share, report)
        if here < reached:
            reached, health = here, max(int(np.max(np.asarray(lane.going.health))) for lane in lanes)
        for lane in lanes:
            found |= dict(zip(lane.tasks, collected(lane), strict=True))
        if failure is not None:
            break
    whole = [r for r in range(count) if all((p, r) in found for p in range(len(problems)))]
    replicas = [[cut(found[p, r], reached) for r in whole] for p in range(len(problems))]
    return Ensemble(edges[: reached + 1], replicas, plan, health, failure, edges)


def marched(
    equations: Equations,
    plan: Plan,
    lanes: list[Lane],
    edges: np.ndarray,
    share: tuple[float, float],
    report: Callable[[float, int], None],
) -> tuple[list[Lane], int, BaseException | None]:
    """A march in a few pieces, with a report after each: the lanes, blocks that all have done, and what
    stopped them."""
    stretches, blocks, reached = equations.time.stretches(edges), len(edges) - 1, 0
    longest: dict[Any, int] = {}
    for one in stretches:
        longest[one.kind] = max(longest.get(one.kind, 0), one.before + one.last - one.first)
    with ThreadPoolExecutor(threads(len(lanes))) as pool:
        for stretch in stretches:
            course, inside = course_of(equations, plan, stretch.kind, blocks), stretch.last - stretch.first
            size = part_size(stretch.kind, longest[stretch.kind])
            lanes = [entering(lane, course, size, float(edges[stretch.first])) for lane in lanes]
            pages = equations.time.pages(edges, stretch, whole_parts(stretch.before + inside, size))
            pieces = min(inside, int(np.ceil(PIECES * inside / blocks)))
            for piece in range(1, pieces + 1):
                last = stretch.before + inside * piece // pieces
                try:
                    lanes = all_moved(pool, course, lanes, pages, last)
                    done = least_done(lanes)
                    reached = stretch.first + max(0, done - stretch.before)
                    report(share[0] + share[1] * reached / blocks, reached)
                except StoppedError as stopped:
                    done = max(0, least_done(stopped.lanes) - stretch.before)
                    return stopped.lanes, stretch.first + done, KeyboardInterrupt()
                except KeyboardInterrupt as error:
                    return lanes, reached, error
                if done < last:
                    return lanes, reached, None
    return lanes, reached, None


def least_done(lanes: list[Lane]) -> int:
    """Pages that all lanes have written in their stretch."""
    return min(lane.done for lane in lanes)


def collected(lane: Lane) -> list[Replica]:
    """Finished members, on the host; the very first page is t = 0."""
    ready, rows, side = lane.ready, lane.going.states.coordinates, lane.ready.members.coordinates
    pages, basis, still = jax.tree.map(
        np.asarray, ((*lane.written, lane.pages), rows.basis, rows.still_basis)
    )
    along = np.einsum("mrn,mn->mr", basis, np.asarray(side.weight * side.facts.teacher))
    c, keep = pages[0].start_w.shape[2], pages[0].theta.shape[-1]
    found = []
    for k, (sample, datum) in enumerate(zip(ready.samples, ready.data, strict=True)):
        whole = jax.tree.map(lambda x, k=k: x[k], pages)
        first = at_first_node(jax.tree.map(lambda x: x[0], whole[0]), c)
        later = joined_pages([jax.tree.map(lambda x: x[1:], whole[0]), *whole[1:]])
        kept = None if datum is None else Datum(*(np.asarray(part)[:keep] for part in datum))
        weight = sample.weight[:keep] / np.sum(sample.weight[:keep])
        parts = (sample.target[:keep], sample.variance[:keep], weight, sample.folded[:keep], kept)
        found.append(Replica(first, later, *parts, along[k], still[k]))
    return found


def joined_pages(parts: list[Nodes]) -> tuple[Nodes, ...]:
    """Pages of stretches, one after another; those of one kind that meet are one."""
    found: list[Nodes] = []
    for part in parts:
        if len(part.count) == 0 and len(parts) > 1:
            continue
        if found and found[-1].theta.shape[1] == part.theta.shape[1]:
            found[-1] = jax.tree.map(lambda *x: np.concatenate(x), found[-1], part)
        else:
            found.append(part)
    return tuple(found) or (parts[0],)


def at_first_node(page: Nodes, c: int) -> Nodes:
    """The page of t = 0, whose nodes are all the same, as one node."""
    rows = {name: getattr(page, name)[-c:] for name in ("F_w", "S_w", "F_ell", "S_ell")}
    rows |= {name: getattr(page, name)[-c:, -c:] for name in ("T_w", "T_ell")}
    makes = {name: getattr(page, name) for name in ("make_w", "make_ell")}
    rows |= {name: make.reshape(len(make), -1, c).sum(axis=1) for name, make in makes.items()}
    values = {name: getattr(page, name)[-1:] for name in ("curves", "moments", "theta", "w", "f")}
    return page._replace(**rows, **values)


def cut(replica: Replica, blocks: int) -> Replica:
    """The replica up to a number of blocks."""
    left, parts = blocks, []
    for part in replica.later:
        parts.append(jax.tree.map(lambda x, left=left: x[:left], part))
        left -= min(left, len(part.count))
    return replica._replace(later=joined_pages(parts))
