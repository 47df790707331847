"""What the library and the page allow: texts become numbers, numbers become problems, or are refused."""

from typing import Any

import numpy as np

from dynafield.errors import InputError
from dynafield.explorer.setting import Setting
from dynafield.problem.checks import integer, one_real
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.text import number, read_task, read_trainer
from dynafield.problem.trainers import Trainer

__all__ = ["check", "network_of", "read", "read_share", "task_of", "trainer_of"]

DEEPEST = 10
"""Layers at most."""
MOST_STEPS = 400
"""Steps of a discrete trainer at most."""
LARGEST = 1e7
"""Entries of a data matrix at most."""
LONGEST = 400
"""Characters of the text of a prior at most."""


def read(name: str, text: str) -> Any:
    """The value of a setting's field from its text."""
    if name == "prior":
        return text
    if name == "spectrum":
        return text or None
    if name in ("step", "d") and text == "":
        return None
    value = number(name, text)
    if name in ("depth", "d", "seeds"):
        if value != np.floor(value) or not np.isfinite(value):
            raise InputError(f"{name} must be a whole number, got {text!r}")
        return int(value)
    return value


def read_share(name: str, text: str) -> float:
    """A number from 0 to 1."""
    return one_real(name, number(name, text), lambda x: (x >= 0) & (x <= 1), "one number from 0 to 1")


def task_of(setting: Setting) -> Task:
    """Its task; priors from files are refused."""
    return read_task(setting.delta, setting.sigma, setting.prior, setting.spectrum, files=False)


def network_of(setting: Setting) -> DiagonalNetwork:
    """Its network."""
    return DiagonalNetwork(setting.alpha, setting.lam, setting.depth)


def trainer_of(setting: Setting) -> Trainer:
    """Gradient flow, or gradient descent with its step."""
    return read_trainer(setting.step, None, None)


def check(setting: Setting) -> None:
    """InputError unless the library takes the problem and the page can bear it."""
    for name, text in (("prior", setting.prior), ("spectrum", setting.spectrum or "")):
        if len(text) > LONGEST:
            raise InputError(f"{name} must have at most {LONGEST} characters, got {len(text)}")
    task, trainer = setting.task, setting.trainer
    integer("depth", setting.net.depth, 2, DEEPEST)
    if task.signal + task.sigma == 0:
        raise InputError("task must have targets or noise: with ρ² + σ² = 0 nothing is learnt")
    end = one_real("t_max", setting.t_max, lambda x: (x > 0) & (x <= 1e6), "one number > 0, at most 1e6")
    one_real("tol", setting.tol, lambda x: (x >= 1e-4) & (x <= 0.1), "one number from 1e-4 to 0.1")
    if setting.step is not None:
        steps = int(trainer.number("t_max", np.array([end]))[0])
        if steps > MOST_STEPS:
            raise InputError(f"t_max must be at most {MOST_STEPS} steps on this page, got {steps}")
    if setting.d is not None:
        d = integer("d", setting.d, 10, 5000)
        integer("seeds", setting.seeds, 1, 50)
        if setting.delta * d * d > LARGEST:
            most = int(np.sqrt(LARGEST / setting.delta))
            raise InputError(f"d must be at most {most} on this page for delta={setting.delta:g}, got {d}")
