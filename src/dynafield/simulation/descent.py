r"""Steps of gradient descent on (u, v) of many networks on one data set, with momentum or mini-batches."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from dynafield.problem.networks import Network, layer
from dynafield.problem.optimizers import kept_entries
from dynafield.problem.trainers import DIVERGED, Steps
from dynafield.problem.updates import Update
from dynafield.simulation.data import Reduced

__all__ = ["descend"]


def descend(
    net: Network,
    lam: Float[np.ndarray, " p"],
    u: Float[np.ndarray, "p d"],
    v: Float[np.ndarray, "p d"],
    data: Reduced,
    delta: float,
    trainer: Steps,
    stops: Int[np.ndarray, " t"],
    observe: Callable[[int, np.ndarray, np.ndarray, np.ndarray], object],
    report: Callable[[float], None],
    rng: np.random.Generator,
) -> dict[int, int]:
    """Take the steps up to each of `stops` (increasing) and hand over the weights and u², v² there.

    Mini-batches are rows of `data`, drawn by `rng`, as all noise is. `report` is called after every step
    with the fraction that is done. Returns the networks that diverged, each with the step at which it did.
    """
    depth, sizes = net.depth, trainer.sizes(int(stops[-1]))
    rows, diverged, following = np.arange(len(u)), {}, 0
    state = np.stack([u, v])
    mover = Mover(trainer, state)
    decay = 0.5 * lam[:, None]
    n = len(data.y)
    seen = max(1, round(trainer.fraction * n))

    limit = None
    with np.errstate(over="ignore", invalid="ignore"):
        for taken in range(int(stops[-1]) + 1):
            u, v = state
            (u_value, u_slope), (v_value, v_slope) = (layer(net.truncation, depth, x) for x in (u, v))
            w = (u_value - v_value) / depth
            batch = slice(None) if seen == n else rng.permutation(n)[:seen]
            X, y = data.X[batch], data.y[batch]
            gap = w @ X.T - y
            size = np.einsum("pk,pk->p", gap, gap) * (n / seen)
            limit = DIVERGED * float(np.max(size) + np.sum(data.y**2)) if limit is None else limit
            good = size <= limit
            if not good.all():
                diverged |= {int(row): taken for row in rows[~good]}
                rows, decay, w, gap = (a[good] for a in (rows, decay, w, gap))
                mover.keep(state.shape, good)
                state, u_slope, v_slope = state[:, good], u_slope[good], v_slope[good]
            if not len(rows):
                break
            u, v = state
            if taken == stops[following]:
                squares = np.concatenate([u**2, v**2], axis=1)
                for k, row in enumerate(rows.tolist()):
                    observe(row, np.array([following]), w[[k]], squares[[k]])
                following += 1
            report(taken / max(1, int(stops[-1])))
            if taken == stops[-1]:
                break
            if trainer.label_noise > 0:  # [eq:label_noise]
                gap = gap - trainer.label_noise * rng.standard_normal(len(y))
            g = gap @ X * (0.5 / delta * n / seen)
            rates = np.stack([-u_slope * g - decay * u, v_slope * g - decay * v])
            state = mover.moved(state, rates, sizes[taken])
            if trainer.temperature > 0:  # [eq:langevin]
                state += np.sqrt(2 * trainer.temperature * sizes[taken]) * rng.standard_normal(state.shape)
    return diverged


@lru_cache(maxsize=8)
def compiled(rule: Update) -> Any:
    """The update of an optimizer, compiled once for all runs."""
    return jax.jit(rule.after)


class Mover:
    """An optimizer with its memory."""

    def __init__(self, trainer: Steps, state: Float[np.ndarray, "2 p d"]):
        self.trainer, rule = trainer, Update.of(trainer)
        self.memory = rule.begun(state)
        self.after = rule.after if rule.transformation is None else compiled(rule)

    def moved(
        self, state: Float[np.ndarray, "2 p d"], rates: Float[np.ndarray, "2 p d"], step: float
    ) -> Float[np.ndarray, "2 p d"]:
        """Layers after a step."""
        after, self.memory = self.after(state, self.memory, rates, step, self.trainer.inertia)
        return np.asarray(after)

    def keep(self, shape: tuple[int, ...], good: np.ndarray) -> None:
        """Keep only some of the networks."""
        self.memory = kept_entries(self.memory, shape, lambda x: x[:, good])
