"""Quadrature rules on an interval."""

from functools import lru_cache

import numpy as np
from jaxtyping import Float

__all__ = ["crowded", "legendre"]

NEAR, FAR = -34.0, 3.7
"""Where a crowded rule begins and ends: what is left out weighs 2e-15 and 3e-18."""


@lru_cache(maxsize=64)
def legendre(count: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Gauss–Legendre nodes and weights on [-1, 1], computed once for each count."""
    rule = np.polynomial.legendre.leggauss(count)
    for part in rule:
        part.flags.writeable = False
    return rule


def crowded(count: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    r"""Nodes and weights on [0, 1] for integrands that bend sharply, at any scale, near 0 [eq:edge_rule].

    The trapezoidal rule in t, \(x = 1 - \exp(-e^t)\): nodes are spread evenly in log x near 0, so that its
    error falls exponentially with their number even if there is a pole just beyond the end.
    """
    t = np.linspace(NEAR, FAR, count)
    return -np.expm1(-np.exp(t)), (t[1] - t[0]) * np.exp(t - np.exp(t))
