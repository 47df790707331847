"""From texts to settings, and from settings to problems of the library; what cannot be is refused.

Everything that comes from a link or a field of the page is read here. Nothing is evaluated and no file is
read.
"""

import dataclasses
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from dynafield.errors import InputError
from dynafield.explorer.setting import AXES, KERNELS, MOST_PINS, MOST_STEPS, SCALES, Setting, View
from dynafield.problem.checks import integer, one_real
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.text import number, read_task, read_trainer
from dynafield.problem.trainers import Steps, Trainer

__all__ = ["adjusted", "changed", "code_of", "network_of", "read_view", "task_of", "trainer_of"]

DEEPEST = 10
"""Layers at most."""
LARGEST = 1e7
"""Entries of a data matrix at most."""
LONGEST = 400
"""Characters of the text of a prior at most."""
FIELDS = tuple(field.name for field in dataclasses.fields(Setting))
"""Names that a link may set."""
OLD_NAMES = {"seeds": "runs"}
"""Names in links of older versions, and what they are called now."""
OF_VIEWS = ("pin", "axis", "at", "scale", "kernel")
"""Names in links that are not those of a setting."""
MAY_BE_EMPTY = ("step", "momentum", "batch_fraction", "d")
"""Numbers that need not be set."""


@lru_cache(256)
def task_of(setting: Setting) -> Task:
    """Task of a setting; priors from files are refused."""
    return read_task(setting.delta, setting.sigma, setting.prior, setting.spectrum, files=False)


@lru_cache(256)
def network_of(setting: Setting) -> DiagonalNetwork:
    """Network of a setting."""
    return DiagonalNetwork(setting.alpha, setting.lam, setting.depth)


def trainer_of(setting: Setting) -> Trainer:
    """Trainer of a setting: `GradientFlow`, `GradientDescent`, `HeavyBall` or `SGD`."""
    return read_trainer(setting.step, setting.momentum, setting.batch_fraction)


def code_of(setting: Setting) -> tuple[Any, ...]:
    """Everything that compiled code depends on: settings for which this is the same share their code."""
    atoms = len(task_of(setting).law.weight)
    return (setting.depth, atoms, setting.lam > 0, setting.delta > 1, setting.way)


def read(name: str, text: str) -> Any:
    """The value of a setting's field from its text."""
    if name == "prior":
        return text
    if name == "spectrum":
        return text or None
    if name in MAY_BE_EMPTY and text == "":
        return None
    value = number(name, text)
    if name in ("depth", "d", "runs"):
        if value != np.floor(value) or not np.isfinite(value):
            raise InputError(f"{name} must be a whole number, got {text!r}")
        return int(value)
    return value


def changed(setting: Setting, **texts: str) -> Setting:
    """A setting with some fields read from text; an empty text unsets a number that need not be set."""
    new = replaced(setting, texts)
    check(new)
    return new


def adjusted(setting: Setting, **texts: str) -> Setting:
    """The same, with the training time moved to a whole number of steps that the page can bear."""
    new = replaced(setting, texts)
    trainer_of(new)
    check_time(new)
    new = new.in_whole_steps()
    check(new)
    return new


def replaced(setting: Setting, texts: dict[str, str]) -> Setting:
    """A setting with some fields read from text, not yet checked."""
    values = {}
    for given, text in texts.items():
        name = OLD_NAMES.get(given, given)
        if name not in FIELDS:
            raise InputError(f"a link may set {', '.join(FIELDS)}, got {given!r}")
        values[name] = read(name, text.strip())
    return dataclasses.replace(setting, **values)


def check_time(setting: Setting) -> float:
    """The training time, or InputError."""
    return one_real("t_max", setting.t_max, lambda x: (x > 0) & (x <= 1e6), "one number > 0, at most 1e6")


def check(setting: Setting) -> None:
    """InputError unless the library takes the problem and the page can bear it."""
    for name, text in (("prior", setting.prior), ("spectrum", setting.spectrum or "")):
        if len(text) > LONGEST:
            raise InputError(f"{name} must have at most {LONGEST} characters, got {len(text)}")
    task, trainer = task_of(setting), trainer_of(setting)
    integer("depth", network_of(setting).depth, 2, DEEPEST)
    if task.signal + task.sigma == 0:
        raise InputError("task must have targets or noise: with ρ² + σ² = 0 nothing is learnt")
    end = check_time(setting)
    one_real("tol", setting.tol, lambda x: (x >= 1e-4) & (x <= 0.1), "one number from 1e-4 to 0.1")
    if isinstance(trainer, Steps):
        steps = int(trainer.number("t_max", np.array([end]))[0])
        if steps > MOST_STEPS:
            raise InputError(f"t_max must be at most {MOST_STEPS} steps on this page, got {steps}")
    if setting.d is not None:
        d = integer("d", setting.d, 10, 5000)
        integer("runs", setting.runs, 1, 50)
        if setting.delta * d * d > LARGEST:
            most = int(np.sqrt(LARGEST / setting.delta))
            raise InputError(f"d must be at most {most} on this page for delta={setting.delta:g}, got {d}")


def pairs_of(query: str) -> list[tuple[str, str]]:
    """Names and values of a query."""
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=40, errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise InputError("a link must be a query of at most 40 names and values") from None


def setting_of(pairs: list[tuple[str, str]]) -> Setting:
    """The setting that names and values describe."""
    names = [OLD_NAMES.get(name, name) for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f"a link may set each of its names once, got {', '.join(names)}")
    return changed(Setting(), **dict(pairs))


def one_of(name: str, texts: dict[str, str], allowed: dict[str, str], default: str) -> str:
    """A value of a link that must be one of a few."""
    text = texts.get(name, default)
    if text not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}, got {text!r}")
    return text


def read_view(query: str) -> View:
    """The view that a link describes, or InputError saying what is wrong with it."""
    default, pairs = View(), pairs_of(query)
    texts = dict(pairs)
    own = [(name, text) for name, text in pairs if name not in OF_VIEWS]
    pins = [setting_of(pairs_of(text)) for name, text in pairs if name == "pin"]
    if len(pins) > MOST_PINS:
        raise InputError(f"a link may have at most {MOST_PINS} pins, got {len(pins)}")
    between = lambda x: (x >= 0) & (x <= 1)  # noqa: E731
    return View(
        setting_of(own),
        tuple(pins),
        one_of("axis", texts, AXES, default.axis),
        one_real("at", number("at", texts.get("at", "1")), between, "one number from 0 to 1"),
        one_of("scale", texts, SCALES, default.scale),
        one_of("kernel", texts, KERNELS, default.kernel),
    )
