"""Rates of a whole batch, from its solved fixed points."""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from dynafield.theory.batch import Batch, refine, solve_rows
from dynafield.theory.kernels import Point, Speed, in_chunks, rates_above, rates_below
from dynafield.theory.points import ACCURACY, COUNTS, TARGET, Points, harmless
from dynafield.theory.rate_equations import Slopes, above

__all__ = ["Speeds", "large_alpha", "small_alpha", "solve_speeds"]

FINE_COUNTS = (128, 512, 2048, 8192)
"""Nodes per component for δ > 1, where the smallest slopes need resolving too."""


class Speeds(NamedTuple):
    """Solved rates of the two exponential cases."""

    ridgeless: Speed | None
    interpolating: Speed | None


def good(speed: Speed, error: float = ACCURACY) -> Any:
    """Rows whose rate was found and is resolved."""
    return speed.rate.found & (speed.rate.error < error)


def solve_speeds(batch: Batch, points: Points) -> Speeds:
    """γ for every row with λ = 0."""
    components = len(batch.components.weight)

    def below(count, rows):
        return in_chunks(rates_below, rows, (batch.mixture, batch.depth, count), count * components)

    def over(count, p):
        return in_chunks(rates_above, (p,), (batch.mixture, batch.depth, count), count * components)

    fine = partial(good, error=TARGET)
    interpolating = None
    if points.interpolating is not None:
        one, zero = jnp.ones(()), jnp.zeros(())
        at_rest = Point(one, one, one, one, one > 0, zero, zero, zero)
        rows, safe_rows = (batch.p, points.interpolating), (harmless(), at_rest)
        solve = partial(refine, below, COUNTS, fine)
        interpolating = solve_rows(solve, points.masks["interpolating"], rows, safe_rows)
    solve = partial(refine, over, FINE_COUNTS, fine)
    ridgeless = solve_rows(solve, points.masks["ridgeless"], batch.p, harmless(delta=2.0))
    return Speeds(ridgeless, interpolating)


def large_alpha(batch: Batch) -> Any:
    r"""\(\alpha^{2L-2}(1 - \delta^{-1/2})^2\), to which γ tends as α → ∞ [eq:rate_lazy]."""
    p = batch.p
    return p.alpha ** (2 * batch.depth - 2) * (1 - p.delta**-0.5) ** 2


def small_alpha(batch: Batch) -> Any:
    r"""What γ tends to as α → 0: zero, unless σ = 0, δ > 1 and no mass lies at zero.

    Then \(\kappa \to (L|w^*|)^{2-2/L}/2\) stays away from zero, and γ with it
    [eq:rate_rich]. (For σ > 0 however small the limit is zero: γ jumps at σ = 0.)
    """
    p, prior = batch.p, batch.components
    zero = 0.0 * p.delta
    if np.any(prior.std > 0) or np.any(prior.mean == 0):
        return zero
    depth = batch.depth
    kappa = 0.5 * (depth * np.abs(prior.mean)) ** (2 - 2 / depth)
    ratio = np.log(kappa / kappa.min())
    law = Slopes(*map(jnp.asarray, (prior.weight, prior.mean, ratio, np.log(kappa.min()))))

    def limit(delta):
        return above(delta, lambda _: law)[0].gamma

    applies = (p.sigma == 0) & (p.delta > 1)
    delta = jnp.where(applies, p.delta, 2.0)
    return jnp.where(applies, jnp.vectorize(limit)(delta), zero)
