r"""Averages over the Marchenko–Pastur law, the spectrum of \(X^\top X/\delta\) [eq:mp_law].

With \(x = \lambda_- + 4\delta^{-1/2}v^2\) and \(v = (1 + e^{-2y})^{-1/2}\) both edges of the spectrum lie at
infinity, where the integrand decays exponentially, and every scale near them has its nodes: the trapezoidal
rule in y converges exponentially, for smooth functions as for exp(-xt) at large t, and for \(\delta = 1\),
where the density has a pole of order 1/2 at zero.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

__all__ = ["MarchenkoPastur"]

ACCURACY = 1e-13
"""Relative change at which the nodes are dense enough."""
STEP = 0.15
"""Distance of nodes in y: the error is near 1e-14 for exponentials, at all times."""
RANGE = (-60.0, 12.5)
"""Beyond these y lie 1e-16 of the distribution, and of exp(-xt) for all t < 1e20."""
FINEST = STEP / 2**10
"""Shortest distance."""
PIECE = 4096
"""Nodes at once."""


class MarchenkoPastur:
    """The Marchenko–Pastur law: a bulk on [lower, upper] and, for δ < 1, a point mass 1 - δ at zero."""

    def __init__(self, delta: float):
        self.delta = float(delta)
        self.lower = (1 - self.delta**-0.5) ** 2
        self.upper = (1 + self.delta**-0.5) ** 2
        self.atom = max(0.0, 1 - self.delta)

    def nodes(self, step: float = STEP) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Places and weights of the bulk."""
        y = step * np.arange(int(RANGE[0] / step), int(RANGE[1] / step))
        low, high = 1 / (1 + np.exp(-2 * y)), 1 / (1 + np.exp(2 * y))  # v² and 1 - v²
        x = self.lower + 4 * self.delta**-0.5 * low
        # dμ = (16/π) v² sqrt(1 - v²) dv / x and dv = v (1 - v²) dy
        return x, (16 / np.pi) * step * (low * high) ** 1.5 / x

    def density(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Density of the bulk at x > 0."""
        inside = np.clip((x - self.lower) * (self.upper - x), 0.0, None)
        return self.delta * np.sqrt(inside) / (2 * np.pi * x)

    def average(self, function: Callable[[np.ndarray], np.ndarray], atom: bool = True) -> Any:
        """E[function(x)] over bulk and atom, to 1e-12; `function` takes a vector, values along the last axis.

        The distance of nodes is halved until nothing changes: functions that oscillate need more of them.
        """
        step, before = STEP, None
        while True:
            x, weight = self.nodes(step)
            pieces = range(0, len(x), PIECE)
            value = sum(np.asarray(function(x[i : i + PIECE])) @ weight[i : i + PIECE] for i in pieces)
            same = before is not None and np.all(np.abs(value - before) <= ACCURACY * np.abs(value))
            if same or step <= FINEST:
                break
            before, step = value, step / 2
        if not (atom and self.atom):
            return value
        return value + self.atom * np.asarray(function(np.zeros(1)))[..., 0]
