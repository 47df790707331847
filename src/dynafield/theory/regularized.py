r"""Case (i), λ > 0: soft thresholding [eq:fix_case1].

With \(y = w^* + \tau G\), \(w = \mathrm{ST}(y; \theta)\), \(\theta = (1+\chi_w)\lambda\);
for a mixture prior every expectation is in closed form.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.numerics.gaussian import interval_average, normal_tail, tail_square
from dynafield.theory.pair import Mixture, Parameters, balance, widths

__all__ = ["active_fraction", "bounds", "residuals", "susceptibility", "weight_error"]


def active_fraction(mixture: Mixture, tau: Float[Array, ""], theta: Float[Array, ""]) -> Float[Array, ""]:
    r"""\(P(w \neq 0) = P(|y| > \theta)\)."""
    t = widths(mixture, tau)
    above, below = (theta - mixture.mean) / t, (theta + mixture.mean) / t
    return jnp.sum(mixture.weight * (normal_tail(above) + normal_tail(below)))


def susceptibility(
    p: Parameters, mixture: Mixture, tau: Float[Array, ""], theta: Float[Array, ""]
) -> Float[Array, ""]:
    r"""\(\chi_w\), from \(\chi_w/(1+\chi_w) = P(w \neq 0)/\delta\) where it is small and from
    \(1 + \chi_w = \theta/\lambda\) where it is large, as each keeps its digits there."""
    share = active_fraction(mixture, tau, theta) / p.delta
    few = share < 0.5
    return jnp.where(few, share / (1 - jnp.where(few, share, 0.0)), theta / p.lam - 1)


def weight_error(mixture: Mixture, tau: Float[Array, ""], theta: Float[Array, ""]) -> Float[Array, ""]:
    r"""\(C_w = E[(w - w^*)^2]\), each piece positive and free of cancellation.

    Given y, the noise y - w* is Gaussian with mean \((\tau^2/t)G\), \(t^2 = s^2 + \tau^2\),
    and variance \(s^2\tau^2/t^2\), where s is the width of the component.
    """
    t = widths(mixture, tau)
    m, s2, q = mixture.mean, mixture.std**2, tau**2 / t

    def active(m):  # w > 0: the error is (noise - θ)
        gap = (tau**2 * m + s2 * theta) / t**2
        return tail_square(q, theta, (theta - m) / t, gap)

    at_zero = interval_average(
        lambda g: (m[:, None] + (s2 / t)[:, None] * g) ** 2, -(theta + m) / t, (theta - m) / t
    )
    pieces = active(m) + active(-m) + at_zero + s2 * tau**2 / t**2
    return jnp.sum(mixture.weight * pieces)


def residuals(
    p: Parameters, mixture: Mixture, z: Float[Array, ""], r: Float[Array, ""]
) -> Float[Array, " 2"]:
    r"""Balance, and closure \(1 - P(w \neq 0)/\delta - \lambda/\theta\)."""
    tau, theta = jnp.exp(z), jnp.exp(r)
    closure = 1.0 - active_fraction(mixture, tau, theta) / p.delta - p.lam / theta
    return jnp.stack([balance(p, weight_error(mixture, tau, theta), z), closure])


def bounds(p: Parameters, mixture: Mixture, z: Float[Array, ""]) -> tuple[Array, Array]:
    """θ ≥ λ; and θ = 2λ is enough once fewer than δ/2 of the observations pass it."""
    reach = jnp.max(jnp.abs(mixture.mean) + 10.0 * widths(mixture, jnp.exp(z)))
    return jnp.log(p.lam) - 1.0, jnp.log(jnp.maximum(2.0 * p.lam, reach)) + 1.0
