r"""The rate γ for λ = 0 from the distribution of the slopes κ [eq:convergence_rate_eqn].

Features of variance s count with sκ in place of κ, and κ stands for that throughout [eq:rate_s].
\(B(u) = E[(\kappa/(u+\kappa))^2] = \delta\), \(A = E[\kappa/(u+\kappa)]\),
\(\gamma = (A - \delta)u/\delta\). The last is stationary in u exactly where the first
holds, so γ needs no derivative of u, and its derivatives are those of A at fixed u.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Array, Bool, Float

from dynafield.numerics.averages import REACH, quadrature_error
from dynafield.numerics.roots import bracketed_newton, followed
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.observation import nodes_along, widths
from dynafield.problem.spectra import JointLaw

__all__ = [
    "Rate",
    "Slopes",
    "above",
    "below",
    "drift_at_fixed_law",
    "missed",
    "ridgeless_slopes",
    "slopes_along",
]

PINCHED = 34.0
r"""log((1-ε)/ε) at which u counts as pinched to -ess inf κ: the error made is of order ε = 2e-15."""

FAR = 12.0
"""Standard deviations at which w = 0 must be seen; farther off, u is pinched."""

EDGE_POWER = 1.2
"""Power of an error of strata at the edge, instead of 3/2: few of them lie where it arises, and it is small
before it falls."""

ROUNDING = 1e-15
"""What rounding leaves of a sum of weights."""


class Slopes(NamedTuple):
    r"""The distribution of κ on nodes: probability, coordinate, \(\log(\kappa/\kappa_0)\); and
    \(\log\kappa_0\).

    κ₀ is the slope at w = 0 and s = 1, or ess inf κ where that is needed. Only ratios of
    slopes enter the equations, so logarithms serve all scales and depths.
    """

    weight: Float[Array, "*n"]
    s: Float[Array, "*n"]
    log_ratio: Float[Array, "*n"]
    log_scale: Float[Array, ""]


class Rate(NamedTuple):
    """γ with u and A, whether u was found, the estimated error of the averages, and what rounding leaves of γ
    (both relative)."""

    gamma: Float[Array, ""]
    u: Float[Array, ""]
    a: Float[Array, ""]
    found: Bool[Array, ""]
    error: Float[Array, ""]
    rounding: Float[Array, ""]


def slopes_along(
    mirror: MirrorMap,
    response: Float[Array, ""],
    mixture: JointLaw,
    tau: Float[Array, ""],
    count: int,
    orders: int,
    core: Float[Array, ""] | None = None,
    reach: float = REACH,
) -> Slopes:
    """κ on the nodes of the limiting distribution, with so many derivatives."""
    nodes = nodes_along(mirror, response, mixture, tau, count, core, reach, orders)
    weight = mixture.weight[:, None] * nodes.weight
    ratio = mirror.log_slope_ratio(nodes.s) + jnp.log(mixture.variance)[:, None]
    return Slopes(weight, nodes.s, ratio, mirror.log_slope(jnp.zeros(())))


def drift_at_fixed_law(mirror: MirrorMap, slopes: Slopes, rate: Rate) -> Float[Array, "*n"]:
    r"""On nodes, \(u\,\partial_\alpha\kappa|_w\,/(u+\kappa)^2\): its mean times \(u/\delta\) is
    \(\partial\gamma/\partial\alpha\), the distribution of w held fixed; at depth 2
    \(\partial_\alpha\kappa|_w = 2\alpha^3/\kappa\) [eq:rate_slope].
    """
    s, w = slopes.s, mirror.weight(slopes.s)

    def log_kappa(alpha):
        moved = MirrorMap(alpha, mirror.depth)
        return moved.log_slope(moved.follow_weight(s, w))

    _, drift = jax.jvp(log_kappa, (mirror.alpha,), (jnp.ones_like(mirror.alpha),))
    lead = slopes.log_scale + slopes.log_ratio - jnp.log(rate.u)
    return jax.nn.sigmoid(lead) * jax.nn.sigmoid(-lead) * drift


def missed(gap: Float[Array, "*r"], power: float = 1.5) -> Float[Array, ""]:
    """The error of strata by what two thirds of them leave of the equations: it falls exponentially with
    their number, so that the error of all is this to the power 3/2."""
    return jnp.max(jnp.abs(stop_gradient(gap))) ** power


def below(
    delta: Float[Array, ""], slopes: Slopes, orders: int, fewer: Slopes | None = None
) -> tuple[Rate, Float[Array, "*n"]]:
    """δ < 1: u > 0, bracketed by the extreme slopes; γ by the form whose terms are positive.

    Also returns κ/(u+κ) on the nodes at fixed u, whose derivative makes that of γ. `fewer` is the same
    distribution with two thirds of its strata, to estimate their error.
    """
    fixed, d = stop_gradient((slopes, delta))

    def parts(law, x):  # κ/(u+κ) and u/(u+κ) for u = κ₀ e^x
        return jax.nn.sigmoid(law.log_ratio - x), jax.nn.sigmoid(x - law.log_ratio)

    def logit(law, delta, x):
        hit, miss = parts(law, x)
        b, rest = jnp.sum(law.weight * hit**2), jnp.sum(law.weight * miss * (1 + hit))
        slope = 2 * jnp.sum(law.weight * hit**2 * miss) * (1 / b + 1 / rest)
        return jnp.log(rest / b) - jnp.log((1 - delta) / delta), slope

    def closure(x, _):
        return *logit(fixed, d, x), None

    ridge = jnp.log(1 / jnp.sqrt(d) - 1)
    low, high = ridge + jnp.min(fixed.log_ratio), ridge + jnp.max(fixed.log_ratio)
    x, _, found = bracketed_newton(closure, low - 1.0, high + 1.0, 0.5 * (low + high))
    hit, miss = parts(fixed, x)
    log_u = fixed.log_scale + x
    at_fixed_u = jax.nn.sigmoid(slopes.log_scale + slopes.log_ratio - log_u)
    value = jnp.exp(log_u) / d * jnp.sum(fixed.weight * hit * miss)
    of_hits = quadrature_error(fixed.weight, [hit**2])
    error = jnp.maximum(of_hits, quadrature_error(fixed.weight, [hit * miss]))
    if fewer is not None:
        error = jnp.maximum(error, missed(logit(stop_gradient(fewer), d, x)[0]))

    def mean(values):
        return jnp.sum(fixed.weight * values)

    # where little mass lies around u, an error of B moves u far, and γ with it: ∂log γ/∂B [eq:rate_rounding]
    effect = mean(hit * miss**2) / (mean(hit**2 * miss) * mean(hit * miss))
    error = jnp.maximum(error, jnp.maximum(of_hits - ROUNDING, 0.0) * effect)
    slope = closure(x, None)[1]
    x = followed(lambda x: logit(slopes, delta, x)[0], x, slope, orders)
    u, a = jnp.exp(slopes.log_scale + x), jnp.sum(slopes.weight * parts(slopes, x)[0])
    moving = (a / delta - 1) * u  # right in its derivatives; its value may cancel
    gamma = value + (moving - stop_gradient(moving))
    return Rate(gamma, u, a, found, error, ROUNDING * effect), at_fixed_u


def spacing(mirror: MirrorMap, x: Float[Array, ""]) -> Float[Array, ""]:
    """Distance from s = 0 of the zeros of κ + u, u = -(1-ε) κ(0), from x = log((1-ε)/ε)."""
    curvature = (1 + mirror.c) * (1 + 2 * mirror.c)
    return jnp.sqrt(2.0 * jax.nn.sigmoid(-x) / curvature)


def ridgeless_slopes(
    mirror: MirrorMap,
    mixture: JointLaw,
    tau: Float[Array, ""],
    count: int,
    orders: int,
    x: Float[Array, ""],
    least_variance: Float[Array, ""] | None = None,
) -> Slopes:
    r"""The distribution of κ for \(w = w^* + \tau G/\sqrt s\), resolved around its smallest value.

    A stratum of positive width reaches w = 0; point masses without noise may not. A continuous spectrum goes
    on to `least_variance`, below those of its strata.
    """
    zero = jnp.zeros(())
    slopes = slopes_along(mirror, zero, mixture, tau, count, orders, spacing(mirror, x), FAR)
    size, wide = jnp.log(mixture.variance), widths(mixture, tau) > 0
    lowest = jnp.min(jnp.where(wide, size, jnp.min(slopes.log_ratio, axis=1)))
    if least_variance is not None:
        lowest = lowest + jnp.log(least_variance) - jnp.min(size)
    return slopes._replace(log_ratio=slopes.log_ratio - lowest, log_scale=slopes.log_scale + lowest)


def above(
    delta: Float[Array, ""],
    law: Callable[[Array], Slopes],
    orders: int,
    fewer: Callable[[Array], Slopes] | None = None,
) -> tuple[Rate, Float[Array, "*n"], Float[Array, "*n"]]:
    r"""δ > 1: the largest root, \(u = -v\), \(v = (1-\varepsilon)\,\mathrm{ess\,inf}\,\kappa\).

    `law(x)` gives the slopes resolved for \(x = \log\frac{1-\varepsilon}{\varepsilon}\), in
    units of ess inf κ. Where hardly any mass lies near the smallest slope, ε is below
    double precision: u is pinched there, and \(\gamma = (1 - A/\delta)\,\mathrm{ess\,inf}\,\kappa\).
    Also returns the nodes' weights and v/(κ-v) on them at fixed ε. `fewer` has fewer strata.
    """
    d = stop_gradient(delta)

    def terms(x: Array, slopes: Slopes) -> tuple[Array, Array]:
        """v/(κ-v) and κ/(κ-v)."""
        gap = jnp.expm1(slopes.log_ratio) + jax.nn.sigmoid(-x)
        return jax.nn.sigmoid(x) / gap, jnp.exp(slopes.log_ratio) / gap

    def rise(law: Slopes, delta: Array, x: Array) -> tuple[Array, Array]:
        """log((B-1)/(δ-1)) and its slope in x."""
        pull, hit = terms(x, law)
        total = jnp.sum(law.weight * pull * (hit + 1))
        slope = 2 * jax.nn.sigmoid(-x) * jnp.sum(law.weight * hit**2 * pull)
        return jnp.log(total / (delta - 1)), slope / total

    def closure(x, _):
        return *rise(stop_gradient(law(x)), d, x), None

    low = jnp.log(jnp.sqrt(d) - 1)
    x, _, found = bracketed_newton(closure, low - 1.0, jnp.full_like(low, PINCHED), low, tol=1e-12)
    x: Any = stop_gradient(x)
    slopes = law(x)
    free = x < PINCHED - 1  # beyond, B does not fix u
    pull, hit = terms(x, slopes)
    slope = closure(x, None)[1]
    # γ is stationary in u, so that it sees errors of A; an error of B moves u, by little where ε is small
    to_u = jax.nn.sigmoid(-x) / slope
    of_pull, of_hit = (quadrature_error(slopes.weight, [part]) for part in (pull, hit ** (2.0 * free)))
    error = jnp.maximum(of_pull, jnp.where(free, to_u * of_hit, 0.0))
    if fewer is not None:
        less = fewer(x)
        mean, other = (jnp.sum(law.weight * terms(x, law)[0]) for law in (slopes, less))
        gaps = (other - mean) / ((delta - 1) - mean), jnp.where(free, to_u * rise(less, delta, x)[0], 0.0)
        error = jnp.maximum(error, missed(jnp.stack(gaps), EDGE_POWER))
    moving = followed(lambda x: rise(slopes, delta, x)[0], x, slope, orders)
    x = jnp.where(free, moving, x)
    mean = jnp.sum(slopes.weight * terms(x, slopes)[0])
    u, a = -jnp.exp(slopes.log_scale) * jax.nn.sigmoid(x), 1 + mean
    gamma = -u * ((delta - 1) - mean) / delta
    return Rate(gamma, u, a, found, stop_gradient(error), jnp.zeros_like(u)), slopes.weight, pull
