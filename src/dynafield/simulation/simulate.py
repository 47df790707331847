"""Train finite networks of a task."""

import math
import warnings
from collections.abc import Callable, Generator
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from dynafield.compiled import make_room
from dynafield.deprecation import old_calls
from dynafield.errors import SolveError
from dynafield.numerics.processes import in_processes
from dynafield.numerics.threads import fitting_threads
from dynafield.problem.checks import check_memory, flag, integer, seed_of
from dynafield.problem.model import MEASURES, Model
from dynafield.problem.networks import DiagonalNetwork, Network, layer
from dynafield.problem.optimizers import as_trainer
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow, ShortSteps, Steps
from dynafield.progress import Progress, Wanted
from dynafield.records.problems import described, parameters
from dynafield.simulation.data import Data, Reduced, reduce_rows
from dynafield.simulation.descent import descend
from dynafield.simulation.flow import integrate
from dynafield.simulation.flow_runs import FlowRuns
from dynafield.simulation.flows import FlowPlan, FlowSeen, train_flow
from dynafield.simulation.langevin import curvature_of_network, in_short_steps
from dynafield.simulation.observables import Observables
from dynafield.simulation.plan import Plan, make_plan
from dynafield.simulation.runs import Runs, RunsRecord

__all__ = ["simulate", "training_data"]

LAZY = 0.3
"""Initial slope α^(2L-2) from which it pays to rotate the data so that the lazy flow is diagonal."""


class Options(TypedDict, total=False):
    """The keyword arguments of `simulate`, for type checkers."""

    d: int | None
    runs: int
    t_eval: Any
    trainer: Any
    inputs: Any
    seed: int
    targets: Any
    start: Any
    coordinates: Any
    residuals: bool
    weights: bool
    tol: float | None
    throw: bool
    progress: Wanted
    workers: int


@overload  # networks first: they are models, too
def simulate(  # pyright: ignore[reportOverlappingOverload]
    task: Task, net: Network, t_max: Any, **options: Unpack[Options]
) -> Runs: ...
@overload
def simulate(task: Task, net: Model, t_max: Any, **options: Unpack[Options]) -> FlowRuns: ...
@old_calls(seeds="runs")
def simulate(
    task: Task,
    net: Model,
    t_max: Any,
    *,
    d: int | None = None,
    runs: int = 10,
    t_eval: Any = None,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    inputs: Any = "gaussian",
    seed: int = 0,
    targets: Any = "proportions",
    start: Any = None,
    coordinates: Any = (),
    residuals: bool = False,
    weights: bool = False,
    throw: bool = True,
    progress: Wanted = None,
    workers: int = 1,
    tol: float | None = None,
) -> Any:
    """Train finite networks on independent data sets of a task.

    Arrays of α and λ are trained together, all on the same data in each run; δ and σ are one number each.
    Curves are kept at `t_eval` only, and weights at `t_max`, so that memory does not grow with the number of
    steps.

    Parameters
    ----------
    task : Task
        The distribution of the data, with one δ and one σ.
    net : Network or Model
        What is trained; the numbers of a model that is no network are one number each.
    t_max : float
        Training time > 0, in the units of gradient flow; with steps, the sum of their sizes.
    d : int, optional
        Dimension of the inputs; n = δ d samples are drawn. None: 500, or the columns of the matrix `inputs`.
    runs : int, default 10
        Number of data sets, each with one network for every α and λ.
    t_eval : array (k,), optional
        Increasing times at which curves are kept; with steps, times after a step. None: 0 and 100 times up to
        `t_max`, equally spaced in log t.
    trainer : GradientFlow, GradientDescent, Optax or an optax optimizer, default GradientFlow()
        How the networks are trained.
    inputs : str, callable or array (n, d), default "gaussian"
        "gaussian", "binary" or "uniform"; a function of (rng, n, d) that returns a matrix (n, d) with entries
        of mean 0 and variance 1/d; or one matrix for all runs.
    seed : int, default 0
        Seed of all random numbers; run number i depends on (seed, i) only.
    targets : str or array (d,), default "proportions"
        "proportions": every component of the prior has its exact fraction of the entries; "iid": entries are
        independent; or the target w* itself.
    start : pair of arrays (d,), optional
        u(0) and v(0) of a network. None: α in every entry.
    coordinates : list of int, default ()
        Coordinates of a network whose weights are kept at `t_eval`.
    residuals : bool, default False
        Whether the residuals Xw - y of a network are kept at `t_eval`.
    weights : bool, default False
        Whether all weights of a network are kept at `t_eval`.
    throw : bool, default True
        Whether a run that fails raises SolveError. False: its curves are NaN from there, `stopped_at` has the
        time, and `status` is "failed".
    progress : bool or callable, optional
        Whether a progress bar is shown; None: on a terminal. Or a function of the fraction done and a text,
        which may raise KeyboardInterrupt to stop.
    workers : int, default 1
        Number of processes that train at the same time, one data set each.
    tol : float, optional
        Relative error of w as a vector in gradient flow, from 1e-12 to 1e-2, met to within a small factor at
        every time. None: 1e-6. Without effect on steps.

    Returns
    -------
    Runs or FlowRuns
        `Runs` of a network, `FlowRuns` of any other model. Ctrl-C returns the runs that have finished.

    Raises
    ------
    InputError
        If an argument is out of range, or does not apply to a model that is no network.
    SolveError
        If a run fails, for example gradient descent with too large a step.
    """
    plan: Any = make_plan(
        task,
        net,
        t_max,
        d,
        t_eval,
        as_trainer(trainer),
        inputs,
        targets,
        start,
        coordinates,
        residuals,
        weights,
        tol,
    )
    count, seed = integer("runs", runs, 1), seed_of("seed", seed)
    workers, throw = min(count, integer("workers", workers, 1)), flag("throw", throw)
    check_memory("runs", count, result_bytes(plan) * count, "take fewer, or keep less of each")
    make_room()
    finished = train_all(plan, count, seed, workers, throw, Progress("training", float(count), progress))
    found = (collect if isinstance(net, Network) else collect_flow)(plan, finished, count, seed)
    if throw:
        check_finished(found)
    if not found.complete:
        warnings.warn(f"interrupted: {found.count} of {count} runs have finished", stacklevel=3)
    return found


def result_bytes(plan: Any) -> float:
    """Bytes that are kept of one run."""
    if isinstance(plan, FlowPlan):
        return 8.0 * (plan.d * (2 + plan.net.states) + len(plan.t) * (4 + 2 * plan.net.outputs))
    per_time = 4 + len(plan.coordinates) + plan.n * plan.residuals + plan.d * plan.weights
    return 8.0 * (len(plan.alpha) * (plan.d + len(plan.t) * per_time) + 2 * plan.d)


def train_all(
    plan: Any, count: int, seed: int, workers: int, throw: bool, progress: Progress
) -> dict[int, Any]:
    """All runs by their numbers; after Ctrl-C those that have finished, after a failure those before it."""
    finished: dict[int, Any] = {}
    runs = at_once(plan, count, seed, workers) if workers > 1 else in_turn(plan, count, seed, progress)
    with progress:
        try:
            for run, seen in runs:
                finished[run] = seen
                show(progress, float(len(finished)))
                if throw and np.any(np.isfinite(seen.stopped_at)):
                    break
        except KeyboardInterrupt:
            if not finished:
                raise
        finally:
            runs.close()
    return finished


def show(progress: Progress, done: float) -> None:
    """Update the progress bar with the number of finished runs."""
    progress.show(done, f"{int(done)}/{progress.count:.0f} runs")


Numbered = Generator[tuple[int, Any], None, None]


def in_turn(plan: Any, count: int, seed: int, progress: Progress) -> Numbered:
    """The runs one after the other."""
    for run in range(count):
        yield run, train(plan, seed, run, lambda share, run=run: show(progress, run + share))


def at_once(plan: Any, count: int, seed: int, workers: int) -> Numbered:
    """The runs in several processes, as they finish."""
    return in_processes(numbered, ((plan, seed, run) for run in range(count)), workers)


def numbered(plan: Any, seed: int, run: int) -> tuple[int, Any]:
    """A run with its number."""
    return run, train(plan, seed, run, lambda share: None)


def train(plan: Any, seed: int, run: int, report: Callable[[float], None]) -> Any:
    """One data set, and the flow or every network of the sweep trained on it."""
    if isinstance(plan.trainer, GradientFlow) and plan.trainer.random:
        return in_short_steps(plan, lambda short: train(short, seed, run, report))
    if isinstance(plan, FlowPlan):
        return train_flow(plan, seed, run, report)
    return train_networks(plan, seed, run, report)


def train_networks(plan: Plan, seed: int, run: int, report: Callable[[float], None]) -> Observables:
    """One data set, and every network of the sweep trained on it."""
    with fitting_threads(plan.n * plan.d):
        data = draw_data(plan, seed, run)
        u, v = starting_layers(plan)
        largest = max(float(np.max(np.abs(u))), float(np.max(np.abs(v))))
        lazy = largest ** (2 * plan.net.depth - 2) > LAZY
        reduced = (
            Reduced(data.X, data.y, 0.0, None)
            if isinstance(plan.trainer, Steps) and plan.trainer.fraction < 1
            else reduce_rows(data.X, data.y, lazy and isinstance(plan.trainer, GradientFlow))
        )
        seen = Observables(
            data, reduced, plan.lam, len(plan.t), plan.coordinates, plan.residuals, plan.weights
        )
        for row, t in follow(plan, u, v, reduced, seen, report, streams(seed, run)[-1]).items():
            seen.stop(row, t)
    return seen.stripped()


def starting_layers(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """u(0) and v(0), one row per network."""
    if plan.start is None:
        u = plan.alpha[:, None] * np.ones(plan.d)
        return u, u
    return plan.start[0][None], plan.start[1][None]


def follow(
    plan: Plan,
    u: np.ndarray,
    v: np.ndarray,
    reduced: Reduced,
    seen: Observables,
    report: Callable[[float], None],
    rng: np.random.Generator,
) -> dict[int, float]:
    """Training itself; returns the networks that failed, each with the time it had reached."""
    arguments = (plan.net, plan.lam, u, v, reduced, plan.n / plan.d)
    times = plan.t if plan.t[-1] >= plan.end * (1 - 1e-12) else np.append(plan.t, plan.end)
    if isinstance(plan.trainer, GradientFlow):
        return integrate(*arguments, plan.tol, times, seen.take, report)
    stops = plan.trainer.number("t_eval", times)
    observe = seen.take
    if isinstance(plan.trainer, ShortSteps):

        def observe(row: int, which: np.ndarray, w: np.ndarray, squares: np.ndarray) -> None:
            seen.take(row, which, w, squares)
            measure(row, np.sqrt(squares[-1]).reshape(2, -1))

        def measure(row: int, layers: np.ndarray) -> None:
            slopes = layer(plan.net.truncation, plan.net.depth, layers)[1]
            found = curvature_of_network(
                reduced.X, plan.n / plan.d, np.sqrt(np.sum(slopes**2, axis=0)), float(plan.lam[row])
            )
            seen.curvature = max(seen.curvature, found)

        for row in range(len(u)):
            measure(row, np.stack([u[row], v[row]]))
    diverged = descend(*arguments, plan.trainer, stops, observe, report, rng)
    after = plan.trainer.times(float(times[-1]))
    return {row: float(after[taken]) for row, taken in diverged.items()}


def streams(seed: int, run: int) -> list[np.random.Generator]:
    """Random numbers of one run: inputs, targets, label noise, mini-batches."""
    return np.random.default_rng([seed, run]).spawn(4)


def draw_data(plan: Plan, seed: int, run: int) -> Data:
    """Inputs, targets and labels of one run, each from its own stream of random numbers."""
    for_inputs, for_targets, for_noise, _ = streams(seed, run)
    features = plan.draw(plan.task, plan.d, for_targets)
    X, w_star = features.scaled(plan.law.draw(for_inputs, plan.n, plan.d)), features.w_star
    sigma = float(plan.task.sigma)
    y = X @ w_star + sigma * for_noise.standard_normal(plan.n)
    return Data(X, y, w_star, sigma, features.variance)


@old_calls()
def training_data(
    task: Task,
    d: int = 500,
    *,
    inputs: Any = "gaussian",
    seed: int = 0,
    run: int = 0,
    targets: Any = "proportions",
) -> Data:
    """The data on which `simulate`, called with the same arguments, trains one of its runs.

    Parameters
    ----------
    task : Task
        The distribution of the data, with one δ and one σ.
    d : int, default 500
        Dimension of the inputs.
    inputs : str, callable or array (n, d), default "gaussian"
        As in `simulate`.
    seed : int, default 0
        As in `simulate`.
    run : int, default 0
        Number of the run, from 0.
    targets : str or array (d,), default "proportions"
        As in `simulate`.

    Returns
    -------
    Data
        A named tuple of inputs X (n, d), labels y (n,), target w_star (d,), sigma, and the variances (d,) of
        the features.
    """
    plan = make_plan(
        task, DiagonalNetwork(1.0), 1.0, d, None, GradientFlow(), inputs, targets, None, (), False, False,
        None,
    )  # fmt: skip
    assert isinstance(plan, Plan)
    return draw_data(plan, seed_of("seed", seed), integer("run", run, 0))


def collect(plan: Plan, finished: dict[int, Observables], asked: int, seed: int) -> Runs:
    """The runs as one result, parameter axes first."""
    order = sorted(finished)

    def stacked(name: str) -> Any:
        parts = [getattr(finished[run], name) for run in order]
        if parts[0] is None:
            return None
        return np.stack(parts, axis=1).reshape(*plan.shape, len(parts), *parts[0].shape[1:])

    curves = ("train_error", "test_error", "loss", "norm", "w", "stopped_at")
    return Runs(
        plan.task,
        plan.net,
        t=plan.t,
        run=np.array(order),
        w_star=np.stack([finished[run].w_star for run in order]),
        variance=variances(plan, [finished[run].variance for run in order]),
        **{name: stacked(name) for name in (*curves, "coordinates", "residuals", "weights")},
        coordinate=plan.coordinates if len(plan.coordinates) else None,
        trainer=plan.trainer,
        tol=plan.tol if isinstance(plan.trainer, GradientFlow) else math.nan,
        inputs=plan.law.name,
        targets=plan.targets,
        start="alpha" if plan.start is None else "given",
        n=plan.n,
        seed=seed,
        asked=asked,
    )


def variances(plan: Any, found: list[np.ndarray]) -> Any:
    """Variances of the features of all runs; None where all are one."""
    return None if plan.task.spectrum is None else np.stack(found)


def collect_flow(plan: FlowPlan, finished: dict[int, FlowSeen], asked: int, seed: int) -> FlowRuns:
    """The runs of a flow as one result."""
    order = sorted(finished)
    runs = [finished[run] for run in order]
    names = ("overlap", "norm", "theta", "w_star", "stopped_at")
    return FlowRuns(
        plan.task,
        plan.net,
        t=plan.t,
        run=np.array(order),
        **{name: np.stack([one.curves[name] for one in runs]) for name in MEASURES},
        **{name: np.stack([getattr(one, name) for one in runs]) for name in names},
        variance=variances(plan, [one.variance for one in runs]),
        trainer=plan.trainer,
        tol=plan.tol if isinstance(plan.trainer, GradientFlow) else math.nan,
        inputs=plan.law.name,
        targets=plan.targets,
        start="theta0",
        n=plan.n,
        seed=seed,
        asked=asked,
    )


def check_finished(runs: RunsRecord) -> None:
    """SolveError naming the first network that failed."""
    bad = np.argwhere(np.isfinite(runs.stopped_at))
    if not len(bad):
        return
    *index, run = (int(i) for i in bad[0])
    given = parameters(runs.task, runs.net)
    which = ", ".join(
        f"{name}={np.broadcast_to(given[name], runs.shape)[tuple(index)]:g}"
        for name in ("alpha", "lam")
        if name in given
    )
    t = float(runs.stopped_at[tuple(bad[0])])
    share = f"{len(bad)} of {np.size(runs.stopped_at)} networks so far"
    where = f"at {which or described(runs.net)}, run {runs.run[run]} ({share})"
    if isinstance(runs.trainer, Steps):
        number = int(runs.trainer.number("t", np.array([t]))[0])
        size = runs.trainer.sizes(number)[-1]
        raise SolveError(
            f"gradient descent diverged in step {number} (t={t:g}) {where}: "
            f"take a step smaller than {size:g}, or throw=False to keep the rest"
        )
    raise SolveError(
        f"gradient flow could not be followed beyond t={t:.6g} {where}: "
        "take a larger tol, or throw=False to keep the rest"
    )
