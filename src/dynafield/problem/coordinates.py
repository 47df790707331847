"""Coordinates in which gradient flow of a diagonal network is linear in its gradient [eq:dmft_layers]."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from dynafield.problem.laws import RowLaw
from dynafield.problem.model import SquaredLoss

__all__ = ["Deep", "DeepLayers", "DeepMirrorPath", "Diagonal", "MirrorPath"]

STRIDE = 2.0
"""Largest change of log u², log v² in one Newton step at depth 2."""
SHRINK = 0.25
"""Smallest factor of u^(2-L), v^(2-L) in one Newton step at depth ≥ 3, where they must stay positive."""
STEEPEST = 1.5
"""Largest growth of u^(2-L) in a block, as an exponent."""


class Diagonal(SquaredLoss):
    """A diagonal network, in any coordinates."""

    alpha: eqx.AbstractVar[Any]
    lam: eqx.AbstractVar[Any]

    @property
    def channels(self) -> tuple[int, ...]:
        """One channel."""
        return ()

    @property
    def odd(self) -> bool:
        """Exchanging u and v changes the sign of w."""
        return True

    @property
    def multiplicative(self) -> bool:
        """Layers grow by factors."""
        return True

    def numbers(self) -> dict[str, Any]:
        """The numbers of the network, which may be arrays, by name."""
        return {"alpha": self.alpha, "lam": self.lam}

    @property
    def name(self) -> str:
        """The network in a few words."""
        return repr(self)


class MirrorCoordinate(Diagonal):
    """A diagonal network by coordinates that are linear in its gradient [eq:dmft_layers]."""

    alpha: eqx.AbstractVar[Any]
    lam: eqx.AbstractVar[Any]

    @abc.abstractmethod
    def squares(self, theta: Any, t: Any) -> tuple[Any, Any]:
        """u² and v²."""

    def penalty(self, theta: Any, t: Any = 0.0) -> Any:
        """λ(u² + v²)/2 [eq:loss]."""
        u2, v2 = self.squares(theta, t)
        return 0.5 * self.lam * (u2 + v2)


class MirrorPath(MirrorCoordinate):
    r"""Depth 2: \(\psi' = -g\), \(u^2 = \alpha^2e^{\psi-\lambda t}\), \(v^2 = \alpha^2e^{-\psi-\lambda
    t}\)."""

    alpha: Any
    lam: Any

    @property
    def state_shape(self) -> tuple[int, ...]:
        """The shape of ψ, one number."""
        return ()

    def squares(self, theta: Any, t: Any) -> tuple[Any, Any]:
        """u² and v², each exponential with its decay."""
        scale = self.alpha**2
        return scale * jnp.exp(theta - self.lam * t), scale * jnp.exp(-theta - self.lam * t)

    def w(self, theta: Any, t: Any = 0.0) -> Any:
        """(u² - v²)/2."""
        u2, v2 = self.squares(theta, t)
        return 0.5 * (u2 - v2)

    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """Minus the gradient."""
        return -g

    def admissible(self, step: Any, theta: Any) -> Any:
        """Layers change by a factor e at most."""
        return jnp.clip(step, -STRIDE, STRIDE)


class Deep(MirrorCoordinate):
    """Depth L ≥ 3: what the two coordinates have in common."""

    alpha: eqx.AbstractVar[Any]
    lam: eqx.AbstractVar[Any]
    depth: eqx.AbstractVar[int]

    @abc.abstractmethod
    def reciprocals(self, theta: Any, t: Any) -> tuple[Any, Any]:
        """u^(2-L) and v^(2-L)."""

    @property
    def rate(self) -> Any:
        """μ, the rate at which u^(2-L) and v^(2-L) grow."""
        return 0.5 * self.lam * (self.depth - 2)

    def squares(self, theta: Any, t: Any) -> tuple[Any, Any]:
        """u² and v²."""
        u, v = (power(x, -2, self.depth - 2) for x in self.reciprocals(theta, t))
        return u, v

    def w(self, theta: Any, t: Any = 0.0) -> Any:
        """(u^L - v^L)/L."""
        u, v = (power(x, -self.depth, self.depth - 2) for x in self.reciprocals(theta, t))
        return (u - v) / self.depth

    def longest_block(self) -> float:
        """The length of time beyond which the integration rule does not resolve growth and decay."""
        growth = float(np.max(np.asarray(self.rate, float)))
        return STEEPEST / growth if growth > 0 else np.inf


def power(x: Any, above: int, below: int) -> Any:
    """x^(above/below), by products where the power is a whole number."""
    return x ** (above // below) if above % below == 0 else x ** (above / below)


class DeepMirrorPath(Deep):
    r"""Depth L ≥ 3 by \(\psi' = \tfrac{L-2}2g/c\), \(c = \alpha^{2-L}e^{\mu t}\).

    \(u^{2-L} = c(1+\psi)\), \(v^{2-L} = c(1-\psi)\): their sum 2c is known.
    """

    alpha: Any
    lam: Any
    depth: int = eqx.field(static=True)

    @property
    def state_shape(self) -> tuple[int, ...]:
        """The shape of ψ, one number."""
        return ()

    def scale(self, t: Any) -> Any:
        """The scale c(t)."""
        return self.alpha ** (2 - self.depth) * jnp.exp(self.rate * t)

    def reciprocals(self, theta: Any, t: Any) -> tuple[Any, Any]:
        """u^(2-L) and v^(2-L)."""
        return self.scale(t) * (1.0 + theta), self.scale(t) * (1.0 - theta)

    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """The gradient times a factor that decreases with weight decay."""
        return 0.5 * (self.depth - 2) * g / self.scale(t)

    def admissible(self, step: Any, theta: Any) -> Any:
        """ψ stays between -1 and 1."""
        return jnp.clip(step, -(1.0 - SHRINK) * (1.0 + theta), (1.0 - SHRINK) * (1.0 - theta))


class DeepLayers(Deep):
    r"""Depth L ≥ 3 by \(\theta = (u^{2-L}, v^{2-L})\), \(\theta' = \tfrac{L-2}2(\pm g + \lambda\theta)\).

    Used at times at which ψ would be ±1 in double precision.
    """

    alpha: Any
    lam: Any
    depth: int = eqx.field(static=True)

    @property
    def state_shape(self) -> tuple[int, ...]:
        """Two numbers, one for each layer."""
        return (2,)

    @property
    def start(self) -> RowLaw:
        """u = v = α."""
        first = np.asarray(self.alpha, float) ** (2 - self.depth)
        return RowLaw((2,), 0, lambda normals, *_: np.full((len(normals), 2), first))

    def reciprocals(self, theta: Any, t: Any) -> tuple[Any, Any]:
        """u^(2-L) and v^(2-L)."""
        return theta[0], theta[1]

    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """Linear in the gradient and in θ."""
        return 0.5 * (self.depth - 2) * (g * jnp.array([1.0, -1.0]) + self.lam * theta)

    def admissible(self, step: Any, theta: Any) -> Any:
        """θ stays positive."""
        return jnp.maximum(step, -(1.0 - SHRINK) * theta)
