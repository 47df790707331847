r"""The rate γ for λ = 0 from the law of the slopes κ [eq:convergence_rate_eqn].

\(B(u) = E[(\kappa/(u+\kappa))^2] = \delta\), \(A = E[\kappa/(u+\kappa)]\),
\(\gamma = (A - \delta)u/\delta\). The last is stationary in u exactly where the first
holds, so γ needs no derivative of u, and its derivatives are those of A at fixed u.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Array, Bool, Float

from dynafield.numerics.averages import REACH, quadrature_error
from dynafield.numerics.roots import bracketed_newton
from dynafield.problem.mirror import MirrorMap
from dynafield.theory.interpolating import nodes_along
from dynafield.theory.pair import Mixture

__all__ = [
    "PINCHED",
    "Rate",
    "Slopes",
    "above",
    "below",
    "ridgeless_slopes",
    "slope_at_fixed_law",
    "slopes_along",
]

PINCHED = 34.0
r"""log((1-ε)/ε) at which u counts as pinched to -ess inf κ: the error made is of order ε = 2e-15."""

FAR = 12.0
"""Standard deviations at which w = 0 must be seen; farther off, u is pinched."""


class Slopes(NamedTuple):
    """The law of κ on nodes: probability, coordinate, κ and κ - ess inf κ."""

    weight: Float[Array, "*n"]
    s: Float[Array, "*n"]
    kappa: Float[Array, "*n"]
    excess: Float[Array, "*n"]


class Rate(NamedTuple):
    """γ with u and A, whether u was found, and the estimated error of the averages."""

    gamma: Float[Array, ""]
    u: Float[Array, ""]
    a: Float[Array, ""]
    found: Bool[Array, ""]
    error: Float[Array, ""]


def slopes_along(
    mirror: MirrorMap,
    response: Float[Array, ""],
    mixture: Mixture,
    tau: Float[Array, ""],
    count: int,
    core: Float[Array, ""] | None = None,
    reach: float = REACH,
) -> Slopes:
    """κ on the nodes of the limit law."""
    nodes = nodes_along(mirror, response, mixture, tau, count, core, reach)
    weight = mixture.weight[:, None] * nodes.weight
    return Slopes(weight, nodes.s, mirror.slope(nodes.s), mirror.excess_slope(nodes.s))


def slope_at_fixed_law(mirror: MirrorMap, slopes: Slopes, rate: Rate, delta: Float[Array, ""]) -> Array:
    r"""\(\partial\gamma/\partial\alpha = \frac{u^2}{\delta} E[\partial_\alpha\kappa|_w/(u+\kappa)^2]\),
    the law of w held fixed; at depth 2 \(\partial_\alpha\kappa|_w = 2\alpha^3/\kappa\) [eq:rate_slope]."""
    s, w = slopes.s, mirror.weight(slopes.s)

    def kappa(alpha):
        moved = MirrorMap(alpha, mirror.depth)
        return moved.slope(moved.follow_weight(s, w))

    _, drift = jax.jvp(kappa, (mirror.alpha,), (jnp.ones_like(mirror.alpha),))
    return rate.u**2 / delta * jnp.sum(slopes.weight * drift / (rate.u + slopes.kappa) ** 2)


def below(delta: Float[Array, ""], slopes: Slopes) -> Rate:
    """δ < 1: u > 0, bracketed by the extreme slopes; γ by the form whose terms are positive."""
    weight, _, kappa, _ = fixed = stop_gradient(slopes)
    d = stop_gradient(delta)

    def mean(values):
        return jnp.sum(weight * values)

    def closure(x, _):
        u = jnp.exp(x)
        hit, miss = (kappa / (u + kappa)) ** 2, u * (u + 2 * kappa) / (u + kappa) ** 2
        slope = 2 * u * mean(kappa**2 / (u + kappa) ** 3)
        b, rest = mean(hit), mean(miss)
        return jnp.log(rest / b) - jnp.log((1 - d) / d), slope * (1 / b + 1 / rest), None

    ridge = jnp.log(1 / jnp.sqrt(d) - 1)
    low, high = ridge + jnp.log(jnp.min(kappa)), ridge + jnp.log(jnp.max(kappa))
    x, _, found = bracketed_newton(closure, low - 1.0, high + 1.0, 0.5 * (low + high))
    u = jnp.exp(x)
    a = jnp.sum(slopes.weight * slopes.kappa / (u + slopes.kappa))
    value = u**2 / d * mean(kappa / (u + kappa) ** 2)
    gamma = value + ((a / delta - 1) * u - stop_gradient((a / delta - 1) * u))
    hit, pull = (kappa / (u + kappa)) ** 2, kappa / (u + kappa) ** 2
    return Rate(gamma, u, a, found, quadrature_error(fixed.weight, [hit, pull]))


def spacing(mirror: MirrorMap, x: Float[Array, ""]) -> Float[Array, ""]:
    """Distance from s = 0 of the zeros of κ + u, u = -(1-ε) κ(0), from x = log((1-ε)/ε)."""
    curvature = (1 + mirror.c) * (1 + 2 * mirror.c)
    return jnp.sqrt(2.0 * jax.nn.sigmoid(-x) / curvature)


def ridgeless_slopes(
    mirror: MirrorMap,
    mixture: Mixture,
    tau: Float[Array, ""],
    count: int,
    x: Float[Array, ""],
) -> tuple[Slopes, Float[Array, ""]]:
    """The law of κ for w = w* + τG, resolved around its smallest value, and that value.

    A component of positive width reaches w = 0; point masses without noise may not.
    """
    zero = jnp.zeros(())
    slopes = slopes_along(mirror, zero, mixture, tau, count, spacing(mirror, x), FAR)
    sharp = jnp.all(jnp.hypot(mixture.std, tau) == 0)
    lowest = jnp.where(sharp, jnp.min(slopes.excess), 0.0)
    excess = jnp.maximum(slopes.excess - lowest, 0.0)
    return slopes._replace(excess=excess), mirror.slope_at_zero + lowest


def above(delta: Float[Array, ""], law) -> Rate:
    r"""δ > 1: the largest root, \(u = -v\), \(v = (1-\varepsilon)\,\mathrm{ess\,inf}\,\kappa\).

    `law(x)` gives the slopes resolved for \(x = \log\frac{1-\varepsilon}{\varepsilon}\), and
    ess inf κ. Where hardly any mass lies near the smallest slope, ε is below double
    precision: u is pinched there, and \(\gamma = (1 - A/\delta)\,\mathrm{ess\,inf}\,\kappa\).
    """
    d = stop_gradient(delta)

    def terms(x: Array, slopes: Slopes, lowest: Array) -> tuple[Array, Array]:
        v = lowest * jax.nn.sigmoid(x)
        gap = slopes.excess + lowest * jax.nn.sigmoid(-x)  # κ - v
        return v, gap

    def closure(x, _):
        slopes, lowest = stop_gradient(law(x))
        v, gap = terms(x, slopes, lowest)
        rise = jnp.sum(slopes.weight * v * (slopes.kappa + gap) / gap**2)  # B - 1
        slope = 2 * v * jax.nn.sigmoid(-x) * jnp.sum(slopes.weight * slopes.kappa**2 / gap**3)
        return jnp.log(rise / (d - 1)), slope / rise, None

    low = jnp.log(jnp.sqrt(d) - 1)
    x, _, found = bracketed_newton(closure, low - 1.0, jnp.full_like(low, PINCHED), low, tol=1e-12)
    x = stop_gradient(x)
    slopes, lowest = law(x)
    v, gap = terms(x, slopes, lowest)
    pull = jnp.sum(slopes.weight * v / gap)  # A - 1
    gamma = v * ((delta - 1) - pull) / delta
    seen = (slopes.kappa / gap) ** (2.0 * (x < PINCHED - 1))  # beyond, B is not used
    error = quadrature_error(slopes.weight, [v / gap, seen])
    return Rate(gamma, -v, 1 + pull, found, stop_gradient(error))
