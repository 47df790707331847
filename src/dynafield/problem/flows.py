r"""Flows: models of one's own, by three functions of one row [eq:flow_general].

\(\theta' = p(g, \theta)\), \(g = \tfrac1\delta X^\top \ell(f; z)\), \(f = X w(\theta)\). Every coordinate
has a row \(\theta \in R^k\), every datum a row \(f \in R^c\); the teacher \(w^*\) of the task gives each
datum its \(f^* = Xw^*\).
"""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import integer
from dynafield.problem.laws import RowLaw, start_law, z_law
from dynafield.problem.task import Task

__all__ = ["MEASURES", "Datum", "Flow", "SavedFlow"]

MEASURES = ("train_loss", "train_error", "test_loss", "test_error")
"""Curves of every flow."""
TRIED = 64
"""Rows on which the functions are tried before anything is solved."""


class Datum(NamedTuple):
    r"""What a datum knows besides its own f: \(f^* = x\cdot w^*\), label noise ξ, and z."""

    f_star: Any
    xi: Any
    z: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Flow:
    r"""A model and the way it moves [eq:flow_general].

    Functions are those of one row, in jax.numpy; each may take the time as one more argument.

    - `w(theta)`: what a coordinate contributes, a number, or a vector of several channels.
    - `ell(f, datum)`: what a datum sends back, of the shape of f. Labels are made here, of
      `datum.f_star`, `datum.xi` and `datum.z`.
    - `p(g, theta)`: how a coordinate moves, of the shape of theta.
    - `theta0`: the start: a number, a prior, a list of these, or `FromNormals` of (w_star, normals).
    - `z`: further randomness of a datum, independent of its inputs: a prior, a list of priors, or
      `FromNormals` of (normals).
    - `loss(f, datum)`, `error(f, datum)`: what is reported on the training data and on fresh data;
      \(|\ell|^2/2\) and \(|\ell|^2\) unless given.
    - `linear`: whether ℓ is affine in f with the same slope for all data at all times, so that the residuals
      need no sampling. Found out unless given; False samples them in any case.
    - `differentiable`: whether the derivative of ℓ in f_star may be used. By default Stein's identity is,
      which holds for labels like sign(f_star) too [eq:stein].
    """

    w: Any
    ell: Any
    p: Any
    theta0: Any
    z: Any = None
    loss: Any = None
    error: Any = None
    linear: bool | None = None
    differentiable: bool = False
    name: str = "own flow"

    start: RowLaw = dataclasses.field(init=False, repr=False)
    own: RowLaw = dataclasses.field(init=False, repr=False)
    channels: tuple[int, ...] = dataclasses.field(init=False, repr=False)
    row_w: Any = dataclasses.field(init=False, repr=False)
    row_ell: Any = dataclasses.field(init=False, repr=False)
    row_p: Any = dataclasses.field(init=False, repr=False)
    row_loss: Any = dataclasses.field(init=False, repr=False)
    row_error: Any = dataclasses.field(init=False, repr=False)

    def __post_init__(self):
        for name in ("w", "ell", "p"):
            if not callable(getattr(self, name)):
                raise InputError(f"{name} must be a function of one row, got {getattr(self, name)!r}")
        for name in ("loss", "error"):
            if not (getattr(self, name) is None or callable(getattr(self, name))):
                raise InputError(f"{name} must be None or a function of one row, got {getattr(self, name)!r}")
        start, own = start_law(self.theta0), z_law(self.z)
        put = object.__setattr__
        put(self, "start", start)
        put(self, "own", own)
        for name, count in (("w", 1), ("ell", 2), ("p", 2), ("loss", 2), ("error", 2)):
            put(self, f"row_{name}", timed(name, getattr(self, name), count))
        theta = jax.ShapeDtypeStruct(start.shape, float)
        put(self, "channels", traced("w", self.weight, "a number or a vector", None, theta))
        if len(self.channels) > 1:
            raise InputError(f"w must return a number or a vector, got shape {self.channels}")
        f = jax.ShapeDtypeStruct(self.channels, float)
        one = jax.ShapeDtypeStruct((), float)
        datum = Datum(one, one, jax.ShapeDtypeStruct(own.shape, float))
        traced("ell", self.push, "like f", self.channels, f, datum)
        traced("p", self.move, "like theta", start.shape, f, theta)
        for name in ("loss", "error"):
            if getattr(self, name) is not None:
                traced(name, getattr(self, f"row_{name}"), "a number", (), f, datum, one)

    def __repr__(self) -> str:
        return f"Flow({self.name})"

    @property
    def states(self) -> int:
        """k, numbers per coordinate."""
        return int(np.prod(self.start.shape, dtype=int))

    @property
    def outputs(self) -> int:
        """c, channels."""
        return int(np.prod(self.channels, dtype=int))

    def weight(self, theta: Any, t: Any = 0.0) -> Any:
        """w of a row."""
        return jnp.asarray(self.row_w(theta, t), float)

    def push(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """ℓ of a row."""
        return jnp.asarray(self.row_ell(f, datum, t), float)

    def move(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """p of a row."""
        return jnp.asarray(self.row_p(g, theta, t), float)

    def measures(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """Loss and error of a row."""
        push = self.push(f, datum, t)
        loss = 0.5 * jnp.sum(push**2) if self.loss is None else self.row_loss(f, datum, t)
        error = jnp.sum(push**2) if self.error is None else self.row_error(f, datum, t)
        return jnp.stack([jnp.asarray(loss, float), jnp.asarray(error, float)])

    def try_out(self, task: Task, seed: int = 0) -> None:
        """InputError that names the function which is not finite on rows drawn at t = 0."""
        rng = np.random.default_rng(integer("seed", seed, 0))
        sigma, rho = float(np.max(task.sigma)), float(np.sqrt(task.prior.second_moment))
        w_star = task.prior.sample(TRIED, 1)
        theta = self.start.rows(rng.standard_normal((TRIED, self.start.normals)), w_star)
        finite("theta0", theta)
        w = jax.vmap(self.weight)(theta)
        finite("w", w)
        size = jnp.sqrt(jnp.mean(w**2, axis=0))
        f = size * rng.standard_normal((TRIED, *self.channels))
        own = self.own.rows(rng.standard_normal((TRIED, self.own.normals)))
        finite("z", own)
        datum = Datum(rho * rng.standard_normal(TRIED), sigma * rng.standard_normal(TRIED), own)
        ell = jax.vmap(self.push)(f, datum)
        finite("ell", ell)
        g = jnp.sqrt(jnp.mean(ell**2, axis=0)) * rng.standard_normal((TRIED, *self.channels))
        finite("p", jax.vmap(self.move)(g, theta))
        for name, values in zip(("loss", "error"), jax.vmap(self.measures)(f, datum).T, strict=True):
            finite(name, values)

    def affine(self, seed: int = 0) -> Float[np.ndarray, "c c"] | None:
        """The slope of ℓ in f if it is the same for all data at all times, and ℓ does not know the time."""
        if self.linear is False:
            return None
        rng = np.random.default_rng(seed)
        c = self.outputs
        f = 3.0 * rng.standard_normal((TRIED, *self.channels))
        own = self.own.rows(rng.standard_normal((TRIED, self.own.normals)))
        datum = Datum(rng.standard_normal(TRIED), rng.standard_normal(TRIED), own)
        times = 10.0 * rng.random(TRIED)
        slopes = np.asarray(jax.vmap(jax.jacfwd(self.push))(f, datum, times)).reshape(TRIED, c, c)
        now, first = (jax.vmap(self.push)(f, datum, t) for t in (times, np.zeros(TRIED)))
        scale = 1e-12 * (1.0 + np.max(np.abs(now)))
        same = np.max(np.abs(slopes - slopes[0])) < scale and np.max(np.abs(now - first)) < scale
        # slopes may agree by chance where ℓ is piecewise linear: a secant must have them too
        far = jax.vmap(self.push)(-100.0 * f, datum, times)
        secant = np.einsum("ab,nb->na", slopes[0], -101.0 * f.reshape(TRIED, c))
        same &= bool(np.max(np.abs(np.reshape(far - now, (TRIED, c)) - secant)) < 1e3 * scale)
        if self.linear and not same:
            raise InputError(
                "ell must be affine in f with one slope at all times when linear=True, and is not"
            )
        return slopes[0] if same else None


@dataclasses.dataclass(frozen=True)
class SavedFlow:
    """The name of a flow, which is what a file keeps of it."""

    name: str


def timed(name: str, function: Any, count: int) -> Any:
    """The function with the time as its last argument, whether it takes it or not."""
    if function is None:
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not tell
        return lambda *arguments: function(*arguments[:-1])
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return lambda *arguments: function(*arguments[:-1])
    needed = sum(p.default is p.empty for p in places)
    if needed == count + 1:
        return function
    if needed <= count <= len(places):
        return lambda *arguments: function(*arguments[:-1])
    arguments = {"w": "theta", "p": "g, theta"}.get(name, "f, datum")
    raise InputError(f"{name} must take ({arguments}), or ({arguments}, t), got {needed} arguments")


def traced(name: str, function: Callable, like: str, shape: tuple | None, *arguments: Any) -> tuple[int, ...]:
    """The shape of what a function returns, or InputError that names it."""
    told = ", ".join(str(tuple(a.shape)) for a in jax.tree.leaves(arguments))
    try:
        result = jax.eval_shape(function, *arguments)
    except jax.errors.JAXTypeError as error:
        raise InputError(
            f"{name} must be written in jax.numpy, without numpy calls, `if` or float() on its arguments: "
            f"JAX cannot trace it ({str(error).splitlines()[0]})"
        ) from error
    except (TypeError, ValueError, IndexError, AttributeError, KeyError) as error:
        raise InputError(
            f"{name} must work on one row, with arguments of shapes {told}: {type(error).__name__}: {error}"
        ) from error
    if shape is not None and result.shape != shape:
        raise InputError(f"{name} must return shape {shape}, {like}, got {result.shape}")
    return tuple(result.shape)


def finite(name: str, values: Any) -> None:
    """InputError unless all values are finite."""
    good = np.isfinite(np.asarray(values))
    if not good.all():
        bad = np.asarray(values)[~good].flat[0]
        raise InputError(
            f"{name} must be finite at the start, got {bad} in {np.sum(~good)} of {good.size} values"
        )
