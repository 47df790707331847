"""Standard normals from Sobol points."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

__all__ = ["OPEN", "normals_of", "sobol", "whitened"]

OPEN = 2.0**-54
"""Uniform numbers are kept so far from 0 and 1."""


def sobol(dims: int, points: int, seed: int | tuple[int, ...]) -> Float[np.ndarray, "n k"]:
    """Scrambled Sobol points in the unit cube, one per row."""
    from scipy.stats import qmc  # takes most of a second to import, and only samples need it

    return qmc.Sobol(dims, rng=np.random.default_rng(seed)).random(points)


def normals_of(uniform: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Standard normals of uniform numbers, none of them infinite."""
    return ndtri(np.clip(uniform, OPEN, 1 - OPEN))


def whitened(normals: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "k n"]:
    """A sample, by columns, with means and covariance made exact; earlier rows do not feel later ones."""
    centred = normals - np.mean(normals, axis=1, keepdims=True)
    factor = np.linalg.cholesky(centred @ centred.T / centred.shape[1])
    return np.linalg.solve(factor, centred)
