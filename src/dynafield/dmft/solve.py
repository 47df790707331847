"""The learning curve of the infinite network."""

import dataclasses
from functools import partial
from typing import Any, TypedDict, Unpack, overload

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from dynafield.compiled import make_room
from dynafield.deprecation import old_calls
from dynafield.dmft.differentiation.traced import attached, plain_problem, traced_numbers
from dynafield.dmft.discrete.langevin import refine_in_short_steps
from dynafield.dmft.estimates import missed_by
from dynafield.dmft.preparation import Equations, Order, Problem, Tolerance
from dynafield.dmft.refine import refine
from dynafield.dmft.results.collect import collect
from dynafield.dmft.results.curves import Curves
from dynafield.dmft.results.flow_curves import FlowCurves
from dynafield.dmft.rules import FEW, FlowTime, Stepping, StepTime
from dynafield.errors import InputError
from dynafield.problem.checks import (
    concrete,
    flag,
    integer,
    one_real,
    real_vector,
    same_shape,
    seed_of,
    untraced,
)
from dynafield.problem.jumps import check_smooth, jump_of_training
from dynafield.problem.model import Model, SquaredLoss, at_problem
from dynafield.problem.networks import Network
from dynafield.problem.optimizers import as_trainer
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow, Steps, check_training
from dynafield.progress import Progress, Wanted

__all__ = ["solve"]

MEMORY = 4.0
"""Gigabytes used at most on a processor by default."""
SINGULAR = 1e8
"""Condition number of the slope of ℓ beyond which data are sampled."""
LONGEST_TIME = float(np.finfo(float).eps) ** -0.5
"""Longest time of a flow, in units of the time in which coordinates move: drives are told apart by second
moments, thus down to the square root of double precision, and what is left moves coordinates for so long."""


class Options(TypedDict, total=False):
    """The keyword arguments of `solve`, for type checkers."""

    tol: float
    rtol: float | None
    trainer: Any
    points: int | None
    grid: Any
    seed: int
    throw: bool
    memory_gb: float | None
    progress: Wanted
    preview: bool


@overload  # networks first: they are models, too
def solve(  # pyright: ignore[reportOverlappingOverload]
    task: Task, net: Network, t_max: Any, **options: Unpack[Options]
) -> Curves: ...
@overload
def solve(task: Task, net: Model, t_max: Any, **options: Unpack[Options]) -> FlowCurves: ...
@old_calls(paths="points")
def solve(
    task: Task,
    net: Model,
    t_max: Any,
    *,
    tol: float = 1e-3,
    rtol: float | None = None,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    points: int | None = None,
    grid: Any = None,
    seed: int = 0,
    throw: bool = True,
    memory_gb: float | None = None,
    progress: Wanted = None,
    preview: bool = False,
) -> Any:
    r"""The learning curve of the infinite network: errors, kernels and weights from t = 0 to `t_max`
    [eq:dmft_dln].

    Blocks of time and sampled paths are chosen so that error bars meet the tolerance. `jax.jvp`, `jax.jacfwd`
    and `jax.grad` work through δ, σ, the numbers of a model and the sizes of steps, to first order: curves
    then have the derivatives of `Curves.derivative`, at the same nodes.

    Parameters
    ----------
    task : Task
        δ, σ and the prior. Arrays of numbers, of the task and of the model, broadcast: all problems are
        solved together, on one grid of times.
    net : Network or Model
        What is trained: a network, a ready-made flow or your own `Flow`.
    t_max : float
        Training time > 0, in the units of gradient flow; with steps, the sum of their sizes.
    tol : float, default 1e-3
        Error that both curves may have at every time, in units of \(E_{test}(0) = \rho^2 + \sigma^2\), or of
        the curve's own value where it has grown beyond that, from 1e-6 to 0.1. Of a flow: of losses, and of
        errors unless the flow has its own, in units of the first value of the test curve, or of the curve's
        own where it has grown beyond [eq:dmft_general].
    rtol : float, optional
        Relative error that the curves may have besides, from 1e-4 to 1. None: no bound.
    trainer : GradientFlow, GradientDescent, Optax or an optax optimizer, default GradientFlow()
        How the model is trained.
    points : int, optional
        Sampled paths per replica, from 64 on, rounded to powers of two for each component of the prior. None:
        as many as the tolerance needs. With a number, error bars may be larger than the tolerance.
    grid : array (b + 1,), optional
        Increasing times from 0 to `t_max` between which blocks of time lie. None: chosen for the tolerance.
        Of discrete training, many steps are one block where that is accurate enough [eq:summed_steps];
        `trainer.times(t_max)` takes each step by itself.
    seed : int, default 0
        Seed of the sampled paths.
    throw : bool, default True
        Whether a failure raises SolveError. False returns what was solved, if there is anything; `status`
        then has the reason.
    memory_gb : float, optional
        Memory for samples and kernels at most, in gigabytes; compiling takes up to half of one besides. None:
        4, or half of the memory of an accelerator.
    progress : bool or callable, optional
        Whether a progress bar is shown; None: on a terminal. Or a function of the fraction done and a text,
        which may raise KeyboardInterrupt to stop.
    preview : bool, default False
        Return the first pass, two replicas of 256 points, several times faster. `tol` then bounds the error
        in time only, and error bars are rough.

    Returns
    -------
    Curves or FlowCurves
        `Curves` of a network, `FlowCurves` of any other model. Ctrl-C returns what was solved.

    Raises
    ------
    InputError
        If an argument is out of range.
    SolveError
        If the solution could not be continued; the message has the time that was reached.
    """
    trainer, throw, preview = as_trainer(trainer), flag("throw", throw), flag("preview", preview)
    traced = traced_numbers(task, net, trainer)
    if traced:
        plain = plain_problem(task, net, trainer, traced)
        end = concrete(t_max) if isinstance(t_max, Tracer) else t_max
        curves = solve(
            *plain[:2], end, tol=tol, rtol=rtol, trainer=plain[2], points=points, grid=grid, seed=seed,
            throw=throw, memory_gb=memory_gb, progress=progress, preview=preview,
        )  # fmt: skip
        return dataclasses.replace(curves, task=task, net=net, **attached(curves, traced))
    ordered = partial(
        checked, task, net, t_max, tol, rtol, points=points, grid=grid, seed=seed, memory_gb=memory_gb,
        preview=preview,
    )  # fmt: skip
    order = ordered(trainer)
    make_room()
    with Progress("solving", 1.0, progress) as bar:
        told = partial(show, bar, order)
        if isinstance(trainer, GradientFlow) and trainer.random:
            order, found = refine_in_short_steps(lambda n: ordered(trainer.in_steps(order.t_max, n)), told)
        else:
            found = refine(order, told)
    status = "finished"
    if found.failure is not None:
        if throw or not found.estimates:
            raise found.failure
        status = "interrupted" if isinstance(found.failure, KeyboardInterrupt) else str(found.failure)
    elif preview:
        status = "preview"
    else:
        missed, part = missed_by(order, found.estimates)
        if missed > 1:
            asked = f"tol={tol:g}" if rtol is None else f"tol={tol:g}, rtol={rtol:g}"
            status = f"{asked} is not met: error bars up to {missed:.2g} times that, mostly from {part}"
    return collect(task, net, trainer, order, found, status)


def show(
    bar: Progress,
    order: Order,
    share: float,
    count: int,
    number: int,
    points: int,
    t: float | None = None,
    edges: Any = None,
) -> None:
    """Update the progress bar, which is that of a round: how many will be needed is not known before.

    For a function that is told, each round counts half of what is left.
    """
    now = t if t is not None else float(edges[count])
    stage = f"round {number}" if number else "pilot"
    bar.show_stage(stage, share, f"t = {now:.4g}, {points} points", 1 - 0.5 ** (number + share))


def checked(
    task: Task,
    net: Any,
    t_max: Any,
    tol: float,
    rtol: float | None,
    trainer: Any,
    points: int | None,
    grid: Any,
    seed: int,
    memory_gb: float | None,
    preview: bool,
) -> Order:
    """The arguments, or InputError."""
    check_training(task, net, trainer)
    numbers = dict(delta=task.delta, sigma=task.sigma) | net.numbers()
    untraced(**numbers)
    shape = same_shape(**numbers)
    squared = isinstance(net, SquaredLoss)
    if squared and task.signal == 0 and np.any(np.asarray(task.sigma) == 0) and net.odd:
        raise InputError("task must have targets or noise: E_test(0) = ρ² + σ² is zero, nothing is learnt")
    end = one_real("t_max", t_max, lambda x: (x > 0) & np.isfinite(x), "one finite number > 0")
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    if rtol is not None:
        rtol = one_real("rtol", rtol, lambda x: (x >= 1e-4) & (x <= 1), "one number from 1e-4 to 1")
    if points is not None:
        points = integer("points", points, 64, 2**22)
    memory = available() if memory_gb is None else memory_gb
    memory = one_real("memory_gb", memory, lambda x: x > 0, "one number > 0")
    discrete = isinstance(trainer, Steps)
    if not discrete:
        check_time(task, net, end)
    problems = problems_of(task, net if discrete else net.in_flow(end), shape)
    if not squared:
        problems[0].model.try_out(task)
    whole = seed_of("seed", seed)
    edges = None
    if grid is not None and not discrete and trainer.random:
        raise InputError("grid must be None for gradient flow with a temperature: it has no blocks of time")
    if grid is not None:
        edges = checked_grid(grid, end, min(one.model.longest_block() for one in problems), discrete)
    time = time_of_steps(problems[0].model, trainer, end, edges) if discrete else FlowTime()
    if isinstance(time, StepTime) and (grid is not None or not time.in_blocks):
        edges = time.clock if edges is None else time.fitting(edges)
    equations = equations_of(task, problems[0].model, trainer, time)
    return Order(
        equations, problems, shape, end, Tolerance(tol, rtol), points, edges, whole, memory * 1e9, preview
    )


def check_time(task: Task, net: Model, end: float) -> None:
    """InputError for times of gradient flow beyond what double precision tells apart.

    Coordinates of a network of depth L that have reached a size x move at a rate x^(2 - 2/L); that of other
    models is taken to be one.
    """
    size = float(np.sqrt(task.signal + np.max(np.asarray(task.sigma, float)) ** 2))
    rate = size ** (2 - 2 / net.depth) if isinstance(net, Network) else 1.0
    if end * rate > LONGEST_TIME:
        raise InputError(
            f"t_max must be at most {LONGEST_TIME / rate:.3g} for sigma and values of targets of size "
            f"{size:.3g}: in a longer time what double precision leaves of residuals moves coordinates, "
            f"got {end:g}"
        )


def problems_of(task: Task, model: Model, shape: tuple[int, ...]) -> list[Problem]:
    """All problems, in C order, each in plain numbers."""
    found = []
    for place in np.ndindex(shape):
        delta, sigma = (
            float(np.broadcast_to(np.asarray(x, float), shape)[place]) for x in (task.delta, task.sigma)
        )
        found.append(Problem(delta, sigma, at_problem(model, shape, place)))
    return found


def equations_of(task: Task, model: Model, trainer: Any, time: FlowTime | StepTime) -> Equations:
    """What all problems have in common: prior, time, trainer, and whether data are closed or sampled."""
    discrete = isinstance(trainer, Steps)
    slope = model.affine()
    closed = slope is not None and bool(np.linalg.cond(slope) < SINGULAR)
    if discrete and not isinstance(model, SquaredLoss) and (trainer.fraction < 1 or trainer.label_noise > 0):
        closed = False
    if not discrete:
        check_smooth(model)
    return Equations(task.law, time, trainer if discrete else None, closed)


def time_of_steps(model: Model, trainer: Steps, end: float, edges: Any) -> StepTime:
    """How the steps of training are cut into blocks.

    Many steps are one block, unless something in them jumps or is random. `edges`, if a grid is given,
    decides which steps are taken one by one.
    """
    trainer.number("t_max", np.array([end]))
    clock = trainer.times(end)
    smooth = not trainer.random and jump_of_training(trainer, model) is None
    many = len(clock) > FEW + 1
    if edges is not None:
        many = bool(np.any(np.diff(trainer.number("grid", edges)) > 1))
        if many and not smooth:
            raise InputError(
                "grid must be None, or all times of steps: steps of this model and trainer cannot be joined, "
                "since something in them jumps or is random"
            )
    return StepTime(clock, Stepping.of(trainer), smooth and many)


def available() -> float:
    """Gigabytes to use by default; on an accelerator half of its memory."""
    facts = None if jax.default_backend() == "cpu" else jax.devices()[0].memory_stats()
    return 0.5e-9 * facts["bytes_limit"] if facts else MEMORY


def checked_grid(grid: Any, t_max: float, longest: float, discrete: bool) -> Float[np.ndarray, " b"]:
    """Edges of the blocks from 0 to t_max, or InputError; of discrete training they are whole steps."""
    allowed = "a list of increasing times from 0 to t_max, the edges of blocks"
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
    if not discrete and len(edges) - 1 > FlowTime.most:
        raise InputError(f"grid must have at most {FlowTime.most} blocks, got {len(edges) - 1}")
    if np.max(np.diff(edges)) > longest:
        raise InputError(
            f"grid must have blocks of at most {longest:g} at this weight decay and depth, "
            f"got {np.max(np.diff(edges)):g}"
        )
    return edges
