"""Inverses of many small matrices, written out: a library call per matrix would cost more than the sums."""

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["inverse_of_shifted"]


def inverse_of_shifted(
    matrix: Float[Array, "s s"], shift: Float[Array, "s n"]
) -> list[list[Float[Array, " n"]]]:
    """Entries of (matrix + diag(shift))⁻¹ for every column of shifts, by elimination without pivoting.

    Pivoting is not needed where matrix and shift come from a monotone problem: every leading
    block of the sum is then regular.
    """
    size = len(matrix)
    left = [[matrix[i, j] + (shift[i] if i == j else 0.0) for j in range(size)] for i in range(size)]
    one, zero = jnp.ones_like(shift[0]), jnp.zeros_like(shift[0])
    right = [[one if i == j else zero for j in range(size)] for i in range(size)]
    for k in range(size):
        pivot = 1.0 / left[k][k]
        left[k] = [entry * pivot for entry in left[k]]
        right[k] = [entry * pivot for entry in right[k]]
        for i in range(size):
            if i != k:
                factor = left[i][k]
                left[i] = [a - factor * b for a, b in zip(left[i], left[k], strict=True)]
                right[i] = [a - factor * b for a, b in zip(right[i], right[k], strict=True)]
    return right
