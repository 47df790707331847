"""Distributions of a row's start and of its own randomness, all made of standard normals."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from dynafield.errors import InputError
from dynafield.numerics.normals import normals_of
from dynafield.problem.checks import called, integer, real, shown
from dynafield.problem.priors import Components, Prior

__all__ = ["FromNormals", "RowLaw", "quantile", "start_law", "z_law"]


@dataclasses.dataclass(frozen=True)
class FromNormals:
    """A distribution given by a function of standard normals, for one row.

    Parameters
    ----------
    function : callable
        Written in jax.numpy; takes (w_star, normals) where it gives `theta0`, (normals) where it gives `z`,
        with an array `normals` of shape (count,). Returns a number or a vector.
    count : int, default 1
        Number of standard normals, 0 to 1000.

    Examples
    --------
    >>> start = FromNormals(lambda w_star, e: 0.1 * w_star + e[0])
    """

    function: Any
    count: Any = 1

    def __post_init__(self):
        if not callable(self.function):
            raise InputError(f"function must be a function of standard normals, got {shown(self.function)}")
        integer("count", self.count, 0, 1000)


@dataclasses.dataclass(frozen=True)
class RowLaw:
    """A distribution of rows: their shape, how many normals each needs, and a function of many rows."""

    shape: tuple[int, ...]
    normals: int
    rows: Callable[..., Any]


def quantile(components: Components, uniform: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Draws from a mixture by one uniform number each, which chooses the component and the place in it."""
    weight, mean, std = components
    edges = np.concatenate([[0.0], np.cumsum(weight)])
    which = np.clip(np.searchsorted(edges, uniform, side="right") - 1, 0, len(weight) - 1)
    return mean[which] + std[which] * normals_of((uniform - edges[which]) / weight[which])


def start_law(theta0: Any) -> RowLaw:
    """The distribution of the start of a coordinate, or InputError."""
    if isinstance(theta0, FromNormals):
        return own_function("theta0", theta0, "w_star, normals", 0.0)
    allowed = "a number, a prior, a list of these, or FromNormals(function of (w_star, normals), count)"
    return entries("theta0", theta0, allowed, constants=True)


def z_law(z: Any, name: str = "z") -> RowLaw:
    """The distribution of the own randomness of a datum, or InputError."""
    if z is None:
        return RowLaw((), 0, lambda normals, *_: np.zeros(len(normals)))
    if isinstance(z, FromNormals):
        return own_function(name, z, "normals")
    allowed = (
        "a distribution: None, a prior, a list of priors, or FromNormals(function of normals, count). "
        "What depends on the inputs, like labels, must be made in ell, of datum.f_star and datum.xi"
    )
    return entries(name, z, allowed, constants=False)


def own_function(name: str, law: FromNormals, arguments: str, *first: float) -> RowLaw:
    """The distribution given by a function of the user."""
    normals = jax.ShapeDtypeStruct((law.count,), float)
    try:
        shape = tuple(jax.eval_shape(law.function, *first, normals).shape)
    except Exception as error:
        raise InputError(
            f"{name} must be a function of ({arguments}) with {law.count} normals, in jax.numpy, "
            f"which returns a number or a vector: {type(error).__name__}: {error}"
        ) from error
    if len(shape) > 1:
        raise InputError(f"{name} must return a number or a vector, got shape {shape}")

    def rows(normals: np.ndarray, *others: np.ndarray) -> np.ndarray:
        given = (*others[: len(first)], np.asarray(normals))
        return np.asarray(called(f"the function of {name}", jax.vmap(law.function), *given), float)

    return RowLaw(shape, law.count, rows)


def entries(name: str, given: Any, allowed: str, constants: bool) -> RowLaw:
    """Independent entries, each a number or a prior."""
    single = isinstance(given, Prior) or np.ndim(given) == 0
    several: Any = given
    listed: list[Any] = [given] if single else list(several) if np.ndim(several) == 1 else []
    kinds = (Prior, int, float, np.floating, np.integer) if constants else (Prior,)
    wrong = not listed or any(isinstance(one, bool) for one in listed)
    if wrong or not all(isinstance(one, kinds) for one in listed):
        raise InputError(f"{name} must be {allowed}, got {shown(given)}")
    random = [k for k, one in enumerate(listed) if isinstance(one, Prior)]
    numbers = [0.0 if isinstance(one, Prior) else real(name, one, np.isfinite, "finite") for one in listed]
    fixed = np.array(numbers, float)

    def rows(normals: np.ndarray, *_: np.ndarray) -> np.ndarray:
        drawn = np.tile(fixed, (len(normals), 1))
        for place, k in enumerate(random):
            drawn[:, k] = quantile(listed[k].components, ndtr(np.asarray(normals)[:, place]))
        return drawn[:, 0] if single else drawn

    return RowLaw(() if single else (len(listed),), len(random), rows)
