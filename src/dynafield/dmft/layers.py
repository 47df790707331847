r"""Two layers of one coordinate in variables that are linear in its gradient [eq:dmft_layers].

Depth 2: \(a = \log(u^2/\alpha^2)\), \(b = \log(v^2/\alpha^2)\), \(a' = -g - \lambda\),
\(b' = g - \lambda\). Depth L ≥ 3: \(a = u^{2-L}\), \(b = v^{2-L}\),
\(a' = \tfrac{L-2}2(g + \lambda a)\), \(b' = \tfrac{L-2}2(-g + \lambda b)\). No digits are lost in
either, at any time. With \(\psi' = \mu\psi - g\), \(\mu = \lambda(L-2)/2\), both move along
\((a, b) = (a_0 + p\psi, b_0 - p\psi)\).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["Layers", "growth", "layers", "pace", "start", "within_reach"]

STRIDE = 2.0
"""Largest change of log u², log v² in one Newton step at depth 2."""
SHRINK = 0.25
"""Smallest factor of u^(2-L), v^(2-L) in one Newton step at depth ≥ 3, where they must stay positive."""


class Layers(NamedTuple):
    r"""Weight w, slope \(\kappa = dw/d\psi = (u^{2L-2} + v^{2L-2})/2\), and \(u^2 + v^2\)."""

    weight: Array
    slope: Array
    square: Array


def pace(depth: int) -> float:
    """p = da/dψ."""
    return 1.0 if depth == 2 else -(depth - 2) / 2.0


def growth(depth: int, lam: float) -> float:
    r"""\(\mu = \lambda(L-2)/2\)."""
    return lam * (depth - 2) / 2.0


def start(depth: int, alpha: float) -> float:
    """a(0) = b(0)."""
    return 0.0 if depth == 2 else alpha ** (2.0 - depth)


def layers(depth: int, alpha: Float[Array, ""], a: Array, b: Array) -> Layers:
    """What the two layers make."""
    if depth == 2:
        u2, v2 = alpha**2 * jnp.exp(a), alpha**2 * jnp.exp(b)
        return Layers((u2 - v2) / 2, (u2 + v2) / 2, u2 + v2)
    u, v = a ** (-1.0 / (depth - 2)), b ** (-1.0 / (depth - 2))
    slope = (u ** (2 * depth - 2) + v ** (2 * depth - 2)) / 2
    return Layers((u**depth - v**depth) / depth, slope, u**2 + v**2)


def within_reach(depth: int, step: Array, a: Array, b: Array) -> Array:
    """A Newton step of ψ, shortened where it is too long for a and b."""
    if depth == 2:
        return jnp.clip(step, -STRIDE, STRIDE)
    room = (1.0 - SHRINK) / -pace(depth)
    return jnp.clip(step, -room * b, room * a)
