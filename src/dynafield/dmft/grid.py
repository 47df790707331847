r"""The grid of time: blocks as long as accuracy and convergence of the sweeps allow.

The polynomial through the nodes of a block, extended back to its start, misses what is known
there by a defect of order \(h^s\) [eq:dmft_defect]. Dense output, which uses the start as one
more node, is better by a power of h; so the defect to the power (s+1)/s measures its error.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from dynafield.dmft.discrete.curvature import curvature, most_curvature
from dynafield.dmft.discrete.transitions import in_steps
from dynafield.dmft.ensemble import (
    Ensemble,
    Lane,
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
    kind = StepSearch if isinstance(equations.time, StepTime) else Search
    with ThreadPoolExecutor(threads(len(lanes))) as pool:
        search = kind(pool, equations, plan, lanes, t_max, tolerance, limit)
        health, failure = FINE, None
        try:
            health = search.run(report)
        except (KeyboardInterrupt, SolveError) as error:
            failure = error
    return search.ensemble(problems, health, failure)


class Search:
    """A march that chooses its blocks; the edges so far and what is known on their nodes."""

    def __init__(
        self, pool: ThreadPoolExecutor, equations: Equations, plan: Plan, lanes: list[Lane], t_max: float,
        tolerance: Tolerance, limit: float,
    ):  # fmt: skip
        self.pool, self.equations, self.plan, self.tolerance = pool, equations, plan, tolerance
        self.t_max, self.limit = t_max, limit
        self.time: Any = equations.time
        self.edges: list[float] = []
        self.refused = np.inf
        self.blocks: Course = course_of(equations, plan, Blocks())
        self.lanes = lanes
        self.dropped = of_dropped(self.time, self.blocks.kind.stages, max(plan.epsilons), tolerance)

    def run(self, report: Callable[[float, int], None]) -> int:
        """March up to the last time; return how the members are if that is not reached."""
        self.lanes = [entering(lane, self.blocks, PAGES, 0.0) for lane in self.lanes]
        if self.tried(0.0, 0.0) is None:
            return CROWDED
        length, now, searching = min(FIRST, self.limit, self.t_max), 0.0, True
        while now < self.t_max:
            left = self.t_max - now
            length = min(length, self.limit, left)
            if length < left < 2 * length:
                length = left / 2
            if length < SMALLEST * max(min(FIRST, self.t_max), now):
                raise SolveError(
                    f"the flow could not be followed beyond t={now:.6g}, however short the block: "
                    "it may blow up there, or its kernels do not settle"
                )
            if len(self.edges) > self.time.most:
                raise SolveError(
                    f"more than {self.time.most} blocks of time are needed beyond t={now:.6g}: "
                    "take a larger tol (or rtol, or none), or a smaller t_max"
                )
            end = self.t_max if length == left else now + length
            factor = self.tried(now, end)
            if factor is None:
                return CROWDED
            if factor < 0.8:
                length, searching = length * max(factor, 0.2), False
                continue
            if searching and len(self.edges) == 2 and factor > LONGEST and length < min(left, self.limit):
                self.undo()  # the first block may be much too short: it is found by trying
                length *= min(factor, 30.0)
                continue
            now = end
            report(now, len(self.edges) - 1)
            length *= min(factor, LONGEST)
        return FINE

    def tried(self, start: float, end: float) -> float | None:
        """Solve a block, keep it if it is good; return the factor for the next one, None without room."""
        page = least_done(self.lanes)
        size = whole_parts(page + 1, PAGES)
        edges = np.array([start, end])
        both = self.time.pages(edges, Stretch(self.blocks.kind, 0, 1), 2)  # t = 0, and the block
        pages = jax.tree.map(lambda x: np.repeat(x[:1] if end == 0 else x[1:], size, 0), both)
        found = all_moved(self.pool, self.blocks, self.lanes, pages, page + 1)
        health = np.concatenate([np.asarray(lane.going.health) for lane in found])
        if np.any(health == CROWDED):
            return None
        if np.any(health != FINE):
            return 0.4 if not np.any(health == DIVERGING) else 0.25
        place = page - found[0].turned
        sweeps = max(int(np.max(np.asarray(lane.pages.sweeps)[:, place])) for lane in found)
        if sweeps > MOST:
            return 0.4
        worst = 1e-12
        for lane in found if end > 0 else ():
            places = self.time.places(edges)[0]
            here = jax.tree.map(lambda x: np.asarray(x)[:, place], lane.pages)
            worst = max(
                worst, excess(self.time, places, here, np.asarray(lane.going.states.sizes), self.tolerance)
            )
        factor = 0.9 * worst ** (-1 / (self.blocks.kind.stages + 1))
        if factor < 0.8 and (worst < LASTING * self.refused or worst > self.dropped):
            self.refused = worst
            return factor
        self.edges.append(end)
        self.refused, factor = np.inf, factor if factor >= 0.8 else 1.0
        self.before, self.lanes = self.lanes, found
        return min(factor, 1.0) if sweeps > MANY else factor

    def undo(self) -> None:
        """Remove the last block."""
        self.edges.pop()
        self.lanes = self.before

    def ensemble(self, problems: list[Problem], health: int, failure: BaseException | None) -> Ensemble:
        """The replicas as far as they are solved."""
        if len(self.edges) < 2:
            return Ensemble(np.zeros(1), [[] for _ in problems], self.plan, health, failure)
        found = {}
        for lane in self.lanes:
            found |= dict(zip(lane.tasks, collected(lane), strict=True))
        count, blocks = len(self.plan.seeds), len(self.edges) - 1
        replicas = [[cut(found[p, r], blocks) for r in range(count)] for p in range(len(problems))]
        return Ensemble(np.array(self.edges), replicas, self.plan, health, failure)


class StepSearch(Search):
    """A march of discrete training: many steps are a block where training is smooth and stable, else single.

    A block hides an instability, so that there is none where the largest curvature comes near one.
    """

    def run(self, report: Callable[[float, int], None]) -> int:
        """March up to the last time; return how the members are if that is not reached."""
        clock, last = self.time.clock, len(self.time.clock) - 1
        self.single = course_of(self.equations, self.plan, self.time.kind)
        self.curved: dict[int, float] = {}
        now, wait, health = 1, SINGLE, self.stepped(0, 1)
        size = max(1, int(np.searchsorted(clock, min(FIRST, self.limit))))
        while now < last and health == FINE:
            left = last - now
            size = min(size, left, self.longest(now))
            size = left // 2 if size < left < 2 * size else size
            factor: float | None = 0.0
            if size >= LEAST and self.stable(now, now + size, now):
                factor = self.block(now, now + size)
                if factor is None:
                    return CROWDED
                if factor >= 0.8 and not self.stable(now, now + size, now + size):
                    self.undo()
                    factor = 0.5
                if factor >= 0.8:
                    now, wait = now + size, SINGLE
                    size = int(np.ceil(size * min(factor, LONGEST)))
                    report(clock[now], len(self.edges) - 1)
                    continue
                size = int(size * max(factor, 0.2))
                if size >= LEAST:
                    continue
            until = min(now + wait, last)
            health, now = self.stepped(now, until), until
            size, wait = LEAST, min(2 * wait, MOST_SINGLE)
            report(clock[now], len(self.edges) - 1)
        return health

    def longest(self, now: int) -> int:
        """Steps until a block would be longer than it may be."""
        if not np.isfinite(self.limit):
            return len(self.time.clock)
        return int(np.searchsorted(self.time.clock, self.time.clock[now] + self.limit)) - now

    def stable(self, first: int, last: int, now: int) -> bool:
        """Whether no step of a block comes near an instability, with the curvature that there is `now`.

        That of the first replica of all problems; a schedule may have its largest step anywhere.
        """
        if now not in self.curved:
            t, lanes = float(self.time.clock[now]), self.lanes
            lanes = [lane for lane in lanes if any(replica == 0 for _, replica in lane.tasks)]
            self.curved = {now: max(self.curvature_of(lane, t) for lane in lanes)}
        largest = float(np.max(self.time.sizes[first : last + 1]))
        return largest * self.curved[now] < most_curvature(self.equations)

    def curvature_of(self, lane: Lane, t: float) -> float:
        """The largest curvature of the members of a lane."""
        members, states = lane.ready.members, lane.going.states
        if isinstance(lane.kind, Blocks):
            members, states = in_steps(self.time.kind, members, states, t)
        return curvature(members, states, t)

    def block(self, start: int, end: int) -> float | None:
        """Try one block of many steps, as `tried` does for a flow."""
        clock = self.time.clock
        if not isinstance(self.lanes[0].kind, Blocks):
            steps = self.lanes
            self.lanes = [entering(lane, self.blocks, PAGES, float(clock[start])) for lane in steps]
            factor = self.tried(float(clock[start]), float(clock[end]))
            if factor is not None and factor < 0.8:
                self.lanes = steps
            self.before = steps
            return factor
        return self.tried(float(clock[start]), float(clock[end]))

    def stepped(self, start: int, end: int) -> int:
        """Single steps, and how the members are."""
        clock = self.time.clock
        while start < end:
            to, t = min(end, start + SINGLE), float(clock[start])
            self.lanes = [entering(lane, self.single, PAGES, t) for lane in self.lanes]
            self.edges += [0.0] if start == 0 else []
            stretch = Stretch(self.single.kind, start, to)
            pages = self.time.pages(clock, stretch, PAGES)
            self.lanes = all_moved(self.pool, self.single, self.lanes, pages, stretch.before + to - start)
            done = least_done(self.lanes) - stretch.before
            self.edges += clock[start + 1 : start + 1 + done].tolist()
            if done < to - start:
                return max(int(np.max(np.asarray(lane.going.health))) for lane in self.lanes)
            start = to
        return FINE


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
