r"""Data of one run: inputs X, labels \(y = Xw^* + \sigma\xi\), and a smaller equivalent of both."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

__all__ = ["Data", "Reduced", "reduce_rows"]


class Data(NamedTuple):
    """The data of one run.

    Parameters
    ----------
    X : array (n, d)
        Inputs.
    y : array (n,)
        Labels.
    w_star : array (d,)
        Target.
    sigma : float
        Standard deviation of the label noise.
    variance : array (d,)
        Variances s of the features; entries of X have variance s/d.
    """

    X: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]
    w_star: Float[np.ndarray, " d"]
    sigma: float
    variance: Float[np.ndarray, " d"]


class Reduced(NamedTuple):
    r"""Rows with the same normal equations: \(X^\top X\) and \(X^\top y\) are those of the data.

    `floor` is the part of \(\|Xw - y\|^2\) that no w can change; `strength` holds the squared
    singular values where the rows are orthogonal, and is None where they are not.
    """

    X: Float[np.ndarray, "k d"]
    y: Float[np.ndarray, " k"]
    floor: float
    strength: Float[np.ndarray, " k"] | None


def reduce_rows(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], orthogonal: bool) -> Reduced:
    """At most d rows, by a QR factorization; `orthogonal` rows among themselves if asked for."""
    floor = 0.0
    if X.shape[0] > X.shape[1]:
        q, r = np.linalg.qr(X)
        seen = q.T @ y
        floor = float(np.sum((y - q @ seen) ** 2))
        X, y = r, seen
    if not orthogonal:
        return Reduced(X, y, floor, None)
    _, basis = scipy.linalg.eigh(X @ X.T, driver="evd", check_finite=False)
    X = basis.T @ X
    return Reduced(X, basis.T @ y, floor, np.einsum("kd,kd->k", X, X))
