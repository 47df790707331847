"""Diagonal linear networks."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from dynafield.errors import InputError
from dynafield.problem.checks import concrete, integer, real
from dynafield.problem.mirror import MirrorMap, log_cosh

__all__ = ["DiagonalNetwork"]

LOG_RANGE = 300 * np.log(10)
"""α^(2L-2) is kept within 1e±300."""


class DiagonalNetwork(eqx.Module):
    r"""\(w = (u^L - v^L)/L\), \(u(0) = v(0) = \alpha\), weight decay λ [eq:dln, eq:loss].

    Training moves it along its mirror map, \(w(t) = e^{-\lambda L t/2}\, h(\Phi(t))\)
    with \(\Phi' = -e^{-\lambda(L-2)t/2} g\) [eq:mirror]. `alpha` and `lam` may be arrays
    and JAX values; `depth` is one integer.
    """

    alpha: Any
    lam: Any
    depth: int = eqx.field(static=True)

    def __init__(self, alpha: Any, lam: Any = 0.0, depth: Any = 2):
        self.alpha = real("alpha", alpha, lambda x: x > 0, "finite and > 0")
        self.lam = real("lam", lam, lambda x: x >= 0, "finite and ≥ 0")
        self.depth = integer("depth", depth, 2)
        scale = concrete(self.alpha)
        if scale is not None:
            power = np.max(np.abs((2 * self.depth - 2) * np.log(scale)))
            if power > LOG_RANGE:
                worst = scale.flat[np.argmax(np.abs(np.log(scale)))]
                raise InputError(
                    f"alpha and depth must keep alpha**(2*depth - 2) within 1e±300, "
                    f"got alpha={worst:g}, depth={self.depth}"
                )

    @property
    def curve(self) -> MirrorMap:
        """The mirror map by its coordinate s, in which no digits are lost."""
        return MirrorMap(self.alpha, self.depth)

    def mirror(self, dual: Float[ArrayLike, "..."], t: Any = 0.0) -> Float[Array, "..."]:
        r"""\(w = e^{-\lambda L t/2}\, h(\Phi)\); NaN outside the interval of Φ (depth ≥ 3)."""
        s, decay = self.curve.coordinate_of_dual(jnp.asarray(dual, float)), self.decay(t)
        if self.depth == 2:  # each exponential with its decay: neither part alone is in range
            alpha2 = jnp.asarray(self.alpha, float) ** 2
            grown = 0.5 * alpha2 * (jnp.exp(s + decay) - jnp.exp(-s + decay))
            return jnp.where(jnp.abs(s) < 1.0, alpha2 * jnp.sinh(s) * jnp.exp(decay), grown)
        return self.curve.weight(s) * jnp.exp(decay)

    def mirror_slope(self, dual: Float[ArrayLike, "..."], t: Any = 0.0) -> Float[Array, "..."]:
        r"""\(\partial w / \partial \Phi = e^{-\lambda L t/2}\, h'(\Phi)\)."""
        s = self.curve.coordinate_of_dual(jnp.asarray(dual, float))
        ratio = log_cosh(s) if self.depth == 2 else self.curve.log_slope_ratio(s)
        return self.curve.slope_at_zero * jnp.exp(ratio + self.decay(t))

    def mirror_inverse(self, weight: Float[ArrayLike, "..."], t: Any = 0.0) -> Float[Array, "..."]:
        r"""Φ of w. At depth ≥ 3 large weights crowd at the end of its interval: two of them may
        share a Φ in double precision. Work with w, or with `curve`, where that matters."""
        grown = jnp.asarray(weight, float) * jnp.exp(-self.decay(t))
        return self.curve.dual(self.curve.coordinate_of_weight(grown))

    def slope_of_weight(self, weight: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
        r"""κ as a function of w at t = 0, \(\sqrt{w^2+\alpha^4}\) at depth 2, right for all w."""
        return self.curve.slope(self.curve.coordinate_of_weight(jnp.asarray(weight, float)))

    def decay(self, t: Any) -> Array:
        r"""\(-\lambda L t / 2\)."""
        return -0.5 * jnp.asarray(self.lam, float) * self.depth * jnp.asarray(t, float)
