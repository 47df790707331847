r"""Case (i), λ > 0: soft thresholding [eq:fix_case1].

With \(y = w^* + \tau G/\sqrt s\), \(w = \mathrm{ST}(y; \theta/s)\), \(\theta = (1+\chi_w)\lambda\), s the
variance of the feature; for a mixture prior every expectation is in closed form.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.problem.observation import active_fraction, soft_threshold_error, widths
from dynafield.problem.spectra import JointLaw
from dynafield.theory.pair import Parameters, balance

__all__ = ["bounds", "residuals", "susceptibility"]


def susceptibility(
    p: Parameters, mixture: JointLaw, tau: Float[Array, ""], theta: Float[Array, ""]
) -> Float[Array, ""]:
    r"""\(\chi_w\), from \(\chi_w/(1+\chi_w) = P(w \neq 0)/\delta\) where it is small and from
    \(1 + \chi_w = \theta/\lambda\) where it is large, as each keeps its digits there."""
    share = active_fraction(mixture, tau, theta) / p.delta
    few = share < 0.5
    return jnp.where(few, share / (1 - jnp.where(few, share, 0.0)), theta / p.lam - 1)


def residuals(
    p: Parameters, mixture: JointLaw, z: Float[Array, ""], r: Float[Array, ""]
) -> Float[Array, " 2"]:
    r"""Balance, and closure \(1 - P(w \neq 0)/\delta - \lambda/\theta\)."""
    tau, theta = jnp.exp(z), jnp.exp(r)
    closure = 1.0 - active_fraction(mixture, tau, theta) / p.delta - p.lam / theta
    return jnp.stack([balance(p, soft_threshold_error(mixture, tau, theta), z), closure])


def bounds(p: Parameters, mixture: JointLaw, z: Float[Array, ""]) -> tuple[Array, Array]:
    """θ ≥ λ; and θ = 2λ is enough once fewer than δ/2 of the observations pass it."""
    reach = jnp.max(mixture.variance * (jnp.abs(mixture.mean) + 10.0 * widths(mixture, jnp.exp(z))))
    return jnp.log(p.lam) - 1.0, jnp.log(jnp.maximum(2.0 * p.lam, reach)) + 1.0
