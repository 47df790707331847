r"""The two scalar equations of a fixed point, and their solution.

Every fixed point is one noise level and one more scalar: the effective noise
\(\tau^2 = (C_w + \sigma^2)/\delta\), and the threshold \(\theta = (1+\chi_w)\lambda\)
(regularized) or the response \(R_w\) (interpolating). Both are positive and are solved
for by their logarithms: `z` = log τ and `r` = log θ or log R_w.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dynafield.numerics.roots import newton_correction
from dynafield.problem.spectra import JointLaw

__all__ = ["Parameters", "balance", "follow", "noise_range", "solve_pair"]


NEAR = 0.1
"""Below this distance of r from its curve, both unknowns move together."""
SAFETY = 100.0
"""Times the square of that distance, what the balance must exceed for its sign to count."""
STRIDE = 2.0
"""Longest move of log τ by Newton's step."""
STILL = 1e-9
"""A Newton step this small is the last: what it leaves is its square, or rounding."""
MAX_STEPS = 200


class Parameters(NamedTuple):
    """The numbers of one problem."""

    delta: Float[Array, "*b"]
    sigma: Float[Array, "*b"]
    alpha: Float[Array, "*b"]
    lam: Float[Array, "*b"]


def balance(p: Parameters, c_w: Float[Array, ""], z: Float[Array, ""]) -> Float[Array, ""]:
    r"""\(\log \frac{C_w + \sigma^2}{\delta\tau^2}\), zero at the fixed point."""
    return jnp.log((c_w + p.sigma**2) / p.delta) - 2 * z


def noise_range(p: Parameters, mixture: JointLaw) -> tuple[Array, Array, Array]:
    r"""Lowest, highest and first log τ: the noise of an untrained network, to \(e^{15}\) above."""
    untrained = 0.5 * jnp.log((p.sigma**2 + mixture.signal) / p.delta)
    return untrained - 340.0, untrained + 15.0, untrained


class Solution(NamedTuple):
    """(z, r), the Jacobian of the residuals there, and whether it was found."""

    point: Float[Array, " 2"]
    jacobian: Float[Array, "2 2"]
    found: Bool[Array, ""]


class Search(NamedTuple):
    """Where the search for (z, r) stands: the point, its two brackets, the last moves, and whether those were
    nothing."""

    z: Float[Array, ""]
    r: Float[Array, ""]
    z_low: Float[Array, ""]
    z_high: Float[Array, ""]
    r_low: Float[Array, ""]
    r_high: Float[Array, ""]
    z_moved: Float[Array, ""]
    r_moved: Float[Array, ""]
    jacobian: Float[Array, "2 2"]
    still: Bool[Array, ""]
    done: Bool[Array, ""]
    steps: Int[Array, ""]


def guarded(value: Array, newton: Array, low: Array, high: Array, moved: Array) -> Array:
    """Newton's step if it stays in the bracket and halves the last move, else the middle."""
    good = (value + newton >= low) & (value + newton <= high) & (jnp.abs(newton) < 0.5 * moved)
    return jax.lax.select(good, newton, 0.5 * (low + high) - value)


def solve_pair(
    residuals: Callable[[Array, Array], Array],
    bounds: Callable[[Array], tuple[Array, Array]],
    z_range: tuple[Array, Array, Array],
    guess: Callable[[Array], Array],
) -> Solution:
    """(z, r) with `residuals(z, r)` = (balance, closure) = 0.

    The closure increases with r, so each z has one r, found inside `bounds(z)`; along that
    curve the balance decreases with z from + to -, and crosses zero once. One loop serves
    both: while r is far from its curve, or too far for the sign of the balance to be
    known, only r moves; then both take Newton's step in the plane. Each has a bracket to
    fall back on.
    """

    low, high, z = z_range

    def evaluate(z, r):
        def both(x):
            value = residuals(x[0], x[1])
            return value, value

        jacobian, value = jax.jacfwd(both, has_aux=True)(jnp.stack([z, r]))
        return value, jacobian

    def step(s: Search) -> Search:
        (b, c), jacobian = evaluate(s.z, s.r)
        (b_z, b_r), (c_z, c_r) = jacobian
        r_low, r_high = jnp.where(c < 0, s.r, s.r_low), jnp.where(c > 0, s.r, s.r_high)
        to_curve = -c / c_r
        near = (jnp.abs(to_curve) < NEAR) | (r_high - r_low <= STILL)  # or a jump of the closure
        to_curve = guarded(s.r, to_curve, r_low, r_high, jnp.where(near, jnp.inf, s.r_moved))
        # the balance on the curve, to first order; its sign is trusted beyond second order
        on_curve = b + b_r * to_curve
        slope = -c_z / c_r
        trusted = near & (jnp.abs(on_curve) > SAFETY * to_curve**2)
        z_low = jnp.where(trusted & (on_curve > 0), s.z, s.z_low)
        z_high = jnp.where(trusted & (on_curve < 0), s.z, s.z_high)
        newton = -on_curve / (b_z + b_r * slope)
        shut = z_high - z_low <= STILL * (1 + jnp.abs(s.z))  # on nothing: a sign was wrong
        z_low, z_high = jnp.where(shut, low, z_low), jnp.where(shut, high, z_high)
        free = (jnp.abs(newton) < STILL) | (z_high - z_low > 2 * STRIDE)
        stride = jnp.clip(newton, -STRIDE, STRIDE)
        ready = near & (trusted | (jnp.abs(newton) < NEAR))  # else r settles first
        along = guarded(s.z, stride, z_low, z_high, jnp.where(free, jnp.inf, s.z_moved))
        along = ready * jnp.clip(along, -2 * STRIDE, 2 * STRIDE)  # an end not seen yet is far off
        z, r = s.z + along, s.r + to_curve + slope * along
        fresh_low, fresh_high = bounds(z)
        r_low = jnp.where(ready, fresh_low, r_low)
        r_high = jnp.where(ready, fresh_high, r_high)
        still = near & (jnp.abs(newton) <= STILL * (1 + jnp.abs(z))) & (jnp.abs(to_curve) <= STILL)
        return Search(
            z=z,
            r=jnp.clip(r, r_low, r_high),
            z_low=z_low,
            z_high=z_high,
            r_low=r_low,
            r_high=r_high,
            z_moved=jnp.where(ready, jnp.abs(along), s.z_moved),
            r_moved=jnp.where(ready, 2.0 * (fresh_high - fresh_low), jnp.abs(to_curve)),
            jacobian=jacobian,
            still=still,
            done=still & s.still,  # once more, for a Jacobian at the root itself
            steps=s.steps + 1,
        )

    r_low, r_high = bounds(z)
    no = jnp.zeros((), bool)
    first = Search(
        z, jnp.clip(guess(z), r_low, r_high), low, high, r_low, r_high,
        2.0 * (high - low), 2.0 * (r_high - r_low), jnp.eye(2), no, no, jnp.zeros((), int),
    )  # fmt: skip
    s = jax.lax.while_loop(lambda s: ~s.done & (s.steps < MAX_STEPS) & jnp.isfinite(s.z + s.r), step, first)
    inside = (s.z > low + 1e-6) & (s.z < high - 1e-6)
    return Solution(jnp.stack([s.z, s.r]), s.jacobian, s.done & inside)


def follow(
    residuals: Callable[[Array, Array], tuple[Array, Any]], solution: Solution, orders: int
) -> tuple[Float[Array, ""], Float[Array, ""], Any]:
    """The same (z, r), polished, with so many derivatives in whatever `residuals` closes over.

    `residuals` returns a second thing beside its values; it is passed on.
    """
    x, extra = newton_correction(lambda x: residuals(x[0], x[1]), solution.point, solution.jacobian, orders)
    return x[0], x[1], extra
