"""Loops whose derivatives are found in one pass over their code."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

__all__ = ["repeated"]

T = TypeVar("T")


def live(state: T, number: Any) -> T:
    """The same state, whose floating numbers derivatives take to depend on a number.

    Constants have no derivatives. A loop that begins with them is transformed again and again, until it is
    known which of its numbers get some, and so are the loops inside.
    """

    def lived(x: Any) -> Any:
        x = jnp.asarray(x)
        return jax.lax.select(jnp.zeros(x.shape, bool), jnp.broadcast_to(number, x.shape), x)

    return jax.tree.map(lambda x: lived(x) if jnp.result_type(x) == jnp.result_type(number) else x, state)


def repeated(going: Callable[[T], Any], step: Callable[[T], T], first: T, number: Any) -> T:
    """What a step makes of a state as long as it is `going`. `number` is one in which there may be
    derivatives."""
    return jax.lax.while_loop(going, step, live(first, number))
