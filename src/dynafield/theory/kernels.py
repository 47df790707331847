"""Compiled kernels: one problem of one case each. New values never recompile, arrays neither."""

import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from dynafield.compiled import make_room
from dynafield.numerics.averages import quadrature_error
from dynafield.numerics.compiling import lightly_compiled
from dynafield.numerics.roots import ORDERS
from dynafield.numerics.threads import cores
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.observation import mirror_averages, soft_threshold_error
from dynafield.problem.spectra import JointLaw
from dynafield.theory import interpolating, regularized
from dynafield.theory.pair import Parameters, follow, noise_range, solve_pair
from dynafield.theory.rate_equations import (
    Rate,
    above,
    below,
    drift_at_fixed_law,
    missed,
    ridgeless_slopes,
    slopes_along,
)

__all__ = [
    "Kernel",
    "Laws",
    "Point",
    "Speed",
    "interpolating_points",
    "over_problems",
    "rates_above",
    "rates_below",
    "regularized_points",
]

SLICE = 16
"""Problems that a thread solves before it looks for more."""
CHUNK = 64
"""Problems per compiled batch on an accelerator: one more only pads."""
CELLS = 2**20
"""Nodes times components times problems held at once in a batch."""


class Laws(NamedTuple):
    """Strata of variances and targets, as arrays of JAX.

    For a continuous spectrum also two thirds of them, which estimate the error, and its smallest variance.
    """

    mixture: JointLaw
    fewer: JointLaw | None
    lowest: Float[Array, ""] | None


class Point(NamedTuple):
    """A solved fixed point: τ, θ or R_w, C_w, χ_w, whether found, estimated quadrature
    error, and how the first two move with α."""

    tau: Float[Array, "*b"]
    second: Float[Array, "*b"]
    c_w: Float[Array, "*b"]
    chi_w: Float[Array, "*b"]
    found: Bool[Array, "*b"]
    error: Float[Array, "*b"]
    tau_drift: Float[Array, "*b"]
    second_drift: Float[Array, "*b"]


class Speed(NamedTuple):
    """A solved rate with its derivatives in α: in total, and at fixed distribution of w."""

    rate: Rate
    slope: Float[Array, "*b"]
    slope_fixed_law: Float[Array, "*b"]


class Kernel:
    """A function of the numbers of one problem, its distributions, and integers that are part of the program.

    The last of these is how many derivatives its results have; those that are results themselves count.
    Compiled for one problem, and for batches of them.
    """

    def __init__(self, function: Callable[..., Any]):
        static = tuple(range(2, len(inspect.signature(function).parameters)))
        self.alone = lightly_compiled(function, static)
        self.batch = lightly_compiled(jax.vmap(function, (0, None, *(None for _ in static))), static)

    def programs(self) -> int:
        """How often it was compiled for one problem."""
        return self.alone.programs()  # type: ignore[attr-defined]


@Kernel
def regularized_points(p: Parameters, laws: Laws, orders: int) -> Point:
    """Case (i) [eq:fix_case1]."""
    mixture = laws.mixture
    fixed, still = jax.lax.stop_gradient((p, mixture))
    solution = solve_pair(
        partial(regularized.residuals, fixed, still),
        partial(regularized.bounds, fixed, still),
        noise_range(fixed, still),
        lambda z: jnp.logaddexp(jnp.log(fixed.lam), z),
    )
    z, r, _ = follow(lambda z, r: (regularized.residuals(p, mixture, z, r), None), solution, orders)
    tau, theta = jnp.exp(z), jnp.exp(r)
    c_w, none = soft_threshold_error(mixture, tau, theta), jnp.zeros_like(tau)
    chi_w = regularized.susceptibility(p, mixture, tau, theta)
    error = none if laws.fewer is None else missed(regularized.residuals(p, laws.fewer, z, r))
    return Point(tau, theta, c_w, chi_w, solution.found, error, none, none)


@Kernel
def interpolating_points(p: Parameters, laws: Laws, depth: int, count: int, orders: int) -> Point:
    r"""Case (iii) at any depth [eq:fix_case3].

    \(C_w = \delta\tau^2 - \sigma^2\): interpolation costs \(C_w \geq \delta^2\tau^2\), so
    this loses a factor 1/δ of precision and no more.
    """

    def residuals(p, mixture, z, r, orders=1):
        a = mirror_averages(MirrorMap(p.alpha, depth), mixture, count, z, r, orders)
        return interpolating.residuals(p, a, z), a.error

    fixed, still = jax.lax.stop_gradient((p, laws.mixture))
    solution = solve_pair(
        lambda z, r: residuals(fixed, still, z, r)[0],
        partial(interpolating.bounds, fixed, still, depth),
        noise_range(fixed, still),
        partial(interpolating.start, fixed, still, depth),
    )

    def moved(alpha):
        along = partial(residuals, p._replace(alpha=alpha), laws.mixture, orders=orders)
        z, r, error = follow(along, solution, orders)
        return (jnp.exp(z), jnp.exp(r)), error

    one = jnp.ones_like(p.alpha)
    (tau, response), drift, error = jax.jvp(moved, (p.alpha,), (one,), has_aux=True)
    c_w = p.delta * tau**2 - p.sigma**2
    if laws.fewer is not None:
        at = (jnp.log(tau), jnp.log(response))
        error = jnp.maximum(error, missed(residuals(p, laws.fewer, *at)[0]))
    return Point(tau, response, c_w, jnp.full_like(tau, jnp.inf), solution.found, error, *drift)


@Kernel
def rates_below(solved: tuple[Parameters, Point], laws: Laws, depth: int, count: int, orders: int) -> Speed:
    """γ for δ < 1, from the solved fixed point."""
    p, point = solved

    def along(mixture, alpha, tau, response):
        return slopes_along(MirrorMap(alpha, depth), response, mixture, tau, count, orders)

    def moved(alpha, tau, response):
        slopes = along(laws.mixture, alpha, tau, response)
        fewer = None if laws.fewer is None else along(laws.fewer, alpha, tau, response)
        rate, hits = below(p.delta, slopes, orders, fewer)
        return (rate.gamma, hits), (rate, slopes)

    at = (p.alpha, point.tau, point.second)
    drifts = (jnp.ones_like(p.alpha), point.tau_drift, point.second_drift)
    _, (total, hits_drift), (rate, slopes) = jax.jvp(moved, at, drifts, has_aux=True)
    drift = drift_at_fixed_law(MirrorMap(p.alpha, depth), slopes, rate)
    fixed_law = rate.u / p.delta * jnp.sum(slopes.weight * drift)
    return Speed(with_slope_errors(rate, slopes.weight, [hits_drift, drift]), total, fixed_law)


@Kernel
def rates_above(p: Parameters, laws: Laws, depth: int, count: int, orders: int) -> Speed:
    r"""γ for δ > 1: \(w = w^* + \tau G/\sqrt s\), τ² = σ²/(δ-1), whose distribution does not depend on α."""
    tau = p.sigma / jnp.sqrt(p.delta - 1)

    def moved(alpha):
        mirror = MirrorMap(alpha, depth)

        def law(mixture, x):
            return ridgeless_slopes(mirror, mixture, tau, count, orders, x, laws.lowest)

        fewer = None if laws.fewer is None else partial(law, laws.fewer)
        rate, weight, pull = above(p.delta, partial(law, laws.mixture), orders, fewer)
        return (rate.gamma, pull), (rate, weight)

    one = jnp.ones_like(p.alpha)
    _, (total, pull_drift), (rate, weight) = jax.jvp(moved, (p.alpha,), (one,), has_aux=True)
    return Speed(with_slope_errors(rate, weight, [pull_drift]), total, total)


def with_slope_errors(rate: Rate, weight: Array, drifts: list[Array]) -> Rate:
    """The rate, its error estimate covering the integrands of its derivatives too."""
    error = quadrature_error(*jax.lax.stop_gradient((weight, drifts)))
    return rate._replace(error=jnp.maximum(rate.error, error))


def over_problems(kernel: Kernel, rows: Any, laws: Laws, cells: int, *static: int) -> Any:
    """A kernel over the leading axis of `rows`; `cells` per problem bounds the memory of a batch.

    On a processor every problem runs the same program, on as many threads as there are cores: batches would
    be one program more to compile, and are no faster. Elsewhere, and while JAX traces, they run in batches.
    """
    make_room()
    traced = any(isinstance(x, Tracer) for x in jax.tree.leaves((rows, laws)))
    static = (*static, ORDERS if traced else 1)
    if traced or jax.default_backend() != "cpu":
        return in_batches(kernel, rows, laws, cells, static)
    rows = jax.tree.map(np.asarray, rows)
    count = len(jax.tree.leaves(rows)[0])

    def solved(first: int, last: int) -> list[Any]:
        found = [
            kernel.alone(jax.tree.map(lambda x, k=k: x[k], rows), laws, *static) for k in range(first, last)
        ]
        return [jax.tree.map(np.asarray, one) for one in found]

    parts = solved(0, 1)  # alone, so that code is compiled only once
    if count > 1:
        firsts = range(1, count, SLICE)
        with ThreadPoolExecutor(min(cores(), len(firsts))) as pool:
            lasts = (min(first + SLICE, count) for first in firsts)
            parts += [one for part in pool.map(solved, firsts, lasts) for one in part]
    return jax.tree.map(lambda *x: np.stack(x), *parts)


def in_batches(kernel: Kernel, rows: Any, laws: Laws, cells: int, static: tuple[int, ...]) -> Any:
    """A kernel over problems in batches of one size, so that two compiled shapes serve every length."""
    count = len(jax.tree.leaves(rows)[0])
    size = 1 if count == 1 else max(1, min(CHUNK, CELLS // cells))
    parts = []
    for first in range(0, count, size):
        index = np.minimum(np.arange(first, first + size), count - 1)
        part = rows if size == count else jax.tree.map(lambda x, i=index: x[i], rows)
        parts.append(kernel.batch(part, laws, *static))
    if size == count:
        return parts[0]
    return jax.tree.map(lambda *x: jnp.concatenate(x)[:count], *parts)
