r"""The mirror map of a diagonal network, at every depth, without loss of digits.

A network of depth \(L\) moves along \(w = h(\Phi)\) with \(\Phi = -\int g\) [eq:mirror].
Both \(w\) and \(\Phi\) are explicit in one real coordinate \(s\), with \(c = (L-2)/L\):

\[ w = \tfrac{2\alpha^L}{L}\,\sinh s\,\cosh(cs)^{1/c}, \qquad
   \Phi = \tfrac{2\alpha^{2-L}}{L}\,\tfrac{\tanh cs}{c}, \qquad
   \kappa = \tfrac{dw}{d\Phi} = \alpha^{2L-2}\cosh((1+c)s)\,\cosh(cs)^{(1+c)/c} \]

[eq:mirror_coordinate]. At depth 2, \(c = 0\) and \(s = \Phi\). Nothing cancels, at small
\(w\) or at the end of the interval of \(\Phi\), where \(\Phi\) itself has no digits left.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from dynafield.numerics.library import library
from dynafield.numerics.roots import bracketed_newton, followed

__all__ = ["MirrorMap", "log_cosh"]


def log_cosh(x: Any) -> Any:
    """log cosh x, with small relative error at small x and no overflow at large x."""
    lib = library(x)
    size = lib.abs(x)
    near = lib.minimum(size, 1.0)
    small = lib.log1p(2.0 * lib.sinh(0.5 * near) ** 2)
    large = size + lib.log1p(lib.exp(-2.0 * size)) - np.log(2.0)
    return lib.where(size < 1.0, small, large)


class MirrorMap(eqx.Module):
    """The curve (w, Φ, κ) of a diagonal network of given scale and depth, as a function of s."""

    alpha: Float[ArrayLike, "*b"]
    depth: int = eqx.field(static=True)

    @property
    def c(self) -> float:
        """(L - 2) / L, zero at depth 2 and below one."""
        return (self.depth - 2) / self.depth

    def power(self, exponent: int, *beside: Any) -> Any:
        """α to a power, for use beside other arrays."""
        return library(self.alpha, *beside).asarray(self.alpha, dtype=float) ** exponent

    @property
    def slope_at_zero(self) -> Any:
        r"""\(\kappa(0) = \alpha^{2L-2}\), the smallest slope."""
        return self.power(2 * self.depth - 2)

    def weight(self, s: Any) -> Any:
        """w(s)."""
        lib = library(self.alpha, s)
        scale = 2.0 / self.depth * self.power(self.depth, s)
        if self.depth == 2:
            return scale * lib.sinh(s)
        return scale * lib.sinh(s) * lib.exp(log_cosh(self.c * s) / self.c)

    def dual(self, s: Any) -> Any:
        """Φ(s)."""
        if self.depth == 2:
            return s
        scale = 2.0 / self.depth * self.power(2 - self.depth, s)
        return scale * library(self.alpha, s).tanh(self.c * s) / self.c

    def dual_slope(self, s: Any) -> Any:
        """dΦ/ds."""
        lib = library(self.alpha, s)
        if self.depth == 2:
            return lib.ones_like(s)
        scale = 2.0 / self.depth * self.power(2 - self.depth, s)
        return scale * lib.exp(-2.0 * log_cosh(self.c * s))

    def log_slope_ratio(self, s: Any) -> Any:
        """log(κ(s) / κ(0)), with small relative error at small s."""
        if self.depth == 2:
            return log_cosh(s)
        return log_cosh((1 + self.c) * s) + (1 + self.c) / self.c * log_cosh(self.c * s)

    def log_slope(self, s: Any) -> Any:
        """log κ(s): ratios of slopes by their logarithms neither under- nor overflow."""
        lib = library(self.alpha, s)
        return (2 * self.depth - 2) * lib.log(self.power(1, s)) + self.log_slope_ratio(s)

    def slope(self, s: Any) -> Any:
        """κ(s) = dw/dΦ."""
        lib = library(self.alpha, s)
        scale = self.power(2 * self.depth - 2, s)
        if self.depth == 2:
            return scale * lib.cosh(s)
        return scale * lib.exp(self.log_slope_ratio(s))

    def coordinate_of_dual(self, dual: Any) -> Any:
        """s(Φ); NaN outside the interval of Φ."""
        if self.depth == 2:
            return dual
        scale = 0.5 * self.depth * self.power(self.depth - 2, dual)
        return library(self.alpha, dual).arctanh(self.c * scale * dual) / self.c

    def coordinate_bound(self, weight: Any) -> Any:
        r"""An explicit coordinate at or beyond s(w) for w ≥ 0, exact at depth 2.

        From \(\cosh(cs)^{1/c} \geq \max(1, 2^{-1/c}e^s)\).
        """
        lib = library(self.alpha, weight)
        scale = 2.0 / self.depth * self.power(self.depth, weight)
        bound = lib.arcsinh(weight / scale)
        if self.depth == 2:
            return bound
        return lib.minimum(bound, 0.5 * lib.log1p(2.0 ** (1 + 1 / self.c) * weight / scale))

    def coordinate_of_weight(self, weight: Any) -> Any:
        """s(w): differentiable in w and α."""
        lib = library(self.alpha, weight)
        if self.depth == 2:
            return lib.arcsinh(weight / self.power(2, weight))
        mirror, target = (self, lib.abs(weight))
        if lib is jnp:
            mirror, target = jax.lax.stop_gradient((mirror, target))
        top = mirror.coordinate_bound(target)

        def excess(s, _):
            value = mirror.weight(s)
            return value - target, mirror.slope(s) * mirror.dual_slope(s), None

        s, _, _ = bracketed_newton(excess, -lib.ones_like(top), top + 1.0, 0.5 * top)
        s = lib.sign(weight) * s
        if lib is np:
            return s - (self.weight(s) - weight) / (self.slope(s) * self.dual_slope(s))
        return self.follow_weight(s, weight)

    def follow_weight(self, s: Float[Array, "*s"], weight: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """s(w) from its known value, with its derivatives in w and α."""
        s, step = jax.lax.stop_gradient((s, self.slope(s) * self.dual_slope(s)))
        s = s - jax.lax.stop_gradient(self.weight(s) - weight) / step
        return followed(lambda s: self.weight(s) - weight, s, step)
