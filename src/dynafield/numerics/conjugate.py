r"""Conjugate gradients for many symmetric systems with one matrix in common.

Solves \((1 + X S_p X^\top)\, r_p = b_p\), \(S_p\) diagonal and not negative, for every p at
once, so that the work is products of matrices. The result is \(X^\top r_p\), to an accuracy given by weights
on its entries.
"""

import numpy as np
from jaxtyping import Bool, Float

__all__ = ["solve_shared"]

LONGEST = 400
SLOWEST = 0.95
LEAST = 0.1
"""Bounds of the ratio by which updates are taken to shrink."""
TINY = 1e-290


def solve_shared(
    X: Float[np.ndarray, "k d"],
    diagonal: Float[np.ndarray, "p d"],
    right: Float[np.ndarray, "p k"],
    weight: Float[np.ndarray, "p d"],
    close: float,
    precondition: Float[np.ndarray, "p k"] | None = None,
) -> tuple[Float[np.ndarray, "p d"], Bool[np.ndarray, " p"]]:
    r"""\(X^\top r_p\), each until its error, \(\sqrt{\sum_i \mathrm{weight}_i e_i^2}\), is about `close`.

    The error left is estimated from the last two updates. Systems that are done leave the
    products. `precondition` is the inverse of a diagonal close to the matrix. Also says which
    systems were solved.
    """
    total = np.zeros_like(diagonal)
    residual = right.copy()
    scaled = residual if precondition is None else residual * precondition
    direction = scaled.copy()
    power = np.vecdot(residual, scaled) + TINY
    going, last = np.arange(len(right)), None
    solved = np.ones(len(right), bool)
    for _ in range(LONGEST):
        along = direction @ X
        bent = diagonal * along
        length = power / (np.vecdot(direction, direction) + np.vecdot(along, bent) + TINY)
        size = length * np.sqrt(np.vecdot(along * along, weight)) + TINY
        along *= length[:, None]
        if len(going) == len(total):
            total += along
        else:
            total[going] += along
        if last is not None and not np.any(expected(size, size / last) > close):
            break
        residual -= length[:, None] * (bent @ X.T + direction)
        scaled = residual if precondition is None else residual * precondition
        new = np.vecdot(residual, scaled) + TINY
        more = expected(size, np.sqrt(new / power) if last is None else size / last) > close
        last = size
        if not more.all():
            if not more.any():
                break
            residual, scaled, direction = residual[more], scaled[more], direction[more]
            power, new, going, last = power[more], new[more], going[more], last[more]
            diagonal, weight = diagonal[more], weight[more]
            precondition = None if precondition is None else precondition[more]
        direction *= (new / power)[:, None]
        direction += scaled
        power = new
    else:
        solved[going] = False
    return total, solved


def expected(size: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """What further updates would add up to if they went on shrinking by `ratio`."""
    ratio = np.minimum(ratio, SLOWEST)
    return size * np.maximum(ratio / (1 - ratio), LEAST)
