r"""Averages over the Marchenko–Pastur law, the spectrum of \(X^\top X/\delta\) [eq:mp_law].

With \(x = 1 + 1/\delta + 2\delta^{-1/2}\cos\theta\) the square roots at both edges become
\(\sin^2\theta\), the integrand is smooth and periodic, and the trapezoidal rule converges
exponentially; at \(\delta = 1\), where the density has a pole of order 1/2 at zero, so does it, since
\(\sin^2\theta/x\) stays smooth.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

__all__ = ["MarchenkoPastur"]

ACCURACY = 1e-13
"""Relative change at which the number of nodes is large enough."""
MOST = 2**20
"""Largest number of nodes."""
PATIENT = 2**17
"""Number of nodes from which an average may be zero."""
PIECE = 4096
"""Nodes at once."""


class MarchenkoPastur:
    """The law for given δ: a bulk on [lower, upper] and, for δ < 1, a point mass 1 - δ at zero."""

    def __init__(self, delta: float):
        self.delta = float(delta)
        self.lower = (1 - self.delta**-0.5) ** 2
        self.upper = (1 + self.delta**-0.5) ** 2
        self.atom = max(0.0, 1 - self.delta)

    def nodes(self, count: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Places and weights of the bulk: midpoints in θ."""
        theta = (np.arange(count) + 0.5) * np.pi / count
        half = np.cos(theta / 2)
        x = self.lower + 4 * self.delta**-0.5 * half**2
        # dμ = (2/π) sin²θ dθ / x; with sin θ = 2 sin(θ/2) cos(θ/2) nothing cancels near x = 0
        return x, (2 / count) * (2 * np.sin(theta / 2) * half) ** 2 / x

    def average(self, function: Callable[[np.ndarray], np.ndarray], atom: bool = True) -> Any:
        """E[function(x)] over bulk and atom, to 1e-12; `function` takes a vector, values along the last axis.

        The number of nodes doubles until nothing changes: sharp functions, such as exp(-xt) at
        large t, need more of them.
        """
        count, before = 64, None
        while True:
            x, weight = self.nodes(count)
            pieces = range(0, count, PIECE)
            value = sum(np.asarray(function(x[i : i + PIECE])) @ weight[i : i + PIECE] for i in pieces)
            if before is not None:
                same = np.abs(value - before) <= ACCURACY * np.abs(value)
                seen = (value != 0) | (count >= PATIENT)  # a sharp peak may fall between few nodes
                if np.all(same & seen) or count >= MOST:
                    break
            before, count = value, 2 * count
        if not (atom and self.atom):
            return value
        return value + self.atom * np.asarray(function(np.zeros(1)))[..., 0]
