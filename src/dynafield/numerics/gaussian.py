"""The standard normal distribution and its truncated moments, right in both tails."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float

__all__ = ["interval_average", "normal_cdf", "normal_pdf", "normal_tail", "tail_square"]

LEGENDRE = np.polynomial.legendre.leggauss(64)
REACH = 9.0


def normal_pdf(x: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Density of N(0, 1)."""
    return jnp.exp(-0.5 * x**2) / jnp.sqrt(2.0 * jnp.pi)


def normal_tail(x: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """P(G > x). (JAX's own log_ndtr is wrong by up to 3e-10 in the tail; erfc is not.)"""
    return 0.5 * erfc(x / jnp.sqrt(2.0))


def normal_cdf(x: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """P(G < x)."""
    return normal_tail(-x)


def tail_square(
    q: Float[Array, "*s"], shift: Float[Array, "*#s"], edge: Float[Array, "*s"], gap: Float[Array, "*s"]
) -> Float[Array, "*s"]:
    r"""\(E[(qG - a)^2;\, G > e]\) for a = `shift`, e = `edge`, given `gap` = a - qe.

    Two forms, each free of cancellation on its side: by moments of G below edge 0, by
    moments of G - edge above it.
    """
    mass, density = normal_tail(edge), normal_pdf(edge)
    bulk = q**2 * (mass + edge * density) - 2 * q * shift * density + shift**2 * mass
    first = density - edge * mass
    second = (1 + edge**2) * mass - edge * density
    tail = q**2 * second - 2 * q * gap * first + gap**2 * mass
    return jnp.where(edge < 0, bulk, tail)


def interval_average(function, lo: Float[Array, "*s"], hi: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """E[function(G); lo < G < hi] by Gauss–Legendre, right in relative terms for narrow intervals too."""
    x, w = (jnp.asarray(a) for a in LEGENDRE)
    lo, hi = jnp.clip(lo, -REACH, REACH)[..., None], jnp.clip(hi, -REACH, REACH)[..., None]
    g = 0.5 * (lo + hi) + 0.5 * (hi - lo) * x
    return jnp.sum(0.5 * (hi - lo) * w * normal_pdf(g) * function(g), axis=-1)
