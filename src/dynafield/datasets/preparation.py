"""From a cohort of samples to the inputs of a network."""

from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError

__all__ = ["design", "varying", "whiten"]

NEGLIGIBLE = 1e-10
"""Spread of a column or component, relative to the largest, that counts as none."""


def cohort(X: Any) -> np.ndarray:
    """A finite matrix of at least two samples, or InputError."""
    try:
        X = np.array(X, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"X must be a real matrix, got {type(X).__name__}") from None
    if X.ndim != 2 or X.shape[1] < 1:
        raise InputError(f"X must be a matrix of samples × features, got shape {X.shape}")
    if X.shape[0] < 2:
        raise InputError(f"X must have at least 2 samples, got {X.shape[0]}")
    if not np.all(np.isfinite(X)):
        row, column = (int(i) for i in np.argwhere(~np.isfinite(X))[0])
        raise InputError(f"X must be finite, got {X[row, column]} at row {row}, column {column}")
    return X


def spread(X: np.ndarray) -> np.ndarray:
    """Standard deviation of each column; exactly zero where it does not vary."""
    return np.where(np.ptp(X, axis=0) > 0, np.std(X, axis=0), 0.0)


def varying(X: Any) -> Float[np.ndarray, "n d"]:
    """X without its constant columns."""
    X = cohort(X)
    kept = spread(X) > 0
    if not kept.any():
        raise InputError(f"X must have a column that varies, got {X.shape[1]} constant ones")
    return X[:, kept]


def whiten(X: Any, components: int | None = None) -> Float[np.ndarray, "n d"]:
    r"""Principal components of X scaled to mean 0 and variance 1 over the samples.

    All that vary (at most n - 1), or the first `components`. With more features than
    samples all n - 1 components make every two samples equidistant, whatever the data:
    \(ZZ^\top = n - 11^\top\). Parts of such a matrix have a spectrum of Jacobi type, narrower than
    Marchenko–Pastur.
    """
    X = cohort(X)
    centred = X - X.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    rank = int(np.sum(s > NEGLIGIBLE * max(s[0], 1e-300))) if s[0] > 0 else 0
    if rank == 0:
        raise InputError("X must vary between samples, got constant columns only")
    if components is None:
        components = rank
    if (
        isinstance(components, bool)
        or not isinstance(components, (int, np.integer))
        or not 1 <= components <= rank
    ):
        raise InputError(
            f"components must be an integer from 1 to the rank {rank} of centred X, got {components!r}"
        )
    return u[:, :components] * np.sqrt(len(X))


def design(X: Any, n: int, d: int, seed: Any) -> Float[np.ndarray, "n d"]:
    r"""n random samples and d random features of a cohort, as inputs of mean 0 and variance 1/d.

    Columns are normalized over the whole cohort and samples chosen afterwards: centred over
    the chosen ones they would satisfy \(1^\top X = 0\), and labels could not be interpolated.
    `seed` is an integer or a `numpy.random.Generator`.
    """
    X = cohort(X)
    for name, value, most in (("n", n, X.shape[0]), ("d", d, X.shape[1])):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= most:
            raise InputError(f"{name} must be an integer from 1 to {most}, got {value!r}")
    if n < 2:
        raise InputError(f"n must be at least 2, got {n}")
    if not isinstance(seed, np.random.Generator):
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InputError(f"seed must be an integer ≥ 0 or a Generator, got {seed!r}")
        seed = np.random.default_rng(seed)
    width = spread(X)
    if np.any(width == 0):
        still = np.flatnonzero(width == 0)
        raise InputError(
            f"X must have no constant column to be normalized, got {len(still)} "
            f"(the first is column {still[0]}): drop them with varying(X)"
        )
    features = seed.choice(X.shape[1], size=d, replace=False)
    samples = seed.choice(X.shape[0], size=n, replace=False)
    chosen = X[:, features]
    return ((chosen - chosen.mean(axis=0)) / (width[features] * np.sqrt(d)))[samples]
