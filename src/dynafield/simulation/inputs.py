"""Distributions of the inputs: independent entries of mean 0 and variance 1/d, or a given matrix."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import called, check_memory, real_matrix, shown

__all__ = ["InputLaw", "read_inputs"]

SPREAD = (0.5, 2.0)
"""What d times the variance of a sampler's entries must lie between: chance keeps it closer to 1."""


CENTRE = 0.5
"""What √d times their mean must stay below in size."""


class InputLaw(abc.ABC):
    """A source of input matrices."""

    name: str

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
        """n inputs of dimension d."""


class Gaussian(InputLaw):
    """Normal entries."""

    name = "gaussian"

    def draw(self, rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
        """Entries from N(0, 1/d)."""
        return rng.standard_normal((n, d)) / np.sqrt(d)


class Binary(InputLaw):
    """Random signs."""

    name = "binary"

    def draw(self, rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
        """Entries ±1/√d."""
        return (2.0 * rng.integers(0, 2, (n, d)) - 1.0) / np.sqrt(d)


class Uniform(InputLaw):
    """Uniform entries."""

    name = "uniform"

    def draw(self, rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
        """Entries uniform on ±√(3/d)."""
        return rng.uniform(-1.0, 1.0, (n, d)) * np.sqrt(3.0 / d)


@dataclasses.dataclass
class Sampler(InputLaw):
    """Matrices that a function of (rng, n, d) returns."""

    function: Callable[[np.random.Generator, int, int], Any]
    name = "sampler"

    def draw(self, rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
        """The function's matrix, checked."""
        what = "inputs, called with (rng, n, d),"
        X = real_matrix(what, called(what, self.function, rng, n, d))
        if X.shape != (n, d):
            raise InputError(f"inputs, called with (rng, {n}, {d}), must return that shape, got {X.shape}")
        spread, centre = d * float(np.mean(X**2)), np.sqrt(d) * float(np.mean(X))
        if n * d >= 100 and not (SPREAD[0] < spread < SPREAD[1] and abs(centre) < CENTRE):
            raise InputError(
                "inputs must have mean 0 and variance 1/d: its entries have "
                f"√d · mean = {centre:.3g}, not 0, or d · mean square = {spread:.3g}, not 1"
            )
        return X


@dataclasses.dataclass
class Given(InputLaw):
    """One matrix for all runs."""

    X: np.ndarray
    name = "matrix"

    def draw(self, rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
        """The matrix."""
        return self.X


def read_inputs(inputs: Any, delta: float, d: int | None) -> tuple[InputLaw, int, int]:
    """The source of inputs, n and d from what the user gave."""
    laws = {law.name: law for law in (Gaussian(), Binary(), Uniform())}
    if isinstance(inputs, InputLaw):
        law = inputs
    elif isinstance(inputs, str):
        if inputs not in laws:
            raise InputError(
                f"inputs must be {', '.join(map(repr, laws))}, a sampler or a matrix, got {shown(inputs)}"
            )
        law = laws[inputs]
    elif callable(inputs):
        law = Sampler(inputs)
    else:
        law = Given(real_matrix("inputs", inputs))
        if not np.any(law.X):
            raise InputError("inputs must vary: all entries of this matrix are zero, nothing can be learnt")
    if isinstance(law, Given):
        n, columns = law.X.shape
        if d is not None and d != columns:
            raise InputError(f"d must be the {columns} columns of the matrix given as inputs, got {d}")
        if n != round(delta * columns):
            raise InputError(
                f"inputs must have n = delta · d = {delta:g} · {columns} = {round(delta * columns)} rows, "
                f"got {n} (delta = {n / columns:g} would fit)"
            )
        d = columns
    d = 500 if d is None else d
    n = round(min(delta * d, 1e300))
    check_memory("d", d, 16.0 * n * d, f"take a smaller d, or a smaller delta than {delta:g}")
    if n < 2:
        raise InputError(f"delta · d must give n ≥ 2 samples, got {delta:g} · {d} = {delta * d:g}")
    return law, n, d
