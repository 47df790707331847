"""How a network is trained."""

import dataclasses

from dynafield.problem.checks import one_real

__all__ = ["GradientDescent", "GradientFlow", "Trainer"]


@dataclasses.dataclass(frozen=True)
class GradientFlow:
    r"""Continuous time, \((u, v)' = -\tfrac d2 \nabla L\) [eq:df_dln].

    `tol` is the relative error of w as a vector, met to within a small factor at every time.
    """

    tol: float = 1e-6

    def __post_init__(self):
        one_real("tol", self.tol, lambda x: (x >= 1e-12) & (x <= 1e-2), "one number from 1e-12 to 1e-2")


@dataclasses.dataclass(frozen=True)
class GradientDescent:
    r"""Steps \((u, v) \leftarrow (u, v) - \mathrm{step}\cdot\tfrac d2 \nabla L\); time is steps · step."""

    step: float

    def __post_init__(self):
        one_real("step", self.step, lambda x: x > 0, "one finite number > 0")


Trainer = GradientFlow | GradientDescent
