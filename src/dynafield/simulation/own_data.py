r"""A model in training on given inputs and labels, its linear response, and its copies without one datum.

Everything is products of X with vectors, or with several at once. A move takes the state from one time to
another; it may be given weights of the data, and a shift of what they send back. Its derivative along
shifts is the response of training [eq:response_of_outputs]; with one weight at zero it leaves a datum out.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynafield.numerics import chebyshev
from dynafield.numerics.powers import fastest_mode
from dynafield.problem.model import Datum, Model
from dynafield.problem.updates import Update

__all__ = [
    "FlowSteps",
    "Given",
    "Outputs",
    "Shift",
    "Taken",
    "advance",
    "copies",
    "first_state",
    "measured",
    "observe",
    "output_tangents",
    "own_outputs",
    "pace",
    "responses",
    "sent_back",
    "stiffness",
    "stiffness_of_copies",
    "trial",
]

POWERS = 6
"""Powers of a matrix by which its largest eigenvalue is followed from one step to the next."""


class Given(eqx.Module):
    """A model and the data it is trained on; with an intercept, f is shifted to have the mean of y."""

    model: Model
    X: Any
    XT: Any
    y: Any
    intercept: bool = eqx.field(static=True)

    @classmethod
    def of(cls, model: Model, X: Any, y: Any, intercept: bool) -> "Given":
        """The data with the transpose of X beside it: products of both with several columns are fast."""
        return cls(model, jnp.asarray(X), jnp.asarray(np.ascontiguousarray(X.T)), jnp.asarray(y), intercept)

    @property
    def datum(self) -> Datum:
        """Labels as a model takes them: f* = y, and no noise besides."""
        return Datum(self.y, jnp.zeros_like(self.y), jnp.zeros_like(self.y))

    def w(self, theta: Any, t: Any) -> Any:
        """The weights."""
        return jax.vmap(self.model.w, in_axes=(0, None))(theta, t)

    def f(self, theta: Any, t: Any, weight: Any) -> Any:
        """Outputs on all data, with the intercept that fits those that have weight."""
        f = self.X @ self.w(theta, t)
        return f + self.level(f, weight) if self.intercept else f

    def level(self, f: Any, weight: Any) -> Any:
        """The intercept."""
        return jnp.sum(weight * (self.y - f)) / jnp.sum(weight)

    def ell(self, f: Any, t: Any) -> Any:
        """What each datum sends back."""
        return jax.vmap(self.model.ell, in_axes=(0, 0, None))(f, self.datum, t)

    def rate(self, theta: Any, t: Any, weight: Any, shift: Any) -> Any:
        """p(g, θ) of all coordinates, with g = Xᵀ(ℓ + shift)/δ, each datum by its weight."""
        n, d = self.X.shape
        ell = weight * (self.ell(self.f(theta, t, weight), t) + shift)
        g = (self.XT @ ell) * (d / n)
        return jax.vmap(self.model.p, in_axes=(0, 0, None))(g, theta, t)


class Shift(NamedTuple):
    """A shift of ℓ that goes linearly from one value to another, between two times."""

    first: Any
    last: Any
    start: Any
    end: Any

    def at(self, t: Any) -> Any:
        """The value of the shift at a time."""
        return self.first + (self.last - self.first) * ((t - self.start) / (self.end - self.start))


class FlowSteps(NamedTuple):
    """Steps of a flow: where they begin, how long they are, coefficients of their stages, their number."""

    t: Any
    h: Any
    stages: chebyshev.Stages
    count: Any


class Taken(NamedTuple):
    """Steps of descent: times before and after each, those to take (first, last + 1), and momentum."""

    after: Any
    first: Any
    end: Any
    inertia: Any


def first_state(theta: Any, rule: Update | None) -> tuple[Any, Any]:
    """Parameters, and what an optimizer remembers."""
    return theta, (() if rule is None else rule.begun(theta))


def moved(
    given: Given, rule: Update | None, steps: FlowSteps | Taken, state: Any, weight: Any, shift: Shift
) -> Any:
    """The state after some steps."""
    if isinstance(steps, FlowSteps):

        def flow_step(k: Any, state: Any) -> Any:
            theta, memory = state
            coefficients = jax.tree.map(lambda x: x[k], steps.stages)
            rate = lambda y, t: given.rate(y, t, weight, shift.at(t))  # noqa: E731
            return chebyshev.step(rate, theta, steps.t[k], steps.h[k], coefficients), memory

        return jax.lax.fori_loop(0, steps.count, flow_step, state)
    assert rule is not None

    def descent_step(k: Any, state: Any) -> Any:
        theta, memory = state
        t = steps.after[k]
        rate = given.rate(theta, t, weight, shift.at(t))
        return rule.after(theta, memory, rate, steps.after[k + 1] - t, steps.inertia)

    return jax.lax.fori_loop(steps.first, steps.end, descent_step, state)


@eqx.filter_jit
def advance(given: Given, rule: Update | None, steps: Any, state: Any) -> Any:
    """The state of training itself after some steps."""
    return moved(given, rule, steps, state, *untouched(given))


def untouched(given: Given) -> tuple[Any, Shift]:
    """All data by weight one, and nothing shifted."""
    zero = jnp.zeros_like(given.y)
    return jnp.ones_like(given.y), Shift(zero, zero, 0.0, 1.0)


@eqx.filter_jit
def responses(given: Given, rule: Update | None, steps: Any, state: Any, tangents: Any, shifts: Shift) -> Any:
    """Derivatives of the state along several shifts, side by side in the last axis."""
    one, nothing = untouched(given)

    def after(state: Any, first: Any, last: Any) -> Any:
        return moved(given, rule, steps, state, one, Shift(first, last, shifts.start, shifts.end))

    def along(tangent: Any, first: Any, last: Any) -> Any:
        at = state, nothing.first, nothing.first
        return jax.jvp(after, at, (tangent, first, last))[1]

    return jax.vmap(along, in_axes=-1, out_axes=-1)(tangents, shifts.first, shifts.last)


@eqx.filter_jit
def copies(given: Given, rule: Update | None, steps: Any, states: Any, weights: Any) -> Any:
    """Training with other weights of the data, several side by side in the last axis."""
    _, nothing = untouched(given)

    def after(state: Any, weight: Any) -> Any:
        return moved(given, rule, steps, state, weight, nothing)

    return jax.vmap(after, in_axes=-1, out_axes=-1)(states, weights)


@eqx.filter_jit
def trial(given: Given, theta: Any, t: Any, h: Any, coefficients: chebyshev.Stages) -> tuple[Any, Any]:
    """Parameters after one step of a flow, and the relative error of the weights in it."""
    one, nothing = untouched(given)

    def rate(y: Any, t: Any) -> Any:
        return given.rate(y, t, one, nothing.first)

    after = chebyshev.step(rate, theta, t, h, coefficients)
    error = chebyshev.local_error(rate, theta, after, t, h)
    w, off = jax.jvp(lambda y: given.w(y, t + h), (after,), (error,))
    size = jnp.linalg.norm(off) / jnp.maximum(jnp.linalg.norm(w), 1e-290)
    return after, jnp.where(jnp.all(jnp.isfinite(after)), size, jnp.nan)


@eqx.filter_jit
def stiffness(given: Given, theta: Any, t: Any, vector: Any) -> tuple[Any, Any]:
    """A vector along the fastest mode, from an older one, and its rate."""
    one, _ = untouched(given)
    return fastest_mode(lambda y: given.rate(y, t, one, 0.0), theta, vector, POWERS)


@eqx.filter_jit
def stiffness_of_copies(given: Given, thetas: Any, t: Any, vectors: Any, weights: Any) -> tuple[Any, Any]:
    """The same of several copies, by fewer powers."""

    def alone(theta: Any, vector: Any, weight: Any) -> tuple[Any, Any]:
        return fastest_mode(lambda y: given.rate(y, t, weight, 0.0), theta, vector, POWERS // 2)

    return jax.vmap(alone, in_axes=-1, out_axes=(-1, 0))(thetas, vectors, weights)


def pace(given: Given, theta: Any) -> float:
    """How fast outputs change at the start, relative to ℓ; where layers grow by factors, also they."""
    of_outputs, of_layers = first_rates(given, theta)
    return max(float(of_outputs), float(of_layers) if given.model.multiplicative else 0.0)


@eqx.filter_jit
def first_rates(given: Given, theta: Any) -> tuple[Any, Any]:
    """Relative rates of outputs and of parameters at the start."""
    (one, nothing), t = untouched(given), 0.0
    rate = given.rate(theta, t, one, nothing.first)
    f, moving = jax.jvp(lambda x: given.f(x, t, one), (theta,), (rate,))
    size = jnp.maximum(jnp.linalg.norm(given.ell(f, t)), 1e-290)
    return jnp.linalg.norm(moving) / size, jnp.max(jnp.abs(rate) / jnp.where(theta == 0, 1.0, jnp.abs(theta)))


class Outputs(NamedTuple):
    """What is seen of training at a time: weights, intercept, outputs, ℓ, its slope, loss and error."""

    w: Any
    level: Any
    f: Any
    ell: Any
    slope: Any
    measures: Any


@eqx.filter_jit
def observe(given: Given, theta: Any, t: Any) -> Outputs:
    """What is seen of training at a time."""
    w = given.w(theta, t)
    bare = given.X @ w
    level = given.level(bare, jnp.ones_like(given.y)) if given.intercept else jnp.zeros(())
    f = bare + level
    ell, slope = jax.jvp(lambda f: given.ell(f, t), (f,), (jnp.ones_like(f),))
    return Outputs(w, level, f, ell, slope, measured(given, f, t))


@eqx.filter_jit
def measured(given: Given, f: Any, t: Any) -> Any:
    """Loss and error of every datum at outputs f, two columns."""
    return jax.vmap(given.model.measures, in_axes=(0, 0, None))(f, given.datum, t)


@eqx.filter_jit
def sent_back(given: Given, f: Any, t: Any) -> Any:
    """ℓ of all data at outputs f."""
    return given.ell(f, t)


@eqx.filter_jit
def output_tangents(given: Given, theta: Any, tangents: Any, t: Any) -> Any:
    """Derivatives of all outputs, one column for each tangent."""
    one = jnp.ones_like(given.y)

    def along(tangent: Any) -> Any:
        return jax.jvp(lambda y: given.f(y, t, one), (theta,), (tangent,))[1]

    return jax.vmap(along, in_axes=-1, out_axes=-1)(tangents)


@eqx.filter_jit
def own_outputs(given: Given, thetas: Any, weights: Any, places: Any, t: Any) -> Any:
    """Of several copies the output on one datum each, which it was trained without."""

    def alone(theta: Any, weight: Any, place: Any) -> Any:
        return given.f(theta, t, weight)[place]

    return jax.vmap(alone, in_axes=(-1, -1, 0))(thetas, weights, places)
