"""The largest rate of a flow around a point, by powers of its derivative."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

__all__ = ["fastest_mode"]


def fastest_mode(rate: Callable[[Any], Any], theta: Any, vector: Any, powers: int) -> tuple[Any, Any]:
    """A vector along the mode that changes fastest around θ, from a first guess, and the size of its rate."""

    def power(_: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        new = jax.jvp(rate, (theta,), (carry[0],))[1]
        size = jnp.linalg.norm(new)
        return new / jnp.where(size > 0, size, 1.0), size

    return jax.lax.fori_loop(0, powers, power, (vector / jnp.linalg.norm(vector), jnp.zeros(())))
