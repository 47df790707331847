r"""One coordinate for infinitely many data, in closed form phase by phase.

The equation is \(\dot w = -\sqrt{w^2 + \alpha^4e^{-2\lambda t}}\,(w - w^*) - \lambda w\) at depth 2
[eq:dmft_inf_delta]. For large α it has a lazy and a rich phase, for small α search and descent; a
composite adds the two and takes away what they have in common. All are odd in w*. Throughout
\(\Delta = |w^*| - \lambda\).
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, gammasgn

from dynafield.numerics.bessel import bessel_ratio
from dynafield.problem.networks import DiagonalNetwork

__all__ = [
    "FORMS",
    "Path",
    "descent",
    "large_composite",
    "lazy",
    "logistic",
    "rich",
    "search",
    "slowed",
    "small_composite",
]

FAR = 1e6
"""From this ξ on the plateau is followed by its expansion: the Bessel functions agree in most digits."""

RESONANT = 0.9
"""ν from which the constant of the logistic is left out."""

Values = Float[np.ndarray, "..."]
Path = Callable[[Values, DiagonalNetwork, Values], Values]
"""w(t) of a target, a network and times; targets and times broadcast."""


def odd(path: Path) -> Path:
    """A path known for w* ≥ 0, for all w*; NaN where it is not defined."""

    @functools.wraps(path)
    def both(target: Values, net: DiagonalNetwork, t: Values) -> Values:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.where(target == 0, 0.0, np.sign(target) * path(np.abs(target), net, t))

    return both


@odd
def lazy(target: Values, net: DiagonalNetwork, t: Values) -> Values:
    r"""\(w = w^*(1 - e^{-\alpha^{2L-2}t})\), at every depth [eq:lazy_path]."""
    return -target * np.expm1(-(net.alpha ** (2 * net.depth - 2)) * t)


@odd
def rich(target: Values, net: DiagonalNetwork, t: Values) -> Values:
    r"""The transition for α → ∞, by modified Bessel functions [eq:rich_bessel].

    \(w = \frac{x}{2}\bigl(\frac{K_{\nu+1}(\xi)}{K_\nu(\xi)} - \frac{K_\nu(\xi)}{K_{\nu+1}(\xi)}\bigr)\) with
    \(x = \alpha^2e^{-\lambda t}\), \(\xi = x/2\lambda\), \(\nu = \Delta/2\lambda\).
    """
    target, t = np.broadcast_arrays(target, t)
    x = net.alpha**2 * np.exp(-net.lam * t)
    order, xi = (target - net.lam) / (2 * net.lam), x / (2 * net.lam)
    ratio = bessel_ratio(order, np.maximum(xi, 1e-280))
    return np.where(xi > FAR, target * (1 - net.lam / x), 0.5 * x * (ratio - 1 / ratio))


@odd
def logistic(target: Values, net: DiagonalNetwork, t: Values) -> Values:
    r"""The rich phase once \(\alpha^2e^{-\lambda t}\) is small beside w [eq:rich_ode, eq:rich_constant].

    \(w = \Delta/(1 + Ce^{-\Delta\tau})\), \(\tau = t - 2\log(\alpha)/\lambda\), with the constant
    \(C = \frac{\Gamma(-\nu)}{\Gamma(\nu)}(4\lambda)^{-2\nu}\), which joins it to the lazy phase. It
    grows without bound as \(\Delta \to 2\lambda\), where what the logistic leaves out, of order
    \(e^{-2\lambda\tau}\), becomes the larger part; from \(\nu = 0.9\) on C = 0.
    """
    gap, tau = target - net.lam, t - 2 * np.log(net.alpha) / net.lam
    order = gap / (2 * net.lam)
    size = gammaln(-order) - gammaln(order) - 2 * order * np.log(4 * net.lam)
    constant = gammasgn(-order) * gammasgn(order) * np.exp(size - gap * tau)
    constant = np.where(order < RESONANT, constant, 0.0)
    slow = 1 / (tau + (np.log(4 * net.lam) - np.euler_gamma) / net.lam)  # the limit Δ → 0
    w = np.where(np.abs(order) < 1e-7, slow, gap / (1 + constant))
    return np.where(w >= 0, w, np.nan)


@odd
def large_composite(target: Values, net: DiagonalNetwork, t: Values) -> Values:
    """Lazy and rich phase together, less w*, which both have on the plateau [eq:composite_large]."""
    early = lazy(target, net, t)
    return early if net.lam == 0 else early + rich(target, net, t) - target


@odd
def search(target: Values, net: DiagonalNetwork, t: Values) -> Values:
    r"""\(w = e^{-\lambda Lt/2}\,h(w^*\tilde t)\): the field does not yet move [eq:search_sol].

    \(\tilde t = \int_0^t e^{-\lambda(L-2)s/2}ds\). At depth 2 \(w = \alpha^2e^{-\lambda t}\sinh w^*t\);
    deeper it diverges at a finite time, and is NaN from there.
    """
    if net.depth == 2:
        return 0.5 * net.alpha**2 * (np.exp((target - net.lam) * t) - np.exp(-(target + net.lam) * t))
    mirror = net.curve
    scale = 0.5 * net.depth * net.alpha ** (net.depth - 2) * mirror.c
    s = np.arctanh(scale * target * slowed(net, t)) / mirror.c
    return np.exp(-0.5 * net.lam * net.depth * t) * mirror.weight(s)


@odd
def descent(target: Values, net: DiagonalNetwork, t: Values) -> Values:
    r"""The logistic that grows out of the search [eq:descent_path].

    \(w = \Delta/(1 + (2\Delta\alpha^{-2} - 1)e^{-\Delta t})\), half-way shortly after
    \(2\log(1/\alpha)/\Delta\).
    """
    gap = target - net.lam
    rise = np.where(np.abs(gap * t) < 1e-9, t, -np.expm1(-gap * t) / np.where(gap == 0, 1.0, gap))
    return 1 / (2 / net.alpha**2 * np.exp(-gap * t) + rise)


@odd
def small_composite(target: Values, net: DiagonalNetwork, t: Values) -> Values:
    r"""Search and descent together, less the growth \(\frac12\alpha^2e^{\Delta t}\) common to both.

    [eq:composite_small]
    """
    return descent(target, net, t) - 0.5 * net.alpha**2 * np.exp(-(target + net.lam) * t)


class Form(NamedTuple):
    """An approximation of w(t; w*) and the limit in which it is right."""

    name: str
    path: Path
    large: bool
    """Whether it is for α → ∞; otherwise for α → 0."""
    deep: bool = False
    """Whether it is known at depth > 2."""
    decaying: bool = False
    """Whether it is for λ > 0 only."""

    def applies(self, net: DiagonalNetwork) -> bool:
        """Whether the form holds for this network."""
        fits = self.large == bool(net.alpha >= 1) and (self.deep or net.depth == 2)
        return fits and (bool(net.lam > 0) or not self.decaying)


FORMS = (
    Form("lazy", lazy, large=True, deep=True),
    Form("rich", rich, large=True, decaying=True),
    Form("logistic", logistic, large=True, decaying=True),
    Form("composite", large_composite, large=True),
    Form("search", search, large=False, deep=True),
    Form("descent", descent, large=False),
    Form("composite", small_composite, large=False),
)


def slowed(net: DiagonalNetwork, t: Values) -> Values:
    r"""\(\int_0^t e^{-\lambda(L-2)s/2}ds\), the time that a growing layer feels."""
    rate = 0.5 * net.lam * (net.depth - 2)
    return t if rate == 0 else -np.expm1(-rate * t) / rate
