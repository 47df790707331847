r"""An entry of the target seen through noise, \(y = w^* + \tau G/\sqrt s\), and its estimate.

Fixed points and message passing both estimate every entry from such an observation, by a
soft threshold (the lasso) or along the mirror map (interpolation of least J). For a
mixture prior the averages are sums of one-dimensional integrals [eq:mixture]. A feature of variance s sees
less noise, \(\tau/\sqrt s\), and is shrunk less, by θ/s or R_w/s; its error counts s times
[eq:observed_s].
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.numerics.averages import REACH, Curve, Nodes, adapted_nodes, quadrature_error
from dynafield.numerics.gaussian import interval_average, normal_tail, tail_square
from dynafield.numerics.roots import ORDERS, followed
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.spectra import JointLaw

__all__ = [
    "Averages",
    "active_fraction",
    "mirror_averages",
    "nodes_along",
    "observed_curve",
    "soft_threshold_error",
    "widths",
]


def widths(mixture: JointLaw, tau: Float[Array, ""]) -> Float[Array, " c"]:
    """Standard deviation of the observation in each stratum (no slope where it is 0)."""
    square = mixture.std**2 + mixture.noise(tau) ** 2
    safe: Any = jnp.where(square > 0, square, 1.0)
    return jnp.where(square > 0, jnp.sqrt(safe), 0.0)


def active_fraction(mixture: JointLaw, tau: Float[Array, ""], theta: Float[Array, ""]) -> Float[Array, ""]:
    r"""\(P(w \neq 0) = P(|y| > \theta/s)\)."""
    t, theta = widths(mixture, tau), theta / mixture.variance
    above, below = (theta - mixture.mean) / t, (theta + mixture.mean) / t
    return jnp.sum(mixture.weight * (normal_tail(above) + normal_tail(below)))


def soft_threshold_error(
    mixture: JointLaw, tau: Float[Array, ""], theta: Float[Array, ""]
) -> Float[Array, ""]:
    r"""\(C_w = E[s\,(w - w^*)^2]\), each piece positive and free of cancellation.

    Given y, the noise y - w* is Gaussian with mean \((\tau^2/t)G\), \(t^2 = b^2 + \tau^2\), and variance
    \(b^2\tau^2/t^2\), where b is the width of the component and τ the noise of its features.
    """
    t = widths(mixture, tau)
    tau, theta = mixture.noise(tau), theta / mixture.variance
    m, s2, q = mixture.mean, mixture.std**2, tau**2 / t

    def active(m):  # w > 0: the error is (noise - θ)
        gap = (tau**2 * m + s2 * theta) / t**2
        return tail_square(q, theta, (theta - m) / t, gap)

    at_zero = interval_average(
        lambda g: (m[:, None] + (s2 / t)[:, None] * g) ** 2, -(theta + m) / t, (theta - m) / t
    )
    pieces = active(m) + active(-m) + at_zero + s2 * tau**2 / t**2
    return jnp.sum(mixture.weight * mixture.variance * pieces)


class Averages(NamedTuple):
    """Expectations over the limiting distribution, and how well the nodes resolve it."""

    c_w: Float[Array, ""]
    active: Float[Array, ""]
    passive: Float[Array, ""]
    error: Float[Array, ""]


def observed_curve(mirror: MirrorMap, response: Float[Any, "*r"]) -> Curve:
    """The observation y as a function of the coordinate; response 0 gives y = w."""
    return Curve(
        value=lambda s: mirror.weight(s) + response * mirror.dual(s),
        slope=lambda s: (mirror.slope(s) + response) * mirror.dual_slope(s),
        bound=mirror.coordinate_bound,
    )


def nodes_along(
    mirror: MirrorMap,
    response: Float[Array, ""],
    mixture: JointLaw,
    tau: Float[Array, ""],
    count: int,
    core: Float[Array, ""] | None = None,
    reach: float = REACH,
    orders: int = ORDERS,
) -> Nodes:
    """Nodes of the limiting distribution, one row per stratum, with so many derivatives.

    G is fixed: the coordinate carries the derivatives.
    """
    response = (response / mixture.variance)[:, None]
    fixed = jax.lax.stop_gradient((mirror, response, mixture, tau, core))
    t = widths(fixed[2], fixed[3])
    nodes = adapted_nodes(observed_curve(fixed[0], fixed[1]), fixed[2].mean, t, count, fixed[4], reach)
    nodes = jax.lax.stop_gradient(nodes)
    along, observed = observed_curve(mirror, response), widths(mixture, tau)[:, None] * nodes.normal

    def gap(s: Array) -> Array:
        return along.value(s) - mixture.mean[:, None] - observed

    # for the derivatives only: where the curve is flat, G has too few digits to correct s
    return Nodes(followed(gap, nodes.s, along.slope(nodes.s), orders), nodes.normal, nodes.weight)


def mirror_averages(
    mirror: MirrorMap,
    mixture: JointLaw,
    count: int,
    z: Float[Array, ""],
    r: Float[Array, ""],
    orders: int = ORDERS,
) -> Averages:
    r"""\(C_w\), \(E[s\kappa/(s\kappa+R_w)]\) and its complement, at noise \(e^z\), response \(e^r\)."""
    tau, response = jnp.exp(z), jnp.exp(r)
    nodes = nodes_along(mirror, response, mixture, tau, count, orders=orders)
    t = widths(mixture, tau)
    tau, variance = mixture.noise(tau), mixture.variance[:, None]
    # w - w* = noise - R_w Φ/s, never w - w* itself, whose digits cancel when τ is small
    error = (tau**2 / t)[:, None] * nodes.normal - response / variance * mirror.dual(nodes.s)
    spread = (mixture.std * tau / t) ** 2
    lead = mirror.log_slope(nodes.s) + jnp.log(variance) - r  # log sκ/R_w
    weight = mixture.weight[:, None] * nodes.weight
    values = [variance * (error**2 + spread[:, None]), jax.nn.sigmoid(lead), jax.nn.sigmoid(-lead)]
    c_w, active, passive = (jnp.sum(weight * v) for v in values)
    return Averages(c_w, active, passive, quadrature_error(weight, values))
