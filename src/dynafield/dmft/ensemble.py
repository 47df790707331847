"""Independently scrambled replicas of problems, as members of one march.

Every replica is a complete self-consistent solution, so that their scatter contains the feedback of sampling
errors through the kernels.
"""

import dataclasses
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float

from dynafield.dmft.march import FINE, Course, Going, advance, at_start, blank_pages, room
from dynafield.dmft.member import Nodes
from dynafield.dmft.preparation import Equations, Plan, Prepared, Problem, kept_rows, prepared
from dynafield.dmft.rules import Stepping
from dynafield.dmft.sampling import strata
from dynafield.problem.model import Datum

__all__ = [
    "Ensemble",
    "Lane",
    "Replica",
    "collected",
    "course_of",
    "cut",
    "all_moved",
    "lanes_at_rest",
    "threads",
    "march_along",
]

MANY_NODES = 1000
"""Nodes that a grid of blocks may have."""
PIECES = 8
"""Pieces in which a march is made, between which it may be stopped."""


class Replica(NamedTuple):
    """One finished member: what is known at t = 0 and on all later nodes, and the rows that were kept.

    `teacher_basis` is E[q w*] of the directions, `still_basis` their part in rows that stand still.
    """

    first: Nodes
    later: Nodes
    target: Float[np.ndarray, " p"]
    weight: Float[np.ndarray, " p"]
    folded: Bool[np.ndarray, " p"]
    datum: Datum | None
    teacher_basis: Float[np.ndarray, " r"]
    still_basis: Float[np.ndarray, "r m"]


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
    """Members that march together: all on an accelerator, else one of them, beside others in other
    threads."""

    ready: Prepared
    going: Going
    pages: Nodes
    tasks: list[tuple[int, int]]


def lanes_at_rest(
    equations: Equations, problems: list[Problem], plan: Plan, course: Course, blocks: int, tasks: list
) -> list[Lane]:
    """Members before t = 0, with pages for so many blocks."""
    size = 1 if jax.default_backend() == "cpu" else len(tasks)
    lanes = []
    for first in range(0, len(tasks), size):
        group = tasks[first : first + size]
        ready = prepared(equations, problems, plan, blocks, group)
        pages = blank_pages(course, ready.members, ready.states, blocks)
        lanes.append(Lane(ready, at_start(ready.states), pages, group))
    return lanes


def threads(lanes: int) -> int:
    """Lanes that march at the same time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(lanes, cores))


def moved(course: Course, lane: Lane, edges: np.ndarray, last: int) -> Lane:
    """A lane further on."""
    going, pages = advance(course, lane.ready.members, lane.going, lane.pages, edges, last)
    return lane._replace(going=jax.block_until_ready(going), pages=pages)


def all_moved(
    pool: ThreadPoolExecutor, course: Course, lanes: list[Lane], edges: np.ndarray, last: int
) -> list:
    """All lanes further on; at t = 0 the first goes alone, so that code is compiled once for all threads."""
    if int(np.min(np.asarray(lanes[0].going.done))) == 0:
        lanes = [moved(course, lanes[0], edges, 1), *lanes[1:]]
    work = [pool.submit(moved, course, lane, edges, last) for lane in lanes]
    try:
        return [one.result() for one in work]
    except KeyboardInterrupt as error:  # what has begun is finished first: nothing is half done
        raise StoppedError([one.result() for one in work]) from error


class StoppedError(Exception):
    """An interruption, with the lanes as far as they are."""

    def __init__(self, lanes: list[Lane]):
        super().__init__()
        self.lanes = lanes


def course_of(equations: Equations, plan: Plan, blocks: int = 0) -> Course:
    """How members of a plan march."""
    paths = sum(part.points for part in strata(equations.components, plan.points))
    nodes = blocks if isinstance(equations.time, Stepping) else MANY_NODES
    return Course(equations.time, kept_rows(paths, nodes))


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
    size = room(blocks + 1)
    course = course_of(equations, plan, size)
    tasks = [(p, r) for r in range(count) for p in range(len(problems))]
    padded = np.concatenate([[0.0], edges, np.full(size - blocks - 1, edges[-1])])
    found: dict[tuple[int, int], Replica] = {}
    reached, health, failure = blocks, FINE, None
    for first in range(0, len(tasks), at_once):
        group = tasks[first : first + at_once]
        lanes = lanes_at_rest(equations, problems, plan, course, size, group)
        share = (first / len(tasks), len(group) / len(tasks))
        lanes, failure = marched(course, lanes, padded, blocks, share, report)
        for lane in lanes:
            done = np.asarray(lane.going.done) - 1
            if done.min() < reached:
                reached, health = int(done.min()), int(np.asarray(lane.going.health)[np.argmin(done)])
            found |= dict(zip(lane.tasks, collected(lane, course.keep), strict=True))
        if failure is not None:
            break
    whole = [r for r in range(count) if all((p, r) in found for p in range(len(problems)))]
    replicas = [[cut(found[p, r], reached) for r in whole] for p in range(len(problems))]
    return Ensemble(edges[: reached + 1], replicas, plan, health, failure, edges)


def marched(
    course: Course,
    lanes: list[Lane],
    edges: np.ndarray,
    blocks: int,
    share: tuple[float, float],
    report: Callable[[float, int], None],
) -> tuple[list[Lane], BaseException | None]:
    """A march in a few pieces, told after each of them; an interruption comes back with what is done."""
    pieces = min(PIECES, blocks)
    with ThreadPoolExecutor(threads(len(lanes))) as pool:
        for piece in range(1, pieces + 1):
            last = 1 + blocks * piece // pieces
            try:
                lanes = all_moved(pool, course, lanes, edges, last)
                done = min(int(np.min(np.asarray(lane.going.done))) for lane in lanes)
                report(share[0] + share[1] * piece / pieces, done - 1)
            except StoppedError as stopped:
                return stopped.lanes, KeyboardInterrupt()
            except KeyboardInterrupt as error:
                return lanes, error
            if done < last:
                break
    return lanes, None


def collected(lane: Lane, keep: int) -> list[Replica]:
    """Finished members, on the host; the first page is t = 0."""
    ready, rows, side = lane.ready, lane.going.states.coordinates, lane.ready.members.coordinates
    pages, basis, still = jax.tree.map(np.asarray, (lane.pages, rows.basis, rows.still_basis))
    along = np.einsum("mrn,mn->mr", basis, np.asarray(side.weight * side.facts))
    c = pages.start_w.shape[2]
    found = []
    for k, (sample, datum) in enumerate(zip(ready.samples, ready.data, strict=True)):
        whole = jax.tree.map(lambda x, k=k: x[k], pages)
        later = jax.tree.map(lambda x: x[1:], whole)
        first = at_first_node(jax.tree.map(lambda x: x[0], whole), c)
        kept = None if datum is None else Datum(*(np.asarray(part)[:keep] for part in datum))
        weight = sample.weight[:keep] / np.sum(sample.weight[:keep])
        parts = (sample.target[:keep], weight, sample.folded[:keep], kept)
        found.append(Replica(first, later, *parts, along[k], still[k]))
    return found


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
    return replica._replace(later=jax.tree.map(lambda x: x[:blocks], replica.later))
