r"""The mirror map of a diagonal network, at every depth, without loss of digits.

A network of depth \(L\) moves along \(w = h(\Phi)\) with \(\Phi = -\int g\) [eq:mirror].
Both \(w\) and \(\Phi\) are explicit in one real coordinate \(s\), with \(c = (L-2)/L\):

\[ w = \tfrac{2\alpha^L}{L}\,\sinh s\,\cosh(cs)^{1/c}, \qquad
   \Phi = \tfrac{2\alpha^{2-L}}{L}\,\tfrac{\tanh cs}{c}, \qquad
   \kappa = \tfrac{dw}{d\Phi} = \alpha^{2L-2}\cosh((1+c)s)\,\cosh(cs)^{(1+c)/c} \]

[eq:mirror_coordinate]. At depth 2, \(c = 0\) and \(s = \Phi\). Nothing cancels, at small
\(w\) or at the end of the interval of \(\Phi\), where \(\Phi\) itself has no digits left.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from dynafield.numerics.roots import bracketed_newton

__all__ = ["MirrorMap"]


def log_cosh(x: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """log cosh x, with small relative error at small x and no overflow at large x."""
    size = jnp.abs(x)
    near = jnp.minimum(size, 1.0)
    small = jnp.log1p(2.0 * jnp.sinh(0.5 * near) ** 2)
    large = size + jnp.log1p(jnp.exp(-2.0 * size)) - jnp.log(2.0)
    return jnp.where(size < 1.0, small, large)


class MirrorMap(eqx.Module):
    """The curve (w, Φ, κ) of a diagonal network of given scale and depth, by s."""

    alpha: Float[ArrayLike, "*b"]
    depth: int = eqx.field(static=True)

    @property
    def c(self) -> float:
        """(L - 2) / L, zero at depth 2 and below one."""
        return (self.depth - 2) / self.depth

    @property
    def slope_at_zero(self) -> Array:
        r"""\(\kappa(0) = \alpha^{2L-2}\), the smallest slope."""
        return jnp.asarray(self.alpha, float) ** (2 * self.depth - 2)

    def weight(self, s: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """w(s)."""
        scale = 2.0 / self.depth * jnp.asarray(self.alpha, float) ** self.depth
        if self.depth == 2:
            return scale * jnp.sinh(s)
        return scale * jnp.sinh(s) * jnp.exp(log_cosh(self.c * s) / self.c)

    def dual(self, s: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Φ(s)."""
        if self.depth == 2:
            return s
        scale = 2.0 / self.depth * jnp.asarray(self.alpha, float) ** (2 - self.depth)
        return scale * jnp.tanh(self.c * s) / self.c

    def dual_slope(self, s: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """dΦ/ds."""
        if self.depth == 2:
            return jnp.ones_like(s)
        scale = 2.0 / self.depth * jnp.asarray(self.alpha, float) ** (2 - self.depth)
        return scale * jnp.exp(-2.0 * log_cosh(self.c * s))

    def log_slope_ratio(self, s: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """log(κ(s) / κ(0)), with small relative error at small s."""
        if self.depth == 2:
            return log_cosh(s)
        return log_cosh((1 + self.c) * s) + (1 + self.c) / self.c * log_cosh(self.c * s)

    def log_slope(self, s: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """log κ(s): ratios of slopes by their logarithms neither under- nor overflow."""
        return (2 * self.depth - 2) * jnp.log(self.alpha) + self.log_slope_ratio(s)

    def slope(self, s: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """κ(s) = dw/dΦ."""
        if self.depth == 2:
            return self.slope_at_zero * jnp.cosh(s)
        return self.slope_at_zero * jnp.exp(self.log_slope_ratio(s))

    def coordinate_of_dual(self, dual: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """s(Φ); NaN outside the interval of Φ."""
        if self.depth == 2:
            return dual
        scale = 0.5 * self.depth * jnp.asarray(self.alpha, float) ** (self.depth - 2)
        return jnp.arctanh(self.c * scale * dual) / self.c

    def coordinate_bound(self, weight: Float[Array, "*s"]) -> Float[Array, "*s"]:
        r"""An explicit coordinate at or beyond s(w) for w ≥ 0, exact at depth 2.

        From \(\cosh(cs)^{1/c} \geq \max(1, 2^{-1/c}e^s)\).
        """
        scale = 2.0 / self.depth * jnp.asarray(self.alpha, float) ** self.depth
        bound = jnp.arcsinh(weight / scale)
        if self.depth == 2:
            return bound
        return jnp.minimum(bound, 0.5 * jnp.log1p(2.0 ** (1 + 1 / self.c) * weight / scale))

    def coordinate_of_weight(self, weight: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """s(w): differentiable in w and α."""
        if self.depth == 2:
            return jnp.arcsinh(weight / jnp.asarray(self.alpha, float) ** 2)
        mirror, target = jax.lax.stop_gradient((self, jnp.abs(weight)))
        top = mirror.coordinate_bound(target)

        def excess(s, _):
            value = mirror.weight(s)
            return value - target, mirror.slope(s) * mirror.dual_slope(s), None

        s, _, _ = bracketed_newton(excess, -jnp.ones_like(top), top + 1.0, 0.5 * top)
        return self.follow_weight(jnp.sign(weight) * s, weight)

    def follow_weight(self, s: Float[Array, "*s"], weight: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """s(w) from its known value, with its derivatives in w and α."""
        s = jax.lax.stop_gradient(s)
        step = jax.lax.stop_gradient(self.slope(s) * self.dual_slope(s))
        return s - (self.weight(s) - weight) / step
