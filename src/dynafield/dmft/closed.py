r"""Data whose ℓ is affine in f need no sampling [eq:linear_data].

\(\ell = Hf + h(f^*, \xi, z)\) with one matrix H. Split \(h = bf^* + h_\perp\), \(b = E[hf^*]/\rho^2\),
\(E[h_\perp h_\perp^\top] = SS^\top\). With the output \(x = Hw + bw^*\) of coordinates, and the columns of
S as outputs of rows that stand still, \(\ell = Xx + h_\perp\): the data's basis is that of the coordinates'
normals, and their kernels follow from those of x alone.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynafield.dmft.rows import Kernels
from dynafield.dmft.sampling import draw_data
from dynafield.numerics.small import solve_small
from dynafield.problem.model import Model

__all__ = ["Affine", "affine_part", "answer", "foreseen", "powers_of"]

STATIC = 2**16
"""Points for the averages of what never changes in a datum."""
DOUBLINGS = 6
"""A series is summed over two to this power terms."""
NEAR = 0.3
"""Relative change of directions born in a block that is small enough to foresee those to come."""


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
    inner = inverse_of_rest(coordinates.T)
    past = inner @ coordinates.H
    return Kernels(inner @ coordinates.F + past, past, inner)


def inverse_of_rest(matrix: Float[Array, "b b"]) -> Float[Array, "b b"]:
    """(1 - matrix)⁻¹."""
    one = jnp.eye(len(matrix))
    return solve_small((one - matrix)[:, :, None], one[:, :, None])[:, :, 0]


def powers_of(matrix: Float[Array, "r r"]) -> Float[Array, "p r r"]:
    """The matrix, its square, the square of that, and so on."""

    def squared(power, _):
        return power @ power, power

    return jax.lax.scan(squared, matrix, None, DOUBLINGS)[1]


def summed(
    first: Float[Array, "b r"], left: Float[Array, "b b"], right: Float[Array, "p r r"]
) -> tuple[Float[Array, "b r"], Any]:
    """X = first + L X R by doubling the terms of its series, and whether that converges."""

    def doubled(carry, power):
        total, left = carry
        return (total + left @ total @ power, left @ left), None

    (total, left), _ = jax.lax.scan(doubled, (first, left), right)
    rest = jnp.sum(jnp.abs(left)) * jnp.sum(jnp.abs(right[-1])) ** 2
    return total, jnp.all(jnp.isfinite(total)) & (rest < 1)


def foreseen(
    before: Kernels,
    coordinates: Kernels,
    found: Kernels,
    delta: Float[Array, ""],
    overlaps: Float[Array, "p r q"],
    born: Any,
) -> Kernels:
    r"""Kernels that all sweeps to come would find if rows responded alike [eq:foreseen].

    `before` has driven a sweep, the `coordinates` it made have answered with `found`; `overlaps` are powers
    of \(Z = E[q\zeta^\top]\). Newton's method, exact where training is lazy.
    """
    A = found.T @ coordinates.T
    M = jnp.sqrt(delta) * A
    T, good_T = summed(found.T - before.T, M, powers_of(M))
    through = delta * A @ T
    H, good_H = summed(found.H - before.H + through @ found.H, M, overlaps)
    fed = M @ H @ overlaps[0] + delta * A @ H + through @ found.F
    F, good_F = summed(found.F - before.F + fed, M, jnp.swapaxes(overlaps, 1, 2))
    fresh = jnp.arange(F.shape[1]) >= born
    step, size = (jnp.sum(x**2 * fresh) for x in (found.F - before.F, found.F))
    kept, kept_before = (jnp.any(x != 0, axis=0) for x in (found.F, before.F))
    steady = jnp.all(kept == kept_before) & (step < NEAR**2 * size)
    F: Any = jnp.where(fresh & steady, inverse_of_rest(delta * A @ A) @ F, F)
    wanted = Kernels(before.F + F, before.H + H, before.T + T)
    good = good_T & good_H & good_F
    return Kernels(*(jnp.where(good, new, old) for new, old in zip(wanted, found, strict=True)))
