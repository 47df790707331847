"""From a tolerance to a grid of time and a number of paths.

A pilot with few paths chooses the grid. Replicas on that grid follow, with more and more points
until their scatter is small enough; each round draws its noise along the principal directions that
the one before found [eq:dmft_rotation].
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.ensemble import Ensemble, Plan, run
from dynafield.dmft.equations import Equations, TimeRule
from dynafield.dmft.grid import Tolerance, halved, march_adaptively, march_along
from dynafield.dmft.kernels import FAINT
from dynafield.dmft.march import Accuracy, March, Means, TooLargeError, UnsettledError, room
from dynafield.errors import InputError, SolveError
from dynafield.numerics.collocation import radau

__all__ = ["Order", "refine"]

PILOT = 512
"""Points of the pilot."""
PREVIEW = 256
"""Points of a pilot that is all there is."""
REPLICAS = 6
"""Independent samples, whose scatter is the error bar."""
PLENTY = 8192
"""Points with which an iteration that does not settle calls for shorter blocks, not for more points."""
ROUNDS = 6
"""Rounds of replicas before giving up."""
TIME_SHARE = 0.4
"""Share of the tolerance that the error in time may use."""
SAMPLE_SHARE = 0.4
"""Largest standard error, as a share of the tolerance."""

MORE = 4
"""Factor of the share of paths that carry tangents where responses turn out to scatter most."""
LEAP = 16
"""Largest factor between the points of two rounds."""
RATE = 0.85
"""Power of the number of points in the scatter."""


class Order(NamedTuple):
    """What was asked, checked."""

    equations: Equations
    problems: list[Any]
    shape: tuple[int, ...]
    t_max: float
    tolerance: Tolerance
    points: int | None
    edges: Float[np.ndarray, " b"] | None
    seed: int
    memory: float
    preview: bool = False

    @property
    def time(self) -> TimeRule:
        """How time is cut."""
        return self.equations.time


Report = Callable[..., None]
"""Told the march, the number of the round and its points after every block."""


def refine(order: Order, report: Report) -> Ensemble:
    """Solve to tolerance; a failure comes with what was solved before it."""
    pilot = first_plan(order)
    check_steps(order, pilot)
    first = partial(report, number=0, points=pilot.points)
    known = find_grid(order, pilot, first)
    if order.preview:
        return known
    plan = pilot._replace(points=order.points or first_points(order), replicas=REPLICAS)
    hope = np.inf
    for number in range(1, ROUNDS + 1):
        if known.failure is not None:
            return known
        needed = plan.bytes(order.time.room_for(known.edges))
        if needed > order.memory:
            words = f"{plan.points} points per replica need {needed / 1e9:.2g} GB, more than memory_gb allows"
            return dataclasses.replace(
                known, failure=SolveError(f"{words}: take more of it, or a larger tol")
            )
        told = partial(report, number=number, points=plan.points)
        march = partial(march_along, edges=known.edges, report=told)
        turns = [order.equations.principal(replicas) for replicas in known.replicas]
        found = run(plan, order.problems, turns, march, order.time.room_for(known.edges))
        stuck = isinstance(found.failure, UnsettledError)
        if stuck and order.points is None and plan.points < PLENTY:
            plan = plan._replace(points=4 * plan.points)  # a small sample may have no fixed point to find
            continue
        if stuck and order.edges is None:
            finer = halved(known.edges)
            march = partial(march_along, edges=finer, report=first)
            known = run(pilot, order.problems, None, march, order.time.room_for(finer))
            continue
        if found.failure is not None:
            further = len(found.edges) >= len(known.edges) and len(found.replicas[0]) > 1
            return found if further else dataclasses.replace(known, failure=found.failure)
        known = found
        need = shortfall(order, known)
        if order.points or need <= 1:
            return known
        plan, hope = larger(plan, need, hope)
    tol = order.tolerance.absolute
    words = f"tol={tol:g} is not met with {known.points} points per replica: take a larger tol"
    return dataclasses.replace(known, failure=SolveError(words))


def first_plan(order: Order) -> Plan:
    """The plan of the pilot."""
    tolerance = order.tolerance
    accuracy = (
        Accuracy(tolerance.absolute / 20, 0.03)
        if tolerance.relative is None
        else Accuracy(tolerance.absolute / 20, tolerance.relative / 10, FAINT, patience=150)
    )
    share = order.equations.share * (
        1.0 if order.edges is None else order.time.carrying(len(order.edges) - 1)
    )
    means = Means.of_device(share, order.memory, *(order.equations.chunks or ()))
    points = (order.points or PREVIEW) if order.preview else PILOT
    return Plan(order.equations, points, 2, accuracy, order.seed, means, tolerance.absolute)


def check_steps(order: Order, pilot: Plan) -> None:
    """InputError for more steps than there is memory for, and how many there could be."""
    if order.edges is None or order.time.rule is not None:
        return
    least, edges = pilot._replace(points=order.points or first_points(order)), order.edges
    if least.bytes(order.time.room_for(edges)) <= order.memory:
        return
    possible = len(edges) - 1
    while possible > 1 and least.bytes(order.time.room_for(edges[: possible + 1])) > order.memory:
        possible = int(0.99 * possible)
    raise InputError(
        f"t_max must be at most {edges[possible]:g} with memory_gb={order.memory / 1e9:g}, which is enough "
        f"for {possible} steps, got {order.t_max:g} ({len(edges) - 1} steps)"
    )


def larger(plan: Plan, need: float, hope: float) -> tuple[Plan, float]:
    """A plan for a scatter `need` times smaller, and the need from which on it will have failed.

    Where more points did not bring what was hoped for, responses scatter most: more of the paths
    carry tangents then.
    """
    more, means = 1, plan.means
    if need > hope and means.share < 1:
        more = min(MORE, round(1 / means.share))
        means = means._replace(share=more * means.share)
    factor = 2 ** int(np.ceil(np.log2(max(1.0, need / more**RATE)) / RATE))
    factor = min(factor, LEAP)
    hope = need * (more * factor) ** (-RATE / 2)
    return plan._replace(points=factor * plan.points, means=means), hope


def first_points(order: Order) -> int:
    """A power of two near what a tolerance often needs."""
    guess = order.time.first / order.tolerance.absolute
    return int(np.clip(2 ** np.round(np.log2(guess)), PILOT, 2**15))


def find_grid(order: Order, pilot: Plan, report: Callable[[March], None]) -> Ensemble:
    """The pilot, on its way choosing the grid unless it is given."""
    edges = order.edges
    if edges is None:
        found = choose_grid(order, pilot, order.problems, np.array([order.t_max]), report)
        if found.failure is not None or len(found.replicas) == len(order.problems):
            return found
        edges = found.edges
    march = partial(march_along, edges=edges, report=report)
    return run(pilot, order.problems, None, march, order.time.room_for(edges))


def choose_grid(
    order: Order, pilot: Plan, problems: list[Any], stops: Float[np.ndarray, " k"], report: Callable
) -> Ensemble:
    """A pilot whose grid suits all problems, or, where memory is short, the last of those that refine it."""
    share = order.tolerance.times(TIME_SHARE)
    rule = radau(order.time.stages)
    march = partial(march_adaptively, rule=rule, stops=stops, tolerance=share, report=report)
    found = run(pilot, problems, None, march, room(30), together=True)
    half = len(problems) // 2
    if not (isinstance(found.failure, TooLargeError) and half):
        return found
    found = choose_grid(order, pilot, problems[:half], stops, report)
    if found.failure is not None:
        return found
    return choose_grid(order, pilot, problems[half:], found.edges[1:], report)


def shortfall(order: Order, known: Ensemble) -> float:
    """Largest standard error in units of what sampling may contribute."""
    worst = 0.0
    for problem, replicas in zip(order.problems, known.replicas, strict=True):
        for one in order.equations.monitored(problem, replicas):
            least = FAINT**2 * np.min(one.unit)
            allowed = SAMPLE_SHARE * order.tolerance.allowed(one.value, one.unit) + least
            worst = max(worst, float(np.max(one.scatter / allowed)))
    return worst
