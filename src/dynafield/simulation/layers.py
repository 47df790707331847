r"""A network in the logarithms of its layers, \(a = \log|u|\), \(b = \log|v|\).

\(a' = -(\mu(a)\,g + \lambda/2)\), \(b' = \mu(b)\,g - \lambda/2\), with
\(\mu = \tfrac12 u^{L-2}\eta'(u^L)\) [eq:log_layers]. No sign changes, nothing over- or
underflows, and a coordinate keeps its digits while it grows by any factor, which the
mirror coordinate Φ does not at depth ≥ 3.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.problem.networks import Network

__all__ = ["Layers", "State"]


class Half(NamedTuple):
    """One of the two layers: its part of w, dw/da, μ and dμ/da."""

    value: Any
    slope: Any
    speed: Any
    speed_slope: Any


class State(NamedTuple):
    """Both layers and the weights they make."""

    w: Float[np.ndarray, "p d"]
    u: Half
    v: Half


class Layers:
    """The two layers of networks that start at given u and v (the signs of all rows alike)."""

    def __init__(self, net: Network, u: Float[np.ndarray, "p d"], v: Float[np.ndarray, "p d"]):
        self.depth, self.truncation = net.depth, net.truncation
        both = np.concatenate([u, v], axis=1)
        self.start = np.log(np.where(both == 0, 1.0, np.abs(both)))
        signs = np.sign(both[:1])
        d = u.shape[1]
        plain = bool(np.all(signs == 1))
        self.u_sign: Any = 1.0 if plain else signs[:, :d] ** self.depth
        self.v_sign: Any = 1.0 if plain else signs[:, d:] ** self.depth

    def half(self, log: Float[np.ndarray, "p d"], sign: Any) -> Half:
        """A layer from its logarithm; `sign` is that of u^L, zero where u is."""
        depth = self.depth
        power = np.exp(depth * log) * sign
        value, slope, bend = self.truncation(power)
        speed = 0.5 * sign * (np.exp((depth - 2) * log) if depth > 2 else 1.0)
        pace = (depth - 2) * slope if np.ndim(bend) == 0 else (depth - 2) * slope + depth * power * bend
        return Half(value / depth, power * slope, speed * slope, speed * pace)

    def state(self, x: Float[np.ndarray, "p m"]) -> State:
        """The weights and both layers from x = (a, b)."""
        d = x.shape[1] // 2
        u, v = self.half(x[:, :d], self.u_sign), self.half(x[:, d:], self.v_sign)
        return State(u.value - v.value, u, v)

    def squares(self, x: Float[np.ndarray, "p m"]) -> Float[np.ndarray, "p m"]:
        """u² and v², entry by entry."""
        d = x.shape[1] // 2
        grown = np.exp(2 * x)
        grown[:, :d] *= np.abs(self.u_sign)
        grown[:, d:] *= np.abs(self.v_sign)
        return grown
