"""General flows, from arguments to result."""

from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.dmft.ensemble import Ensemble
from dynafield.dmft.equations import TimeRule
from dynafield.dmft.flow_curves import FlowCurves
from dynafield.dmft.flow_equations import FlowEquations, FlowReplica
from dynafield.dmft.flow_member import FlowProblem
from dynafield.problem.flows import MEASURES, Flow
from dynafield.problem.task import Task
from dynafield.problem.trainers import Steps, Trainer

__all__ = ["collect_flow", "flow_equations", "flow_problems"]


def flow_equations(task: Task, flow: Flow, trainer: Trainer) -> FlowEquations:
    """The equations of a flow that has been tried out."""
    flow.try_out(task)
    return FlowEquations(flow, task.prior.components, trainer if isinstance(trainer, Steps) else None)


def flow_problems(task: Task, rows: list[list[float]]) -> list[FlowProblem]:
    """Problems by their δ and σ."""
    rho = float(np.sqrt(task.prior.second_moment))
    return [FlowProblem(*row, rho=rho) for row in rows]


def collect_flow(
    task: Task,
    flow: Flow,
    trainer: Trainer,
    equations: FlowEquations,
    shape: tuple[int, ...],
    ensemble: Ensemble,
    facts: dict[str, Any],
) -> FlowCurves:
    """The ensemble as one result, parameter axes first."""
    time: TimeRule = equations.time
    rho = float(np.sqrt(task.prior.second_moment))
    deltas = np.broadcast_to(np.asarray(task.delta, float), shape).ravel()
    parts = []
    for delta, replicas in zip(deltas, ensemble.replicas, strict=True):
        mean, _, error = equations.curves(replicas)
        one: dict[str, Any] = dict(zip(MEASURES, mean, strict=True))
        one |= {f"{name}_se": row for name, row in zip(MEASURES, error, strict=True)}
        parts.append(one | kernels(flow, float(delta), rho, replicas) | drawn(flow, replicas))
    stacked = {
        name: np.stack([one[name] for one in parts]).reshape(*shape, *np.shape(first))
        for name, first in parts[0].items()
    }
    return FlowCurves(
        task, flow, t=time.nodes(ensemble.edges), **stacked, edges=ensemble.edges,
        points=ensemble.points, replicas=len(ensemble.replicas[0]), trainer=trainer, **facts,
    )  # fmt: skip


def by_channel(flow: Flow, matrix: Float[np.ndarray, "r r"]) -> np.ndarray:
    """A two-time matrix without the teacher's row, as (channel, time, channel, time), or (time, time)."""
    c = flow.outputs
    whole = matrix[1:, 1:].reshape(-1, c, (len(matrix) - 1) // c, c).transpose(1, 0, 3, 2)
    return whole if flow.channels else whole[0, :, 0]


def kernels(flow: Flow, delta: float, rho: float, replicas: list[FlowReplica]) -> dict[str, np.ndarray]:
    """Correlations, Jacobians, and what the teacher's row says, averaged over replicas."""
    c, found = flow.outputs, []
    for r in replicas:
        squares = [r.F_w @ r.F_w.T, delta * r.F_ell @ r.F_ell.T, r.R_w, r.R_ell]
        found.append([by_channel(flow, matrix) for matrix in squares])
    names = ("C_w", "C_ell", "R_w", "R_ell")
    result = {n: np.mean([one[k] for one in found], axis=0) for k, n in enumerate(names)}
    norms = np.mean([np.sum(r.F_w[1:] ** 2, axis=1) for r in replicas], axis=0)
    along = np.mean([r.F_w[1:, 0] for r in replicas], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = np.where(norms > 0, along / np.sqrt(norms), 0.0) if rho > 0 else np.zeros_like(along)
    shape = (-1, c)
    curves = {"overlap": cosine.reshape(shape).T, "norm": np.sqrt(norms).reshape(shape).T}
    return result | {n: x if flow.channels else x[0] for n, x in curves.items()}


def drawn(flow: Flow, replicas: list[FlowReplica]) -> dict[str, np.ndarray]:
    """Sampled coordinates and data of all replicas, in the shapes of the user's functions."""
    count = len(replicas)
    theta, f = (np.concatenate([getattr(r, name) for r in replicas]) for name in ("theta", "f"))
    facts = ("f_star", "xi", "z")
    joined = {name: np.concatenate([getattr(r.datum, name) for r in replicas]) for name in facts}
    return joined | {
        "theta": theta if flow.start.shape else theta[:, :, 0],
        "f": f if flow.channels else f[:, :, 0],
        "path_target": np.concatenate([r.w_star for r in replicas]),
        "path_weight": np.concatenate([r.theta_weight / count for r in replicas]),
        "path_replica": np.repeat(np.arange(count), [len(r.w_star) for r in replicas]),
        "datum_weight": np.concatenate([r.f_weight / count for r in replicas]),
        "datum_replica": np.repeat(np.arange(count), [len(r.f_weight) for r in replicas]),
    }
