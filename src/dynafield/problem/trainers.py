"""How a network is trained."""

import dataclasses
from typing import Any

import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import real

__all__ = ["GradientDescent", "GradientFlow", "Trainer"]


@dataclasses.dataclass(frozen=True)
class GradientFlow:
    r"""Continuous time, \((u, v)' = -\tfrac d2 \nabla L\) [eq:df_dln].

    `tol` is the relative error allowed per unit of the integrator in w and in every u, v.
    """

    tol: float = 1e-6

    def __post_init__(self):
        one_number("tol", self.tol, lambda x: (x >= 1e-12) & (x <= 1e-2), "one number from 1e-12 to 1e-2")


@dataclasses.dataclass(frozen=True)
class GradientDescent:
    r"""Steps \((u, v) \leftarrow (u, v) - \mathrm{step}\cdot\tfrac d2 \nabla L\); time is steps · step."""

    step: float

    def __post_init__(self):
        one_number("step", self.step, lambda x: x > 0, "one finite number > 0")


Trainer = GradientFlow | GradientDescent


def one_number(name: str, value: Any, ok: Any, allowed: str) -> None:
    """InputError unless `value` is one number with `ok`."""
    if np.ndim(real(name, value, ok, allowed)):
        raise InputError(f"{name} must be {allowed}, got an array of shape {np.shape(value)}")
