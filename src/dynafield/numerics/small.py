"""Many small linear systems, written out: a library call per matrix would cost more than the sums."""

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["solve_small"]

WRITTEN_OUT = 6
"""Largest systems whose elimination is written out entry by entry."""
ELIMINATED = 12
"""Largest systems that are eliminated row by row; beyond, a library does it."""


def solve_small(matrices: Float[Array, "s s n"], sides: Float[Array, "s q n"]) -> Float[Array, "s q n"]:
    """Solutions of linear systems near the identity, one per last index; small ones without pivoting."""
    size = len(matrices)
    if size > ELIMINATED:
        solved = jnp.linalg.solve(jnp.moveaxis(matrices, -1, 0), jnp.moveaxis(sides, -1, 0))
        return jnp.moveaxis(solved, 0, -1)
    if size <= WRITTEN_OUT:
        return written_out(matrices, sides)
    whole = jnp.concatenate([matrices, sides], axis=1)
    for k in range(size):
        row = whole[k] / whole[k, 0]
        whole = (whole - whole[:, :1] * row).at[k].set(row)[:, 1:]
    return whole


def written_out(matrices: Float[Array, "s s n"], sides: Float[Array, "s q n"]) -> Float[Array, "s q n"]:
    """The same by Gauss and Jordan, entry by entry: the compiler makes one loop over rows of it."""
    size, width = len(matrices), matrices.shape[1] + sides.shape[1]
    whole = [
        [(matrices[i, j] if j < size else sides[i, j - size]) for j in range(width)] for i in range(size)
    ]
    for k in range(size):
        pivot = 1.0 / whole[k][k]
        whole[k] = [entry * pivot for entry in whole[k]]
        for i in range(size):
            if i != k:
                factor = whole[i][k]
                whole[i] = [a - factor * b for a, b in zip(whole[i], whole[k], strict=True)]
    return jnp.stack([jnp.stack(row[size:]) for row in whole])
