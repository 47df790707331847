"""Diagonal linear networks."""

import abc
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from dynafield.errors import InputError
from dynafield.problem.checks import LARGEST, at_most, concrete, in_range, integer, one_real, real
from dynafield.problem.coordinates import DeepLayers, DeepMirrorPath, Diagonal, MirrorPath
from dynafield.problem.laws import RowLaw
from dynafield.problem.mirror import MirrorMap, log_cosh
from dynafield.problem.model import Model

__all__ = ["DiagonalNetwork", "Network", "TruncatedDiagonalNetwork", "layer", "truncated"]

FARTHEST = 1e8
"""Largest u^(2-L) + v^(2-L) whose parts are known by their difference alone, to eight digits or more."""
DEEPEST = 1_000_000
"""Most layers."""
LOG_RANGE = 300 * np.log(10)
"""α^(2L-2) is kept within 1e±300."""


class Network(Diagonal):
    r"""A network \(w = (\eta(u^L) - \eta(v^L))/L\), entry by entry, trained on squared residuals; θ = (u, v).

    A network of your own has the fields `alpha`, `lam` and `depth` and the property `truncation`.
    """

    alpha: eqx.AbstractVar[Any]
    lam: eqx.AbstractVar[Any]
    depth: eqx.AbstractVar[int]

    @property
    def state_shape(self) -> tuple[int, ...]:
        """u and v."""
        return (2,)

    @property
    @abc.abstractmethod
    def truncation(self) -> Callable[[Any], tuple[Any, Any, Any]]:
        r"""The function \(x \mapsto (\eta(x), \eta'(x), \eta''(x))\), for NumPy and JAX arrays."""

    @property
    def start(self) -> RowLaw:
        """u = v = α."""
        return RowLaw((2,), 0, lambda normals, *_: np.full((len(normals), 2), self.alpha))

    def w(self, theta: Any, t: Any = 0.0) -> Any:
        r"""\((\eta(u^L) - \eta(v^L))/L\) [eq:dln]."""
        u, v = theta
        return (
            layer(self.truncation, self.depth, u)[0] - layer(self.truncation, self.depth, v)[0]
        ) / self.depth

    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """Velocity of (u, v): minus the gradient, with weight decay [eq:gf_truncated_dln]."""
        u, v = theta
        return -0.5 * jnp.stack(
            [
                layer(self.truncation, self.depth, u)[1] * g + self.lam * u,
                -layer(self.truncation, self.depth, v)[1] * g + self.lam * v,
            ]
        )

    def penalty(self, theta: Any, t: Any = 0.0) -> Any:
        """λ(u² + v²)/2 [eq:loss]."""
        return 0.5 * self.lam * jnp.sum(theta**2)


def checked(alpha: Any, lam: Any, depth: Any) -> tuple[Any, Any, int]:
    """Initial scale, weight decay and depth, or InputError."""
    alpha = real("alpha", alpha, lambda x: x > 0, "finite and > 0")
    lam = in_range("lam", real("lam", lam, lambda x: x >= 0, "finite and ≥ 0"), 1 / LARGEST)
    depth = at_most("depth", integer("depth", depth, 2), DEEPEST)
    scale = concrete(alpha)
    if scale is not None:
        power = np.max(np.abs((2 * depth - 2) * np.log(scale)))
        if power > LOG_RANGE:
            worst = scale.flat[np.argmax(np.abs(np.log(scale)))]
            raise InputError(
                f"alpha and depth must keep alpha**(2*depth - 2) within 1e±300, "
                f"got alpha={worst:g}, depth={depth}"
            )
    return alpha, lam, depth


class DiagonalNetwork(Network):
    r"""The network \(w = (u^L - v^L)/L\), \(u(0) = v(0) = \alpha\), weight decay λ [eq:dln, eq:loss].

    Training moves it along its mirror map, \(w(t) = e^{-\lambda L t/2}\, h(\Phi(t))\)
    with \(\Phi' = -e^{-\lambda(L-2)t/2} g\) [eq:mirror].

    Parameters
    ----------
    alpha : number or array over parameter axes
        Initial scale α > 0 of all layers. Arrays broadcast with the numbers of the task; JAX values can be
        differentiated.
    lam : number or array over parameter axes, default 0
        Weight decay λ ≥ 0 [eq:loss].
    depth : int, default 2
        Number of layers L ≥ 2.

    Raises
    ------
    InputError
        If a number is out of range, or α^(2L-2) is beyond 1e±300.

    Examples
    --------
    >>> net = DiagonalNetwork(alpha=0.1, lam=0.01)
    """

    alpha: Any
    lam: Any
    depth: int = eqx.field(static=True)

    def __init__(self, alpha: Any, lam: Any = 0.0, depth: Any = 2):
        self.alpha, self.lam, self.depth = checked(alpha, lam, depth)

    @property
    def truncation(self) -> Callable[[Any], tuple[Any, Any, Any]]:
        """The identity: nothing is truncated."""
        return untruncated

    def in_flow(self, t_max: float) -> Model:
        """The same network in its mirror coordinate, as long as that keeps enough digits.

        The mirror coordinate moves with the gradient alone.
        """
        if self.depth == 2:
            return MirrorPath(self.alpha, self.lam)
        alpha, lam = (np.asarray(x, float) for x in (self.alpha, self.lam))
        grown = (self.depth - 2) * (0.5 * lam * t_max - np.log(alpha))
        kind = DeepMirrorPath if np.max(grown) < np.log(FARTHEST) else DeepLayers
        return kind(self.alpha, self.lam, self.depth)

    @property
    def curve(self) -> MirrorMap:
        """The mirror map as a curve of its coordinate s, in which no digits are lost."""
        return MirrorMap(self.alpha, self.depth)

    def mirror(self, dual: Float[ArrayLike, "..."], t: Any = 0.0) -> Float[Array, "..."]:
        r"""The weight \(w = e^{-\lambda L t/2}\, h(\Phi)\).

        Parameters
        ----------
        dual : array
            Φ, of any shape that broadcasts with α and λ.
        t : number or array, default 0
            Training time.

        Returns
        -------
        array
            w; NaN where Φ lies outside its interval (depth ≥ 3).
        """
        s, decay = self.curve.coordinate_of_dual(jnp.asarray(dual, float)), self.decay(t)
        if self.depth == 2:  # each exponential with its decay: neither part alone is in range
            alpha2 = jnp.asarray(self.alpha, float) ** 2
            grown = 0.5 * alpha2 * (jnp.exp(s + decay) - jnp.exp(-s + decay))
            return jnp.where(jnp.abs(s) < 1.0, alpha2 * jnp.sinh(s) * jnp.exp(decay), grown)
        return self.curve.weight(s) * jnp.exp(decay)

    def mirror_slope(self, dual: Float[ArrayLike, "..."], t: Any = 0.0) -> Float[Array, "..."]:
        r"""The slope \(\partial w / \partial \Phi = e^{-\lambda L t/2}\, h'(\Phi)\).

        Parameters
        ----------
        dual : array
            Φ, of any shape that broadcasts with α and λ.
        t : number or array, default 0
            Training time.

        Returns
        -------
        array
            Slopes.
        """
        s = self.curve.coordinate_of_dual(jnp.asarray(dual, float))
        ratio = log_cosh(s) if self.depth == 2 else self.curve.log_slope_ratio(s)
        return self.curve.slope_at_zero * jnp.exp(ratio + self.decay(t))

    def mirror_inverse(self, weight: Float[ArrayLike, "..."], t: Any = 0.0) -> Float[Array, "..."]:
        """Φ as a function of the weight.

        At depth ≥ 3 large weights lie close to the limit of the interval of Φ: two of them may have the same
        Φ in double precision. Work with w, or with `curve`, where that matters.

        Parameters
        ----------
        weight : array
            w, of any shape that broadcasts with α and λ.
        t : number or array, default 0
            Training time.

        Returns
        -------
        array
            Φ.
        """
        grown = jnp.asarray(weight, float) * jnp.exp(-self.decay(t))
        return self.curve.dual(self.curve.coordinate_of_weight(grown))

    def slope_of_weight(self, weight: Float[ArrayLike, "..."]) -> Float[Array, "..."]:
        r"""κ as a function of w at t = 0, \(\sqrt{w^2+\alpha^4}\) at depth 2; no digits are lost at any w.

        Parameters
        ----------
        weight : array
            w, of any shape that broadcasts with α.

        Returns
        -------
        array
            κ = dw/dΦ.
        """
        return self.curve.slope(self.curve.coordinate_of_weight(jnp.asarray(weight, float)))

    def decay(self, t: Any) -> Array:
        r"""The exponent \(-\lambda L t / 2\) of the decay of w.

        Parameters
        ----------
        t : number or array
            Training time.

        Returns
        -------
        array
            Exponents, over the shape of λ and t.
        """
        return -0.5 * jnp.asarray(self.lam, float) * self.depth * jnp.asarray(t, float)


class TruncatedDiagonalNetwork(Network):
    r"""The truncated network \(w = (\eta_M(u^L) - \eta_M(v^L))/L\) of the paper [eq:gf_truncated_dln].

    \(\eta_M(x) = (1 - \eta(|x| - M))\,x\) with the smooth step η from 0 to 1 on [0, 1], so
    that nothing changes while \(|u|^L, |v|^L \leq M\), and \(\eta_M = 0\) beyond M + 1.

    Parameters
    ----------
    alpha : number or array over parameter axes
        Initial scale α > 0 of all layers.
    lam : number or array over parameter axes, default 0
        Weight decay λ ≥ 0.
    depth : int, default 2
        Number of layers L ≥ 2.
    M : float, default 10
        Bound of the layers' products, > 0.
    """

    alpha: Any
    lam: Any
    depth: int = eqx.field(static=True)
    M: Any

    def __init__(self, alpha: Any, lam: Any = 0.0, depth: Any = 2, M: Any = 10.0):
        self.alpha, self.lam, self.depth = checked(alpha, lam, depth)
        self.M = one_real("M", M, lambda x: x > 0, "one finite number > 0")

    @property
    def truncation(self) -> Callable[[Any], tuple[Any, Any, Any]]:
        r"""\(\eta_M\) and its derivatives."""
        return functools.partial(truncated, self.M)


def layer(truncation: Callable[[Any], tuple[Any, Any, Any]], depth: int, x: Any) -> tuple[Any, Any]:
    r"""\(\eta(x^L)\), a layer's part of Lw, and \(x^{L-1}\eta'(x^L)\), by which the gradient acts on it."""
    value, slope, _ = truncation(x**depth)
    return value, x ** (depth - 1) * slope


def untruncated(x: Any) -> tuple[Any, Any, Any]:
    """The identity and its derivatives."""
    return x, 1.0, 0.0


def truncated(M: Any, x: Any) -> tuple[Any, Any, Any]:
    r"""\(\eta_M(x)\), \(\eta_M'(x)\), \(\eta_M''(x)\)."""
    lib = x.__array_namespace__()
    size, sign = lib.abs(x), lib.sign(x)
    step, slope, bend = smooth_step(size - M)
    return (1.0 - step) * x, 1.0 - step - size * slope, -sign * (2.0 * slope + size * bend)


def smooth_step(t: Any) -> tuple[Any, Any, Any]:
    r"""\(\eta(t) = 1/(1 + e^{1/t - 1/(1-t)})\), from 0 at t ≤ 0 to 1 at t ≥ 1, and two derivatives."""
    lib = t.__array_namespace__()
    inside = lib.clip(t, 0.002, 0.998)  # beyond, η differs from 0 or 1 by less than 1e-200
    phase = 1.0 / (1.0 - inside) - 1.0 / inside
    slope = (1.0 - inside) ** -2 + inside**-2
    bend = 2.0 * (1.0 - inside) ** -3 - 2.0 * inside**-3
    step = 1.0 / (1.0 + lib.exp(-phase))
    rest = 1.0 / (1.0 + lib.exp(phase))
    middle = lib.where((t > 0.002) & (t < 0.998), step * rest, 0.0)
    step = lib.where(t <= 0.002, 0.0, lib.where(t >= 0.998, 1.0, step))
    return step, middle * slope, middle * ((rest - step) * slope**2 + bend)
