"""The learning curve of the infinite network."""

from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from dynafield.dmft.curves import Curves
from dynafield.dmft.diagonal import DiagonalEquations, Problem, Replica
from dynafield.dmft.ensemble import Ensemble
from dynafield.dmft.equations import LARGEST, STAGES, Equations
from dynafield.dmft.grid import Tolerance
from dynafield.dmft.layers import growth
from dynafield.dmft.march import March, UnsettledError
from dynafield.dmft.mirror import STEEPEST, MirrorEquations
from dynafield.dmft.refine import Order, refine
from dynafield.dmft.solve_flow import collect_flow, flow_equations, flow_problems
from dynafield.dmft.walk import StepEquations, training_of
from dynafield.errors import InputError, SolveError
from dynafield.problem.checks import integer, one_real, real_vector, same_shape, untraced
from dynafield.problem.flows import Flow
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow, Steps, Trainer, check_training
from dynafield.progress import Progress, Wanted

__all__ = ["solve"]

MEMORY = 4.0
"""Gigabytes used at most on a processor, unless told otherwise."""


def solve(
    task: Task,
    net: Network | Flow,
    t_max: Any,
    tol: float = 1e-3,
    rtol: float | None = None,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    paths: int | None = None,
    grid: Any = None,
    seed: int = 0,
    throw: bool = True,
    memory_gb: float | None = None,
    progress: Wanted = None,
    preview: bool = False,
) -> Any:
    r"""Training and test error, kernels and law of the weights from t = 0 to `t_max` [eq:dmft_dln].

    `tol` bounds the error of both curves at every time, in units of \(E_{test}(0) = \rho^2 +
    \sigma^2\); with `rtol` their relative error too. Blocks of time and sampled paths are chosen
    to meet it; `grid` (ends of blocks, from 0 to t_max) and `paths` (points per replica, rounded to
    powers of two for each component of the prior) fix them instead. Arrays of δ, σ, α, λ are solved
    together, on one grid. The result is a `Curves`; of a `Flow`, which may take the place of the network,
    a `FlowCurves`, whose losses (and errors, unless the flow defines its own) `tol` bounds in units of their
    values at t = 0, or of their own where they grow [eq:dmft_general].

    `preview=True` returns the first pass, whose purpose otherwise is to choose the blocks: two replicas of
    256 points, several times faster; `tol` then bounds the error in time only, and error bars, the largest
    scatter so far, are rough.

    A failure raises SolveError with the time reached; with `throw=False` what is solved comes
    back, if there is anything, and `status` says why it ended. So does Ctrl-C. `progress` shows a bar (None:
    on a terminal), or is called with the share done and words, and may raise KeyboardInterrupt to stop.
    """
    order = checked(task, net, t_max, tol, rtol, trainer, paths, grid, seed, memory_gb, preview)
    with Progress("solving", 1.0, progress) as bar:
        known = refine(order, partial(show, bar, order))
    status = "finished"
    if known.failure is not None:
        failure = explained(known.failure)
        if throw or len(known.edges) < 2:
            raise failure
        status = "interrupted" if isinstance(failure, KeyboardInterrupt) else str(failure)
    if isinstance(net, Flow):
        facts = dict(t_max=order.t_max, tol=order.tolerance.absolute, seed=order.seed, status=status)
        equations: Any = order.equations
        return collect_flow(task, net, trainer, equations, order.shape, known, facts)
    return collect(task, net, trainer, order, known, status)


def show(bar: Progress, order: Order, march: March, number: int, points: int) -> None:
    """Round, time, blocks and points, in the bar; each round counts half of what is left."""
    share = order.time.share(march.time, order.t_max)
    count = len(march.edges) - 1
    done = f"{count} {order.time.part if count != 1 else order.time.part.removesuffix('s')}"
    bar.show(1 - 0.5 ** (number + share), f"t = {march.time:.4g}, {done}, {points} points per replica")


def explained(failure: BaseException) -> BaseException:
    """A failure in words for the user."""
    if isinstance(failure, UnsettledError):
        return SolveError(
            f"the iteration for the kernels did not converge {failure}: take a grid of shorter blocks"
        )
    return failure


def checked(
    task: Task,
    net: Any,
    t_max: Any,
    tol: float,
    rtol: float | None,
    trainer: Any,
    paths: int | None,
    grid: Any,
    seed: int,
    memory_gb: float | None,
    preview: bool,
) -> Order:
    """The arguments, or InputError."""
    check_kinds(task, net, trainer)
    numbers = dict(delta=task.delta, sigma=task.sigma)
    if isinstance(net, Network):
        numbers |= dict(alpha=net.alpha, lam=net.lam)
    untraced(**numbers)
    shape = same_shape(**numbers)
    columns = [np.broadcast_to(np.asarray(v, float), shape).ravel() for v in numbers.values()]
    rows = np.stack(columns, axis=1).tolist()
    own = isinstance(net, Flow)
    problems: list[Any] = (
        flow_problems(task, rows) if own else [Problem(*row, depth=net.depth) for row in rows]
    )
    if own and rtol is not None:
        raise InputError("rtol must be None for a Flow: its curves are bounded by tol alone")
    if not own and task.prior.second_moment == 0 and any(p.sigma == 0 for p in problems):
        raise InputError("task must have targets or noise: E_test(0) = ρ² + σ² is zero, nothing is learnt")
    end = one_real("t_max", t_max, lambda x: (x > 0) & np.isfinite(x), "one finite number > 0")
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    if rtol is not None:
        rtol = one_real("rtol", rtol, lambda x: (x >= 1e-4) & (x <= 1), "one number from 1e-4 to 1")
    if paths is not None:
        paths = integer("paths", paths, 64, 2**22)
    memory = available() if memory_gb is None else memory_gb
    memory = one_real("memory_gb", memory, lambda x: x > 0, "one number > 0")
    fastest = 0.0 if own else max(growth(net.depth, p.lam) for p in problems)
    edges = None if grid is None else checked_grid(grid, end, fastest)
    if isinstance(trainer, Steps):
        if grid is not None:
            raise InputError("grid must be None for a discrete trainer: its steps are the grid")
        edges = trainer.step * np.arange(int(trainer.number("t_max", np.array([end]))[0]) + 1)
    whole = integer("seed", seed, 0)
    equations, tolerance = equations_of(task, net, trainer), Tolerance(tol, rtol)
    return Order(equations, problems, shape, end, tolerance, paths, edges, whole, memory * 1e9, preview)


def equations_of(task: Task, net: Any, trainer: Any) -> Equations:
    """The set of equations for this kind of model and training."""
    if isinstance(net, Flow):
        return flow_equations(task, net, trainer)
    if isinstance(trainer, Steps):
        return StepEquations(task.prior.components, training_of(net, trainer))
    return MirrorEquations(task.prior.components)


def check_kinds(task: Any, net: Any, trainer: Any) -> None:
    """InputError unless this kind of network can be solved so."""
    check_training(task, net, trainer)
    if isinstance(trainer, GradientFlow) and not isinstance(net, (DiagonalNetwork, Flow)):
        raise InputError(
            f"net must be a DiagonalNetwork or a Flow for GradientFlow, got {type(net).__name__}, which has "
            "no mirror map: take diagonal_flow(net), or a discrete trainer"
        )


def available() -> float:
    """Gigabytes to use unless told otherwise; of an accelerator's own, half."""
    facts = None if jax.default_backend() == "cpu" else jax.devices()[0].memory_stats()
    return 0.5e-9 * facts["bytes_limit"] if facts else MEMORY


def checked_grid(grid: Any, t_max: float, mu: float) -> Float[np.ndarray, " b"]:
    """Ends of blocks from 0 to t_max, or InputError."""
    allowed = "a list of increasing times from 0 to t_max, the ends of blocks"
    edges = np.array(real_vector("grid", grid, np.isfinite, allowed))
    if (
        len(edges) < 2
        or edges[0] != 0
        or np.any(np.diff(edges) <= 0)
        or abs(edges[-1] - t_max) > 1e-9 * t_max
    ):
        raise InputError(
            f"grid must be {allowed}, got {edges[0]:g} … {edges[-1]:g} with {len(edges)} entries"
        )
    if 1 + STAGES * (len(edges) - 1) > LARGEST:
        raise InputError(f"grid must have at most {(LARGEST - 1) // STAGES} blocks, got {len(edges) - 1}")
    if mu * np.max(np.diff(edges)) > STEEPEST:
        raise InputError(
            f"grid must have blocks of at most {STEEPEST / mu:g} at this weight decay and depth, "
            f"got {np.max(np.diff(edges)):g}"
        )
    return edges


def collect(
    task: Task, net: Network, trainer: Trainer, order: Order, ensemble: Ensemble, status: str
) -> Curves:
    """The ensemble as one result, parameter axes first."""
    equations: Any = order.equations
    t = order.time.nodes(ensemble.edges)
    pairs = list(zip(order.problems, ensemble.replicas, strict=True))
    found = [equations.estimate(problem, replicas) for problem, replicas in pairs]
    kernels = [two_time(equations, problem, replicas, ensemble.edges, t) for problem, replicas in pairs]
    laws = [sampled(replicas) for replicas in ensemble.replicas]

    def stacked(parts: list[Any]) -> Any:
        return np.stack(parts).reshape(*order.shape, *parts[0].shape)

    names = ("train_error", "test_error", "train_error_se", "test_error_se", "loss")
    return Curves(
        task,
        net,
        t=t,
        **{name: stacked([getattr(one, name) for one in found]) for name in names},
        **{name: stacked([one[name] for one in kernels]) for name in kernels[0]},
        **{name: stacked([one[name] for one in laws]) for name in laws[0]},
        edges=ensemble.edges,
        t_max=order.t_max,
        tol=order.tolerance.absolute,
        rtol=order.tolerance.relative,
        points=ensemble.points,
        replicas=len(ensemble.replicas[0]),
        seed=order.seed,
        status=status,
        trainer=trainer,
    )


def two_time(
    equations: DiagonalEquations,
    problem: Problem,
    replicas: list[Replica],
    edges: Float[np.ndarray, " b"],
    t: Float[np.ndarray, " t"],
) -> dict[str, np.ndarray]:
    """The four kernels on the nodes, averaged over replicas."""
    size, parts = len(t), []
    for replica in replicas:
        kernels = replica.kernels
        F, U = kernels.F[:size], kernels.residual_factor
        response = equations.responses(problem, kernels, edges, t)
        correlation = problem.delta * F @ F.T - problem.sigma**2
        parts.append((correlation, problem.delta * U @ U.T, response.R_w, response.R_f))
    means = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
    return dict(zip(("C_w", "C_f", "R_w", "R_f"), means, strict=True))


def sampled(replicas: list[Replica]) -> dict[str, np.ndarray]:
    """Weights of the kept paths, with targets, weights and replicas."""
    count = len(replicas)
    return {
        "paths": np.concatenate([r.errors + r.target[:, None] for r in replicas]),
        "path_target": np.concatenate([r.target for r in replicas]),
        "path_weight": np.concatenate([r.weight / count for r in replicas]),
        "path_replica": np.repeat(np.arange(count), [len(r.target) for r in replicas]),
    }
