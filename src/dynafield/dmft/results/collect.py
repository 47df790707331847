"""From what was solved to a record: curves, kernels when they are asked for, and distributions of rows."""

from functools import cache, partial
from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.dmft.differentiation.derivatives import Deriving
from dynafield.dmft.discrete.langevin import TOGETHER
from dynafield.dmft.ensemble import Replica
from dynafield.dmft.observation import observe
from dynafield.dmft.preparation import Equations, Order, Plan, Problem, affine_of
from dynafield.dmft.refine import Solution
from dynafield.dmft.results.curves import Curves
from dynafield.dmft.results.densities import Responses, densities, step_densities
from dynafield.dmft.results.flow_curves import FlowCurves
from dynafield.dmft.results.responses import jacobians
from dynafield.dmft.results.solved import Deferred
from dynafield.dmft.rules import STAGES, StepTime
from dynafield.numerics.collocation import radau
from dynafield.problem.coordinates import Deep, DeepLayers
from dynafield.problem.jumps import jump_of_training
from dynafield.problem.model import MEASURES, Datum, Model
from dynafield.problem.networks import Network
from dynafield.problem.task import Task
from dynafield.problem.trainers import ShortSteps, Trainer

__all__ = ["collect"]

MOST_ROWS = 1600
"""Two-time functions of more nodes times channels are not made."""
RESPONDING = 2
"""Replicas whose responses are averaged."""


def collect(
    task: Task, net: Model, trainer: Trainer, order: Order, found: Solution, status: str
) -> Curves | FlowCurves:
    """The solution as one record, parameter axes first."""
    ensemble = found.ensemble
    t = order.time.nodes(ensemble.edges)
    network = isinstance(net, Network)
    names = ("train_error", "test_error", "loss") if network else MEASURES
    curves: dict[str, Any] = {}
    for name in names:
        curves[name] = stacked(order, [one.value[name] for one in found.estimates])
        if name != "loss":
            curves[f"{name}_se"] = stacked(order, [one.parts[name].whole for one in found.estimates])
    edges = ensemble.edges
    if isinstance(order.equations.trainer, ShortSteps):  # curves of a flow: read between several steps
        edges = np.append(edges[:-1:TOGETHER], edges[-1])
    facts: dict[str, Any] = dict(
        edges=edges,
        t_max=order.t_max,
        tol=order.tolerance.absolute,
        rtol=order.tolerance.relative,
        points=ensemble.plan.points,
        replicas=len(ensemble.replicas[0]),
        seed=order.seed,
        status=status,
        trainer=trainer,
        deriving=Deriving(order, found, network),
    )
    kernels = network_kernels(order, found, t) if network else flow_kernels(order, found)
    if network:
        laws = [network_law(replicas) for replicas in ensemble.replicas]
        return Curves(task, net, t=t, **curves, **kernels, **joined(order, laws), **facts)
    pairs = zip(order.problems, ensemble.replicas, strict=True)
    laws = [flow_law(order.equations, problem, replicas) for problem, replicas in pairs]
    return FlowCurves(task, net, t=t, **curves, **kernels, **joined(order, laws), **facts)


def stacked(order: Order, parts: list[np.ndarray]) -> Any:
    """One array of all problems, parameter axes first."""
    return np.stack(parts).reshape(*order.shape, *np.shape(parts[0]))


def joined(order: Order, parts: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Arrays of all problems by name."""
    return {name: stacked(order, [one[name] for one in parts]) for name in parts[0]}


def deferred(order: Order, found: Solution, make: Any) -> dict[str, Deferred]:
    """Two-time functions of all problems, made when one of them is asked for."""
    c = order.problems[0].model.outputs
    edges = found.ensemble.edges
    count = c * len(order.time.nodes(edges))
    kept: dict[str, Any] = {}
    trainer = order.equations.trainer

    @cache
    def why_not(kind: str, name: str) -> str | None:
        if count > MOST_ROWS:
            size = f"{count} x {count} entries"
            return f"has {size} at these times: two-time functions are made up to {MOST_ROWS}"
        if name == "C_f" and trainer is not None and (trainer.fraction < 1 or trainer.label_noise > 0):
            return "is not kept between steps that see other data or labels; train_error is its diagonal"
        return why_no_response() if kind == "response" else None

    def why_no_response() -> str | None:
        if trainer is not None and trainer.random:
            return "is not made for training that is random: rows would have to be kicked as they were"
        if isinstance(order.time, StepTime) and order.time.in_blocks:
            return "is not made where many steps are one block: solve with grid=trainer.times(t_max)"
        jump = jump_of_training(trainer, order.problems[0].model)
        return jump and f"is a mean of derivatives, which miss jumps: {jump}"

    def both(kind: str, name: str) -> Any:
        if kind not in kept:
            pairs = zip(order.problems, found.ensemble.replicas, strict=True)
            kept[kind] = joined(order, [make[kind](problem, replicas) for problem, replicas in pairs])
        return kept[kind][name]

    names = {"correlation": make["correlations"], "response": make["responses"]}
    return {
        name: Deferred(partial(both, kind, name), partial(why_not, kind, name))
        for kind, several in names.items()
        for name in several
    }


def network_kernels(order: Order, found: Solution, t: Float[np.ndarray, " t"]) -> dict[str, Any]:
    """The four kernels of a network."""
    edges, plan = found.ensemble.edges, found.ensemble.plan

    def correlation(problem: Problem, replicas: list[Replica]) -> dict[str, np.ndarray]:
        residuals = [one.on_nodes("F_ell") for one in replicas]
        C_f = np.mean([G @ G.T for G in residuals], axis=0)  # [eq:dmft_Cf]
        C_w = np.mean([output_correlation(one, problem.sigma**2) for one in replicas], axis=0)
        np.fill_diagonal(C_f, np.mean([curve_of(one, 2) for one in replicas], axis=0))  # with mini-batches
        return {"C_w": C_w, "C_f": C_f}

    def response(problem: Problem, replicas: list[Replica]) -> dict[str, np.ndarray]:
        made = [
            network_response(order.equations, problem, one, plan, edges, t) for one in replicas[:RESPONDING]
        ]
        R_w, R_f = (np.mean(part, axis=0) for part in zip(*made, strict=True))
        return {"R_w": R_w, "R_f": R_f}

    make = dict(
        correlation=correlation, response=response, correlations=("C_w", "C_f"), responses=("R_w", "R_f")
    )
    return deferred(order, found, make)


def curve_of(replica: Replica, number: int) -> Float[np.ndarray, " t"]:
    """One of the curves on all nodes."""
    return replica.on_nodes("curves")[:, number]


def output_correlation(replica: Replica, still: float | None) -> Float[np.ndarray, "r r"]:
    """E[o o'] of the coordinates' outputs, without rows that stand still; positive.

    With `still`, the mean square of these rows, its diagonal is made that of the sample, which has dropped
    nothing.
    """
    F = replica.on_nodes("F_w")
    own = F @ replica.still_basis
    found = F @ F.T - own @ own.T
    if still is None:
        return found
    scale = np.sqrt(np.maximum(curve_of(replica, 0) - still, 0.0) / np.maximum(np.diag(found), 1e-300))
    return scale[:, None] * found * scale


def network_response(
    equations: Equations, problem: Problem, replica: Replica, plan: Plan, edges: np.ndarray, t: np.ndarray
) -> Responses:
    """Both responses of a network as densities."""
    made = jacobians(equations, problem, replica, plan, edges)
    if isinstance(equations.time, StepTime):
        return step_densities(-made.coordinates, edges)
    model = problem.model
    mu = float(model.rate) if isinstance(model, Deep) else 0.0
    growth = mu if isinstance(model, DeepLayers) else 0.0
    return densities(-made.coordinates, made.moments, radau(STAGES), edges, t, mu, growth)


def network_law(replicas: list[Replica]) -> dict[str, np.ndarray]:
    """Weights of the kept paths, with mirror images of those that stand for both, targets, and replicas."""
    count, parts = len(replicas), []
    for one in replicas:
        w, folded = weights_of(one), one.folded
        share = one.weight * np.where(folded, 0.5, 1.0) / count
        parts.append(
            (
                np.concatenate([w, -w[folded]]),
                np.concatenate([one.target, -one.target[folded]]),
                np.concatenate([one.variance, one.variance[folded]]),
                np.concatenate([share, share[folded]]),
            )
        )
    paths, target, variance, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    replica = np.repeat(np.arange(count), [len(part[1]) for part in parts])
    return {
        "paths": paths,
        "path_target": target,
        "path_variance": variance,
        "path_weight": weight,
        "path_replica": replica,
    }


def weights_of(replica: Replica) -> Float[np.ndarray, "p t"]:
    """w of the kept rows on all nodes."""
    return replica.on_nodes("w")[:, 0].T


def by_channel(model: Model, matrix: Float[np.ndarray, "r r"]) -> np.ndarray:
    """A two-time matrix as (channel, time, channel, time), or (time, time)."""
    c = model.outputs
    whole = matrix.reshape(-1, c, len(matrix) // c, c).transpose(1, 0, 3, 2)
    return whole if model.channels else whole[0, :, 0]


def flow_kernels(order: Order, found: Solution) -> dict[str, Any]:
    """Correlations and Jacobians when asked for; overlap with the teacher and norm at once."""
    edges, plan, equations = found.ensemble.edges, found.ensemble.plan, order.equations

    def correlation(problem: Problem, replicas: list[Replica]) -> dict[str, np.ndarray]:
        model = problem.model
        C_w = np.mean([weight_correlation(equations, problem, one) for one in replicas], axis=0)
        F_ell = [one.on_nodes("F_ell") for one in replicas]
        C_ell = np.mean([F @ F.T for F in F_ell], axis=0)
        return {"C_w": by_channel(model, C_w), "C_ell": by_channel(model, C_ell)}

    def response(problem: Problem, replicas: list[Replica]) -> dict[str, np.ndarray]:
        model = problem.model
        made = [flow_responses(equations, problem, one, plan, edges) for one in replicas[:RESPONDING]]
        R_w, R_ell = (np.mean(part, axis=0) for part in zip(*made, strict=True))
        return {"R_w": by_channel(model, R_w), "R_ell": by_channel(model, R_ell)}

    make = dict(
        correlation=correlation, response=response, correlations=("C_w", "C_ell"), responses=("R_w", "R_ell")
    )
    pairs = zip(order.problems, found.ensemble.replicas, strict=True)
    overlaps = [overlap_and_norm(problem, replicas, equations.rho) for problem, replicas in pairs]
    return deferred(order, found, make) | joined(order, overlaps)


def weight_correlation(equations: Equations, problem: Problem, replica: Replica) -> Float[np.ndarray, "r r"]:
    """E[w w'] on all nodes; of closed data, from x = Hw + bw* [eq:linear_data]."""
    F = replica.on_nodes("F_w")
    if not equations.closed:
        return output_correlation(replica, None)
    affine, nodes = affine_of(equations, problem), len(F) // problem.model.outputs
    back = np.kron(np.eye(nodes), np.linalg.inv(affine.slope))
    b = np.tile(affine.to_teacher, nodes)
    along = F @ replica.teacher_basis  # E[x √s w*]
    whole = output_correlation(replica, None) - np.outer(along, b) - np.outer(b, along)
    return back @ (whole + equations.rho**2 * np.outer(b, b)) @ back.T


def flow_responses(
    equations: Equations, problem: Problem, replica: Replica, plan: Plan, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians of w by u_g and of ℓ by u_f."""
    made = jacobians(equations, problem, replica, plan, edges)
    matrix = made.coordinates
    if not equations.closed:
        return matrix, made.data
    affine = affine_of(equations, problem)
    slope = np.kron(np.eye(len(matrix) // len(affine.slope)), affine.slope)
    return np.linalg.solve(slope, matrix), np.linalg.solve(np.eye(len(matrix)) - matrix, slope)


def overlap_and_norm(problem: Problem, replicas: list[Replica], rho: float) -> dict[str, np.ndarray]:
    """Cosine of f with the teacher's and root mean square of f, by channel and time."""
    model = problem.model
    moments = np.mean([one.on_nodes("moments") for one in replicas], axis=0)
    norm = np.sqrt(moments[:, :, 0]).T
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = (
            np.where(norm > 0, moments[:, :, 1].T / (norm * rho), 0.0) if rho > 0 else np.zeros_like(norm)
        )
    return {n: x if model.channels else x[0] for n, x in (("overlap", cosine), ("norm", norm))}


def flow_law(equations: Equations, problem: Problem, replicas: list[Replica]) -> dict[str, np.ndarray]:
    """Sampled coordinates and data of all replicas, in the shapes of the model's functions."""
    model, count, parts = problem.model, len(replicas), []
    for k, one in enumerate(replicas):
        theta = one.on_nodes("theta").transpose(2, 0, 1)
        theta, target, variance, weight = unfolded(one, theta)
        f, datum = data_of(equations, problem, one, k)
        parts.append((theta, target, weight, f, datum, variance))
    theta, f = (np.concatenate([part[i] for part in parts]) for i in (0, 3))
    names = ("f_star", "xi", "z")
    facts = {name: np.concatenate([np.asarray(getattr(part[4], name)) for part in parts]) for name in names}
    return facts | {
        "theta": theta if model.state_shape else theta[:, :, 0],
        "f": f if model.channels else f[:, :, 0],
        "path_target": np.concatenate([part[1] for part in parts]),
        "path_variance": np.concatenate([part[5] for part in parts]),
        "path_weight": np.concatenate([part[2] / count for part in parts]),
        "path_replica": np.repeat(np.arange(count), [len(part[1]) for part in parts]),
        "datum_weight": np.concatenate([np.full(len(part[3]), 1 / len(part[3]) / count) for part in parts]),
        "datum_replica": np.repeat(np.arange(count), [len(part[3]) for part in parts]),
    }


def unfolded(replica: Replica, theta: np.ndarray) -> tuple[np.ndarray, ...]:
    """States of kept rows with mirror images of those that stand for both, their targets, variances and
    weights."""
    folded = replica.folded
    share = replica.weight * np.where(folded, 0.5, 1.0)
    images = [np.concatenate([x, -x[folded]]) for x in (theta, replica.target)]
    same = [np.concatenate([x, x[folded]]) for x in (replica.variance, share)]
    return *images, *same


def data_of(equations: Equations, problem: Problem, replica: Replica, seed: int) -> tuple[np.ndarray, Datum]:
    """f (datum, time, channel) of some training data, with what they know."""
    if replica.datum is not None:
        return replica.on_nodes("f").transpose(2, 0, 1), replica.datum
    count = 2 ** max(6, int(np.log2(len(replica.target))))
    seen = observe(equations, problem, replica, count, seed)
    return seen.trained.transpose(2, 0, 1), seen.datum
