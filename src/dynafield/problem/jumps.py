"""Jumps of ℓ or p, for which there is no gradient flow of this kind: how they are found.

Where ℓ jumps upwards in f (hinge loss), flow holds a finite fraction of the data at the jump; where it jumps
downwards, flow is not unique. Training in single steps has no difficulty with jumps.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynafield.errors import InputError
from dynafield.problem.model import Datum, Model
from dynafield.problem.optimizers import Optax

__all__ = ["check_smooth", "jump_of_training", "measures_that_jump"]

ROWS = 16
"""Rows that are looked at."""
ALONG = 2001
"""Points along the line through each of them."""
HALVINGS = 40
"""Halvings of an interval that may hold a jump."""
JUMP = 1e-3
"""Smallest jump, in units of the range of the function along the line."""


def check_smooth(model: Model) -> None:
    """InputError for a model whose ℓ jumps in f, or whose p jumps in g."""
    found = jump_in(model)
    if found is not None:
        name, argument, place = found
        raise InputError(
            f"{name} must not jump in {argument} under GradientFlow, and does near "
            f"{argument} = {place:.3g}: gradient flow stays on a jump, or is not unique there; "
            "take a discrete trainer, such as GradientDescent, which has no difficulty with jumps"
        )


def jump_in(model: Model) -> tuple[str, str, float] | None:
    """The function of a model that jumps, its argument, and where, or None."""
    if model.smooth:
        return None
    rng = np.random.default_rng(0)
    datum, directions = drawn_data(model, rng)
    theta = model.start.rows(rng.standard_normal((ROWS, model.start.normals)), rng.standard_normal(ROWS))

    def push(x: Any, direction: Any, fact: Any) -> Any:
        return model.ell(x * direction, fact).reshape(-1)

    def move(x: Any, direction: Any, state: Any) -> Any:
        return model.p(x * direction, state).reshape(-1)

    tried = (("ell", "f", push, datum), ("p", "g", move, jnp.asarray(theta)))
    for name, argument, function, facts in tried:
        place = jump_of(function, directions, facts)
        if place is not None:
            return name, argument, place
    return None


def measures_that_jump(model: Model) -> list[str]:
    """Which of loss and error jump in f, as the fraction of wrong signs does."""
    datum, directions = drawn_data(model, np.random.default_rng(0))
    found = []
    for name, own in (("loss", model.own_loss), ("error", model.own_error)):

        def measure(x: Any, direction: Any, fact: Any, name: str = name) -> Any:
            return jnp.reshape(jnp.asarray(getattr(model, name)(x * direction, fact), float), (1,))

        if own and jump_of(measure, directions, datum) is not None:
            found.append(name)
    return found


def jump_of_training(trainer: Any, model: Model) -> str | None:
    """What jumps in training by discrete steps, in words, or None; flow is smooth."""
    if trainer is None:
        return None
    if isinstance(trainer, Optax):
        return "optimizers of optax may jump"
    found = jump_in(model)
    return found and f"{found[0]} jumps near {found[1]} = {found[2]:.3g}"


def drawn_data(model: Model, rng: np.random.Generator) -> tuple[Datum, np.ndarray]:
    """Random data, and directions of lines through their f."""
    own = model.own.rows(rng.standard_normal((ROWS, model.own.normals)))
    datum = Datum(rng.standard_normal(ROWS), rng.standard_normal(ROWS), own)
    return datum, rng.standard_normal((ROWS, *model.channels))


def jump_of(function: Any, directions: Any, facts: Any) -> float | None:
    """Where a function jumps along lines through some rows, or None.

    An interval on which it changes much more than on its neighbours is halved until only a jump can be left.
    """
    line = np.linspace(-8.0, 8.0, ALONG)
    along = jax.jit(jax.vmap(jax.vmap(function, in_axes=(0, None, None)), in_axes=(None, 0, 0)))
    values = np.asarray(along(line, directions, facts))  # row, place, channel
    change = np.abs(np.diff(values, axis=1))
    typical = np.median(change, axis=1, keepdims=True)
    size = np.max(np.abs(values)) or 1.0
    suspects = np.argwhere(change > np.maximum(4 * typical, JUMP * size))
    one = jax.jit(function)
    for row, place, channel in suspects[:: max(1, len(suspects) // 8)]:
        fact = jax.tree.map(lambda x, row=row: np.asarray(x)[row], facts)
        low, high, ends = line[place], line[place + 1], [0.0, 0.0, 0.0]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            ends = [float(np.asarray(one(x, directions[row], fact))[channel]) for x in (low, middle, high)]
            if abs(ends[1] - ends[0]) > abs(ends[2] - ends[1]):
                high = middle
            else:
                low = middle
        left = abs(ends[2] - ends[0])
        if left > JUMP * size:
            return float(np.max(np.abs(low * directions[row])) * np.sign(low))
    return None
