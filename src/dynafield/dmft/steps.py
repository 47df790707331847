r"""One step of discrete training for one chunk of sampled coordinates, and its tangents.

The next state of a coordinate follows from its state and gradient by the trainer's own rule
[eq:steps, eq:heavy_ball], its gradient from \((1 + R)g = w - w^* + \eta\) with R strictly lower
triangular: everything is known when it is needed [eq:dmft_steps]. Tangents are those of the
state and of the gradient with respect to a shift of the gradient at every earlier step.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dynafield.dmft.paths import Sums
from dynafield.numerics.products import rows_times
from dynafield.problem.networks import layer, truncated, untruncated

__all__ = [
    "Constants",
    "Moved",
    "StepRows",
    "Update",
    "Walkers",
    "advance",
    "project",
    "settle",
    "start_state",
]


class Update(NamedTuple):
    """What the update rule is made of: depth, truncation or None, whether moves are remembered."""

    depth: int
    M: float | None
    heavy: bool

    @property
    def states(self) -> int:
        """Numbers per coordinate: u and v, and their last moves."""
        return 4 if self.heavy else 2


class Constants(NamedTuple):
    """Step, weight decay and momentum."""

    step: Float[Array, ""]
    lam: Float[Array, ""]
    inertia: Float[Array, ""]


class Walkers(NamedTuple):
    """One chunk of coordinates and their history; unused columns of time are zero.

    `white` are normals of the mini-batch noise; `rates` and `tangent` are derivatives of gradients
    and states.
    """

    target: Float[Array, " n"]
    root_weight: Float[Array, " n"]
    normals: Float[Array, "t n"]
    white: Float[Array, "t n"] | None
    basis: Float[Array, "t n"]
    gradient: Float[Array, "t n"]
    state: Float[Array, "m n"]
    rates: Float[Array, "t n t"] | None
    tangent: Float[Array, "m n t"] | None


class StepRows(NamedTuple):
    """New row of the kernels: noise, white noise, basis part to remove, response, scale of a new vector."""

    noise: Float[Array, " t"]
    white: Float[Array, ""]
    known: Float[Array, " t"]
    response: Float[Array, " t"]
    fresh: Float[Array, ""]


class Moved(NamedTuple):
    """Coordinates after a step whose gradient is not yet known: state, w - w*, derivatives of both."""

    state: Float[Array, "m n"]
    error: Float[Array, " n"]
    tangent: Float[Array, "m n t"] | None
    rate: Float[Array, "n t"] | None


def row_times(row: Float[Array, " t"], matrix: Float[Array, "t m"]) -> Float[Array, " m"]:
    """row @ matrix."""
    return rows_times(row[None], matrix)[0]


def part(update: Update, x: Array) -> tuple[Array, Array]:
    r"""\(\eta_M(x^L)\) and \(x^{L-1}\eta_M'(x^L)\) of a layer."""
    cut = untruncated if update.M is None else functools.partial(truncated, update.M)
    return layer(cut, update.depth, x)


def weight(update: Update, state: Array) -> Array:
    """w of a state."""
    return (part(update, state[0])[0] - part(update, state[1])[0]) / update.depth


def after(update: Update, constants: Constants, state: Array, g: Array) -> Array:
    """The state after a step against the gradient g."""
    u, v = state[0], state[1]
    half = 0.5 * constants.step
    u_move = -half * (part(update, u)[1] * g + constants.lam * u)
    v_move = half * (part(update, v)[1] * g - constants.lam * v)
    if not update.heavy:
        return jnp.stack([u + u_move, v + v_move])
    u_move, v_move = u_move + constants.inertia * state[2], v_move + constants.inertia * state[3]
    return jnp.stack([u + u_move, v + v_move, u_move, v_move])


def start_state(update: Update, alpha: float, size: int) -> Float[Array, "m n"]:
    """u = v = α at rest."""
    return jnp.zeros((update.states, size)).at[:2].set(alpha)


@functools.partial(jax.jit, static_argnums=0)
def advance(
    update: Update, walkers: Walkers, constants: Constants, place: Int[Array, ""], known: Float[Array, " t"]
) -> tuple[Moved, Sums]:
    """Take the step that the gradient at `place` asks for; also what the coordinates make of the new rows."""
    g = jax.lax.dynamic_index_in_dim(walkers.gradient, place, keepdims=False)
    rule = functools.partial(after, update, constants)
    state = rule(walkers.state, g)
    error = weight(update, state) - walkers.target
    root = walkers.root_weight
    squares = jnp.sum(state[:2] ** 2, axis=0) @ root**2
    moments = jnp.zeros((3, 1)).at[2, 0].set(squares)
    tangent = rate = response = None
    if walkers.rates is not None and walkers.tangent is not None:
        shift = jax.lax.dynamic_index_in_dim(walkers.rates, place, keepdims=False)
        ones, zeros = jnp.ones_like(g), jnp.zeros_like(walkers.state)
        tangent = jax.jvp(rule, (walkers.state, g), (zeros, ones))[1][:, :, None] * shift
        rate = jnp.zeros_like(shift)
        for k in range(update.states):
            along = zeros.at[k].set(ones)
            tangent += jax.jvp(rule, (walkers.state, g), (along, 0.0 * g))[1][:, :, None] * walkers.tangent[k]
        for k in range(2):
            slope = jax.jvp(functools.partial(weight, update), (state,), (zeros.at[k].set(ones),))[1]
            rate += slope[:, None] * tangent[k]
        response = -row_times(root**2, rate)[None]
    moved = Moved(state, error, tangent, rate)
    overlap, gram = project(walkers, moved, known)
    return moved, Sums(overlap, gram, response, moments, jnp.zeros(()))


@jax.jit
def project(
    walkers: Walkers, moved: Moved, known: Float[Array, " t"]
) -> tuple[Float[Array, "1 t"], Float[Array, "1 1"]]:
    """Overlap with the basis, and square, of what `known` leaves of the errors."""
    rest = walkers.root_weight * moved.error - row_times(known, walkers.basis)
    return row_times(rest, walkers.basis.T)[None], (rest @ rest)[None, None]


@functools.partial(jax.jit, donate_argnums=0)
def settle(walkers: Walkers, moved: Moved, place: Int[Array, ""], rows: StepRows) -> Walkers:
    """The history with the new state, basis vector, gradient and their derivatives at `place`."""
    put = jax.lax.dynamic_update_slice
    vector = rows.fresh * (walkers.root_weight * moved.error - row_times(rows.known, walkers.basis))
    gradient = moved.error + row_times(rows.noise, walkers.normals)
    gradient -= row_times(rows.response, walkers.gradient)
    if walkers.white is not None:
        gradient += rows.white * jax.lax.dynamic_index_in_dim(walkers.white, place, keepdims=False)
    rates = None
    if walkers.rates is not None and moved.rate is not None:
        times, count, _ = walkers.rates.shape
        past = row_times(rows.response, walkers.rates.reshape(times, -1)).reshape(count, times)
        own = rows.response.at[place].set(1.0)
        rates = put(walkers.rates, (moved.rate - past + own)[None], (place, 0, 0))
    return walkers._replace(
        basis=put(walkers.basis, vector[None], (place, 0)),
        gradient=put(walkers.gradient, gradient[None], (place, 0)),
        state=moved.state,
        rates=rates,
        tangent=moved.tangent,
    )
