"""How a network is trained."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dynafield.errors import InputError
from dynafield.problem.checks import one_real
from dynafield.problem.model import Model
from dynafield.problem.task import Task

__all__ = [
    "DIVERGED",
    "SGD",
    "GradientDescent",
    "GradientFlow",
    "HeavyBall",
    "Steps",
    "Trainer",
    "check_training",
    "trainer_facts",
    "trainer_of",
]

DIVERGED = 1e12
"""Training with a squared residual this many times the first one has diverged."""


@dataclasses.dataclass(frozen=True)
class GradientFlow:
    r"""Continuous time, \((u, v)' = -\tfrac d2 \nabla L\) [eq:df_dln].

    `tol` is the relative error of w as a vector, met to within a small factor at every time,
    in `simulate`; `solve` has a tolerance of its own.
    """

    tol: float = 1e-6

    def __post_init__(self):
        one_real("tol", self.tol, lambda x: (x >= 1e-12) & (x <= 1e-2), "one number from 1e-12 to 1e-2")


@dataclasses.dataclass(frozen=True)
class Steps:
    """Training in steps; time is their number times `step`.

    Every discrete trainer is described by step, momentum and batch fraction: 0 and 1 where it has none.
    """

    step: float

    def __post_init__(self):
        one_real("step", self.step, lambda x: x > 0, "one finite number > 0")

    @property
    def inertia(self) -> float:
        """What a step keeps of the one before."""
        return 0.0

    @property
    def fraction(self) -> float:
        """Share of the data that a step sees."""
        return 1.0

    def number(self, name: str, t: Float[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """Numbers of steps to the times `t`, or InputError unless every one is a multiple of the step."""
        count = np.round(t / self.step)
        off = np.abs(t - count * self.step) > 1e-9 * np.maximum(t, self.step)
        if off.any():
            low = np.floor(t[off][0] / self.step)
            raise InputError(
                f"{name} must be a multiple of the step {self.step:g}, got {t[off][0]:.17g}: "
                f"{low * self.step:g} and {(low + 1) * self.step:g} are near"
            )
        return count.astype(int)


@dataclasses.dataclass(frozen=True)
class GradientDescent(Steps):
    r"""Steps \((u, v) \leftarrow (u, v) - \mathrm{step}\cdot\tfrac d2 \nabla L\) [eq:steps]."""


@dataclasses.dataclass(frozen=True)
class HeavyBall(Steps):
    r"""Gradient descent that keeps the share `momentum` of its last move [eq:heavy_ball]."""

    momentum: float

    def __post_init__(self):
        super().__post_init__()
        allowed = "one number in [0, 1)"
        one_real("momentum", self.momentum, lambda x: (x >= 0) & (x < 1), allowed)

    @property
    def inertia(self) -> float:
        """What a step keeps of the one before."""
        return self.momentum


@dataclasses.dataclass(frozen=True)
class SGD(Steps):
    """Gradient descent on a fresh random share `batch_fraction` of the data in every step [eq:batches]."""

    batch_fraction: float

    def __post_init__(self):
        super().__post_init__()
        allowed = "one number in (0, 1]"
        one_real("batch_fraction", self.batch_fraction, lambda x: (x > 0) & (x <= 1), allowed)

    @property
    def fraction(self) -> float:
        """Share of the data that a step sees."""
        return self.batch_fraction


Trainer = GradientFlow | GradientDescent | HeavyBall | SGD


def check_training(task: Any, net: Any, trainer: Any) -> None:
    """InputError unless these are a task, a network and a way to train it."""
    if not (isinstance(task, Task) and isinstance(net, Model)):
        raise InputError(
            "the first argument must be a Task and the second a network or a Flow, "
            f"got {type(task).__name__} and {type(net).__name__}"
        )
    if not isinstance(trainer, Trainer):
        raise InputError(
            "trainer must be GradientFlow(), GradientDescent(step), HeavyBall(step, momentum) or "
            f"SGD(step, batch_fraction), got {trainer!r}"
        )


def trainer_facts(trainer: Trainer) -> dict[str, Any]:
    """A trainer as attributes of a file."""
    return {"trainer": type(trainer).__name__} | {
        f"trainer_{k}": v for k, v in dataclasses.asdict(trainer).items()
    }


def trainer_of(facts: dict[str, Any]) -> Trainer:
    """The trainer that `trainer_facts` described; KeyError for one that is not known."""
    kind = {one.__name__: one for one in (GradientFlow, GradientDescent, HeavyBall, SGD)}[facts["trainer"]]
    return kind(**{f.name: float(facts[f"trainer_{f.name}"]) for f in dataclasses.fields(kind)})
