"""Roots of increasing functions, and how they move with their parameters."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dynafield.numerics.library import library

__all__ = ["ORDERS", "bracketed_newton", "followed", "newton_correction", "of_order"]

EPS = 2.0**-52
NOISE = 256
"""Newton steps of so many times the tolerance that do not shrink are made of rounding errors."""
ORDERS = 2
"""Derivatives that a root which is followed has."""


def bracketed_newton(
    f: Callable[[Any, Any], tuple[Any, Any, Any]],
    lo: Float[Any, "*shape"],
    hi: Float[Any, "*shape"],
    start: Float[Any, "*shape"],
    carry: Any = None,
    tol: float = 4 * EPS,
    max_steps: int = 100,
) -> tuple[Float[Any, "*shape"], Any, Bool[Any, "*shape"]]:
    """Root of an increasing function in `[lo, hi]`, element by element.

    `f(x, carry)` returns value, slope and a new carry (a warm start for whatever `f`
    solves inside). Newton steps are taken while they stay in the shrinking bracket and at
    least halve the last step; otherwise the bracket is halved, so the root is always
    reached. Returns root, last carry and whether it converged. Not differentiable: call
    it on values cut off by `stop_gradient` and follow with `newton_correction`. NumPy arrays stay such.
    """
    lib = library(lo, hi, start, *jax.tree.leaves(carry))

    def unfinished(state):
        *_, done, count = state
        return lib.any(~done) & (count < max_steps)

    def step(state):
        x, lo, hi, last, carry, done, count = state
        value, slope, carry = f(x, carry)
        lo = lib.where(value < 0, x, lo)
        hi = lib.where(value > 0, x, hi)
        newton = x - value / slope
        small, step = tol * (1.0 + lib.abs(x)), lib.abs(newton - x)
        inside, shrinks = (newton >= lo) & (newton <= hi), step < 0.5 * last
        rounded = inside & ~shrinks & (step < NOISE * small) & (last < NOISE * small)
        new = lib.where((inside & shrinks) | rounded, newton, 0.5 * (lo + hi))
        new = lib.where((value == 0) | done, x, new)
        moved = lib.abs(new - x)
        lost = lib.isnan(value) & ~done  # stops too, as NaN, which the flag reports
        done = done | (moved <= small) | (hi - lo <= small) | rounded | lost
        return new + lib.where(lost, lib.nan, 0.0), lo, hi, moved, carry, done, count + 1

    start = lib.clip(start, lo, hi)
    done = lib.zeros(lib.shape(start), bool)
    state = (start, lo, hi, 2.0 * (hi - lo), carry, done, 0)
    if lib is np:
        with np.errstate(all="ignore"):  # as compiled code does: steps that are refused may overflow
            while unfinished(state):
                state = step(state)
    else:
        state = jax.lax.while_loop(unfinished, step, state)
    x, *_, carry, done, _ = state
    x = lib.asarray(x)
    return x, carry, done & lib.isfinite(x)


def newton_correction(
    residual: Callable[[Float[Array, " n"]], tuple[Float[Array, " n"], Any]],
    root: Float[Array, " n"],
    jacobian: Float[Array, "n n"],
    orders: int = ORDERS,
) -> tuple[Float[Array, " n"], Any]:
    r"""Steps \(x - J^{-1} F(x)\) from a root with one J, which carry its derivatives [eq:chords].

    At a root they change nothing but rounding, and each is right to one order more with respect to whatever
    `residual` closes over, in forward and in reverse mode: the first gives the implicit function theorem,
    \(dx = -J^{-1}\,\partial F\). As many are taken as derivatives are asked for. `residual` returns its
    values and something more, which is passed on.
    """
    root, jacobian = jax.lax.stop_gradient((root, jacobian))
    extra = None
    for _ in range(orders):
        values, extra = residual(root)
        root = root - jnp.linalg.solve(jacobian, values)
    return root, extra


def followed(
    gap: Callable[[Array], Array], root: Float[Array, "*n"], slope: Float[Array, "*n"], orders: int = ORDERS
) -> Float[Array, "*n"]:
    """A known root of `gap`, entry by entry, with so many derivatives in what `gap` closes over [eq:chords].

    Its value stays as it is: what rounding has left of the gap is not corrected.
    """
    root, slope = jax.lax.stop_gradient((root, slope))
    for _ in range(orders):
        left = gap(root)
        root = root - (left - jax.lax.stop_gradient(left)) / slope
    return root


def of_order(value: Any, orders: int = ORDERS) -> Any:
    """A value with so many derivatives; those of higher order are NaN."""
    return jax.tree.map(partial(limited, orders), value)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def limited(orders: int, value: Any) -> Any:
    """The value itself, with so many derivatives."""
    return value


@limited.defjvp
def _(orders, primals, tangents):
    (value,), (moved,) = primals, tangents
    return limited(orders, value), moved * unity(orders - 1, value)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def unity(orders: int, value: Any) -> Any:
    """The constant one, with so many derivatives."""
    return jnp.ones_like(value)


@unity.defjvp
def _(orders, primals, tangents):
    (value,), (moved,) = primals, tangents
    slope = jnp.nan * moved if orders <= 0 else 0.0 * unity(orders - 1, value) * moved
    return unity(orders, value), slope
