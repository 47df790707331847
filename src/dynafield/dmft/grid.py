r"""The grid of time: blocks as long as accuracy and convergence of the sweeps allow.

The polynomial through the nodes of a block, extended back to its start, misses what is known
there by a defect of order \(h^s\) [eq:dmft_defect]. Dense output, which uses the start as one
more node, is better by a power of h; so the defect to the power (s+1)/s measures its error.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dynafield.dmft.discrete.curvature import curvature, most_curvature
from dynafield.dmft.discrete.transitions import in_steps
from dynafield.dmft.ensemble import (
    Ensemble,
    Lane,
    StoppedError,
    all_moved,
    collected,
    course_of,
    cut,
    entering,
    lanes_at_rest,
    least_done,
    threads,
)
from dynafield.dmft.march import CROWDED, DIVERGING, FINE, PAGES, Course, whole_parts
from dynafield.dmft.member import Nodes
from dynafield.dmft.preparation import Equations, Plan, Problem, Tolerance
from dynafield.dmft.rules import LEAST, Blocks, StepTime, Stretch, TimeRule
from dynafield.errors import SolveError

__all__ = ["FAINT", "defects", "march_adaptively", "shortest_blocks"]

FAINT = 1e-8
"""Residuals below this, relative to their size at t = 0, never have relative accuracy."""
KEPT = 0.8
"""A block is kept if the next one may be this part of its length, or more."""
LONGEST = 2.5
"""A block is at most so many times longer than the one before."""
SMALLEST = 1e-12
"""Shortest block, relative to the first guess or the time reached."""
FIRST = 0.1
"""First guess of the first block."""
MANY, MOST = 20, 40
"""After so many sweeps blocks do not grow; with more than so many a shorter one is tried."""
SINGLE, MOST_SINGLE = PAGES - 1, 512
"""Steps taken one by one before a block is tried again; and where it is refused again, at most."""
CHANCE = 0.1
"""Weight of the defect of one order less: it counts where it is more than ten times larger, which it is
in no problem with some noise, only where paths are alike."""
LASTING = 0.9
"""A defect of which a shorter block keeps this fraction is no error in time, if it is as small as what is
dropped: a direction that had been dropped before has become large enough at the start of the block to be
kept."""


def extrapolated(places: Float[np.ndarray, "b s"]) -> Float[np.ndarray, "b s"]:
    """Weights of the nodes of blocks in the polynomials through them, at the start of the blocks."""
    gaps = places[:, :, None] - places[:, None]
    others = ~np.eye(places.shape[1], dtype=bool)
    shares = np.where(others, -places[:, None] / np.where(others, gaps, 1.0), 1.0)
    return np.prod(shares, axis=2)


def defects(
    time: TimeRule,
    places: Float[np.ndarray, "b s"],
    starts: Float[np.ndarray, "b m"],
    nodes: Float[np.ndarray, "b s m"],
    scale: float,
) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, " b"]]:
    """Errors that the defects of blocks stand for: in units of the scale squared, and relative.

    A row of F is a path-space vector: its norm is a root mean square over paths, so that the
    defect of the rows is that of single paths, which may be rough where averages are smooth. Where all
    paths are alike it may vanish by chance; that of one order less will not be small at the same place.
    """
    s = places.shape[1]
    missed = np.linalg.norm(np.einsum("bi,bik->bk", extrapolated(places), nodes) - starts, axis=1)
    places, first, rest = places[:, 1:] - places[:, :1], nodes[:, 0], nodes[:, 1:]
    lower = np.linalg.norm(np.einsum("bi,bik->bk", extrapolated(places), rest) - first, axis=1)
    size = np.min(np.linalg.norm(nodes, axis=2), axis=1) + 1e-12 * scale

    def error(unit: Any) -> np.ndarray:
        found = np.maximum((missed / unit) ** ((s + 1) / s), CHANCE * (lower / unit) ** ((s + 1) / (s - 1)))
        return time.per_defect * found

    return error(scale), error(size)


def excess(
    time: TimeRule, places: np.ndarray, pages: Nodes, sizes: np.ndarray, tolerance: Tolerance
) -> float:
    """Largest estimated error of a block over all members, in units of what is allowed."""
    worst, s = 0.0, places.shape[1]
    for side, (start, rows) in enumerate(((pages.start_w, pages.F_w), (pages.start_ell, pages.F_ell))):
        for k in range(len(sizes)):
            scale = float(sizes[k, side]) or 1.0
            nodes = rows[k].reshape(1, s, -1)
            absolute, relative = defects(time, places, start[k].reshape(1, -1), nodes, scale)
            worst = max(worst, float(absolute[0]) / tolerance.absolute)
            if tolerance.relative is not None and np.linalg.norm(nodes[0, -1]) > FAINT * scale:
                worst = max(worst, float(relative[0]) / tolerance.relative)
    return worst


def of_dropped(time: TimeRule, stages: int, epsilon: float, tolerance: Tolerance) -> float:
    """The largest such excess that directions of size ε, dropped at the start and at a node, can make."""
    least = min(tolerance.absolute, tolerance.relative or np.inf)
    return time.per_defect * (2 * epsilon) ** ((stages + 1) / stages) / least


class Search(NamedTuple):
    """What never changes in a march that chooses its blocks."""

    pool: ThreadPoolExecutor
    equations: Equations
    plan: Plan
    t_max: float
    tolerance: Tolerance
    limit: float

    @property
    def time(self) -> Any:
        """The rule of time."""
        return self.equations.time

    @property
    def blocks(self) -> Course:
        """How members march through blocks."""
        return course_of(self.equations, self.plan, Blocks())

    @property
    def single(self) -> Course:
        """How members march through single steps."""
        return course_of(self.equations, self.plan, self.time.kind)


class Way(NamedTuple):
    """How far such a march is: members, edges of its blocks, and the excess for which a block was refused."""

    lanes: list[Lane]
    edges: tuple[float, ...] = ()
    refused: float = np.inf


Stage = tuple[Way, int, float]
"""The way, how the members are, and the time."""


def march_adaptively(
    equations: Equations,
    problems: list[Problem],
    plan: Plan,
    t_max: float,
    tolerance: Tolerance,
    report: Callable[[float, int], None],
) -> Ensemble:
    """March up to the last time with blocks chosen on the way, the same for all members."""
    tasks = [(p, r) for r in range(len(plan.seeds)) for p in range(len(problems))]
    lanes = lanes_at_rest(equations, problems, plan, 0, tasks)
    limit = min(one.model.longest_block() for one in problems)
    stages = stages_of_steps if isinstance(equations.time, StepTime) else stages_of_flow
    way, health, failure = Way(lanes), FINE, None
    with ThreadPoolExecutor(threads(len(lanes))) as pool:
        try:
            for stage in stages(Search(pool, equations, plan, t_max, tolerance, limit), way):
                way, health, now = stage
                report(now, len(way.edges) - 1)
        except SolveError as error:
            failure = error
        except (KeyboardInterrupt, StoppedError):
            failure = KeyboardInterrupt()
    return ensemble_of(way, problems, plan, health, failure)


def stages_of_flow(search: Search, way: Way) -> Iterator[Stage]:
    """A march of gradient flow, block by block, up to the last time or to where members are not well."""
    t_max, limit, now = search.t_max, search.limit, 0.0
    way = way._replace(lanes=[entering(lane, search.blocks, PAGES, now) for lane in way.lanes])
    way, factor = tried(search, way, now, now)
    if factor is None:
        yield way, CROWDED, now
        return
    length, searching = min(FIRST, limit, t_max), True
    while now < t_max:
        left = t_max - now
        length = min(length, limit, left)
        if length < left < 2 * length:
            length = left / 2
        check_blocks(search, way, length, now)
        end = t_max if length == left else now + length
        further, factor = tried(search, way, now, end)
        if factor is None:
            yield way, CROWDED, now
            return
        if factor < KEPT:
            way, length, searching = further, length * max(factor, 0.2), False
            continue
        if searching and len(way.edges) == 1 and factor > LONGEST and length < min(left, limit):
            length *= min(factor, 30.0)  # the first block may be much too short: it is found by trying
            continue
        way, now = further, end
        yield way, FINE, now
        length *= min(factor, LONGEST)


def check_blocks(search: Search, way: Way, length: float, now: float) -> None:
    """SolveError where blocks would have to be too short, or too many."""
    if length < SMALLEST * max(min(FIRST, search.t_max), now):
        raise SolveError(
            f"the flow could not be followed beyond t={now:.6g}, however short the block: "
            "it may blow up there, or its kernels do not settle"
        )
    if len(way.edges) > search.time.most:
        raise SolveError(
            f"more than {search.time.most} blocks of time are needed beyond t={now:.6g}: "
            "take a larger tol (or rtol, or none), or a smaller t_max"
        )


def tried(search: Search, way: Way, start: float, end: float) -> tuple[Way, float | None]:
    """Solve a block; the way with it if it is good, and the factor for the next one: below KEPT if the block
    is refused, None if there is no room for its directions."""
    course, time = search.blocks, search.time
    page = least_done(way.lanes)
    size = whole_parts(page + 1, PAGES)
    edges = np.array([start, end])
    both = time.pages(edges, Stretch(course.kind, 0, 1), 2)  # t = 0, and the block
    pages = jax.tree.map(lambda x: np.repeat(x[:1] if end == 0 else x[1:], size, 0), both)
    found = all_moved(search.pool, course, way.lanes, pages, page + 1)
    health = np.concatenate([np.asarray(lane.going.health) for lane in found])
    if np.any(health == CROWDED):
        return way, None
    if np.any(health != FINE):
        return way, 0.4 if not np.any(health == DIVERGING) else 0.25
    place = page - found[0].turned
    sweeps = max(int(np.max(np.asarray(lane.pages.sweeps)[:, place])) for lane in found)
    if sweeps > MOST:
        return way, 0.4
    worst = 1e-12
    for lane in found if end > 0 else ():
        here = jax.tree.map(lambda x: np.asarray(x)[:, place], lane.pages)
        sizes = np.asarray(lane.going.states.sizes)
        worst = max(worst, excess(time, time.places(edges)[0], here, sizes, search.tolerance))
    factor = 0.9 * worst ** (-1 / (course.kind.stages + 1))
    dropped = of_dropped(time, course.kind.stages, max(search.plan.epsilons), search.tolerance)
    if factor < KEPT and (worst < LASTING * way.refused or worst > dropped):
        return way._replace(refused=worst), factor
    factor = factor if factor >= KEPT else 1.0
    return Way(found, (*way.edges, end)), min(factor, 1.0) if sweeps > MANY else factor


def ensemble_of(
    way: Way, problems: list[Problem], plan: Plan, health: int, failure: BaseException | None
) -> Ensemble:
    """The replicas as far as they are solved."""
    if len(way.edges) < 2:
        return Ensemble(np.zeros(1), [[] for _ in problems], plan, health, failure)
    found = {}
    for lane in way.lanes:
        found |= dict(zip(lane.tasks, collected(lane), strict=True))
    count, blocks = len(plan.seeds), len(way.edges) - 1
    replicas = [[cut(found[p, r], blocks) for r in range(count)] for p in range(len(problems))]
    return Ensemble(np.array(way.edges), replicas, plan, health, failure)


def stages_of_steps(search: Search, way: Way) -> Iterator[Stage]:
    """A march of discrete training: many steps are a block where training is smooth and stable, else single.

    A block hides an instability, so that there is none where the largest curvature comes near one.
    """
    clock, last = search.time.clock, len(search.time.clock) - 1
    way, health = stepped(search, way, 0, 1)
    now, wait, size = 1, SINGLE, max(1, int(np.searchsorted(clock, min(FIRST, search.limit))))
    bend: float | None = None
    yield way, health, clock[now]
    while now < last and health == FINE:
        left = last - now
        size = min(size, left, longest_block(search, now))
        size = left // 2 if size < left < 2 * size else size
        if size >= LEAST and bend is None:
            bend = largest_curvature(search, way, now)
        if size >= LEAST and is_stable(search, bend, now, now + size):
            further, factor = many_steps(search, way, now, now + size)
            if factor is None:
                yield way, CROWDED, clock[now]
                return
            ahead = largest_curvature(search, further, now + size) if factor >= KEPT else None
            if factor >= KEPT and not is_stable(search, ahead, now, now + size):
                factor = 0.5
            if factor >= KEPT:
                way, now, wait, bend = further, now + size, SINGLE, ahead
                size = int(np.ceil(size * min(factor, LONGEST)))
                yield way, FINE, clock[now]
                continue
            way, size = way._replace(refused=further.refused), int(size * max(factor, 0.2))
            if size >= LEAST:
                continue
        until = min(now + wait, last)
        way, health = stepped(search, way, now, until)
        now, size, wait, bend = until, LEAST, min(2 * wait, MOST_SINGLE), None
        yield way, health, clock[now]


def longest_block(search: Search, now: int) -> int:
    """Steps until a block would be longer than it may be."""
    clock = search.time.clock
    if not np.isfinite(search.limit):
        return len(clock)
    return int(np.searchsorted(clock, clock[now] + search.limit)) - now


def is_stable(search: Search, bend: float | None, first: int, last: int) -> bool:
    """Whether no step of a block comes near an instability, with a curvature; a schedule may have its largest
    step anywhere."""
    largest = float(np.max(search.time.sizes[first : last + 1]))
    return bend is not None and largest * bend < most_curvature(search.equations)


def largest_curvature(search: Search, way: Way, now: int) -> float:
    """That of the first replica of all problems."""
    t = float(search.time.clock[now])
    first = [lane for lane in way.lanes if any(replica == 0 for _, replica in lane.tasks)]
    return max(curvature_of(search, lane, t) for lane in first)


def curvature_of(search: Search, lane: Lane, t: float) -> float:
    """The largest curvature of the members of a lane."""
    members, states = lane.ready.members, lane.going.states
    if isinstance(lane.kind, Blocks):
        members, states = in_steps(search.time.kind, members, states, t)
    return curvature(members, states, t)


def many_steps(search: Search, way: Way, start: int, end: int) -> tuple[Way, float | None]:
    """Try one block of many steps, as `tried` does for a flow; refused, members stay as they were."""
    clock, at = search.time.clock, way
    if not isinstance(way.lanes[0].kind, Blocks):
        t = float(clock[start])
        at = way._replace(lanes=[entering(lane, search.blocks, PAGES, t) for lane in way.lanes])
    further, factor = tried(search, at, float(clock[start]), float(clock[end]))
    kept = factor is not None and factor >= KEPT
    return further if kept else further._replace(lanes=way.lanes), factor


def stepped(search: Search, way: Way, start: int, end: int) -> tuple[Way, int]:
    """Single steps, and how the members are."""
    clock, course = search.time.clock, search.single
    lanes, edges = way.lanes, way.edges or (0.0,)
    while start < end:
        to, t = min(end, start + SINGLE), float(clock[start])
        lanes = [entering(lane, course, PAGES, t) for lane in lanes]
        stretch = Stretch(course.kind, start, to)
        pages = search.time.pages(clock, stretch, PAGES)
        lanes = all_moved(search.pool, course, lanes, pages, stretch.before + to - start)
        done = least_done(lanes) - stretch.before
        edges += tuple(clock[start + 1 : start + 1 + done].tolist())
        if done < to - start:
            return Way(lanes, edges), max(int(np.max(np.asarray(lane.going.health))) for lane in lanes)
        start = to
    return Way(lanes, edges), FINE


def shortest_blocks(grids: list[np.ndarray]) -> np.ndarray:
    """A grid whose blocks are nowhere longer than those of the given ones that they meet."""
    edges, last = [0.0], float(grids[0][-1])
    starts, ends = (np.concatenate([one[part] for one in grids]) for part in (slice(-1), slice(1, None)))
    while edges[-1] < last:
        now, length, shorter = edges[-1], np.inf, last
        while shorter < length:
            length = shorter
            met = (ends > now * (1 + 1e-12)) & (starts < now + length * (1 - 1e-12))
            shorter = float(np.min((ends - starts)[met]))
        edges.append(last if last - now < 1.01 * length else now + length)
    return np.array(edges)
