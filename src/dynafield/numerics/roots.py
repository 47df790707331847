"""Roots of increasing functions, and how they move with their parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

__all__ = ["bracketed_newton", "newton_correction"]

EPS = 2.0**-52


def bracketed_newton(
    f: Callable[[Array, Any], tuple[Array, Array, Any]],
    lo: Float[Array, "*shape"],
    hi: Float[Array, "*shape"],
    start: Float[Array, "*shape"],
    carry: Any = None,
    tol: float = 4 * EPS,
    max_steps: int = 100,
) -> tuple[Float[Array, "*shape"], Any, Bool[Array, "*shape"]]:
    """Root of an increasing function in `[lo, hi]`, element by element.

    `f(x, carry)` returns value, slope and a new carry (a warm start for whatever `f`
    solves inside). Newton steps are taken while they stay in the shrinking bracket and at
    least halve the last step; otherwise the bracket is halved, so the root is always
    reached. Returns root, last carry and whether it converged. Not differentiable: call
    it on values cut off by `stop_gradient` and follow with `newton_correction`.
    """

    def unfinished(state):
        *_, done, count = state
        return jnp.any(~done) & (count < max_steps)

    def step(state):
        x, lo, hi, last, carry, done, count = state
        value, slope, carry = f(x, carry)
        lo = jnp.where(value < 0, x, lo)
        hi = jnp.where(value > 0, x, hi)
        newton = x - value / slope
        good = (newton >= lo) & (newton <= hi) & (jnp.abs(newton - x) < 0.5 * last)
        new = jnp.where(good, newton, 0.5 * (lo + hi))
        new = jnp.where((value == 0) | done, x, new)
        moved = jnp.abs(new - x)
        small = tol * (1.0 + jnp.abs(x))
        lost = jnp.isnan(value) & ~done  # stops too, as NaN, which the flag reports
        done = done | (moved <= small) | (hi - lo <= small) | lost
        return new + jnp.where(lost, jnp.nan, 0.0), lo, hi, moved, carry, done, count + 1

    start = jnp.clip(start, lo, hi)
    done = jnp.zeros(jnp.shape(start), bool)
    state = (start, lo, hi, 2.0 * (hi - lo), carry, done, 0)
    x, *_, carry, done, _ = jax.lax.while_loop(unfinished, step, state)
    x = jnp.asarray(x)
    return x, carry, done & jnp.isfinite(x)


def newton_correction(
    residual: Callable[[Float[Array, " n"]], tuple[Float[Array, " n"], Any]],
    root: Float[Array, " n"],
    jacobian: Float[Array, "n n"],
) -> tuple[Float[Array, " n"], Any]:
    r"""One Newton step from a root, \(x - J^{-1} F(x)\), which carries its derivative.

    At a root it changes nothing but rounding, and differentiating it with respect to
    whatever `residual` closes over gives the implicit function theorem,
    \(dx = -J^{-1}\,\partial F\), in forward and in reverse mode. `residual` returns its
    values and something more, which is passed on.
    """
    root, jacobian = jax.lax.stop_gradient((root, jacobian))
    values, extra = residual(root)
    return root - jnp.linalg.solve(jacobian, values), extra
