"""Inverses of many small matrices, written out: a library call per matrix would cost more than the sums."""

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["inverse_of_shifted", "solve_small"]

WRITTEN_OUT = 12
"""Largest systems whose elimination is written out."""


def inverse_of_shifted(
    matrix: Float[Array, "s s"], shift: Float[Array, "s n"]
) -> list[list[Float[Array, " n"]]]:
    """Entries of (matrix + diag(shift))⁻¹ for every column of shifts, by elimination without pivoting.

    Pivoting is not needed where matrix and shift come from a monotone problem: every leading
    block of the sum is then regular.
    """
    size = len(matrix)
    return eliminated(
        [[matrix[i, j] + (shift[i] if i == j else 0.0) for j in range(size)] for i in range(size)]
    )


def solve_small(matrices: Float[Array, "s s n"], sides: Float[Array, "s q n"]) -> Float[Array, "s q n"]:
    """Solutions of linear systems near the identity, one per last index; small ones without pivoting."""
    size = len(matrices)
    if size > WRITTEN_OUT:
        solved = jnp.linalg.solve(jnp.moveaxis(matrices, -1, 0), jnp.moveaxis(sides, -1, 0))
        return jnp.moveaxis(solved, 0, -1)
    whole = jnp.concatenate([matrices, sides], axis=1)
    for k in range(size):
        row = whole[k] / whole[k, 0]
        whole = (whole - whole[:, :1] * row).at[k].set(row)[:, 1:]
    return whole


def eliminated(left: list) -> list[list[Float[Array, " n"]]]:
    """Entries of the inverse by Gauss and Jordan."""
    size = len(left)
    one, zero = jnp.ones_like(left[0][0]), jnp.zeros_like(left[0][0])
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
