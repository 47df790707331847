"""The standard normal distribution and its truncated moments, right in both tails."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float

from dynafield.numerics.library import library

__all__ = ["interval_average", "normal_cdf", "normal_pdf", "normal_tail", "tail_square"]

LEGENDRE = np.polynomial.legendre.leggauss(64)
REACH = 9.0


def normal_pdf(x: Float[Any, "*s"]) -> Float[Any, "*s"]:
    """Density of N(0, 1)."""
    return library(x).exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)


def normal_tail(x: Float[Any, "*s"]) -> Float[Any, "*s"]:
    """P(G > x). (JAX's own log_ndtr is wrong by up to 3e-10 in the tail; erfc is not.)"""
    erfc = scipy.special.erfc if library(x) is np else jax.scipy.special.erfc
    return 0.5 * erfc(x / np.sqrt(2.0))


def normal_cdf(x: Float[Any, "*s"]) -> Float[Any, "*s"]:
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


def interval_average(function, lo: Float[Any, "*s"], hi: Float[Any, "*s"]) -> Float[Any, "*s"]:
    """E[function(G); lo < G < hi] by Gauss–Legendre, right in relative terms for narrow intervals too."""
    lib, (x, w) = library(lo, hi), LEGENDRE
    lo, hi = lib.clip(lo, -REACH, REACH)[..., None], lib.clip(hi, -REACH, REACH)[..., None]
    g = 0.5 * (lo + hi) + 0.5 * (hi - lo) * x
    return lib.sum(0.5 * (hi - lo) * w * normal_pdf(g) * function(g), axis=-1)
