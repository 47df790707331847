r"""Noise of mini-batches and of labels where the data side is closed, and the memory of it [eq:dmft_batches].

Every step has a fresh normal number ξ of its own in every coordinate, and what training remembers of it,
\(m_s = a\,E[o\,\xi_s]\), drives it again, \(a\sum_s m_s\xi_s\). Memory is a smooth function of the
step it is of, the smoother the longer ago that was. So the numbers of old steps are turned, block by block,
to those that go with polynomials of the step number, and the others are forgotten: a tree of blocks whose
lengths grow with their age, and a hundred numbers for thousands of steps [eq:faded_noise].
"""

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynafield.dmft.member import Numbers
from dynafield.dmft.rows import Sampled

__all__ = ["batch_at_rest", "batched", "new_numbers", "remembered"]

DEGREES = 4
"""Polynomials of a block, and its steps at first."""
YOUNG = 4
"""Blocks of a length that are left alone behind the last step; older ones are joined in pairs."""


class Forgetting(NamedTuple):
    """What is done in every step: the slot of its number, and slots of two blocks that become one.

    `turn` numbers the matrix among `turns`; a step that joins nothing has slots of its own for that.
    """

    slot: Int[Any, " t"]
    pair: Int[Any, "t q"]
    turn: Int[Any, " t"]
    turns: Float[Any, "l p q"]


class Batch(NamedTuple):
    """Numbers that are remembered, the memory of each, and the number of the step.

    A step has noise of size \\(n_t^2 = (1/b-1)E_{train}(t) + \\sigma_l^2/b\\) [eq:dmft_batches,
    eq:label_noise]. `lost` is the fraction of E_train that forgetting has taken so far; `parts` has the
    weights of rows within their strata.
    """

    normals: Float[Any, "m n"]
    memory: Float[Any, " m"]
    step: Int[Any, ""]
    lost: Float[Any, ""]
    plan: Forgetting
    parts: Float[Any, "s n"]


def joins(steps: int) -> Iterator[tuple[int, list[int], int, int]]:
    """Of every step: the slot of its number, the slots of two blocks that become one (or none), how often
    these were joined before, and how many slots are in use."""
    free: list[int] = []
    used, fresh = 0, []
    levels: list[list[list[int]]] = [[]]
    for _ in range(steps):
        if not free:
            free, used = [used], used + 1
        slot = free.pop()
        fresh.append(slot)
        if len(fresh) == DEGREES:
            levels[0].append(fresh)
            fresh = []
        pair, turn = [], 0
        for level, blocks in enumerate(levels):
            if len(blocks) > YOUNG + 1:
                one, two = blocks.pop(0), blocks.pop(0)
                pair, turn = one + two, level
                if level + 1 == len(levels):
                    levels.append([])
                levels[level + 1].append(one)
                free.extend(two)
                break
        yield slot, pair, turn, used


@lru_cache(maxsize=16)
def forgetting(steps: int) -> Forgetting:
    """When which numbers are joined, for so many steps: at most one pair of blocks in a step."""
    slot, pair, turn = np.zeros(steps, int), np.zeros((steps, 2 * DEGREES), int), np.zeros(steps, int)
    nothing = remembered(steps) - 2 * DEGREES + np.arange(2 * DEGREES)
    for k, (own, joined, level, _) in enumerate(joins(steps)):
        slot[k], pair[k], turn[k] = own, joined or nothing, level
    return Forgetting(
        slot, pair, turn, joining(int(np.max(turn + 1, where=pair[:, 0] != nothing[0], initial=0)) + 1)
    )


def joining(count: int) -> Float[np.ndarray, "l p q"]:
    """Matrices that turn numbers of two blocks to those of both together, for blocks of growing length.

    Numbers of a block go with orthonormal polynomials of the step; of the shortest, with its steps.
    """
    found, length = [], DEGREES
    own = np.eye(DEGREES)
    for _ in range(count):
        together = np.linalg.qr(np.vander(np.linspace(-1, 1, 2 * length), DEGREES, increasing=True))[0].T
        halves = np.split(together, 2, axis=1)
        found.append(np.concatenate([half @ own.T for half in halves], axis=1))
        own, length = together, 2 * length
    return np.stack(found)


@lru_cache(maxsize=256)
def remembered(steps: int) -> int:
    """Slots for the numbers of so many steps, and for a step that joins nothing."""
    *_, (_, _, _, used) = deque(joins(steps), maxlen=1)
    return used + 2 * DEGREES


def batch_at_rest(steps: int, part: Int[np.ndarray, " n"]) -> Batch:
    """Before the first step; `part` numbers the stratum of every row."""
    width = remembered(steps)
    parts = (part == np.arange(np.max(part) + 1)[:, None]) * 1.0
    parts /= np.sum(parts, axis=1, keepdims=True)
    nothing = np.zeros((width, len(part))), np.zeros(width), np.zeros((), int), np.zeros(())
    return Batch(*nothing, forgetting(steps), parts)


def new_numbers(
    xi: Float[Array, " n"], parts: Float[Array, "s n"], known: tuple[Float[Array, "_ n"], ...]
) -> Float[Array, " n"]:
    """Normal numbers made exactly white in every stratum, beside those that are known [eq:white]."""
    here = parts > 0
    xi = xi - jnp.sum(here * (parts @ xi)[:, None], axis=0)
    for many in known:
        along = [(many @ (weight * xi)) @ many for weight in parts]  # one by one: faster on a processor
        xi = xi - jnp.sum(here * jnp.stack(along), axis=0)
    size = jnp.sqrt(parts @ xi**2)
    return xi / jnp.sum(here * size[:, None], axis=0)


def batched(
    batch: Batch, side: Sampled, numbers: Numbers, output: Float[Array, " n"], train: Any, xi: Array
) -> tuple[Batch, Float[Array, " n"]]:
    """What mini-batches and label noise add to the drive of a step with fresh numbers ξ.

    `train` is the mean square of residuals but for what is remembered of noise.
    """
    memory = side.amplitude * (batch.normals @ (output * side.weight))
    train = train + jnp.sum(memory**2)
    fresh = numbers.label_noise**2 / numbers.fraction  # [eq:label_noise]
    size = jnp.sqrt((1.0 / numbers.fraction - 1.0) * train + fresh)  # [eq:dmft_batches]
    drive = side.amplitude * (memory @ batch.normals + size * xi)
    plan, k = batch.plan, batch.step  # the oldest are joined [eq:faded_noise]
    pair, turn = plan.pair[k], plan.turns[plan.turn[k]]
    kept, seen = turn @ batch.normals[pair], memory[pair]
    both = jnp.concatenate([kept, jnp.zeros_like(kept)])
    normals = batch.normals.at[pair].set(both).at[plan.slot[k]].set(xi)
    unit: Any = jnp.where(train > 0, train, 1.0)
    gone = (jnp.sum(seen**2) - jnp.sum((turn @ seen) ** 2)) / unit
    return batch._replace(normals=normals, memory=memory, step=k + 1, lost=batch.lost + gone), drive
