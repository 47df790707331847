"""Checks of what the user gives: every refusal names argument, value and what is allowed."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from dynafield.errors import InputError

__all__ = [
    "concrete",
    "derivative_order",
    "index_of",
    "integer",
    "labelled_data",
    "one_real",
    "plain",
    "real",
    "real_matrix",
    "real_vector",
    "same_shape",
    "untraced",
]


def concrete(value: Any) -> np.ndarray | None:
    """The numbers behind `value`, or None while JAX traces it and there are none yet."""
    if not isinstance(value, Tracer):
        return np.asarray(value, dtype=float)
    try:
        return np.asarray(jax.lax.stop_gradient(value), dtype=float)
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError):
        return None


def plain(value: Any) -> Any:
    """A Python number where it is one number."""
    return float(value) if np.ndim(value) == 0 else value


def derivative_order(value: Any) -> int:
    """How many derivatives JAX is taking with respect to `value` (as far as it shows)."""
    order = 0
    while isinstance(value, Tracer):
        order += hasattr(value, "primal")
        value = getattr(value, "primal", getattr(value, "val", None))
    return order


def first_bad(array: np.ndarray, good: np.ndarray) -> str:
    """The first offending entry as text, with its index when there are several."""
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    text = f"{array[index]:.17g}"
    if not index:
        return text
    return f"{text} at index {index[0] if len(index) == 1 else index}"


def real(name: str, value: Any, ok: Callable[[Any], Any], allowed: str) -> Any:
    """A finite real number or array of them with `ok`, else InputError.

    Python and NumPy numbers come back as float or as a read-only float64 array; JAX
    values come back untouched, so that they can be differentiated, and their numbers are
    checked too wherever they are known.
    """
    if value is None or isinstance(value, (str, bytes, bool)):
        raise InputError(f"{name} must be {allowed}, got {value!r}")
    if isinstance(value, Tracer):
        array = concrete(value)
        if array is None:
            return value
    else:
        try:
            raw = np.asarray(value)
            if raw.dtype.kind not in "iuf":
                raise TypeError
            array = raw.astype(float)
        except (TypeError, ValueError):
            raise InputError(f"{name} must be {allowed}, got {value!r}") from None
    if array.size == 0:
        raise InputError(f"{name} must be {allowed}, got an empty array")
    with np.errstate(invalid="ignore"):
        good = np.asarray(np.isfinite(array) & ok(array))
    if not good.all():
        raise InputError(f"{name} must be {allowed}, got {first_bad(array, good)}")
    if isinstance(value, jax.Array):
        return value
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array


def one_real(name: str, value: Any, ok: Callable[[Any], Any], allowed: str) -> float:
    """One number with `ok`, known now, as a float."""
    untraced(**{name: value})
    checked = real(name, value, ok, allowed)
    if np.ndim(checked):
        raise InputError(f"{name} must be {allowed}, got an array of shape {np.shape(checked)}")
    return float(checked)


def untraced(**arguments: Any) -> None:
    """InputError for arguments that JAX traces, where they can be neither traced nor differentiated."""
    for name, value in arguments.items():
        if isinstance(value, Tracer):
            raise InputError(f"{name} must be a plain number here: it is neither traced nor differentiated")


def real_vector(name: str, value: Any, ok: Callable[[Any], Any], allowed: str):
    """A non-empty one-dimensional float64 array with `ok`."""
    checked = real(name, value, ok, allowed)
    if np.ndim(checked) != 1:
        raise InputError(f"{name} must be {allowed}, got shape {np.shape(checked)}")
    return checked


def real_matrix(name: str, value: Any) -> np.ndarray:
    """A finite real matrix, or InputError."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "iuf":
            raise TypeError
        X = raw.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a real matrix, got {type(value).__name__}") from None
    if X.ndim != 2 or X.size == 0:
        raise InputError(f"{name} must be a matrix with rows and columns, got shape {X.shape}")
    if not np.all(np.isfinite(X)):
        row, column = (int(i) for i in np.argwhere(~np.isfinite(X))[0])
        raise InputError(f"{name} must be finite, got {X[row, column]} at row {row}, column {column}")
    return X


def labelled_data(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels of a regression, at least two samples, or InputError."""
    X = real_matrix("X", X)
    y = np.array(real_vector("y", y, np.isfinite, "a vector of finite numbers"))
    if len(y) != len(X):
        raise InputError(f"y must have one entry for each of the {len(X)} rows of X, got {len(y)}")
    if len(y) < 2:
        raise InputError(f"X must have n ≥ 2 rows, got {len(y)}")
    return X, y


def integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """A Python or NumPy integer within bounds (2.0 and True are refused)."""
    allowed = f"an integer ≥ {minimum}" if maximum is None else f"an integer from {minimum} to {maximum}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name} must be {allowed}, got {value!r}")
    if value < minimum or (maximum is not None and value > maximum):
        raise InputError(f"{name} must be {allowed}, got {value}")
    return int(value)


def index_of(index: tuple[Any, ...], shape: tuple[int, ...]) -> int:
    """The row of `index` in C order, or InputError naming index and shape."""
    whole = all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in index)
    if (
        not whole
        or len(index) != len(shape)
        or not all(0 <= i < n for i, n in zip(index, shape, strict=True))
    ):
        raise InputError(
            f"index must be {len(shape)} integers within the parameter axes {shape}, got {index}"
        )
    return int(np.ravel_multi_index(index, shape)) if shape else 0


def same_shape(**arguments: Any) -> tuple[int, ...]:
    """The shape to which the arguments broadcast, or InputError naming all of them."""
    shapes = {name: np.shape(value) for name, value in arguments.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise InputError(f"arrays must broadcast against each other, got {text}") from None
