r"""The grid of time: blocks as long as accuracy and convergence of the sweeps allow.

The polynomial through the nodes of a block, extended back to its start, misses what is known
there by a defect of order \(h^s\) [eq:dmft_defect]. Dense output, which uses the start as one
more node, is better by a power of h; so the defect to the power (s+1)/s measures its error.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
from jaxtyping import Float

from dynafield.dmft.ensemble import (
    Ensemble,
    Lane,
    all_moved,
    collected,
    course_of,
    cut,
    lanes_at_rest,
    threads,
)
from dynafield.dmft.march import CROWDED, DIVERGING, FINE, Course, room
from dynafield.dmft.member import Nodes
from dynafield.dmft.preparation import Equations, Plan, Problem, Tolerance
from dynafield.errors import SolveError
from dynafield.numerics.collocation import Radau, lagrange, radau

__all__ = ["FAINT", "defects", "halved", "march_adaptively", "shortest_blocks"]

FAINT = 1e-8
"""Residuals below this, relative to their size at t = 0, never have relative accuracy."""
SHARE = 0.5
"""Error per defect to the power (s+1)/s, from comparison with halved blocks: .1 to .5 was found."""
LONGEST = 2.5
"""A block is at most so many times longer than the one before."""
SMALLEST = 1e-12
"""Shortest block, relative to the first guess or the time reached."""
FIRST = 0.1
"""First guess of the first block."""
MANY, MOST = 20, 40
"""After so many sweeps blocks do not grow; with more than so many a shorter one is tried."""
LASTING = 0.9
"""A defect of which a shorter block keeps this share is no error in time, if it is as small as what is
dropped: a direction that had been dropped before has become large enough at the start of the block to be
kept."""


def defects(
    rule: Radau, starts: Float[np.ndarray, "b m"], nodes: Float[np.ndarray, "b s m"], scale: float
) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, " b"]]:
    """Errors that the defects of blocks stand for: in units of the scale squared, and relative.

    A row of F is a path-space vector: its norm is a root mean square over paths, so that the
    defect of the rows is that of single paths, which may be rough where averages are smooth.
    """
    s = len(rule.nodes)
    back = lagrange(rule.nodes, np.zeros(1))[0]
    missed = np.linalg.norm(np.einsum("i,bik->bk", back, nodes) - starts, axis=1)
    size = np.min(np.linalg.norm(nodes, axis=2), axis=1) + 1e-12 * scale
    power = (s + 1) / s
    return SHARE * (missed / scale) ** power, SHARE * (missed / size) ** power


def excess(rule: Radau, pages: Nodes, sizes: np.ndarray, tolerance: Tolerance) -> float:
    """Largest estimated error of a block over all members, in units of what is allowed."""
    worst, s = 0.0, len(rule.nodes)
    for side, (start, rows) in enumerate(((pages.start_w, pages.F_w), (pages.start_ell, pages.F_ell))):
        for k in range(len(sizes)):
            scale = float(sizes[k, side]) or 1.0
            nodes = rows[k].reshape(1, s, -1)
            absolute, relative = defects(rule, start[k].reshape(1, -1), nodes, scale)
            worst = max(worst, float(absolute[0]) / tolerance.absolute)
            if tolerance.relative is not None and np.linalg.norm(nodes[0, -1]) > FAINT * scale:
                worst = max(worst, float(relative[0]) / tolerance.relative)
    return worst


def of_dropped(rule: Radau, epsilon: float, tolerance: Tolerance) -> float:
    """The largest such excess that directions of size ε, dropped at the start and at a node, can make."""
    least = min(tolerance.absolute, tolerance.relative or np.inf)
    return SHARE * (2 * epsilon) ** ((len(rule.nodes) + 1) / len(rule.nodes)) / least


def march_adaptively(
    equations: Equations,
    problems: list[Problem],
    plan: Plan,
    t_max: float,
    tolerance: Tolerance,
    most: int,
    report: Callable[[float, int], None],
) -> Ensemble:
    """March to the end with blocks chosen on the way, which suit all members."""
    tasks = [(p, r) for r in range(len(plan.seeds)) for p in range(len(problems))]
    course = course_of(equations, plan)
    lanes = lanes_at_rest(equations, problems, plan, course, room(1), tasks)
    limit = min(one.model.longest_block() for one in problems)
    with ThreadPoolExecutor(threads(len(lanes))) as pool:
        search = Search(pool, course, lanes, t_max, tolerance, limit, most, max(plan.epsilons))
        health, failure = FINE, None
        try:
            health = search.run(report)
        except (KeyboardInterrupt, SolveError) as error:
            failure = error
    return search.ensemble(plan, problems, health, failure)


class Search:
    """A march that chooses its blocks; the edges so far and what is known on their nodes."""

    def __init__(
        self, pool: ThreadPoolExecutor, course: Course, lanes: list[Lane], t_max: float, tolerance: Tolerance,
        limit: float, most: int, epsilon: float,
    ):  # fmt: skip
        self.pool, self.course, self.lanes, self.tolerance = pool, course, lanes, tolerance
        self.t_max, self.limit, self.most = t_max, limit, most
        self.edges: list[float] = []
        self.refused = np.inf
        self.rule: Radau = radau(course.time.stages)
        self.dropped = of_dropped(self.rule, epsilon, tolerance)

    def run(self, report: Callable[[float, int], None]) -> int:
        """To the end, or how the members are where that is not reached."""
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
            if len(self.edges) > self.most:
                raise SolveError(
                    f"more than {self.most} blocks of time are needed beyond t={now:.6g}: "
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
        """Solve a block, keep it if it is good: by which factor the next should be longer; None: no room."""
        number = len(self.edges)
        lanes = self.lanes
        if number == lanes[0].pages.F_w.shape[1]:
            lanes = [lane._replace(pages=with_room(lane.pages, room(number + 1))) for lane in lanes]
        edges = np.full(1 + lanes[0].pages.F_w.shape[1], end)
        edges[number] = start
        found = all_moved(self.pool, self.course, lanes, edges, number + 1)
        health = np.concatenate([np.asarray(lane.going.health) for lane in found])
        if np.any(health == CROWDED):
            return None
        if np.any(health != FINE):
            return 0.4 if not np.any(health == DIVERGING) else 0.25
        sweeps = max(int(np.max(np.asarray(lane.pages.sweeps)[:, number])) for lane in found)
        if sweeps > MOST:
            return 0.4
        worst = 1e-12
        for lane in found if number else ():
            page = jax.tree.map(lambda x: np.asarray(x)[:, number], lane.pages)
            worst = max(worst, excess(self.rule, page, np.asarray(lane.going.states.sizes), self.tolerance))
        factor = 0.9 * worst ** (-1 / (len(self.rule.nodes) + 1))
        if factor < 0.8 and (worst < LASTING * self.refused or worst > self.dropped):
            self.refused = worst
            return factor
        self.edges.append(end)
        self.refused, factor = np.inf, factor if factor >= 0.8 else 1.0
        self.before, self.lanes = self.lanes, found
        return min(factor, 1.0) if sweeps > MANY else factor

    def undo(self) -> None:
        """Forget the last block."""
        self.edges.pop()
        self.lanes = self.before

    def ensemble(
        self, plan: Plan, problems: list[Problem], health: int, failure: BaseException | None
    ) -> Ensemble:
        """What has been solved."""
        if len(self.edges) < 2:
            return Ensemble(np.zeros(1), [[] for _ in problems], plan, health, failure)
        found = {}
        for lane in self.lanes:
            found |= dict(zip(lane.tasks, collected(lane, self.course.keep), strict=True))
        count, blocks = len(plan.seeds), len(self.edges) - 1
        replicas = [[cut(found[p, r], blocks) for r in range(count)] for p in range(len(problems))]
        return Ensemble(np.array(self.edges), replicas, plan, health, failure)


def with_room(pages: Nodes, blocks: int) -> Nodes:
    """The same pages, and more that are empty."""
    more = blocks - pages.F_w.shape[1]
    return jax.tree.map(
        lambda x: np.pad(np.asarray(x), ((0, 0), (0, more)) + ((0, 0),) * (x.ndim - 2)), pages
    )


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


def halved(edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " c"]:
    """The grid with all blocks halved."""
    return np.sort(np.concatenate([edges, (edges[1:] + edges[:-1]) / 2]))
