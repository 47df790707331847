r"""A model: what is trained, by functions of one row [eq:flow_general].

\(\theta' = p(g, \theta)\), \(g = \tfrac1\delta X^\top \ell(f; z)\), \(f = X w(\theta)\). Every coordinate
has a row \(\theta \in R^k\), every datum a row \(f \in R^c\); the teacher \(w^*\) of the task gives each
datum its \(f^* = Xw^*\).
"""

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import integer
from dynafield.problem.laws import RowLaw, z_law
from dynafield.problem.task import Task

__all__ = ["MEASURES", "Datum", "Model", "SquaredLoss", "at_problem", "bare", "with_numbers"]

MEASURES = ("train_loss", "train_error", "test_loss", "test_error")
"""Curves of every flow."""
TRIED = 64
"""Rows on which the functions are tried before anything is solved."""


class Datum(NamedTuple):
    r"""What a datum knows besides its own f: \(f^* = x\cdot w^*\), label noise ξ, and z."""

    f_star: Any
    xi: Any
    z: Any


class Model(eqx.Module):
    """What is trained: functions of one row, numbers that are leaves, and what makes it special.

    The numbers of a model (α, λ, …) may be arrays: they broadcast with those of the task, and every entry
    is a problem of its own. They are leaves of a pytree, so that new numbers use compiled code again.
    """

    @property
    @abc.abstractmethod
    def state_shape(self) -> tuple[int, ...]:
        """Shape of θ, () for a number."""

    @property
    @abc.abstractmethod
    def channels(self) -> tuple[int, ...]:
        """Shape of w, f, ℓ and g, () for a number."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """A few words for tables, titles and files."""

    @property
    def start(self) -> RowLaw:
        """The law of θ at t = 0; zero unless it is another."""
        return zeros(self.state_shape)

    @property
    def own(self) -> RowLaw:
        """The law of z, the own randomness of a datum; none unless there is some."""
        return zeros(())

    @abc.abstractmethod
    def w(self, theta: Any, t: Any = 0.0) -> Any:
        """What a coordinate contributes to f."""

    @abc.abstractmethod
    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """What a datum sends back, of the shape of f."""

    @abc.abstractmethod
    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """How a coordinate moves, of the shape of θ."""

    @property
    def own_loss(self) -> bool:
        """Whether `loss` is something else than |ℓ|²/2."""
        return type(self).loss is not Model.loss

    @property
    def own_error(self) -> bool:
        """Whether `error` is something else than |ℓ|²."""
        return type(self).error is not Model.error

    @property
    def odd(self) -> bool:
        """Whether all functions only change sign with θ, g and w*: half of the sample will do."""
        return False

    @property
    def rotates(self) -> bool:
        """Whether coordinates may be turned: w and p are linear in θ and g, and the same for all."""
        return False

    @property
    def multiplicative(self) -> bool:
        """Whether weights grow by factors: they may stay small for long before they are seen in outputs."""
        return False

    @property
    def smooth(self) -> bool:
        """Whether ℓ and p are known to have no jumps; else these are looked for before a flow is solved."""
        return False

    @property
    def linear(self) -> bool | None:
        """Whether ℓ is affine in f; None: it is found out."""
        return None

    def loss(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """The loss of a datum."""
        return 0.5 * jnp.sum(self.ell(f, datum, t) ** 2)

    def error(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """The error of a datum."""
        return jnp.sum(self.ell(f, datum, t) ** 2)

    def measures(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """Loss and error of a datum."""
        both = self.loss(f, datum, t), self.error(f, datum, t)
        return jnp.stack([jnp.asarray(one, float) for one in both])

    def numbers(self) -> dict[str, Any]:
        """Numbers that may be arrays, by the names of their fields."""
        return {}

    def penalty(self, theta: Any, t: Any = 0.0) -> Any:
        """What a coordinate adds to the loss."""
        return jnp.zeros(())

    def check_labels(self, y: Float[np.ndarray, " n"]) -> None:
        """InputError for labels of own data that the model cannot be trained on."""

    def in_flow(self, t_max: float) -> "Model":
        """The same model in coordinates that suit gradient flow up to t_max, such as a mirror coordinate."""
        return self

    def admissible(self, step: Any, theta: Any) -> Any:
        """A Newton step of θ, shortened where it would go too far."""
        return step

    def longest_block(self) -> float:
        """Gradient flow is cut into blocks of time that are no longer than this."""
        return np.inf

    @property
    def states(self) -> int:
        """k, numbers per coordinate."""
        return int(np.prod(self.state_shape, dtype=int))

    @property
    def outputs(self) -> int:
        """c, channels."""
        return int(np.prod(self.channels, dtype=int))

    def try_out(self, task: Task, seed: int = 0) -> None:
        """InputError that names the function which is not finite on rows drawn at t = 0."""
        rng = np.random.default_rng(integer("seed", seed, 0))
        sigma, rho = float(np.max(task.sigma)), float(np.sqrt(task.signal))
        w_star = task.prior.sample(TRIED, 1)
        theta = self.start.rows(rng.standard_normal((TRIED, self.start.normals)), w_star)
        finite("theta0", theta)
        w = jax.vmap(self.w)(theta)
        finite("w", w)
        size = jnp.sqrt(jnp.mean(w**2, axis=0))
        f = size * rng.standard_normal((TRIED, *self.channels))
        own = self.own.rows(rng.standard_normal((TRIED, self.own.normals)))
        finite("z", own)
        datum = Datum(rho * rng.standard_normal(TRIED), sigma * rng.standard_normal(TRIED), own)
        ell = jax.vmap(self.ell)(f, datum)
        finite("ell", ell)
        g = jnp.sqrt(jnp.mean(ell**2, axis=0)) * rng.standard_normal((TRIED, *self.channels))
        finite("p", jax.vmap(self.p)(g, theta))
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
        slopes = np.asarray(jax.vmap(jax.jacfwd(self.ell))(f, datum, times)).reshape(TRIED, c, c)
        now, first = (jax.vmap(self.ell)(f, datum, t) for t in (times, np.zeros(TRIED)))
        scale = 1e-12 * (1.0 + np.max(np.abs(now)))
        same = np.max(np.abs(slopes - slopes[0])) < scale and np.max(np.abs(now - first)) < scale
        # slopes may agree by chance where ℓ is piecewise linear: a secant must have them too
        far = jax.vmap(self.ell)(-100.0 * f, datum, times)
        secant = np.einsum("ab,nb->na", slopes[0], -101.0 * f.reshape(TRIED, c))
        same &= bool(np.max(np.abs(np.reshape(far - now, (TRIED, c)) - secant)) < 1e3 * scale)
        if self.linear and not same:
            raise InputError(
                "ell must be affine in f with one slope at all times when linear=True, and is not"
            )
        return slopes[0] if same else None


class SquaredLoss(Model):
    r"""A model with one channel whose ℓ is the residual \(f - y\) of labels \(y = f^* + \xi\), and no own
    z."""

    @property
    def smooth(self) -> bool:
        """No jumps."""
        return True

    @property
    def own(self) -> RowLaw:
        """None."""
        return z_law(None)

    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """The residual."""
        return f - datum.f_star - datum.xi

    def affine(self, seed: int = 0) -> Any:
        """The slope of ℓ is one."""
        return np.eye(1) if self.linear is not False else None


def zeros(shape: tuple[int, ...]) -> RowLaw:
    """Rows of zeros."""
    return RowLaw(shape, 0, lambda normals, *_: np.zeros((len(normals), *shape)))


def bare(model: Model) -> Model:
    """The model without its laws of rows, numbers as arrays: what compiled code is given."""
    laws = [name for name in ("theta0", "z", "start_rows", "own_rows") if hasattr(model, name)]
    if laws:
        model = eqx.tree_at(
            lambda m: [getattr(m, name) for name in laws],
            model,
            [None] * len(laws),
            is_leaf=lambda x: x is None,
        )
    return jax.tree.map(lambda x: np.asarray(x, float), model)


M = TypeVar("M", bound=Model)


def at_problem(model: Model, shape: tuple[int, ...], place: tuple) -> Model:
    """The model of one problem of several, in plain numbers."""

    def one(value: Any) -> Any:
        return float(np.broadcast_to(np.asarray(value, float), shape)[place])

    return with_numbers(model, {name: one(value) for name, value in model.numbers().items()})


def with_numbers(model: M, values: Mapping[str, Any]) -> M:
    """The model with some of its numbers changed."""
    if not values:
        return model
    return eqx.tree_at(lambda m: [getattr(m, name) for name in values], model, list(values.values()))


def finite(name: str, values: Any) -> None:
    """InputError unless all values are finite."""
    good = np.isfinite(np.asarray(values))
    if not good.all():
        bad = np.asarray(values)[~good].flat[0]
        raise InputError(
            f"{name} must be finite at the start, got {bad} in {np.sum(~good)} of {good.size} values"
        )
