r"""Case (iii), λ = 0 and δ < 1: minimum-J interpolation at every depth [eq:fix_case3].

\(w + \tfrac{R_w}s\,h^{-1}(w) = y = w^* + \tau G/\sqrt s\),
\(\delta = E[s\kappa/(s\kappa + R_w)]\), s the variance of the feature. In the coordinate of the mirror
map the left side of the first is an explicit curve, and averages over G are taken along it.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.problem.mirror import MirrorMap
from dynafield.problem.observation import Averages, widths
from dynafield.problem.spectra import JointLaw
from dynafield.theory.pair import Parameters, balance

__all__ = ["bounds", "residuals", "start"]


def residuals(p: Parameters, a: Averages, z: Float[Array, ""]) -> Float[Array, " 2"]:
    """Balance, and closure in logits, which is well conditioned for δ near 0 and near 1."""
    closure = jnp.log(a.passive / a.active) - jnp.log((1 - p.delta) / p.delta)
    return jnp.stack([balance(p, a.c_w, z), closure])


def bounds(p: Parameters, mixture: JointLaw, depth: int, z: Float[Array, ""]) -> tuple[Array, Array]:
    r"""sκ lies between its values at w = 0 and at the largest y, so \(R_w\delta/(1-\delta)\) does too."""
    mirror = MirrorMap(p.alpha, depth)
    largest = jnp.abs(mixture.mean) + 10.0 * widths(mixture, jnp.exp(z))
    size = jnp.log(mixture.variance)
    ratio = mirror.log_slope_ratio(mirror.coordinate_bound(largest))
    low = mirror.log_slope(jnp.zeros(())) + jnp.log((1 - p.delta) / p.delta)
    return low + jnp.min(size) - 1.0, low + jnp.max(size + ratio) + 1.0


def start(p: Parameters, mixture: JointLaw, depth: int, z: Float[Array, ""]) -> Float[Array, ""]:
    """A guess of log R_w: ridge-like for large α, a soft threshold near τ for small α."""
    mean = jnp.sum(mixture.weight * mixture.variance)
    mirror, tau = MirrorMap(p.alpha, depth), jnp.exp(z) / jnp.sqrt(mean)
    soft = tau / mirror.dual(mirror.coordinate_bound(tau))
    return jnp.log(mean * (mirror.slope_at_zero + soft)) + jnp.log((1 - p.delta) / p.delta)
