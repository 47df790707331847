"""Fixed points of a whole batch: case by case, with what is refused and what is flagged."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dynafield.errors import InputError, SolveError
from dynafield.problem.checks import concrete
from dynafield.theory.batch import Batch, is_traced, refine, solve_rows
from dynafield.theory.kernels import Laws, Point, interpolating_points, over_problems, regularized_points
from dynafield.theory.pair import Parameters

__all__ = [
    "ACCURACY",
    "CASES",
    "COUNTS",
    "TARGET",
    "Points",
    "Rule",
    "cells",
    "check",
    "harmless",
    "ladder",
    "laws",
    "solve_points",
]

TARGET = 2e-12
"""Estimated relative error of the averages above which more nodes are tried."""
ACCURACY = 1e-10
"""Estimated relative error of the averages above which a result is refused."""
COUNTS = (64, 256, 1024, 4096)
"""Nodes per component, tried in turn."""
MANY = 256
"""Strata from which on the first of COUNTS is tried too: there it saves seconds, and is mostly enough."""
CASES = ("regularized", "ridgeless", "interpolating")


class Rule(NamedTuple):
    """Nodes per stratum; strata per component of a continuous spectrum; whether these crowd at its edge."""

    nodes: int
    fineness: int
    edge: bool = False


def ladder(batch: Batch, counts: tuple[int, ...]) -> tuple[Rule, ...]:
    """Rules to try in turn: more nodes, and more strata where there is a choice.

    Every rule is a program to compile. Without a spectrum the second is enough for nearly all problems, and
    takes twice the time of the first, milliseconds for a few strata: it begins there.
    """
    levels = batch.fineness
    if len(levels) == 1:
        rules = tuple(Rule(count, levels[0]) for count in counts)
        second = rules[1:] or rules
        if is_traced(batch.p):
            return second[:1]
        return rules if len(batch.law().weight) >= MANY else second
    first = tuple(Rule(counts[0], fineness) for fineness in levels[: len(levels) - len(counts) + 1])
    return first + tuple(map(Rule, counts[1:], levels[-len(counts) + 1 :] if len(counts) > 1 else ()))


def laws(batch: Batch, rule: Rule) -> Laws:
    """Strata of a rule, with fewer ones where they stand for a continuous spectrum."""
    mixture = batch.mixture(rule.fineness, rule.edge)
    if len(batch.fineness) == 1:
        return Laws(mixture, None, None)
    return Laws(mixture, batch.mixture(2 * rule.fineness // 3, rule.edge), batch.lowest)


def cells(batch: Batch, rule: Rule) -> int:
    """How many numbers one problem needs in memory."""
    return rule.nodes * len(batch.law(rule.fineness).weight)


class Points(NamedTuple):
    """The rows of each case (masks) and the solved points of the two that need solving."""

    masks: dict[str, Any]
    regularized: Point | None
    interpolating: Point | None


def admit(batch: Batch) -> dict[str, Any]:
    """The case of each row as masks; refuses what has no answer, where values are known."""
    delta, lam = concrete(batch.p.delta), concrete(batch.p.lam)
    if lam is not None and batch.depth > 2 and (lam > 0).any():
        raise InputError(
            f"lam must be 0 at depth {batch.depth}, got {lam[lam > 0][0]:g}: with weight decay a network of "
            "depth ≥ 3 has no convex limit problem, its limit depends on the path; follow the path with solve"
        )
    if lam is not None and delta is not None and ((delta == 1) & (lam == 0)).any():
        raise InputError(
            "delta must not be 1 when lam is 0: at the interpolation threshold the test error diverges "
            "and the rate vanishes; take delta below or above 1, or lam > 0"
        )
    known = all(concrete(value) is not None for value in batch.p)
    p = Parameters(*map(concrete, batch.p)) if known else batch.p  # type: ignore[arg-type]
    valid = (p.delta > 0) & (p.sigma >= 0) & (p.alpha > 0)  # traced values come unchecked
    return {
        "regularized": valid & (p.lam > 0) & (batch.depth == 2),
        "ridgeless": valid & (p.lam == 0) & (p.delta > 1),
        "interpolating": valid & (p.lam == 0) & (p.delta < 1),
    }


def harmless(delta: float = 0.5, lam: float = 0.0) -> Parameters:
    """Parameters that every equation of the case can take."""
    return Parameters(*map(jnp.asarray, (delta, 1.0, 1.0, lam)))


def with_silence(solve, p: Parameters, silence: Point, quiet: bool) -> Point:
    """`solve(p)`, but the exact answer `silence` where there is neither signal (`quiet`) nor noise."""
    if not quiet:
        return solve(p)
    silent = p.sigma == 0
    point = solve(p._replace(sigma=jnp.where(silent, 1.0, p.sigma)))
    return jax.tree.map(lambda a, b: jnp.where(silent, b, a), point, silence)


def solve_regularized(batch: Batch, p: Parameters) -> Point:
    """Fixed points with λ > 0, case (i)."""
    zero = jnp.zeros(len(p.delta))
    silence = Point(zero, p.lam, zero, zero, zero == 0, zero, zero, zero)

    def at(rule: Rule, p: Parameters) -> Point:
        return over_problems(regularized_points, p, laws(batch, rule), cells(batch, rule))

    return with_silence(
        partial(refine, at, ladder(batch, (64,)), is_fine),
        p,
        silence,
        batch.silent,
    )


def solve_interpolating(batch: Batch, p: Parameters) -> Point:
    """Case (iii), with more nodes where they are needed."""
    zero = jnp.zeros(len(p.delta))
    ridge = p.alpha ** (2 * batch.depth - 2) * (1 - p.delta) / p.delta
    silence = Point(
        zero, ridge, zero, zero + jnp.inf, zero == 0, zero, zero, (2 * batch.depth - 2) * ridge / p.alpha
    )

    def at(rule: Rule, p: Parameters) -> Point:
        shared, static = laws(batch, rule), (batch.depth, rule.nodes)
        return over_problems(interpolating_points, p, shared, cells(batch, rule), *static)

    return with_silence(
        partial(refine, at, ladder(batch, COUNTS), is_fine),
        p,
        silence,
        batch.silent,
    )


def is_fine(point: Point) -> Any:
    """Rows that need no more nodes."""
    return point.found & (point.error < TARGET)


def solve_points(batch: Batch) -> Points:
    """Every row solved by its case; the ridgeless one is explicit and needs nothing."""
    masks = admit(batch)
    solved = {}
    for case, solve in (("regularized", solve_regularized), ("interpolating", solve_interpolating)):
        safe = harmless(lam=float(case == "regularized"))
        solved[case] = solve_rows(partial(solve, batch), masks[case], batch.p, safe)
    return Points(masks, **solved)


UNRESOLVED = "the search did not converge or its averages are not resolved"


def check(batch: Batch, good: Any, what: str, accuracy: float = ACCURACY, why: str = UNRESOLVED) -> Any:
    """Rows where `good` fails raise SolveError naming the problem; traced rows pass as a mask."""
    known = concrete(good)
    if known is None:
        return good
    bad = np.flatnonzero(known == 0)
    if len(bad):
        rows = {name: concrete(value) for name, value in batch.p._asdict().items()}
        text = ", ".join(f"{name}={value[bad[0]]:g}" for name, value in rows.items() if value is not None)
        raise SolveError(
            f"{what} was not found to {accuracy:g} at {text}, depth={batch.depth} "
            f"({len(bad)} of {len(known)} problems): {why}; stay within the documented range, "
            "for targets of order one"
        )
    return good
