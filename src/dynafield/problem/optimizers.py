"""Optimizers of optax as trainers: their state is part of a row's state.

Only what works entry by entry has a limit of this form. Whether an optimizer does is found by trying it on
entries together and apart; optax itself is not needed here.
"""

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import one_real, shown, text_of
from dynafield.problem.trainers import Steps, check_noise

__all__ = ["Optax", "as_trainer", "kept_entries"]

TRIED = 5
"""Entries and updates of a trial."""
TRIALS = 64
"""Optimizers whose trials are remembered."""
SAME = 1e-6
"""Relative difference of updates that is rounding: some optimizers count in single precision."""


@dataclasses.dataclass(frozen=True, repr=False)
class Optax(Steps):
    r"""Updates by an optax transformation that works entry by entry [eq:optimizers].

    It is given the gradient of a row, \(-p(g, \theta)\) in the units of the flow, so that `optax.sgd(η)` is
    `GradientDescent(η)`.

    Parameters
    ----------
    tx : optax.GradientTransformation
        The optimizer. None only with a `name`, as it is read from a file; it cannot train then.
    step : float, default 1
        Time > 0 by which every update advances.
    batch_fraction : float, default 1
        Fraction of the data in (0, 1] that an update sees, drawn anew in every update.
    name : str, default ""
        Name in tables and files; empty: found from the transformation.
    temperature : float, default 0
        As in `GradientDescent`.
    label_noise : float, default 0
        As in `GradientDescent`.
    """

    tx: Any
    step: float = 1.0
    batch_fraction: float = 1.0
    name: str = ""
    temperature: float = 0.0
    label_noise: float = 0.0

    def __post_init__(self):
        step = one_real("step", self.step, lambda x: (x > 0) & np.isfinite(x), "one finite number > 0")
        object.__setattr__(self, "step", step)
        allowed = "one number in (0, 1]"
        one_real("batch_fraction", self.batch_fraction, lambda x: (x > 0) & (x <= 1), allowed)
        check_noise(self)
        text_of("name", self.name)
        if self.tx is None and self.name:
            return
        if not is_transformation(self.tx):
            raise InputError(f"tx must be an optax transformation, got {shown(self.tx)}")
        object.__setattr__(self, "name", self.name or " + ".join(part_names(self.tx)))

    def __repr__(self):
        more = [f"step={self.step!r}"] if self.step != 1 else []
        more += [f"batch_fraction={self.batch_fraction!r}"] if self.batch_fraction != 1 else []
        for noise in ("temperature", "label_noise"):
            more += [f"{noise}={getattr(self, noise)!r}"] if getattr(self, noise) > 0 else []
        return f"Optax({', '.join([self.name, *more])})"

    @property
    def fraction(self) -> float:
        """Fraction of the data that a step sees."""
        return self.batch_fraction

    @property
    def odd(self) -> bool:
        """Whether updates change sign with gradients and parameters."""
        return is_odd(self.transformation)

    @property
    def transformation(self) -> Any:
        """The optax transformation; InputError where only its name was read from a file."""
        if self.tx is None:
            raise InputError(f"only the name {self.name} was saved: give the optax transformation again")
        return self.tx


def is_transformation(thing: Any) -> bool:
    """Whether something looks like what optax makes."""
    return callable(getattr(thing, "init", None)) and callable(getattr(thing, "update", None))


def as_trainer(trainer: Any) -> Any:
    """A trainer; an optax transformation becomes one, once it is seen to work entry by entry."""
    trainer = Optax(trainer) if is_transformation(trainer) else trainer
    if isinstance(trainer, Optax):
        check_elementwise(trainer.transformation)
    return trainer


def inside(function: Callable) -> dict[str, Any]:
    """The variables that a function has in its closure, by name."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or cells is None:
        return {}
    return dict(zip(code.co_freevars, (one.cell_contents for one in cells), strict=True))


def parts_of(tx: Any) -> list[Any]:
    """The transformations that a chain consists of; one that is no chain is its only part."""
    inits, updates = inside(tx.init).get("init_fns"), inside(tx.update).get("update_fns")
    if inits is None or updates is None:
        return [tx]
    return [part for one in zip(inits, updates, strict=True) for part in parts_of(Pair(*one))]


@dataclasses.dataclass(frozen=True)
class Pair:
    """One part of a chain."""

    init: Callable
    update: Callable


def part_names(tx: Any) -> list[str]:
    """Names of the parts, where functions know them."""
    return [name_of(part.update) for part in parts_of(tx)]


def name_of(update: Callable) -> str:
    """The name of the function that made an update; of a wrapped one, of what is wrapped."""
    known = inside(update)
    wrapped: Any = known.get("tx") or known.get("inner")
    if is_transformation(wrapped):
        return name_of(wrapped.update)
    return getattr(update, "__qualname__", type(update).__name__).split(".")[0]


def updates_of(tx: Any, gradients: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Parameters after each of some gradients."""
    now, found = jnp.asarray(params), []
    state = tx.init(now)
    for gradient in gradients:
        update, state = tx.update(jnp.asarray(gradient), state, now)
        now = now + update
        found.append(now)
    return np.stack([np.asarray(one) for one in found])


@lru_cache(maxsize=TRIALS)
def check_elementwise(tx: Any) -> None:
    """InputError for a transformation whose updates of an entry depend on other entries, with its name."""
    for part in (*parts_of(tx), tx):
        if mixes(part):
            name = " + ".join(part_names(part))
            raise InputError(
                f"trainer must work entry by entry, and {name} mixes entries: such optimizers have no limit "
                "of this form"
            )


def mixes(tx: Any) -> bool:
    """Whether entries that are updated together get other values than each of them alone."""
    rng = np.random.default_rng(0)
    gradients, params = 3 * rng.standard_normal((TRIED, TRIED)), rng.standard_normal(TRIED)
    try:
        together = updates_of(tx, gradients, params)
        alone = [updates_of(tx, gradients[:, [k]], params[[k]]) for k in range(TRIED)]
    except Exception as error:
        name = " + ".join(part_names(tx))
        words = "trainer must need gradients and parameters alone"
        raise InputError(f"{words}, and {name} fails: {error}") from error
    return not np.allclose(together, np.concatenate(alone, axis=1), rtol=SAME, atol=SAME)


@lru_cache(maxsize=TRIALS)
def is_odd(tx: Any) -> bool:
    """Whether updates change sign with gradients and parameters."""
    rng = np.random.default_rng(1)
    gradients, params = rng.standard_normal((TRIED, TRIED)), rng.standard_normal(TRIED)
    there, back = updates_of(tx, gradients, params), updates_of(tx, -gradients, -params)
    return np.allclose(there, -back, rtol=SAME, atol=SAME)


def kept_entries(state: Any, shape: tuple[int, ...], which: Any) -> Any:
    """A state with some of its entries; what is not an array over entries is left as it is."""
    return jax.tree.map(lambda x: which(x) if np.shape(x) == shape else x, state)
