"""Checks of what the user gives: every refusal names argument, value and what is allowed.

This is the one place that decides what a number, a count, a seed, a flag, a path and a function are.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from dynafield.errors import InputError

__all__ = [
    "LARGEST",
    "at_most",
    "called",
    "check_memory",
    "checked_path",
    "concrete",
    "derivative_order",
    "flag",
    "flag_or_none",
    "function_of",
    "in_range",
    "index_of",
    "integer",
    "is_whole",
    "labelled_data",
    "one_real",
    "places",
    "plain",
    "real",
    "real_list",
    "real_matrix",
    "real_or_missing",
    "real_vector",
    "same_shape",
    "seed_of",
    "shown",
    "text_of",
    "unmasked",
    "untraced",
]

LARGEST = 1e100
"""Largest size of a number of a problem, and one over the smallest: squares and products fit doubles."""
MOST = 10**9
"""Largest count: more numbers than these are no result that a machine can hold."""
LARGEST_SEED = 2**63 - 1
"""Largest seed: that of a signed integer of 64 bits, as files keep it."""
LONGEST = 80
"""Characters of a value that a message shows."""


def shown(value: Any) -> str:
    """A value as text for a message, however long, and whatever its own text does."""
    try:
        text = repr(value)
    except Exception:  # of the user's own class, or an integer of too many digits
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:60]}… of type {type(value).__name__}"


def unmasked(name: str, value: Any) -> None:
    """InputError for arrays with masked entries: what stands behind a mask is no number."""
    if isinstance(value, np.ma.MaskedArray) and bool(np.any(np.ma.getmaskarray(value))):
        raise InputError(f"{name} must not have masked entries: fill them, or leave them out")


def in_range(name: str, value: Any, smallest: float = 0.0) -> Any:
    """The same numbers, or InputError unless they are 0 or of a size from `smallest` to LARGEST.

    Then squares, and one over the smallest, fit doubles. Squares of small ones may vanish: they are small.
    """
    array = concrete(value)
    if array is not None:
        size = np.abs(array)
        good = np.asarray((size == 0) | ((size >= smallest) & (size <= LARGEST)))
        if not good.all():
            least = "up to" if smallest == 0 else f"from {smallest:g} to"
            raise InputError(
                f"{name} must be of a size {least} {LARGEST:g}, if not 0, so that squares fit double "
                f"precision, got {first_bad(array, good)}"
            )
    return value


def concrete(value: Any) -> np.ndarray | None:
    """The numbers of `value`, or None while JAX traces it and there are none yet."""
    if not isinstance(value, Tracer):
        return np.asarray(value, dtype=float)
    try:
        return np.asarray(jax.lax.stop_gradient(value), dtype=float)
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError):
        return None


def plain(value: Any) -> Any:
    """A Python number if the value is a single number."""
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


def real(name: str, value: Any, ok: Callable[[Any], Any], allowed: str, infinite: bool = False) -> Any:
    """A finite real number or array of them with `ok`, else InputError; `infinite` allows ±infinity too.

    Python and NumPy numbers come back as float or as a read-only float64 array; JAX
    values come back untouched, so that they can be differentiated, and their numbers are
    checked too wherever they are known.
    """
    if value is None or isinstance(value, (str, bytes, bool)):
        raise InputError(f"{name} must be {allowed}, got {shown(value)}")
    unmasked(name, value)
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
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be {allowed}, got {shown(value)}") from None
    if array.size == 0:
        raise InputError(f"{name} must be {allowed}, got an empty array")
    with np.errstate(invalid="ignore"):
        good = np.asarray((np.isfinite(array) | (infinite & np.isinf(array))) & ok(array))
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


def real_list(name: str, value: Any, ok: Callable[[Any], Any], allowed: str) -> np.ndarray:
    """One number or a vector of them with `ok`, known now, as a vector of its own."""
    untraced(**{name: value})
    checked = np.array(real(name, value, ok, allowed), float)
    if checked.ndim > 1:
        raise InputError(f"{name} must be {allowed}, got shape {checked.shape}")
    return np.atleast_1d(checked)


def real_or_missing(name: str, value: Any) -> np.ndarray:
    """Numbers in any shape, of which some may be NaN, where nothing is known."""
    raw = None if value is None or isinstance(value, (str, bytes, bool)) else value
    unmasked(name, raw)
    try:
        found = np.asarray(raw)
    except ValueError:  # rows of several lengths
        found = np.asarray(None)
    if found.dtype.kind not in "iuf" or found.size == 0:
        raise InputError(f"{name} must be numbers, got {shown(value)}")
    return found.astype(float)


def places(name: str, value: Any) -> np.ndarray:
    """Numbers, in any shape, at which a function is evaluated; infinite ones are among them."""
    return np.asarray(real(name, value, lambda x: ~np.isnan(x), "numbers", infinite=True), float)


def real_matrix(name: str, value: Any) -> np.ndarray:
    """A finite real matrix, or InputError."""
    unmasked(name, value)
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "iuf":
            raise TypeError
        X = raw.astype(float)
    except (TypeError, ValueError, OverflowError):
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


def is_whole(value: Any) -> bool:
    """Whether this is a Python or NumPy integer; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """A Python or NumPy integer within bounds (2.0 and True are refused); a billion at most, unless told."""
    allowed = f"an integer ≥ {minimum}" if maximum is None else f"an integer from {minimum} to {maximum}"
    if not is_whole(value):
        raise InputError(f"{name} must be {allowed}, got {shown(value)}")
    if value < minimum or (maximum is not None and value > maximum):
        raise InputError(f"{name} must be {allowed}, got {shown(int(value))}")
    return at_most(name, int(value), MOST if maximum is None else maximum)


def at_most(name: str, value: int, most: int) -> int:
    """The same integer, or InputError where it is too large."""
    if value > most:
        raise InputError(f"{name} must be at most {most}, got {shown(value)}")
    return value


def seed_of(name: str, value: Any) -> int:
    """A seed: an integer from 0 to 2⁶³ - 1."""
    if isinstance(value, (int, np.integer)) and value > LARGEST_SEED:
        raise InputError(f"{name} must be at most 2**63 - 1, got {shown(int(value))}")
    return int(value) if is_whole(value) and value >= 0 else integer(name, value, 0)


def flag(name: str, value: Any) -> bool:
    """True or False; 0 and 1, and NumPy's, are the same."""
    whole = isinstance(value, (bool, np.bool_, int, np.integer))
    if not whole or value not in (0, 1):
        raise InputError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def flag_or_none(name: str, value: Any) -> bool | None:
    """True, False, or None, which leaves the choice to the library."""
    return None if value is None else flag(name, value)


def checked_path(name: str, value: Any) -> Path:
    """A path from text or a `Path`."""
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{name} must be text or a Path, got {shown(value)}")
    try:
        path = Path(value)
    except TypeError:  # of bytes
        raise InputError(f"{name} must be text or a Path, got {shown(value)}") from None
    if str(value) == "" or "\0" in str(path):
        raise InputError(f"{name} must be the name of a file or a folder, got {shown(value)}")
    return path


def text_of(name: str, value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be text, got {shown(value)}")
    return value


def function_of(name: str, value: Any) -> Callable[..., Any]:
    """Something to call."""
    if not callable(value):
        raise InputError(f"{name} must be a function, got {shown(value)}")
    return value


def called(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the user's returns; where it fails, its own message with ours around it."""
    try:
        return function(*arguments)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what} has failed: {type(error).__name__}: {error}") from error


def memory_bytes() -> float:
    """Bytes of this machine's memory; infinite where it does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def check_memory(name: str, value: Any, needed: float, advice: str) -> None:
    """InputError where an argument asks for more memory than there is, before any of it is taken."""
    there = memory_bytes()
    if needed > there:
        raise InputError(
            f"{name} = {shown(value)} needs about {needed / 1e9:.3g} GB of memory, and this machine has "
            f"{there / 1e9:.3g} GB: {advice}"
        )


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
