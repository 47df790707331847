"""Standard normals from Sobol points."""

import functools

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

__all__ = ["normals_of", "sobol", "whitened"]

OPEN = 2.0**-54
"""Uniform numbers are kept so far from 0 and 1."""
SMALL = 2**18
"""Samples of at most so many numbers, two megabytes, are remembered."""


def sobol(dims: int, points: int, seed: int | tuple[int, ...]) -> Float[np.ndarray, "k n"]:
    """Scrambled Sobol points in the unit cube, by columns."""
    make = remembered if dims * points <= SMALL else drawn
    return make(dims, points, seed).copy()


def drawn(dims: int, points: int, seed: int | tuple[int, ...]) -> Float[np.ndarray, "k n"]:
    """Scrambled Sobol points, drawn without looking for remembered ones."""
    from scipy.stats import qmc  # takes most of a second to import, and only samples need it

    return qmc.Sobol(dims, rng=np.random.default_rng(seed)).random(points).T


remembered = functools.lru_cache(maxsize=16)(drawn)
"""To scramble takes a fifth of the time of a preview, and a slider asks for the same points each time."""


def normals_of(uniform: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Standard normals of uniform numbers, none of them infinite."""
    return ndtri(np.clip(uniform, OPEN, 1 - OPEN))


def whitened(normals: Float[np.ndarray, "k n"], centre: bool = True) -> Float[np.ndarray, "k n"]:
    """A sample, by columns, with means and covariance made exact; earlier rows do not feel later ones.

    Without `centre` means stay, and second moments are made exact.
    """
    centred = normals - np.mean(normals, axis=1, keepdims=True) if centre else normals
    factor = np.linalg.cholesky(centred @ centred.T / centred.shape[1])
    return np.linalg.inv(factor) @ centred
