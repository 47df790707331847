r"""Ready-made flows, each a few lines."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from dynafield.errors import InputError
from dynafield.problem.checks import one_real
from dynafield.problem.flows import Flow
from dynafield.problem.laws import FromNormals
from dynafield.problem.networks import Network, layer

__all__ = ["diagonal_flow", "huber_flow", "logistic_flow", "phase_retrieval_flow", "ridge_flow"]


def remembered(make: Callable[..., Flow]) -> Callable[..., Flow]:
    """The same flow for the same numbers, so that code compiled for it is used again."""
    kept = functools.lru_cache(maxsize=64, typed=True)(make)

    @functools.wraps(make)
    def either(*arguments: Any, **named: Any) -> Flow:
        try:
            return kept(*arguments, **named)
        except TypeError:  # a prior with arrays is no key
            return make(*arguments, **named)

    return either


def residual(f, datum):
    """f - y with the label y = f* + ξ."""
    return f - datum.f_star - datum.xi


def squared(f, datum):
    """(f - y)²."""
    return residual(f, datum) ** 2


def decay_of(lam: Any) -> float:
    """Weight decay, or InputError."""
    return one_real("lam", lam, lambda x: x >= 0, "one finite number ≥ 0")


@remembered
def ridge_flow(lam: Any = 0.0, theta0: Any = 0.0) -> Flow:
    r"""Linear regression with weight decay: θ is the weight, \(\ell = f - y\) [eq:ridge_flow]."""
    lam = decay_of(lam)
    return Flow(
        w=lambda theta: theta,
        ell=residual,
        p=lambda g, theta: -(g + lam * theta),
        theta0=theta0,
        name=f"ridge regression, λ={lam:g}",
    )


@remembered
def logistic_flow(lam: Any = 0.0, theta0: Any = 0.0) -> Flow:
    r"""Logistic regression with labels \(y = \mathrm{sign}(f^* + \xi)\): \(\ell = -y/(1 + e^{yf})\).

    The error is the share of wrong signs of f.
    """
    lam = decay_of(lam)

    def label(datum):
        return jnp.where(datum.f_star + datum.xi >= 0, 1.0, -1.0)

    return Flow(
        w=lambda theta: theta,
        ell=lambda f, datum: -label(datum) * jax.nn.sigmoid(-label(datum) * f),
        p=lambda g, theta: -(g + lam * theta),
        theta0=theta0,
        loss=lambda f, datum: jax.nn.softplus(-label(datum) * f),
        error=lambda f, datum: 0.5 * (1.0 - label(datum) * jnp.sign(f)),
        name=f"logistic regression, λ={lam:g}",
    )


@remembered
def huber_flow(bend: Any = 1.0, lam: Any = 0.0, outliers: Any = None, theta0: Any = 0.0) -> Flow:
    r"""Robust regression by Huber's loss, whose slope stops growing at `bend`; `outliers` is a law of noise
    beside ξ. The error is the square of f - y without outliers."""
    lam = decay_of(lam)
    bend = one_real("bend", bend, lambda x: x > 0, "one finite number > 0")

    def gap(f, datum):
        return residual(f, datum) - datum.z

    def loss(f, datum):
        size = jnp.abs(gap(f, datum))
        return jnp.where(size <= bend, 0.5 * size**2, bend * (size - 0.5 * bend))

    return Flow(
        w=lambda theta: theta,
        ell=lambda f, datum: jnp.clip(gap(f, datum), -bend, bend),
        p=lambda g, theta: -(g + lam * theta),
        theta0=theta0,
        z=outliers,
        loss=loss,
        error=squared,
        name=f"Huber regression, bend {bend:g}, λ={lam:g}",
    )


@remembered
def phase_retrieval_flow(overlap: Any = 0.5, size: Any = 1.0) -> Flow:
    r"""Phase retrieval, labels \(y = f^{*2} + \xi\), loss \((f^2 - y)^2/4\), by gradient flow.

    The start has cosine `overlap` with a teacher of size `size` (the root of E[w*²]) and the same size.
    The error is \((|f| - |f^*|)^2\).
    """
    overlap = one_real("overlap", overlap, lambda x: abs(x) <= 1, "one number from -1 to 1")
    size = one_real("size", size, lambda x: x > 0, "one finite number > 0")
    other = size * (1.0 - overlap**2) ** 0.5
    return Flow(
        w=lambda theta: theta,
        ell=lambda f, datum: f * (f**2 - datum.f_star**2 - datum.xi),
        p=lambda g, theta: -g,
        theta0=FromNormals(lambda w_star, e: overlap * w_star + other * e[0]),
        loss=lambda f, datum: 0.25 * (f**2 - datum.f_star**2 - datum.xi) ** 2,
        error=lambda f, datum: (jnp.abs(f) - jnp.abs(datum.f_star)) ** 2,
        name=f"phase retrieval from overlap {overlap:g}",
    )


@remembered
def diagonal_flow(net: Any, linear: bool | None = None) -> Flow:
    r"""A diagonal network, truncated or not, as a flow of θ = (u, v) [eq:gf_truncated_dln].

    `linear=False` samples the residuals too, as in the heuristic form of the theory [eq:dmft_dln_heuristic].
    """
    if not isinstance(net, Network):
        raise InputError(f"net must be a diagonal network, truncated or not, got {type(net).__name__}")
    numbers = {"alpha": net.alpha, "lam": net.lam}
    alpha, lam = (one_real(k, v, lambda x: x >= 0, "one number for a flow") for k, v in numbers.items())
    part = functools.partial(layer, net.truncation, net.depth)

    def p(g, theta):
        u, v = theta
        return -0.5 * jnp.stack([part(u)[1] * g + lam * u, -part(v)[1] * g + lam * v])

    return Flow(
        w=lambda theta: (part(theta[0])[0] - part(theta[1])[0]) / net.depth,
        ell=residual,
        p=p,
        theta0=[alpha, alpha],
        linear=linear,
        name=repr(net),
    )
