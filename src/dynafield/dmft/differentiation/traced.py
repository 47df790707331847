"""Curves of numbers that JAX differentiates: their values, and derivatives attached to them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynafield.errors import InputError
from dynafield.problem.checks import concrete, derivative_order, plain
from dynafield.problem.model import Model, with_numbers
from dynafield.problem.task import Task

__all__ = ["attached", "plain_problem", "traced_numbers"]


def traced_numbers(task: Any, net: Any, trainer: Any) -> dict[str, Any]:
    """Numbers of a problem that JAX traces, by name; InputError where they have no values, or are to be
    differentiated twice."""
    if not (isinstance(task, Task) and isinstance(net, Model)):
        return {}
    known = (
        dict(delta=task.delta, sigma=task.sigma) | net.numbers() | {"step": getattr(trainer, "step", None)}
    )
    found = {name: value for name, value in known.items() if isinstance(value, Tracer)}
    for name, value in found.items():
        if concrete(value) is None:
            raise InputError(
                f"{name} must have a value here: solve cannot be part of jax.jit or jax.vmap, only of "
                "jax.jvp, jax.jacfwd and jax.grad; give an array to solve many problems together"
            )
        if derivative_order(value) > 1:
            raise InputError(f"{name} must not be differentiated twice: curves have first derivatives only")
    return found


def plain_problem(task: Task, net: Model, trainer: Any, traced: dict[str, Any]) -> tuple[Task, Model, Any]:
    """The same problem in plain numbers."""
    values = {name: plain(concrete(value)) for name, value in traced.items()}
    task = task.at(values.get("delta", task.delta), values.get("sigma", task.sigma))
    net = with_numbers(net, {name: values[name] for name in net.numbers() if name in values})
    if "step" in values:
        trainer = trainer.with_step(values["step"])
    return task, net, trainer


def attached(curves: Any, traced: dict[str, Any]) -> dict[str, Any]:
    """The curves by name as functions of what JAX traces: values, and first derivatives."""
    found: dict[str, Any] = {}
    for name, one in curves.derivatives(*traced).items():
        change = traced[name] - jax.lax.stop_gradient(traced[name])
        for curve in one.curves:
            slope = jnp.asarray(getattr(one, curve))
            if slope.ndim > np.ndim(getattr(curves, curve)):
                more = jnp.einsum("...kt,k->...t", slope, change[: slope.shape[-2]])
            else:
                more = slope * change[..., None]
            found[curve] = found.get(curve, jnp.asarray(getattr(curves, curve))) + more
    return found
