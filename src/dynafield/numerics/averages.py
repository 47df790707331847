r"""Averages over a Gaussian seen through a steep monotone curve.

\(E[F(s)]\) where \(y(s) = m + tG\), \(G \sim N(0,1)\), and \(y\) is odd, increasing and
analytic but may rise exponentially, so that \(s(G)\) bends sharply. In the variable
\(x = s + G\) both ends are tame: where the curve is flat \(s\) sets the pace, where it is
steep \(G\) does. The integrand is analytic in a strip around the real \(x\) axis and
vanishes at both ends, so the trapezoidal rule converges exponentially
[eq:adapted_average]: step 0.6 leaves an error near 1e-14.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynafield.numerics.library import library
from dynafield.numerics.roots import bracketed_newton

__all__ = ["REACH", "Curve", "Nodes", "adapted_nodes", "invert", "quadrature_error"]

REACH = 8.8
"""Standard deviations covered on each side: the tails left out weigh 1.4e-18."""


class Curve(NamedTuple):
    """An odd increasing curve y(s), with its slope and a bound s(y) ≤ bound(y) for y ≥ 0."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    bound: Callable[[Array], Array]


class Nodes(NamedTuple):
    """A quadrature rule: coordinates s, normals G, weights (their sum is 1 when resolved)."""

    s: Float[Array, "*c node"]
    normal: Float[Array, "*c node"]
    weight: Float[Array, "*c node"]


def invert(curve: Curve, pace: Callable, strength, target, core=None):
    """s with `y(s) + strength * pace(s) = target`, element by element, by oddness on s ≥ 0.

    `core` is the scale at which a pace bends: asinh(s/core) ≤ target/strength bounds s there, far below y.
    """
    lib = library(target)
    size = lib.abs(target)

    def excess(s, _):
        value, slope = pace(s)
        total = curve.value(s) + strength * value - size
        return total, curve.slope(s) + strength * slope, None

    top = curve.bound(size)
    if core is not None:
        wide = strength > 0
        near = core * lib.sinh(size / lib.where(wide, strength, 1.0))
        top = lib.minimum(top, lib.where(wide, near, lib.inf))
    s, _, _ = bracketed_newton(excess, -lib.ones_like(top), top + 1.0, top)
    return lib.sign(target) * s


def adapted_nodes(
    curve: Curve,
    mean: Float[Array, "*c"],
    std: Float[Array, "*c"],
    count: int,
    core: Float[Array, ""] | None = None,
    reach: float = REACH,
) -> Nodes:
    r"""Nodes for \(E[F(s)]\), \(y(s) = m + tG\); any number of (m, t) at once, t = 0 included.

    `core` asks for more nodes around s = 0, down to that scale, for integrands with a pole
    at \(s \approx \pm i\,\mathrm{core}\): the variable is then
    \(x = s + \operatorname{asinh}(s/\mathrm{core}) + G\).
    """

    def pace(s):
        if core is None:
            return s, jnp.ones_like(s)
        return s + jnp.arcsinh(s / core), 1.0 + 1.0 / jnp.sqrt(core**2 + s**2)

    top = pace(curve.bound(jnp.maximum(mean + reach * std, 0.0)))[0]
    bottom = pace(curve.bound(jnp.maximum(reach * std - mean, 0.0)))[0]
    low, high = -bottom - reach, top + reach
    step = ((high - low) / (count - 1))[..., None]
    x = low[..., None] + step * jnp.arange(count)
    mean, std = mean[..., None], std[..., None]
    s = invert(curve, pace, std, mean + std * x, core)
    value, slope = pace(s)
    normal = x - value
    rate = 1.0 / (1.0 + std * slope / curve.slope(s))  # dG/dx
    density = jnp.exp(-0.5 * normal**2) / jnp.sqrt(2.0 * jnp.pi)
    return Nodes(s, normal, density * rate * step)


def quadrature_error(weight: Float[Array, "*c node"], values: list[Array]) -> Float[Array, ""]:
    """Estimated error of the averages of `values`, relative to those of their sizes.

    Every third node is a rule of three times the step, and the error of an exponentially
    convergent rule is cubed when its step is cut to a third. The three such rules see the
    integrand at three phases, so that no error hides between the nodes of all of them.
    """
    terms = jnp.stack([weight * v for v in (jnp.ones_like(weight), *values)])
    axes = tuple(range(1, terms.ndim))
    fine, size = jnp.sum(terms, axes), jnp.sum(jnp.abs(terms), axes)
    coarse = jnp.stack([3.0 * jnp.sum(terms[..., k::3], axes) for k in range(3)])
    gap = jnp.abs(coarse - fine) / jnp.where(size > 0, size, 1.0)
    return jnp.maximum(jnp.max(gap) ** 3, jnp.abs(fine[0] - 1.0))
