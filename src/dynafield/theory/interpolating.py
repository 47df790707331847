r"""Case (iii), λ = 0 and δ < 1: minimum-J interpolation at every depth [eq:fix_case3].

\(w + R_w\,h^{-1}(w) = y = w^* + \tau G\), \(\delta = E[\kappa/(\kappa + R_w)]\).
In the coordinate s of the mirror map the left side is the explicit curve
\(y(s) = w(s) + R_w\Phi(s)\), and averages over G are taken along it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.numerics.averages import REACH, Curve, Nodes, adapted_nodes, quadrature_error
from dynafield.problem.mirror import MirrorMap
from dynafield.theory.pair import Mixture, Parameters, balance, widths

__all__ = ["Averages", "averages", "bounds", "curve", "nodes_along", "residuals", "start"]


class Averages(NamedTuple):
    """Expectations over the limit law, and how well the nodes resolve it."""

    c_w: Float[Array, ""]
    active: Float[Array, ""]
    passive: Float[Array, ""]
    error: Float[Array, ""]


def curve(mirror: MirrorMap, response: Float[Array, ""]) -> Curve:
    """The observation y as a function of s; response 0 gives y = w."""
    return Curve(
        value=lambda s: mirror.weight(s) + response * mirror.dual(s),
        slope=lambda s: (mirror.slope(s) + response) * mirror.dual_slope(s),
        bound=mirror.coordinate_bound,
    )


def nodes_along(
    mirror: MirrorMap,
    response: Float[Array, ""],
    mixture: Mixture,
    tau: Float[Array, ""],
    count: int,
    core: Float[Array, ""] | None = None,
    reach: float = REACH,
) -> Nodes:
    """Nodes of the limit law, one row per component, at fixed G: s carries the derivatives."""
    fixed = jax.lax.stop_gradient((mirror, response, mixture, tau, core))
    t = widths(fixed[2], fixed[3])
    nodes = adapted_nodes(curve(fixed[0], fixed[1]), fixed[2].mean, t, count, fixed[4], reach)
    nodes = jax.lax.stop_gradient(nodes)
    along, observed = curve(mirror, response), widths(mixture, tau)[:, None] * nodes.normal
    gap = along.value(nodes.s) - mixture.mean[:, None] - observed
    # for the derivatives only: where the curve is flat, G has too few digits to correct s
    drift = (gap - jax.lax.stop_gradient(gap)) / jax.lax.stop_gradient(along.slope(nodes.s))
    return Nodes(nodes.s - drift, nodes.normal, nodes.weight)


def averages(
    p: Parameters, mixture: Mixture, depth: int, count: int, z: Float[Array, ""], r: Float[Array, ""]
) -> Averages:
    r"""\(C_w\), \(E[\kappa/(\kappa+R_w)]\) and its complement, at noise \(e^z\), response \(e^r\)."""
    tau, response = jnp.exp(z), jnp.exp(r)
    mirror = MirrorMap(p.alpha, depth)
    nodes = nodes_along(mirror, response, mixture, tau, count)
    t = widths(mixture, tau)
    # w - w* = noise - R_w Φ, never w - w* itself, whose digits cancel when τ is small
    error = (tau**2 / t)[:, None] * nodes.normal - response * mirror.dual(nodes.s)
    spread = (mixture.std * tau / t) ** 2
    lead = mirror.log_slope(nodes.s) - r  # log κ/R_w
    weight = mixture.weight[:, None] * nodes.weight
    values = [error**2 + spread[:, None], jax.nn.sigmoid(lead), jax.nn.sigmoid(-lead)]
    c_w, active, passive = (jnp.sum(weight * v) for v in values)
    return Averages(c_w, active, passive, quadrature_error(weight, values))


def residuals(p: Parameters, a: Averages, z: Float[Array, ""]) -> Float[Array, " 2"]:
    """Balance, and closure in logits, which is well conditioned for δ near 0 and near 1."""
    closure = jnp.log(a.passive / a.active) - jnp.log((1 - p.delta) / p.delta)
    return jnp.stack([balance(p, a.c_w, z), closure])


def bounds(p: Parameters, mixture: Mixture, depth: int, z: Float[Array, ""]) -> tuple[Array, Array]:
    r"""κ lies between its values at w = 0 and at the largest y, so \(R_w\delta/(1-\delta)\) does too."""
    mirror = MirrorMap(p.alpha, depth)
    largest = jnp.max(jnp.abs(mixture.mean) + 10.0 * widths(mixture, jnp.exp(z)))
    low = mirror.log_slope(jnp.zeros(())) + jnp.log((1 - p.delta) / p.delta)
    return low - 1.0, low + mirror.log_slope_ratio(mirror.coordinate_bound(largest)) + 1.0


def start(p: Parameters, depth: int, z: Float[Array, ""]) -> Float[Array, ""]:
    """A guess of log R_w: ridge-like for large α, a soft threshold near τ for small α."""
    mirror, tau = MirrorMap(p.alpha, depth), jnp.exp(z)
    soft = tau / mirror.dual(mirror.coordinate_bound(tau))
    return jnp.log(mirror.slope_at_zero + soft) + jnp.log((1 - p.delta) / p.delta)
