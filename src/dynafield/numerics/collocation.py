r"""Radau IIA collocation: time in blocks of a few nodes each, the last node at the block's end.

On a block of length h with nodes \(t_0 + h c_i\) the rule replaces integrals by
\(\int_{t_0}^{t_0+hc_i} f \approx h\sum_j a_{ij} f(t_0 + hc_j)\) [eq:radau]. It is L-stable, of order
2s - 1 at the ends of blocks and min(2s - 1, s + 1) at the nodes inside.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial import polynomial

__all__ = ["Radau", "lagrange", "radau"]


class Radau(NamedTuple):
    """Nodes in (0, 1] and weights of the rule."""

    nodes: Float[np.ndarray, " s"]
    weights: Float[np.ndarray, "s s"]


@lru_cache
def radau(stages: int) -> Radau:
    r"""The rule with s stages; its nodes are the zeros of \(\frac{d^{s-1}}{dx^{s-1}} x^{s-1}(x-1)^s\)."""
    zeros = polynomial.polymul(polynomial.polypow([0, 1], stages - 1), polynomial.polypow([-1, 1], stages))
    nodes = np.sort(polynomial.polyroots(polynomial.polyder(zeros, stages - 1)).real)
    nodes[-1] = 1.0
    powers = np.arange(1, stages + 1)
    integrals = nodes[:, None] ** powers / powers
    return Radau(nodes, integrals @ np.linalg.inv(np.vander(nodes, stages, increasing=True)))


def lagrange(nodes: Float[np.ndarray, " k"], at: Float[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
    """Weights of the values at `nodes` in the interpolating polynomial at other places."""
    gaps = nodes[:, None] - nodes + np.eye(len(nodes))
    shares = (at[:, None, None] - nodes) / gaps  # place, node, other node
    index = np.arange(len(nodes))
    shares[:, index, index] = 1.0
    return np.prod(shares, axis=-1)
