"""Rates of a whole batch, from its solved fixed points."""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from dynafield.numerics.compiling import lightly_compiled
from dynafield.numerics.roots import ORDERS
from dynafield.theory.batch import Batch, refine, solve_rows
from dynafield.theory.kernels import Kernel, Point, Speed, over_problems, rates_above, rates_below
from dynafield.theory.points import ACCURACY, COUNTS, TARGET, Points, Rule, cells, harmless, ladder, laws
from dynafield.theory.rate_equations import Slopes, above, below

__all__ = ["ROUNDED", "Speeds", "good", "lasting", "large_alpha", "small_alpha", "solve_speeds"]

FINE_COUNTS = (128, 512, 2048, 8192)
"""Nodes per component for δ > 1, where the smallest slopes need resolving too."""
BELOW = Rule(256, 60), Rule(1024, 120), Rule(4096, 240)
"""The same for δ < 1 and a continuous spectrum: errors of nodes and of strata are independent, and the first
rule is enough for nearly all problems (found over spectra up to k^-3 and 10⁴ ranks, α from .001 to 3)."""
ABOVE = Rule(256, 240, True), Rule(1024, 360, True), Rule(4096, 480, True)
"""The same for δ > 1."""
ROUNDED = 1e-8
"""What rounding may leave of a rate; more nodes do not help there."""


class Speeds(NamedTuple):
    """Solved rates of the two exponential cases."""

    ridgeless: Speed | None
    interpolating: Speed | None


def resolved(speed: Speed, error: float = TARGET) -> Any:
    """Rows whose rate was found and needs no more nodes."""
    return speed.rate.found & (speed.rate.error < error)


def good(speed: Speed) -> Any:
    """Rows whose rate was found and is resolved."""
    return resolved(speed, ACCURACY)


def lasting(speed: Speed) -> Any:
    """Rows of which rounding leaves eight digits."""
    return speed.rate.rounding < ROUNDED


def solve_speeds(batch: Batch, points: Points) -> Speeds:
    """γ for every row with λ = 0."""

    def along(kernel: Kernel, rule: Rule, rows: Any) -> Speed:
        shared, static = laws(batch, rule), (batch.depth, rule.nodes)
        return over_problems(kernel, rows, shared, cells(batch, rule), *static)

    interpolating = None
    if points.interpolating is not None:
        one, zero = jnp.ones(()), jnp.zeros(())
        at_rest = Point(one, one, one, one, one > 0, zero, zero, zero)
        rows, safe_rows = (batch.p, points.interpolating), (harmless(), at_rest)
        rules = ladder(batch, COUNTS) if len(batch.fineness) == 1 else BELOW
        solve = partial(refine, partial(along, rates_below), rules, resolved)
        interpolating = solve_rows(solve, points.masks["interpolating"], rows, safe_rows)
    rules = ladder(batch, FINE_COUNTS) if len(batch.fineness) == 1 else ABOVE
    solve = partial(refine, partial(along, rates_above), rules, resolved)
    ridgeless = solve_rows(solve, points.masks["ridgeless"], batch.p, harmless(delta=2.0))
    return Speeds(ridgeless, interpolating)


def large_alpha(batch: Batch) -> Any:
    r"""To which γ tends as α → ∞: \(\alpha^{2L-2}(1 - \delta^{-1/2})^2\) where all variances are one
    [eq:rate_lazy], else \(\alpha^{2L-2}\) times the rate of slopes s [eq:rate_s]."""
    p = batch.p
    scale = p.alpha ** (2 * batch.depth - 2)
    if batch.task.spectrum is None:
        return scale * (1 - p.delta**-0.5) ** 2
    law = batch.law(ABOVE[0].fineness, edge=True)
    least = jnp.min(jnp.asarray(law.variance)) if batch.lowest is None else batch.lowest
    return scale * rates_of(slopes_of(law.variance, law.weight, 0.0 * law.mean, least), p.delta)


def slopes_of(values: Any, weight: Any, s: Any, least: Any) -> Slopes:
    """Slopes of a discrete law in units of the least."""
    ratio, scale = jnp.log(jnp.asarray(values) / least), jnp.log(jnp.asarray(least))
    return Slopes(jnp.asarray(weight), jnp.asarray(s), ratio, scale)


@partial(lightly_compiled, static=())
def rates_of(slopes: Slopes, delta: Any) -> Any:
    """γ of a linear model with slopes that are known, for one or several δ; zero at δ = 1."""

    def one(delta):
        few: Any = jnp.where(delta < 1, delta, 0.5)
        many: Any = jnp.where(delta > 1, delta, 2.0)
        rates = below(few, slopes, ORDERS)[0].gamma, above(many, lambda _: slopes, ORDERS)[0].gamma
        return jnp.where(delta < 1, rates[0], jnp.where(delta > 1, rates[1], 0.0))

    return jnp.vectorize(one)(delta)


def small_alpha(batch: Batch) -> Any:
    r"""What γ tends to as α → 0: zero, unless σ = 0, δ > 1 and no mass lies at zero.

    Then \(\kappa \to (L|w^*|)^{2-2/L}/2\) stays away from zero, and γ with it
    [eq:rate_rich]. (For σ > 0 however small the limit is zero: γ jumps at σ = 0.) NaN for a continuous
    spectrum there, whose limit is not worked out.
    """
    p, weight, mean, std = batch.p, *batch.task.prior.components
    zero = 0.0 * p.delta
    if np.any((std > 0) & (weight > 0)) or np.any((mean == 0) & (weight > 0)):
        return zero
    applies = (p.sigma == 0) & (p.delta > 1)
    if len(batch.fineness) > 1:
        return jnp.where(applies, jnp.nan, zero)
    depth, strata = batch.depth, batch.law()
    kappa = 0.5 * strata.variance * (depth * jnp.abs(strata.mean)) ** (2 - 2 / depth)
    law = slopes_of(kappa, strata.weight, strata.mean, jnp.min(kappa))
    return jnp.where(applies, rates_of(law, jnp.where(applies, p.delta, 2.0)), zero)
