"""Products of few rows with large matrices."""

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["rows_times"]


def rows_times(rows: Float[Array, "b t"], matrix: Float[Array, "t m"]) -> Float[Array, "b m"]:
    """rows @ matrix, never as a product with one row: on processors XLA is several times slower at these."""
    if len(rows) > 1:
        return rows @ matrix
    return (jnp.concatenate([rows, jnp.zeros_like(rows)]) @ matrix)[:1]
