r"""Case (iii), λ = 0 and δ < 1: minimum-J interpolation at every depth [eq:fix_case3].

\(w + R_w\,h^{-1}(w) = y = w^* + \tau G\), \(\delta = E[\kappa/(\kappa + R_w)]\).
In the coordinate s of the mirror map the left side is the explicit curve
\(y(s) = w(s) + R_w\Phi(s)\), and averages over G are taken along it.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.problem.mirror import MirrorMap
from dynafield.problem.observation import Averages, Mixture, widths
from dynafield.theory.pair import Parameters, balance

__all__ = ["bounds", "residuals", "start"]


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
