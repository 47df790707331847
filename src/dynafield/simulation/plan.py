"""What a simulation is to do, checked before anything is drawn."""

from typing import Any, NamedTuple

import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import flag, integer, one_real, real_vector, same_shape, shown, untraced
from dynafield.problem.networks import Network
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow, Steps, Trainer, check_training
from dynafield.simulation.flows import FlowPlan
from dynafield.simulation.inputs import InputLaw, read_inputs
from dynafield.simulation.targets import Draw, read_targets

__all__ = ["Plan", "make_plan", "read_coordinates"]

TIMES = 100
"""Times at which curves are kept unless the user says otherwise, over DECADES decades."""
DECADES = 5
TOLERANCE = 1e-6
"""Relative error of w as a vector in gradient flow, unless the user says otherwise."""


class Plan(NamedTuple):
    """Everything a run needs but its seed."""

    task: Task
    net: Network
    alpha: np.ndarray
    lam: np.ndarray
    shape: tuple[int, ...]
    n: int
    d: int
    law: InputLaw
    targets: str
    draw: Draw
    trainer: Trainer
    tol: float
    t: np.ndarray
    end: float
    start: tuple[np.ndarray, np.ndarray] | None
    coordinates: np.ndarray
    residuals: bool
    weights: bool


def make_plan(
    task: Any,
    net: Any,
    t_max: Any,
    d: Any,
    t_eval: Any,
    trainer: Any,
    inputs: Any,
    targets: Any,
    start: Any,
    coordinates: Any,
    residuals: Any,
    weights: Any,
    tol: Any,
) -> Plan | FlowPlan:
    """The arguments of `simulate`, checked."""
    check_training(task, net, trainer)
    for name, value in dict(delta=task.delta, sigma=task.sigma).items():
        if np.ndim(value):
            raise InputError(
                f"{name} must be one number in simulate (α and λ may be arrays), got {shown(value)}"
            )
    untraced(delta=task.delta, sigma=task.sigma)
    if d is not None:
        d = integer("d", d, 1)
    trainer, tol = read_tolerance(trainer, tol)
    law, n, d = read_inputs(inputs, float(task.delta), d)
    residuals, weights = flag("residuals", residuals), flag("weights", weights)
    if not isinstance(net, Network):
        check_unused(start, coordinates, residuals, weights)
        for name, value in net.numbers().items():
            one_real(name, value, np.isfinite, "one number in simulate")
        net.try_out(task)
        times = read_times(t_max, t_eval, trainer)
        return FlowPlan(task, net, n, d, law, *read_targets(targets, d), trainer, tol, *times)
    untraced(alpha=net.alpha, lam=net.lam)
    shape = same_shape(alpha=net.alpha, lam=net.lam)
    alpha, lam = (np.broadcast_to(np.asarray(x, float), shape).ravel() for x in (net.alpha, net.lam))
    chosen = np.zeros(0, int)
    if np.size(coordinates):
        chosen = np.array(read_coordinates(coordinates, d))
    name, draw = read_targets(targets, d)
    return Plan(
        task, net, alpha, lam, shape, n, d, law, name, draw, trainer, tol,
        *read_times(t_max, t_eval, trainer), read_start(start, shape, d),
        chosen, residuals, weights,
    )  # fmt: skip


def read_tolerance(trainer: Trainer, tol: Any) -> tuple[Trainer, float]:
    """The trainer without the tolerance that it used to carry, and the tolerance of gradient flow."""
    if isinstance(trainer, GradientFlow) and trainer.tol is not None:
        tol = trainer.tol if tol is None else tol
        trainer = GradientFlow(temperature=trainer.temperature)
    tol = TOLERANCE if tol is None else tol
    return trainer, one_real(
        "tol", tol, lambda x: (x >= 1e-12) & (x <= 1e-2), "one number from 1e-12 to 1e-2"
    )


def read_coordinates(coordinates: Any, d: int) -> list[int]:
    """Indices of features, one or several."""
    listed = [coordinates] if np.ndim(coordinates) == 0 else list(np.asarray(coordinates).ravel())
    return [integer("coordinates", one, 0, d - 1) for one in listed]


def check_unused(start: Any, coordinates: Any, residuals: Any, weights: Any) -> None:
    """InputError for arguments that a flow has no use for."""
    if start is not None:
        raise InputError("start must be None for a Flow, whose start is its theta0")
    if np.size(coordinates) or residuals or weights:
        raise InputError(
            "coordinates, residuals and weights are for networks, and must not be given with a Flow"
        )


def read_times(t_max: Any, t_eval: Any, trainer: Trainer) -> tuple[np.ndarray, float]:
    """The times at which curves are kept, increasing; of a discrete trainer those after a step."""
    end = one_real("t_max", t_max, lambda x: x > 0, "one finite number > 0")
    if isinstance(trainer, Steps):
        trainer.number("t_max", np.array([end]))
    if t_eval is None:
        t = np.concatenate([[0.0], end * np.logspace(-DECADES, 0, TIMES)])
        return (trainer.rounded(t) if isinstance(trainer, Steps) else t), end
    t = np.array(real_vector("t_eval", t_eval, lambda x: x >= 0, "times ≥ 0, increasing"))
    if np.any(np.diff(t) <= 0):
        bad = int(np.argmax(np.diff(t) <= 0))
        raise InputError(f"t_eval must increase, got {t[bad]:g} before {t[bad + 1]:g}")
    if t[-1] > end * (1 + 1e-12):
        raise InputError(f"t_eval must not go beyond t_max = {end:g}, got {t[-1]:g}")
    if isinstance(trainer, Steps):
        trainer.number("t_eval", t)
    return t, end


def read_start(start: Any, shape: tuple[int, ...], d: int) -> tuple | None:
    """Given u(0) and v(0), as vectors."""
    if start is None:
        return None
    if shape:
        raise InputError("alpha and lam must be single numbers when start is given")
    try:
        u, v = start
    except (TypeError, ValueError):
        raise InputError(f"start must be a pair of vectors u(0), v(0), got {type(start).__name__}") from None
    pair = []
    for name, given in (("u(0)", u), ("v(0)", v)):
        vector = real_vector(f"start {name}", given, np.isfinite, f"a vector of {d} finite numbers")
        if len(vector) != d:
            raise InputError(f"start {name} must have d = {d} entries, got {len(vector)}")
        pair.append(np.array(vector))
    return tuple(pair)
