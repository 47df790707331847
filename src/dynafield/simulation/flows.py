r"""Finite versions of a flow: d coordinates and n data, trained as one [eq:flow_general]."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.numerics.normals import normals_of, sobol, whitened
from dynafield.problem.model import MEASURES, Datum, Model, bare
from dynafield.problem.task import Task
from dynafield.problem.trainers import DIVERGED, GradientFlow, ShortSteps, Steps, Trainer
from dynafield.problem.updates import Update
from dynafield.simulation.inputs import InputLaw
from dynafield.simulation.langevin import curvature_of_flow
from dynafield.simulation.targets import Draw, Features

__all__ = ["FlowPlan", "FlowSeen", "train_flow"]

FRESH = 2**14
"""Points for averages over fresh data."""
STEPS = 100_000
"""Steps of the integrator between two times at most."""


class FlowPlan(NamedTuple):
    """Everything a run needs but its seed."""

    task: Task
    net: Model
    n: int
    d: int
    law: InputLaw
    targets: str
    draw: Draw
    trainer: Trainer
    tol: float
    t: np.ndarray
    end: float


@dataclasses.dataclass
class FlowSeen:
    """What is kept of one run: curves over times, NaN for times that training did not reach."""

    curves: dict[str, np.ndarray]
    overlap: np.ndarray
    norm: np.ndarray
    theta: np.ndarray
    w_star: np.ndarray
    variance: np.ndarray
    stopped_at: np.ndarray
    curvature: float = 0.0
    """The largest met, where steps follow it."""


class Finite(NamedTuple):
    """Data of one run."""

    X: Float[jax.Array, "n d"]
    datum: Datum


def train_flow(plan: FlowPlan, seed: int, run: int, report: Callable[[float], None]) -> FlowSeen:
    """One data set, and the flow trained on it."""
    flow, streams = plan.net, np.random.default_rng([seed, run]).spawn(6)
    features = plan.draw(plan.task, plan.d, streams[1])
    X, w_star = features.scaled(plan.law.draw(streams[0], plan.n, plan.d)), features.w_star
    xi = float(plan.task.sigma) * streams[2].standard_normal(plan.n)
    own = flow.own.rows(streams[3].standard_normal((plan.n, flow.own.normals)))
    theta = flow.start.rows(streams[4].standard_normal((plan.d, flow.start.normals)), w_star)
    data = Finite(jnp.array(X), Datum(jnp.array(X @ w_star), jnp.array(xi), jnp.array(own)))
    fresh = fresh_normals(flow)
    seen = blank(plan, features)
    begun: Any = jnp.array(theta, float)
    memory = Update.of(plan.trainer).begun(begun) if isinstance(plan.trainer, Steps) else ()
    state = Moving(begun, memory, jnp.zeros(()))
    first = float(scale(bare(flow), data, state.theta))
    times = plan.t if plan.t[-1] >= plan.end * (1 - 1e-12) else np.append(plan.t, plan.end)
    last, key = 0.0, jax.random.key(int(streams[5].integers(2**31)))
    for k, t in enumerate(times):
        if isinstance(plan.trainer, ShortSteps):
            seen.curvature = max(seen.curvature, float(curvature(bare(flow), data, state.theta, last)))
        state, sound = advance(plan, data, state, last, float(t), first, key)
        if not sound:
            seen.stopped_at[...] = float(state.failed) if isinstance(plan.trainer, Steps) else last
            return seen
        last = float(t)
        if k < len(plan.t):
            take(plan, data, fresh, features, state.theta, float(t), k, seen)
        report(t / times[-1])
    seen.theta[...] = np.asarray(state.theta)
    return seen


class Moving(NamedTuple):
    """State of a run: θ, the optimizer's memory, and the time at which it failed (0 if it did not)."""

    theta: Any
    memory: Any
    failed: Any


def blank(plan: FlowPlan, features: Features) -> FlowSeen:
    """Empty curves of a run."""
    times, flow = len(plan.t), plan.net
    channels = np.full((*flow.channels, times), np.nan)
    curves = {name: np.full(times, np.nan) for name in MEASURES}
    theta = np.full((plan.d, *flow.start.shape), np.nan)
    nowhere = np.array(np.nan)
    return FlowSeen(curves, channels, channels.copy(), theta, features.w_star, features.variance, nowhere)


def force(flow: Model, data: Finite, theta: Any, t: Any, weight: Any = None) -> Any:
    """g = Xᵀℓ/δ, each datum by its weight."""
    n, d = data.X.shape
    f = jnp.tensordot(data.X, jax.vmap(flow.w, in_axes=(0, None))(theta, t), 1)
    ell = jax.vmap(flow.ell, in_axes=(0, 0, None))(f, data.datum, t)
    if weight is not None:
        ell = ell * weight.reshape(-1, *[1] * (ell.ndim - 1))
    return jnp.tensordot(data.X.T, ell, 1) * (d / n)


def speed(flow: Model, data: Finite, theta: Any, t: Any, weight: Any = None) -> Any:
    """p(g, θ) of all coordinates."""
    return jax.vmap(flow.p, in_axes=(0, 0, None))(force(flow, data, theta, t, weight), theta, t)


@jax.jit
def curvature(flow: Model, data: Finite, theta: Any, t: Any) -> Any:
    """The largest of a finite flow at a time."""
    return curvature_of_flow(lambda y: speed(flow, data, y, t), theta)


@jax.jit
def scale(flow: Model, data: Finite, theta: Any, t: Any = 0.0) -> Any:
    """1 + mean square of ℓ and θ, by which divergence is recognized."""
    f = jnp.tensordot(data.X, jax.vmap(flow.w, in_axes=(0, None))(theta, t), 1)
    ell = jax.vmap(flow.ell, in_axes=(0, 0, None))(f, data.datum, t)
    return jnp.mean(ell**2) + jnp.mean(theta**2)


def advance(
    plan: FlowPlan, data: Finite, state: Moving, start: float, end: float, first: float, key: Any
) -> tuple[Moving, bool]:
    """The state at `end`, and whether it was reached."""
    if end <= start:
        return state, True
    trainer = plan.trainer
    if isinstance(trainer, GradientFlow):
        theta, sound = integrate(bare(plan.net), data, state.theta, start, end, plan.tol)
        return state._replace(theta=theta), bool(sound)
    steps = trainer.number("t_eval", np.array([start, end]))
    batch = max(1, round(trainer.fraction * plan.n)) if trainer.fraction < 1 else plan.n
    after = trainer.times(plan.end)
    after = np.pad(after, (0, 2 ** int(np.ceil(np.log2(len(after)))) - len(after)), mode="edge")  # few shapes
    constants = jnp.array([trainer.inertia, DIVERGED * first, trainer.temperature, trainer.label_noise])
    fixed = bare(plan.net), batch, Update.of(trainer), trainer.random
    state = descend(*fixed, data, state, constants, after, int(steps[0]), int(steps[1]), key)
    return state, bool(state.failed == 0)


@jax.jit
def integrate(flow: Model, data: Finite, theta: Any, start: Any, end: Any, tol: Any) -> tuple[Any, Any]:
    """Gradient flow from one time to another, and whether it got there."""
    import diffrax  # slow to import, and needed here only

    term = diffrax.ODETerm(lambda t, y, args: speed(flow, data, y, t))
    control = diffrax.PIDController(rtol=tol, atol=tol * (1e-3 + jnp.sqrt(jnp.mean(theta**2))))
    result = diffrax.diffeqsolve(
        term,
        diffrax.Tsit5(),
        start,
        end,
        None,
        theta,
        stepsize_controller=control,
        max_steps=STEPS,
        throw=False,
    )
    reached: Any = result.ys
    return reached[0], (result.result == diffrax.RESULTS.successful) & jnp.all(jnp.isfinite(reached[0]))


@partial(jax.jit, static_argnums=(1, 2, 3))
def descend(
    flow: Model, batch: int, rule: Update, random: bool, data: Finite, state: Moving, constants: Any,
    after: Any, start: Any, end: Any, key: Any,
) -> Moving:  # fmt: skip
    """Steps number start + 1 to end; after a failure none. Times are those after each step, 0 first."""
    n = len(data.X)
    inertia, largest, temperature, label_noise = constants

    def take_step(k, state):
        weight = None
        if batch < n:
            order = jax.random.permutation(jax.random.fold_in(key, k), n)
            weight = jnp.zeros(n).at[order[:batch]].set(n / batch)
        step, seen, kicks = after[k + 1] - after[k], data, 0.0
        if random:
            keys = [jax.random.fold_in(jax.random.fold_in(key, k), kind) for kind in (1, 2)]
            xi = data.datum.xi + label_noise * jax.random.normal(keys[0], (n,))  # [eq:label_noise]
            seen = data._replace(datum=data.datum._replace(xi=xi))
            size = jnp.sqrt(2 * temperature * step)  # [eq:langevin]
            kicks = size * jax.random.normal(keys[1], state.theta.shape)
        rate = speed(flow, seen, state.theta, after[k], weight)
        theta, memory = rule.after(state.theta, state.memory, rate, step, inertia)
        theta = theta + kicks
        size = scale(flow, data, theta, after[k + 1])
        fine = (state.failed == 0) & jnp.isfinite(size) & (size < largest)
        failed = jnp.where(fine | (state.failed > 0), state.failed, after[k + 1])
        new, old = (theta, memory), (state.theta, state.memory)
        theta, memory = jax.tree.map(lambda x, y: jnp.where(fine, x, y), new, old)
        return Moving(theta, memory, failed)

    return jax.lax.fori_loop(start, end, take_step, state)


def fresh_normals(flow: Model) -> Float[np.ndarray, "m k"]:
    """Normals of fresh data, with exact first and second moments: f, f*, ξ and what z takes."""
    dims = flow.outputs + 2 + flow.own.normals
    return whitened(normals_of(sobol(dims, FRESH, 0))).T


def take(
    plan: FlowPlan, data: Finite, fresh: np.ndarray, features: Features, theta: Any, t: float, k: int,
    seen: FlowSeen,
) -> None:  # fmt: skip
    """Everything that is kept at a time."""
    flow, c = plan.net, plan.net.outputs
    train, w = on_training_data(bare(flow), data, theta, t)
    scale = np.sqrt(features.variance)
    w_star, weights = scale * features.w_star, scale[:, None] * np.asarray(w).reshape(plan.d, c)
    both = np.column_stack([w_star, weights])
    values, vectors = np.linalg.eigh(both.T @ both / plan.d)
    # f* by the first normal alone, so that f given f* needs no more of it
    factor = np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T
    outputs = fresh[:, : c + 1] @ factor.T
    xi, own = float(plan.task.sigma) * fresh[:, c + 1], flow.own.rows(fresh[:, c + 2 :])
    f = outputs[:, 1:].reshape(FRESH, *flow.channels)
    test = on_fresh_data(bare(flow), f, Datum(outputs[:, 0], xi, own), t)
    values = [*np.asarray(train), *np.asarray(test)]
    for name, value in zip(MEASURES, values, strict=True):
        seen.curves[name][k] = value
    size = np.sqrt(np.mean(weights**2, axis=0))
    rho = np.sqrt(np.mean(w_star**2))
    along = np.mean(weights * w_star[:, None], axis=0)
    whole = size * rho
    cosine = np.divide(along, whole, out=np.zeros_like(along), where=whole > 0)
    seen.norm[..., k], seen.overlap[..., k] = size.reshape(flow.channels), cosine.reshape(flow.channels)


@jax.jit
def on_training_data(flow: Model, data: Finite, theta: Any, t: Any) -> tuple[Any, Any]:
    """Mean loss and error, and w."""
    w = jax.vmap(flow.w, in_axes=(0, None))(theta, t)
    seen = jax.vmap(flow.measures, in_axes=(0, 0, None))(jnp.tensordot(data.X, w, 1), data.datum, t)
    return jnp.mean(seen, axis=0), w


@jax.jit
def on_fresh_data(flow: Model, f: Any, datum: Datum, t: Any) -> Any:
    """Mean loss and error on data that were not trained on."""
    return jnp.mean(jax.vmap(flow.measures, in_axes=(0, 0, None))(f, datum, t), axis=0)
