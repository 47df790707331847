"""From a tolerance to a grid of time and a number of points.

A pilot with few points chooses the grid, and shows how much dropped directions matter: one of its replicas is
solved again with more of them dropped. Replicas on that grid follow, their normals turned by what the pilot
has found to matter, with more points until the scatter is small enough. What a round finds that is different
from the round before, beyond both scatters, is bias, and part of the error bar.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from dynafield.dmft.discrete.batches import remembered
from dynafield.dmft.ensemble import Ensemble, Replica, march_along, threads
from dynafield.dmft.estimates import (
    COARSER,
    LIKELY,
    SIGNIFICANT,
    TIME_SHARE,
    Estimate,
    add_bias,
    biased,
    curves_of,
    dropping,
    estimate,
    long_blocks,
    missed_by,
    shortfall,
)
from dynafield.dmft.grid import FAINT, march_adaptively, shortest_blocks
from dynafield.dmft.march import CROWDED, DIVERGING, FINE, UNSETTLED, room
from dynafield.dmft.observation import observed_measures
from dynafield.dmft.preparation import Order, Plan, Turns, member_bytes
from dynafield.dmft.rules import STAGES, StepTime
from dynafield.dmft.sampling import leading_first, points_for
from dynafield.errors import InputError, SolveError

__all__ = ["SMALL", "Report", "Solution", "refine", "with_replicas"]

PILOT = 256
"""Points of the pilot at least, and of a preview, which is a pilot and no more."""
REPLICAS = 6
"""Independent samples, whose scatter is the error bar."""
SMALL = 512
"""Points up to which a sample takes the program of a larger one: compiling its own would take longer."""
USUAL = 32
"""Blocks that a pilot is expected to have."""
PLENTY = 8192
"""Points with which kernels that do not settle call for shorter blocks, not for more points."""
ROUNDS = 6
"""Rounds of replicas before giving up."""
MOST_REPLICAS = 14
"""More are never taken: then points are too few."""
SETTLED_SHARE = 0.003
"""What unfinished sweeps may leave in a block, relative to the tolerance: errors of all blocks add up."""
DOUBLINGS = 4
"""Doublings of the points between two rounds, at most."""
RATE = 0.9
"""Power of the number of points in the scatter, at least: .9 to 1.3 was found."""
LARGE = 2e8
"""Bytes of members that march side by side though there is no core for each."""
SAME = 0.8
"""Directions are nearly the same where what is dropped is not smaller than this fraction."""
ROOM, MOST_ROOM = 32, 256
"""Directions there is room for in a first pilot; at most, where steps have noise of their own."""


class Solution(NamedTuple):
    """What was solved: replicas on a grid, curves of every problem with their errors, what stopped it."""

    ensemble: Ensemble
    estimates: list[Estimate]
    failure: BaseException | None


Report = Callable[..., None]
"""Told the time, the blocks, the number of the round and its points, now and then."""


def refine(order: Order, report: Report) -> Solution:
    """Solve to tolerance; after a failure, the solution has what was solved before it."""
    pilot = first_plan(order)
    check_memory(order, pilot)
    known = find_grid(order, pilot, report)
    epsilon, dropped = pilot.epsilons[0], [{} for _ in order.problems]
    if known.failure is None and known.health == FINE:
        epsilon, dropped = dropping(order, known)
    known = without_coarse(known)
    last = solution(order, known, dropped)
    if order.preview or last.failure is not None:
        return last
    turns = rehearsed(order, known, epsilon, report)
    plan, smaller = first_round(order, known, epsilon, turns), last
    for number in range(1, ROUNDS + 1):
        failure = too_large(order, plan, len(known.edges) - 1)
        if failure is not None:
            return last._replace(failure=failure)
        told = partial(report, number=number, points=plan.points, edges=known.edges)
        found = round_of(order, plan, known, last.ensemble, told)
        if found.health == CROWDED and found.failure is None:
            plan = plan._replace(room=room(2 * plan.room))
            continue
        if found.health == UNSETTLED and found.failure is None and can_be_eased(order, plan):
            plan, known = eased(order, plan, known)
            continue
        now = solution(order, found, dropped)
        if now.failure is not None:
            further = len(found.edges) >= len(known.edges) and len(found.replicas[0]) > 1
            return now if further else last._replace(failure=now.failure)
        ratio = smaller.ensemble.plan.points / found.plan.points
        if ratio < 1 and len(smaller.ensemble.edges) == len(found.edges):
            significant = LIKELY if order.equations.random else SIGNIFICANT
            add_bias(smaller.estimates, now.estimates, ratio, significant)
        last, known = now, found
        need = shortfall(order, now.estimates)
        if order.points is None and need > 1:
            larger = enlarged(plan, need)
            smaller = now if larger.points > plan.points else smaller
            plan = larger
            continue
        if order.points is None and biased(order, now.estimates) > 0 and number < ROUNDS:
            doublings = int(np.ceil(np.log2(2 * biased(order, now.estimates))))
            smaller, plan = now, plan._replace(points=plan.points * 2 ** min(max(1, doublings), DOUBLINGS))
            continue
        edges = finer(order, now)
        if len(edges) == len(known.edges) or len(edges) > order.time.most or number == ROUNDS:
            return now
        known = dataclasses.replace(known, edges=edges)
    worst, part = missed_by(order, last.estimates)
    words = f"tol={order.tolerance.absolute:g} is not met with {known.plan.points} points per replica"
    more = f"error bars up to {worst:.2g} times that, mostly from {part}"
    return last._replace(failure=SolveError(f"{words} ({more}): take a larger tol"))


def finer(order: Order, now: Solution) -> np.ndarray:
    """The grid, with those blocks halved whose time steps make the tolerance missed.

    A pilot has few points. In another sample coordinates may move faster within a block.
    """
    edges = now.ensemble.edges
    if order.edges is not None or missed_by(order, now.estimates)[0] <= 1:
        return edges
    long = long_blocks(order, now.ensemble, now.estimates)
    return order.time.split(edges, long)


def with_replicas(plan: Plan, count: int) -> Plan:
    """The same plan with so many replicas."""
    return plan._replace(seeds=tuple(range(count)), epsilons=plan.epsilons[:1] * count)


def round_of(order: Order, plan: Plan, known: Ensemble, before: Ensemble, report: Any) -> Ensemble:
    """Replicas along a known grid; earlier replicas are used again if they are of the same kind."""
    mine, same = before.plan, len(before.edges) == len(known.edges)
    kind = (plan.points, plan.room, plan.epsilons[0], plan.settled)
    reused = 0
    if same and plan.turns is mine.turns and kind == (mine.points, mine.room, mine.epsilons[0], mine.settled):
        reused = len(mine.seeds)
    rest = plan._replace(seeds=plan.seeds[reused:], epsilons=plan.epsilons[reused:])
    many = at_once(order, plan, known)
    found = march_along(order.equations, order.problems, rest, known.edges, report, many)
    if not reused or found.failure is not None or found.health != FINE:
        return found
    whole = [old + new for old, new in zip(before.replicas, found.replicas, strict=True)]
    return dataclasses.replace(found, replicas=whole, plan=plan)


def first_plan(order: Order) -> Plan:
    """The plan of the pilot: two replicas, and the first of them again with more dropped."""
    tol, rtol = order.tolerance
    epsilon = min(5 * tol, 2e-2) if rtol is None else min(5 * tol, 2e-2, rtol / 3)
    faint, floor = (1e-3, 0.3) if rtol is None else (FAINT, FAINT)
    if order.equations.random and rtol is None:  # noise makes directions however small residuals are
        faint = 0.3
    settled = SETTLED_SHARE * min(tol, rtol or 1.0)
    points = order.points or max(PILOT if order.preview else first_points(order), least_points(order))
    least = 2 * least_points(order)  # as a first round would have
    if order.equations.random and order.points is not None and order.points < least:
        steps = f"{len(order.edges) - 1} steps" if order.edges is not None else "such steps"
        raise InputError(f"points must be at least {least} for {steps} with noise of their own, got {points}")
    epsilons = (epsilon, epsilon, COARSER * epsilon)
    small = points <= SMALL and order.points is None and not (order.preview or order.equations.random)
    like = 2 * points if small else 0
    return Plan(points, (0, 1, 0), epsilons, first_room(order), faint, settled, floor, order.seed, like=like)


def first_points(order: Order) -> int:
    """Half of the points that a tolerance usually needs, a power of two: then the first round shows a
    bias.
    """
    return int(np.clip(2 ** np.round(np.log2(0.5 / order.tolerance.absolute)), PILOT, 2**11))


def least_points(order: Order) -> int:
    """Smallest number of points if every step has normals of its own: as many as can be exactly white.

    With fewer, a step would seem to respond to the noise of another. Normals that a closed data side
    remembers are white beside each other as they are drawn; half the points are enough for them.
    """
    equations = order.equations
    if order.edges is None or not equations.random:
        return 1
    normals = first_room(order) + 1
    if not equations.new_directions:
        normals = (normals + remembered(len(order.edges))) // 2
    return points_for(equations.law, normals)


def first_room(order: Order) -> int:
    """Number of directions to reserve: every step has new ones if steps have noise or batches are
    sampled.
    """
    c = order.problems[0].model.outputs
    if order.edges is None or not order.equations.random:
        return room(ROOM * c)
    every = c * (len(order.edges) + 4)
    return room(min(every, MOST_ROOM) if order.equations.closed else every)


def at_once(order: Order, plan: Plan, known: Ensemble) -> int:
    """Members that fit into memory together; on a processor few more large ones than it has cores."""
    one = member_bytes(order.equations, order.problems[0].model, plan, room(len(known.edges) - 1))
    most = int(order.memory / one)
    if jax.default_backend() == "cpu":
        most = min(most, max(threads(most), int(LARGE / one)))
    return max(1, most)


def too_large(order: Order, plan: Plan, blocks: int) -> SolveError | None:
    """The message for a plan that does not fit into memory."""
    needed = member_bytes(order.equations, order.problems[0].model, plan, room(blocks))
    if needed <= order.memory:
        return None
    words = f"{plan.points} points per replica need {needed / 1e9:.2g} GB, more than memory_gb allows"
    return SolveError(f"{words}: take more of it, or a larger tol")


def check_memory(order: Order, pilot: Plan) -> None:
    """InputError for more steps than memory allows, with the number that it allows."""
    if order.edges is None or not isinstance(order.time, StepTime) or order.time.in_blocks:
        return
    model, steps = order.problems[0].model, len(order.edges) - 1

    def fits(count: int) -> bool:
        return member_bytes(order.equations, model, pilot, count) <= order.memory

    if fits(steps):
        return
    possible, too_many = 1, steps
    while too_many > 1.05 * possible + 1:  # the memory of few steps is found sooner: from below
        middle = min(4 * possible, int((possible * too_many) ** 0.5) + 1)
        possible, too_many = (middle, too_many) if fits(middle) else (possible, middle)
    raise InputError(
        f"t_max must be at most {order.edges[possible]:g} with memory_gb={order.memory / 1e9:g}, "
        f"which is enough for {possible} steps, got {order.t_max:g} ({steps} steps)"
    )


def find_grid(order: Order, pilot: Plan, report: Report) -> Ensemble:
    """The pilot, which chooses the grid unless it is given; repeated with more room if needed."""
    while True:
        if order.edges is not None:
            told = partial(report, number=0, points=pilot.points, edges=order.edges)
            needed = at_once(order, pilot, Ensemble(order.edges, [], pilot))
            found = march_along(order.equations, order.problems, pilot, order.edges, told, needed)
        else:
            found = chosen_grid(order, pilot, report)
        if found.health != CROWDED or found.failure is not None:
            return found
        pilot = pilot._replace(room=room(2 * pilot.room))
        failure = too_large(order, pilot, len(found.edges) - 1)
        if failure is not None:
            return dataclasses.replace(found, failure=failure)


def chosen_grid(order: Order, pilot: Plan, report: Report) -> Ensemble:
    """The pilot on a grid that suits all problems; if memory is short, from grids for a few problems
    each.
    """
    share = order.tolerance.times(TIME_SHARE)
    told = partial(report_time, report, order, pilot.points)
    size = member_bytes(order.equations, order.problems[0].model, pilot, room(USUAL))
    several = max(1, int(order.memory / size) // len(pilot.seeds))
    grids = []
    for first in range(0, len(order.problems), several):
        part = order.problems[first : first + several]
        found = march_adaptively(order.equations, part, pilot, order.t_max, share, told)
        if several >= len(order.problems):
            return found
        if found.failure is not None or found.health != FINE:
            return dataclasses.replace(found, edges=np.zeros(1), replicas=[[] for _ in order.problems])
        grids.append(found.edges)
    edges = order.time.fitting(shortest_blocks(grids))
    along = partial(report, number=0, points=pilot.points, edges=edges)
    many = at_once(order, pilot, Ensemble(edges, [], pilot))
    return march_along(order.equations, order.problems, pilot, edges, along, many)


def report_time(report: Report, order: Order, points: int, now: float, blocks: int) -> None:
    """Report how far a pilot is."""
    report(order.time.share(now, order.t_max), blocks, number=0, points=points, t=now)


def without_coarse(known: Ensemble) -> Ensemble:
    """The pilot without the replica that is solved twice."""
    plan = known.plan._replace(seeds=known.plan.seeds[:2], epsilons=known.plan.epsilons[:2])
    return dataclasses.replace(known, replicas=[one[:2] for one in known.replicas], plan=plan)


def solution(order: Order, known: Ensemble, dropped: list[dict[str, np.ndarray]]) -> Solution:
    """Curves of an ensemble, and what stopped it, in words."""
    failure = known.failure
    if failure is None and known.health != FINE:
        failure = explained(order, known)
    if len(known.edges) < 2 or not known.replicas[0]:
        return Solution(known, [], failure or SolveError("nothing was solved"))
    found, size = [], len(order.time.nodes(known.edges))
    for problem, replicas, more in zip(order.problems, known.replicas, dropped, strict=True):
        runs = [curves_of(problem.model, one, observed_measures(order.equations, problem, one, k))
                for k, one in enumerate(replicas)]  # fmt: skip
        fitting = {name: resized(one, size) for name, one in more.items()}
        found.append(estimate(order.time, known.edges, runs, replicas, fitting))
    return Solution(known, found, failure)


def resized(part: Any, size: int) -> Any:
    """An error bar over as many nodes as there are."""
    if np.ndim(part) == 0 or len(part) == size:
        return part
    return part[:size] if len(part) > size else np.full(size, np.max(part))


def explained(order: Order, known: Ensemble) -> SolveError:
    """Why a march stopped early, in words for the user."""
    t, time = known.edges[-1], order.time
    if known.health == DIVERGING and isinstance(time, StepTime):
        number = int(time.numbers(known.edges)[-1]) + 1
        t = time.clock[number]
        return SolveError(f"training blew up in step {number} (t={t:.6g}): take a smaller step")
    if known.health == DIVERGING:
        return SolveError(f"the flow could not be followed beyond t={t:.6g}: it blows up there")
    end = known.planned[len(known.edges)] if len(known.planned) > len(known.edges) else t
    return SolveError(
        f"the iteration for the kernels did not converge between t={t:.6g} and {end:.6g}: "
        "take a grid of shorter blocks"
    )


def can_be_eased(order: Order, plan: Plan) -> bool:
    """Whether points or blocks are not fixed by the user."""
    return order.edges is None or (order.points is None and plan.points < PLENTY)


def eased(order: Order, plan: Plan, known: Ensemble) -> tuple[Plan, Ensemble]:
    """More points, which a small sample may need to have a fixed point at all, or shorter blocks."""
    if order.points is None and plan.points < PLENTY:
        return plan._replace(points=4 * plan.points), known
    every = np.ones(len(known.edges) - 1, bool)
    return plan, dataclasses.replace(known, edges=order.time.split(known.edges, every))


def first_round(order: Order, known: Ensemble, epsilon: float, turns: tuple[Turns, ...]) -> Plan:
    """The plan of the first round: twice the points of the pilot, normals turned, room by its rank."""
    rank = max(int(one.later[-1].count[-1]) for replicas in known.replicas for one in replicas)
    c = order.problems[0].model.outputs
    finer = np.log(known.plan.epsilons[0] / epsilon) if epsilon < known.plan.epsilons[0] else 0.0
    wide = max(known.plan.room, room(int(rank * (1.05 + 0.15 * finer)) + STAGES * c))
    points = order.points or 2 * known.plan.points
    return with_replicas(
        known.plan._replace(points=points, epsilons=(epsilon,), room=wide, turns=turns, like=0), REPLICAS
    )


def rehearsed(order: Order, known: Ensemble, epsilon: float, report: Report) -> tuple[Turns, ...]:
    """How normals are turned in later rounds: the pilot knows which combinations matter [eq:leading].

    If later rounds drop less, directions are numbered differently; then one replica is solved that way first.
    """
    if epsilon < SAME * known.plan.epsilons[0]:
        plan = with_replicas(known.plan._replace(epsilons=(epsilon,)), 1)
        told = partial(report, number=0, points=plan.points, edges=known.edges)
        found = march_along(
            order.equations, order.problems, plan, known.edges, told, at_once(order, plan, known)
        )
        known = found if found.failure is None and found.health == FINE else known
    return tuple(turns_of(order, known, replicas[0]) for replicas in known.replicas)


def turns_of(order: Order, known: Ensemble, replica: Replica) -> Turns:
    """Leading directions of what drives coordinates, added up over time, and of what drives data."""
    width = np.diff(order.time.nodes(known.edges), prepend=0.0)
    drive, f = (replica.on_nodes(name) for name in ("F_ell", "F_w"))
    steps = drive.reshape(len(width), -1) * width[:, None]
    moved = np.cumsum(steps, axis=0).reshape(drive.shape)
    return Turns(leading_first(moved), None if order.equations.closed else leading_first(f[:, 1:]))


def enlarged(plan: Plan, need: float) -> Plan:
    """The cheapest plan whose scatter is `need` times smaller: more points, or more replicas."""
    now, choices = len(plan.seeds), []
    for factor in 2 ** np.arange(DOUBLINGS + 1):
        wanted = 1.05 * now * (need / factor**RATE) ** 2
        count = int(np.clip(np.ceil(wanted), REPLICAS if factor > 1 else now + 1, MOST_REPLICAS))
        work = factor * count - (now if factor == 1 else 0)  # those of the same size are taken over
        choices.append((wanted > MOST_REPLICAS, work if wanted <= MOST_REPLICAS else -factor, factor, count))
    _, _, factor, count = min(choices)
    return with_replicas(plan._replace(points=plan.points * int(factor)), count)
