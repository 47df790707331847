"""The library that fits some arrays: formulas are written once, for NumPy and JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["library"]


def library(*arrays: Any) -> Any:
    """NumPy for numbers and NumPy arrays, JAX as soon as one of them is JAX's.

    Outside compiled code NumPy is the faster one: JAX compiles every operation anew for every shape.
    """
    return jnp if any(isinstance(a, jax.Array) for a in arrays) else np
