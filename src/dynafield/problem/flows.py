r"""Flows: models of one's own, by three functions of one row [eq:flow_general]."""

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dynafield.errors import InputError
from dynafield.problem.checks import flag, flag_or_none, shown, text_of
from dynafield.problem.laws import RowLaw, start_law, z_law
from dynafield.problem.model import Datum, Model

__all__ = ["Flow", "SavedFlow"]


class Flow(Model):
    r"""A model given by functions of the user [eq:flow_general].

    \(\theta' = p(g, \theta)\), \(g = \tfrac1\delta X^\top \ell(f)\), \(f = X w(\theta)\). All functions are
    those of one row, written in jax.numpy; each may take the time as one more argument. Numbers inside the
    functions are compiled in. A model whose numbers change often is better written as a subclass of `Model`,
    whose numbers are its fields.

    Parameters
    ----------
    w : callable
        `w(theta)`: what a coordinate contributes, a number, or a vector with one entry for each channel.
    ell : callable
        `ell(f, datum)`: what a datum sends back, of the shape of f. Labels are made here, of
        `datum.f_star`, `datum.xi` and `datum.z`.
    p : callable
        `p(g, theta)`: how a coordinate moves, of the shape of theta.
    theta0 : number, Prior, list of these, or FromNormals
        Start of a coordinate: the same for all, or random. A list gives a vector with independent entries.
        `FromNormals` of a function of (w_star, normals) may depend on the target.
    z : Prior, list of priors, or FromNormals, optional
        Further randomness of a datum, independent of its inputs. None: there is none.
    loss : callable, optional
        `loss(f, datum)`: the loss that is reported; None: \(|\ell|^2/2\).
    error : callable, optional
        `error(f, datum)`: the error that is reported; None: \(|\ell|^2\).
    linear : bool, optional
        Whether ℓ is affine in f with the same slope for all data at all times, so that residuals need no
        sampling. None: this is tested. False samples them in any case.
    differentiable : bool, default False
        Without effect; kept for old calls.
    name : str, default "own flow"
        Name in tables, titles and files.

    Raises
    ------
    InputError
        If a function cannot be traced by JAX, or returns a wrong shape.
    """

    functions: "Functions" = eqx.field(static=True)
    start_rows: Any
    own_rows: Any
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = eqx.field(static=True)
    affine_in_f: bool | None = eqx.field(static=True)
    words: str = eqx.field(static=True)

    def __init__(
        self, w: Any, ell: Any, p: Any, theta0: Any, z: Any = None, loss: Any = None, error: Any = None,
        linear: bool | None = None, differentiable: bool = False, name: str = "own flow",
    ):  # fmt: skip
        given = dict(w=w, ell=ell, p=p, loss=loss, error=error)
        for key, function in given.items():
            needed = key in ("w", "ell", "p")
            if not (callable(function) or (function is None and not needed)):
                allowed = "a function of one row" if needed else "None or a function of one row"
                raise InputError(f"{key} must be {allowed}, got {shown(function)}")
        linear, name = flag_or_none("linear", linear), text_of("name", name)
        if flag("differentiable", differentiable):
            warnings.warn(
                "differentiable has no effect any more: derivatives of labels are never taken",
                DeprecationWarning,
                stacklevel=2,
            )
        start, own = start_law(theta0), z_law(z)
        counts = {"w": 1}
        self.functions = Functions((k, timed(k, f, counts.get(k, 2))) for k, f in given.items())
        self.start_rows, self.own_rows = start, own
        self.affine_in_f, self.words = linear, name
        one = jax.ShapeDtypeStruct((), float)
        theta, z_row = (jax.ShapeDtypeStruct(law.shape, float) for law in (start, own))
        channels = traced("w", self.functions["w"], "a number or a vector", None, theta, one)
        if len(channels) > 1:
            raise InputError(f"w must return a number or a vector, got shape {channels}")
        self.shapes = (start.shape, channels)
        f, datum = jax.ShapeDtypeStruct(channels, float), Datum(one, one, z_row)
        traced("ell", self.functions["ell"], "like f", channels, f, datum, one)
        traced("p", self.functions["p"], "like theta", start.shape, f, theta, one)
        for key in ("loss", "error"):
            if given[key] is not None:
                traced(key, self.functions[key], "a number", (), f, datum, one)

    def __repr__(self) -> str:
        return f"Flow({self.name})"

    @property
    def state_shape(self) -> tuple[int, ...]:
        """Shape of θ."""
        return self.shapes[0]

    @property
    def channels(self) -> tuple[int, ...]:
        """Shape of w."""
        return self.shapes[1]

    @property
    def name(self) -> str:
        """The name that was given."""
        return self.words

    @property
    def linear(self) -> bool | None:
        """Whether ℓ is affine in f, as given to `Flow`."""
        return self.affine_in_f

    @property
    def start(self) -> RowLaw:
        """The distribution of θ at t = 0."""
        return self.start_rows

    @property
    def own(self) -> RowLaw:
        """The distribution of z."""
        return self.own_rows

    @property
    def own_loss(self) -> bool:
        """Whether a loss was given."""
        return self.functions["loss"] is not None

    @property
    def own_error(self) -> bool:
        """Whether an error was given."""
        return self.functions["error"] is not None

    def w(self, theta: Any, t: Any = 0.0) -> Any:
        """What a coordinate contributes."""
        return jnp.asarray(self.functions["w"](theta, t), float)

    def ell(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """What a datum sends back."""
        return jnp.asarray(self.functions["ell"](f, datum, t), float)

    def p(self, g: Any, theta: Any, t: Any = 0.0) -> Any:
        """How a coordinate moves."""
        return jnp.asarray(self.functions["p"](g, theta, t), float)

    def loss(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """The loss of a datum."""
        own = self.functions["loss"]
        return super().loss(f, datum, t) if own is None else own(f, datum, t)

    def error(self, f: Any, datum: Datum, t: Any = 0.0) -> Any:
        """The error of a datum."""
        own = self.functions["error"]
        return super().error(f, datum, t) if own is None else own(f, datum, t)


class Functions(tuple):
    """Functions by name; two of these are equal only if all functions are the same objects."""

    def __getitem__(self, name: Any) -> Any:
        return dict(self)[name]


@dataclasses.dataclass(frozen=True)
class SavedFlow:
    """The name and the numbers of a flow: all that a file keeps of it."""

    name: str
    given: dict[str, Any] = dataclasses.field(default_factory=dict)

    def numbers(self) -> dict[str, Any]:
        """The numbers of the flow, which may be arrays, by name."""
        return self.given


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
    """The shape of what a function returns; InputError with its name if it fails."""
    told = ", ".join(str(tuple(a.shape)) for a in jax.tree.leaves(arguments))
    try:
        result = jax.eval_shape(function, *arguments)
    except jax.errors.JAXTypeError as error:
        raise InputError(
            f"{name} must be written in jax.numpy, without numpy calls, `if` or float() on its arguments: "
            f"JAX cannot trace it ({str(error).splitlines()[0]})"
        ) from error
    except Exception as error:
        raise InputError(
            f"{name} must work on one row, with arguments of shapes {told}: {type(error).__name__}: {error}"
        ) from error
    if shape is not None and result.shape != shape:
        raise InputError(f"{name} must return shape {shape}, {like}, got {result.shape}")
    return tuple(result.shape)
