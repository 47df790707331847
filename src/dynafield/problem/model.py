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
from dynafield.problem.checks import seed_of
from dynafield.problem.laws import RowLaw, z_law
from dynafield.problem.task import Task

__all__ = ["MEASURES", "Datum", "Model", "SquaredLoss", "at_problem", "bare", "with_numbers"]

MEASURES = ("train_loss", "train_error", "test_loss", "test_error")
"""Curves of every flow."""
TRIED = 64
"""Rows on which the functions are tried before anything is solved."""


class Datum(NamedTuple):
    r"""What a datum knows besides its own f.

    Parameters
    ----------
    f_star : number or array (n,)
        Output of the teacher, \(f^* = x\cdot w^*\).
    xi : number or array (n,)
        Label noise, of standard deviation σ.
    z : number, vector or array (n, …)
        Own randomness of the datum, as the model's `z` says; 0 where there is none.
    """

    f_star: Any
    xi: Any
    z: Any


class Model(eqx.Module):
    """What is trained: three functions of one row, and the numbers in them [eq:flow_general].

    The numbers of a model (α, λ, …) may be arrays: they broadcast with those of the task, and every entry
    is a problem of its own. They are leaves of a pytree, so that compiled code is used again for new numbers.
    A subclass has `state_shape`, `channels`, `name`, `w`, `ell` and `p`; everything else has a default.
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
        """The distribution of θ at t = 0; by default θ = 0."""
        return zeros(self.state_shape)

    @property
    def own(self) -> RowLaw:
        """The distribution of z, the own randomness of a datum; by default there is none."""
        return zeros(())

    @abc.abstractmethod
    def w(self, theta: Any, t: Any = 0.0) -> Any:
        """What a coordinate contributes to f.

        Parameters
        ----------
        theta : array of shape `state_shape`
            State of one coordinate.
        t : number, default 0
            Training time.

        Returns
        -------
        array of shape `channels`
            w.
        """

    @abc.abstractmethod
    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """What a datum sends back, such as the derivative of its loss in f.

        Parameters
        ----------
        f : array of shape `channels`
            Output of the model on the datum.
        datum : Datum
            What the datum knows: f*, ξ and z.
        t : number, default 0
            Training time.

        Returns
        -------
        array of shape `channels`
            ℓ.
        """

    @abc.abstractmethod
    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        r"""How a coordinate moves: dθ/dt.

        Parameters
        ----------
        g : array of shape `channels`
            Gradient that the coordinate feels, \(\tfrac1\delta X^\top\ell\).
        theta : array of shape `state_shape`
            Its state.
        t : number, default 0
            Training time.

        Returns
        -------
        array of shape `state_shape`
            Velocity.
        """

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
        """Whether w and p change sign together with θ, g and w*: then half of the sample is enough."""
        return False

    @property
    def rotates(self) -> bool:
        """Whether coordinates may be rotated: w and p are linear in θ and g, and the same for all."""
        return False

    @property
    def multiplicative(self) -> bool:
        """Whether weights grow by factors: they may stay small for long before outputs show them."""
        return False

    @property
    def smooth(self) -> bool:
        """Whether ℓ and p are known to have no jumps; otherwise they are searched for."""
        return False

    @property
    def linear(self) -> bool | None:
        """Whether ℓ is affine in f; None if that is to be tested."""
        return None

    def loss(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        r"""The loss of a datum.

        Parameters
        ----------
        f : array of shape `channels`
            Output of the model on the datum.
        datum : Datum
            What the datum knows: f*, ξ and z.
        t : number, default 0
            Training time.

        Returns
        -------
        number
            \(|\ell|^2/2\) unless the model has a loss of its own.
        """
        return 0.5 * jnp.sum(self.ell(f, datum, t) ** 2)

    def error(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        r"""The error of a datum.

        Parameters
        ----------
        f : array of shape `channels`
            Output of the model on the datum.
        datum : Datum
            What the datum knows: f*, ξ and z.
        t : number, default 0
            Training time.

        Returns
        -------
        number
            \(|\ell|^2\) unless the model has an error of its own.
        """
        return jnp.sum(self.ell(f, datum, t) ** 2)

    def measures(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """Loss and error of a datum together.

        Parameters
        ----------
        f : array of shape `channels`
            Output of the model on the datum.
        datum : Datum
            What the datum knows: f*, ξ and z.
        t : number, default 0
            Training time.

        Returns
        -------
        array (2,)
            Loss and error.
        """
        both = self.loss(f, datum, t), self.error(f, datum, t)
        return jnp.stack([jnp.asarray(one, float) for one in both])

    def numbers(self) -> dict[str, Any]:
        """Numbers that may be arrays, by the names of their fields."""
        return {}

    def penalty(self, theta: Any, t: Any = 0.0) -> Any:
        """What a coordinate adds to the loss, such as weight decay.

        Parameters
        ----------
        theta : array of shape `state_shape`
            State of one coordinate.
        t : number, default 0
            Training time.

        Returns
        -------
        number
            The penalty; 0 by default.
        """
        return jnp.zeros(())

    def check_labels(self, y: Float[np.ndarray, " n"]) -> None:
        """Check labels of the user's own data before training on them.

        Parameters
        ----------
        y : array (n,)
            Labels.

        Raises
        ------
        InputError
            If the model cannot be trained on them.
        """

    def in_flow(self, t_max: float) -> "Model":
        """The same model in coordinates that suit gradient flow, such as a mirror coordinate.

        Parameters
        ----------
        t_max : float
            Last time of training.

        Returns
        -------
        Model
            An equivalent model; by default the model itself.
        """
        return self

    def admissible(self, step: Any, theta: Any) -> Any:
        """A Newton step of θ, shortened where it would go too far.

        Parameters
        ----------
        step : array of shape `state_shape`
            Proposed change of θ.
        theta : array of shape `state_shape`
            θ before the step.

        Returns
        -------
        array of shape `state_shape`
            The step to take; by default the proposed one.
        """
        return step

    def longest_block(self) -> float:
        """The longest block of time into which gradient flow may be cut."""
        return np.inf

    @property
    def states(self) -> int:
        """k, the number of entries of θ."""
        return int(np.prod(self.state_shape, dtype=int))

    @property
    def outputs(self) -> int:
        """c, the number of channels."""
        return int(np.prod(self.channels, dtype=int))

    def try_out(self, task: Task, seed: int = 0) -> None:
        """Evaluate all functions on random rows at t = 0.

        Parameters
        ----------
        task : Task
            Gives the distributions of w*, f* and ξ.
        seed : int, default 0
            Seed of the random rows.

        Raises
        ------
        InputError
            If a function returns a value that is not finite; the message names it.
        """
        rng = np.random.default_rng(seed_of("seed", seed))
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
        """The slope of ℓ in f, if it is the same for all data at all times and ℓ does not depend on the
        time.

        Parameters
        ----------
        seed : int, default 0
            Seed of the random data on which this is tested.

        Returns
        -------
        array (c, c) or None
            The slope; None if ℓ is not of this form.
        """
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
        """ℓ and p have no jumps."""
        return True

    @property
    def own(self) -> RowLaw:
        """There is no z."""
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
    """The model without its distributions of rows, with numbers as arrays: what compiled code is given."""
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
