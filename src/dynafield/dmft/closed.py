r"""Data whose ℓ is affine in f need no sampling [eq:linear_data].

\(\ell = Hf + h(f^*, \xi, z)\) with one matrix H. Split \(h = bf^* + h_\perp\), \(b = E[hf^*]/\rho^2\),
\(E[h_\perp h_\perp^\top] = SS^\top\). With the output \(x = Hw + bw^*\) of coordinates, and the columns of
S as outputs of rows that stand still, \(\ell = Xx + h_\perp\): the data's basis is that of the coordinates'
normals, and their kernels follow from those of x alone.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynafield.dmft.rows import Kernels
from dynafield.dmft.sampling import draw_data
from dynafield.numerics.small import solve_small
from dynafield.problem.model import Model

__all__ = ["Affine", "affine_part", "answer"]

STATIC = 2**16
"""Points for the averages of what never changes in a datum."""


class Affine(NamedTuple):
    """ℓ = H f + b f* + h⊥: slope, response to the teacher's output, factor of the covariance of h⊥."""

    slope: Float[np.ndarray, "c c"]
    to_teacher: Float[np.ndarray, " c"]
    rest: Float[np.ndarray, "c c"]


def affine_part(model: Model, slope: Float[np.ndarray, "c c"], rho: float, sigma: float) -> Affine:
    """H, b and S by averages over sampled data; b by Stein's identity [eq:stein]."""
    datum, _ = draw_data(model, rho, sigma, STATIC, 1, (0, 3))
    at_zero = jax.vmap(model.ell, in_axes=(None, 0))(jnp.zeros(model.channels), datum)
    h = np.asarray(at_zero).reshape(STATIC, -1)
    f_star = np.asarray(datum.f_star)
    b = h.T @ f_star / STATIC / rho**2 if rho > 0 else np.zeros(h.shape[1])
    left = h - np.outer(f_star, b)
    values, vectors = np.linalg.eigh(left.T @ left / STATIC)
    return Affine(slope, b, vectors * np.sqrt(np.maximum(values, 0.0)))


def answer(coordinates: Kernels) -> Kernels:
    r"""Kernels of affine data from those of coordinates [eq:closed_data].

    \((1-T)\,G = F + H\): the training residuals, \(C_\ell = GG^\top\) [eq:dmft_Cf]; they respond to what
    drives them with \((1-T)^{-1}\) within the block [eq:dmft_Rf].
    """
    size = len(coordinates.T)
    one = jnp.eye(size)
    inner: Array = solve_small((one - coordinates.T)[:, :, None], one[:, :, None])[:, :, 0]
    past = inner @ coordinates.H
    return Kernels(inner @ coordinates.F + past, past, inner)
