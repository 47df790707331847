"""Compiled batches: many problems of one case at once; new values never recompile."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dynafield.compiled import make_room
from dynafield.numerics.averages import quadrature_error
from dynafield.numerics.compiling import lightly_compiled
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.observation import mirror_averages, soft_threshold_error
from dynafield.problem.spectra import JointLaw
from dynafield.theory import interpolating, regularized
from dynafield.theory.pair import Parameters, follow, noise_range, solve_pair
from dynafield.theory.rate_equations import (
    Rate,
    above,
    below,
    drift_at_fixed_law,
    missed,
    ridgeless_slopes,
    slopes_along,
)

__all__ = [
    "Laws",
    "Point",
    "Speed",
    "in_chunks",
    "interpolating_points",
    "rates_above",
    "rates_below",
    "regularized_points",
]

CHUNK = 64
"""Problems per compiled batch: one more only pads."""
CELLS = 2**20
"""Nodes times components times problems held at once."""


class Laws(NamedTuple):
    """Strata of variances and targets, as arrays of JAX.

    For a continuous spectrum also two thirds of them, which estimate the error, and its smallest variance.
    """

    mixture: JointLaw
    fewer: JointLaw | None
    lowest: Float[Array, ""] | None


class Point(NamedTuple):
    """A solved fixed point: τ, θ or R_w, C_w, χ_w, whether found, estimated quadrature
    error, and how the first two move with α."""

    tau: Float[Array, "*b"]
    second: Float[Array, "*b"]
    c_w: Float[Array, "*b"]
    chi_w: Float[Array, "*b"]
    found: Bool[Array, "*b"]
    error: Float[Array, "*b"]
    tau_drift: Float[Array, "*b"]
    second_drift: Float[Array, "*b"]


class Speed(NamedTuple):
    """A solved rate with its derivatives in α: in total, and at fixed distribution of w."""

    rate: Rate
    slope: Float[Array, "*b"]
    slope_fixed_law: Float[Array, "*b"]


@partial(lightly_compiled, static=())
@partial(jax.vmap, in_axes=(0, None))
def regularized_points(p: Parameters, laws: Laws) -> Point:
    """Case (i) [eq:fix_case1]."""
    mixture = laws.mixture
    fixed, still = jax.lax.stop_gradient((p, mixture))
    solution = solve_pair(
        partial(regularized.residuals, fixed, still),
        partial(regularized.bounds, fixed, still),
        noise_range(fixed, still),
        lambda z: jnp.logaddexp(jnp.log(fixed.lam), z),
    )
    z, r, _ = follow(lambda z, r: (regularized.residuals(p, mixture, z, r), None), solution)
    tau, theta = jnp.exp(z), jnp.exp(r)
    c_w, none = soft_threshold_error(mixture, tau, theta), jnp.zeros_like(tau)
    chi_w = regularized.susceptibility(p, mixture, tau, theta)
    error = none if laws.fewer is None else missed(regularized.residuals(p, laws.fewer, z, r))
    return Point(tau, theta, c_w, chi_w, solution.found, error, none, none)


@partial(lightly_compiled, static=(2, 3))
@partial(jax.vmap, in_axes=(0, None, None, None))
def interpolating_points(p: Parameters, laws: Laws, depth: int, count: int) -> Point:
    r"""Case (iii) at any depth [eq:fix_case3].

    \(C_w = \delta\tau^2 - \sigma^2\): interpolation costs \(C_w \geq \delta^2\tau^2\), so
    this loses a factor 1/δ of precision and no more.
    """

    def residuals(p, mixture, z, r):
        a = mirror_averages(MirrorMap(p.alpha, depth), mixture, count, z, r)
        return interpolating.residuals(p, a, z), a.error

    fixed, still = jax.lax.stop_gradient((p, laws.mixture))
    solution = solve_pair(
        lambda z, r: residuals(fixed, still, z, r)[0],
        partial(interpolating.bounds, fixed, still, depth),
        noise_range(fixed, still),
        partial(interpolating.start, fixed, still, depth),
    )

    def moved(alpha):
        z, r, error = follow(partial(residuals, p._replace(alpha=alpha), laws.mixture), solution)
        return (jnp.exp(z), jnp.exp(r)), error

    one = jnp.ones_like(p.alpha)
    (tau, response), drift, error = jax.jvp(moved, (p.alpha,), (one,), has_aux=True)
    c_w = p.delta * tau**2 - p.sigma**2
    if laws.fewer is not None:
        at = (jnp.log(tau), jnp.log(response))
        error = jnp.maximum(error, missed(residuals(p, laws.fewer, *at)[0]))
    return Point(tau, response, c_w, jnp.full_like(tau, jnp.inf), solution.found, error, *drift)


@partial(lightly_compiled, static=(3, 4))
@partial(jax.vmap, in_axes=(0, None, 0, None, None))
def rates_below(p: Parameters, laws: Laws, point: Point, depth: int, count: int) -> Speed:
    """γ for δ < 1, from the solved fixed point."""

    def along(mixture, alpha, tau, response):
        return slopes_along(MirrorMap(alpha, depth), response, mixture, tau, count)

    def moved(alpha, tau, response):
        slopes = along(laws.mixture, alpha, tau, response)
        fewer = None if laws.fewer is None else along(laws.fewer, alpha, tau, response)
        rate, hits = below(p.delta, slopes, fewer)
        return (rate.gamma, hits), (rate, slopes)

    at = (p.alpha, point.tau, point.second)
    drifts = (jnp.ones_like(p.alpha), point.tau_drift, point.second_drift)
    _, (total, hits_drift), (rate, slopes) = jax.jvp(moved, at, drifts, has_aux=True)
    drift = drift_at_fixed_law(MirrorMap(p.alpha, depth), slopes, rate)
    fixed_law = rate.u / p.delta * jnp.sum(slopes.weight * drift)
    return Speed(with_slope_errors(rate, slopes.weight, [hits_drift, drift]), total, fixed_law)


@partial(lightly_compiled, static=(2, 3))
@partial(jax.vmap, in_axes=(0, None, None, None))
def rates_above(p: Parameters, laws: Laws, depth: int, count: int) -> Speed:
    r"""γ for δ > 1: \(w = w^* + \tau G/\sqrt s\), τ² = σ²/(δ-1), whose distribution does not depend on α."""
    tau = p.sigma / jnp.sqrt(p.delta - 1)

    def moved(alpha):
        mirror = MirrorMap(alpha, depth)

        def law(mixture, x):
            return ridgeless_slopes(mirror, mixture, tau, count, x, laws.lowest)

        fewer = None if laws.fewer is None else partial(law, laws.fewer)
        rate, weight, pull = above(p.delta, partial(law, laws.mixture), fewer)
        return (rate.gamma, pull), (rate, weight)

    one = jnp.ones_like(p.alpha)
    _, (total, pull_drift), (rate, weight) = jax.jvp(moved, (p.alpha,), (one,), has_aux=True)
    return Speed(with_slope_errors(rate, weight, [pull_drift]), total, total)


def with_slope_errors(rate: Rate, weight: Array, drifts: list[Array]) -> Rate:
    """The rate, its error estimate covering the integrands of its derivatives too."""
    error = quadrature_error(*jax.lax.stop_gradient((weight, drifts)))
    return rate._replace(error=jnp.maximum(rate.error, error))


def in_chunks(kernel: Callable, mapped: tuple, shared: tuple, cells: int):
    """`kernel(*mapped, *shared)` over the leading axis of `mapped`, in batches of fixed size.

    One problem runs alone, more run in batches padded to CHUNK, so that two compiled
    shapes serve every length; `cells` per problem bounds the memory held at once.
    """
    make_room()
    n = len(jax.tree.leaves(mapped)[0])
    size = 1 if n == 1 else max(1, min(CHUNK, CELLS // cells))
    parts = []
    for first in range(0, n, size):
        index = np.minimum(np.arange(first, first + size), n - 1)
        part = mapped if size == n else jax.tree.map(lambda x, i=index: x[i], mapped)
        parts.append(kernel(part[0], *shared[:1], *part[1:], *shared[1:]))
    if size == n:
        return parts[0]
    return jax.tree.map(lambda *x: jnp.concatenate(x)[:n], *parts)
