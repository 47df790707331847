"""From a cohort of samples to the inputs of a network."""

from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import integer, real_matrix

__all__ = ["design", "varying", "whiten"]

NEGLIGIBLE = 1e-10
"""Size of a component, relative to the largest, that counts as none."""
CONSTANT = 1e-12
"""Range of a column, relative to its largest entry, that counts as none: rounding."""


def cohort(X: Any) -> np.ndarray:
    """A finite matrix of at least two samples, or InputError."""
    X = real_matrix("X", X)
    if X.shape[0] < 2:
        raise InputError(f"X must have at least 2 samples, got {X.shape[0]}")
    return X


def spread(X: np.ndarray) -> np.ndarray:
    """Standard deviation of each column; exactly zero where it does not vary."""
    varies = np.ptp(X, axis=0) > CONSTANT * np.max(np.abs(X), axis=0)
    return np.where(varies, np.std(X, axis=0), 0.0)


def varying(X: Any) -> Float[np.ndarray, "n d"]:
    """X without its constant columns.

    Parameters
    ----------
    X : array (n, d)
        Samples by features, n ≥ 2.

    Returns
    -------
    array (n, k)
        The columns that vary.

    Raises
    ------
    InputError
        If none does.
    """
    X = cohort(X)
    kept = spread(X) > 0
    if not kept.any():
        raise InputError(f"X must have a column that varies, got {X.shape[1]} constant ones")
    return X[:, kept]


def whiten(X: Any, components: int | None = None) -> Float[np.ndarray, "n d"]:
    r"""Principal components of X, scaled to mean 0 and variance 1 over the samples.

    With more features than samples, all n - 1 components make every two samples equidistant, whatever the
    data: \(ZZ^\top = n - 11^\top\). Parts of such a matrix have a spectrum of Jacobi type, narrower than
    Marchenko–Pastur.

    Parameters
    ----------
    X : array (n, d)
        Samples by features, n ≥ 2.
    components : int, optional
        Number of components, the largest first. None: all that vary, at most n - 1.

    Returns
    -------
    array (n, components)
        Whitened components.
    """
    X = cohort(X)
    centred = X - X.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    rank = int(np.sum(s > NEGLIGIBLE * max(s[0], 1e-300))) if s[0] > 0 else 0
    if rank == 0:
        raise InputError("X must vary between samples, got constant columns only")
    count = rank if components is None else integer("components", components, 1, rank)
    return u[:, :count] * np.sqrt(len(X))


def design(X: Any, n: int, d: int, seed: Any) -> Float[np.ndarray, "n d"]:
    r"""Random samples and random features of a cohort, as inputs of mean 0 and variance 1/d.

    Columns are normalized over the whole cohort and samples chosen afterwards: centred over
    the chosen ones they would satisfy \(1^\top X = 0\), and labels could not be interpolated.

    Parameters
    ----------
    X : array (samples, features)
        The cohort, without constant columns.
    n : int
        Number of samples to choose.
    d : int
        Number of features to choose.
    seed : int or numpy.random.Generator
        Seed or source of the random choice.

    Returns
    -------
    array (n, d)
        Inputs.

    Raises
    ------
    InputError
        If there are fewer samples or features, or a constant column.
    """
    X = cohort(X)
    n, d = integer("n", n, 2, X.shape[0]), integer("d", d, 1, X.shape[1])
    if not isinstance(seed, np.random.Generator):
        seed = np.random.default_rng(integer("seed", seed, 0))
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
