"""Train finite networks of a task."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dynafield.errors import InputError, SolveError
from dynafield.numerics.threads import fitting_threads
from dynafield.problem.checks import concrete, integer, real, real_vector, same_shape
from dynafield.problem.networks import Network
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientDescent, GradientFlow, Trainer
from dynafield.simulation.data import Data, Reduced, reduce_rows
from dynafield.simulation.descent import descend
from dynafield.simulation.flow import integrate
from dynafield.simulation.inputs import InputLaw, read_inputs
from dynafield.simulation.observables import Observables
from dynafield.simulation.progress import Progress
from dynafield.simulation.runs import Runs
from dynafield.simulation.targets import Draw, read_targets

__all__ = ["simulate"]

LAZY = 0.3
"""Initial slope α^(2L-2) from which it pays to rotate the data so that the lazy flow is diagonal."""
TIMES = 100
"""Times at which curves are kept unless the user says otherwise, over DECADES decades."""
DECADES = 5


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
    t: np.ndarray
    start: tuple[np.ndarray, np.ndarray] | None
    coordinates: np.ndarray
    residuals: bool
    weights: bool


def simulate(
    task: Task,
    net: Network,
    t_max: Any,
    d: int | None = None,
    seeds: int = 10,
    t_eval: Any = None,
    trainer: Trainer = GradientFlow(),  # noqa: B008 - immutable
    inputs: Any = "gaussian",
    seed: int = 0,
    targets: Any = "proportions",
    start: Any = None,
    coordinates: Any = (),
    residuals: bool = False,
    weights: bool = False,
    throw: bool = True,
    progress: bool | None = None,
    workers: int = 1,
) -> Runs:
    r"""Train `seeds` networks of dimension `d` (500) on independent data sets of `task`.

    Arrays of α and λ are trained together, on the same data for each seed; δ and σ are one
    number each. Curves are kept at `t_eval` (0 and 100 times up to `t_max` by default), so
    that memory does not grow with the number of steps. `trainer` is `GradientFlow()` or
    `GradientDescent(step)`; `inputs` is "gaussian", "binary", "uniform", a function of
    (rng, n, d) with entries of mean 0 and variance 1/d, or a matrix; `targets` is
    "proportions" (every component of the prior in its exact share), "iid", or a vector;
    `start` is a pair of vectors u(0), v(0) in place of α. `coordinates` (a list of
    indices), `residuals` and `weights` ask for more than the errors.

    A run that fails (gradient descent with too large a step) raises SolveError with the
    step; with `throw=False` its curves are NaN from there and `stopped_at` has the time.
    Ctrl-C returns the runs that have finished, with a warning. `workers` > 1 trains that many
    data sets at once, each in a process of its own.
    """
    plan = make_plan(
        task, net, t_max, d, t_eval, trainer, inputs, targets, start, coordinates, residuals, weights
    )
    count, seed = integer("seeds", seeds, 1), integer("seed", seed, 0)
    workers = min(count, integer("workers", workers, 1))
    finished = train_all(plan, count, seed, workers, Progress(count, progress))
    runs = collect(plan, finished, count, seed)
    if throw:
        check_finished(runs)
    return runs


def make_plan(
    task, net, t_max, d, t_eval, trainer, inputs, targets, start, coordinates, residuals, weights
) -> Plan:
    """Everything checked before anything is drawn."""
    if not (isinstance(task, Task) and isinstance(net, Network)):
        raise InputError(
            "the first argument must be a Task and the second a network, "
            f"got {type(task).__name__} and {type(net).__name__}"
        )
    if not isinstance(trainer, Trainer):
        raise InputError(f"trainer must be GradientFlow() or GradientDescent(step), got {trainer!r}")
    for name, value in dict(delta=task.delta, sigma=task.sigma).items():
        if np.ndim(value):
            raise InputError(f"{name} must be one number in simulate (α and λ may be arrays), got {value!r}")
    for name, value in dict(delta=task.delta, sigma=task.sigma, alpha=net.alpha, lam=net.lam).items():
        if concrete(value) is None:
            raise InputError(f"{name} must be a plain number: simulate is not traced by JAX")
    if d is not None:
        d = integer("d", d, 1)
    law, n, d = read_inputs(inputs, float(task.delta), d)
    shape = same_shape(alpha=net.alpha, lam=net.lam)
    alpha, lam = (np.broadcast_to(np.asarray(x, float), shape).ravel() for x in (net.alpha, net.lam))
    chosen = np.zeros(0, int)
    if np.size(coordinates):
        chosen = np.array([integer("coordinates", i, 0) for i in np.atleast_1d(coordinates).tolist()])
        if chosen.max() >= d:
            raise InputError(f"coordinates must be below d = {d}, got {chosen.max()}")
    name, draw = read_targets(targets, d)
    return Plan(
        task, net, alpha, lam, shape, n, d, law, name, draw, trainer,
        read_times(t_max, t_eval, trainer), read_start(start, shape, d, net),
        chosen, bool(residuals), bool(weights),
    )  # fmt: skip


def read_times(t_max: Any, t_eval: Any, trainer: Trainer) -> np.ndarray:
    """The times at which curves are kept, increasing, multiples of the step of a discrete trainer."""
    end = real("t_max", t_max, lambda x: x > 0, "one finite number > 0")
    if np.ndim(end):
        raise InputError(f"t_max must be one finite number > 0, got an array of shape {np.shape(end)}")
    step = trainer.step if isinstance(trainer, GradientDescent) else None
    if step is not None:
        multiples("t_max", np.array([end]), step)
    if t_eval is None:
        t = np.concatenate([[0.0], end * np.logspace(-DECADES, 0, TIMES)])
        return t if step is None else np.unique(np.round(t / step)) * step
    t = np.array(real_vector("t_eval", t_eval, lambda x: x >= 0, "times ≥ 0, increasing"))
    if np.any(np.diff(t) <= 0):
        raise InputError(
            f"t_eval must increase, got {t[np.argmin(np.diff(t))]:g} before {t[np.argmin(np.diff(t)) + 1]:g}"
        )
    if t[-1] > end * (1 + 1e-12):
        raise InputError(f"t_eval must not go beyond t_max = {end:g}, got {t[-1]:g}")
    if step is not None:
        multiples("t_eval", t, step)
    return t


def multiples(name: str, t: np.ndarray, step: float) -> None:
    """InputError unless every time is a multiple of the step."""
    count = np.round(t / step)
    off = np.abs(t - count * step) > 1e-9 * np.maximum(t, step)
    if off.any():
        low = np.floor(t[off][0] / step)
        raise InputError(
            f"{name} must be a multiple of the step {step:g}, got {t[off][0]:.17g}: "
            f"{low * step:g} and {(low + 1) * step:g} are near"
        )


def read_start(start: Any, shape: tuple[int, ...], d: int, net: Network) -> tuple | None:
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


def train_all(plan: Plan, count: int, seed: int, workers: int, progress: Progress) -> list[Observables]:
    """All runs, in order; after Ctrl-C those that have finished."""
    finished: list[Observables] = []
    with progress:
        try:
            runs = (
                at_once(plan, count, seed, workers) if workers > 1 else in_turn(plan, count, seed, progress)
            )
            for one in runs:
                finished.append(one)
                progress.show(float(len(finished)))
        except KeyboardInterrupt:
            if not finished:
                raise
            warnings.warn(f"interrupted: {len(finished)} of {count} runs have finished", stacklevel=3)
    return finished


def in_turn(plan: Plan, count: int, seed: int, progress: Progress) -> Iterator[Observables]:
    """The runs one after the other."""
    for run in range(count):
        yield train(plan, seed, run, progress.show)


def at_once(plan: Plan, count: int, seed: int, workers: int) -> Iterator[Observables]:
    """The runs in several processes; they stay ready for further calls, and end with an interrupted one."""
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    try:
        tasks = (delayed(train)(plan, seed, run) for run in range(count))
        runs: Any = Parallel(n_jobs=workers, return_as="generator")(tasks)
        yield from runs
    except BaseException:
        get_reusable_executor().shutdown(kill_workers=True)
        raise


def train(
    plan: Plan, seed: int, run: int, report: Callable[[float], None] = lambda done: None
) -> Observables:
    """One data set, and every network of the sweep trained on it."""
    with fitting_threads(plan.n * plan.d):
        data = draw_data(plan, seed, run)
        lazy = bool(np.max(plan.alpha) ** (2 * plan.net.depth - 2) > LAZY)
        flow = isinstance(plan.trainer, GradientFlow)
        reduced = reduce_rows(data.X, data.y, orthogonal=lazy and flow)
        seen = Observables(
            data, reduced, plan.lam, len(plan.t), plan.coordinates, plan.residuals, plan.weights
        )
        for row, t in follow(plan, data, reduced, seen, lambda share: report(run + share)).items():
            seen.stop(row, t)
    return seen.stripped()


def follow(
    plan: Plan, data: Data, reduced: Reduced, seen: Observables, report: Callable[[float], None]
) -> dict[int, float]:
    """Training itself; returns the networks that failed, each with the time it had reached."""
    rows = len(plan.alpha)
    u, v = plan.start or (np.ones(plan.d),) * 2
    scale = np.ones((rows, 1)) if plan.start else plan.alpha[:, None]
    arguments = (plan.net, plan.lam, scale * u, scale * v, reduced, data.delta)

    def between():
        report(seen.taken / (rows * len(plan.t)))

    if isinstance(plan.trainer, GradientFlow):
        return integrate(*arguments, plan.trainer.tol, plan.t, seen.take, between)
    step = plan.trainer.step
    stops = np.round(plan.t / step).astype(int)
    diverged = descend(*arguments, step, stops, seen.take, between)
    return {row: taken * step for row, taken in diverged.items()}


def draw_data(plan: Plan, seed: int, run: int) -> Data:
    """Inputs, targets and labels of one run, each from its own stream of random numbers."""
    for_inputs, for_targets, for_noise = np.random.default_rng([seed, run]).spawn(3)
    X = plan.law.draw(for_inputs, plan.n, plan.d)
    w_star = plan.draw(plan.task.prior, plan.d, for_targets)
    sigma = float(plan.task.sigma)
    return Data(X, X @ w_star + sigma * for_noise.standard_normal(plan.n), w_star, sigma)


def collect(plan: Plan, finished: list[Observables], asked: int, seed: int) -> Runs:
    """The runs as one result, parameter axes first."""

    def stacked(name: str) -> Any:
        parts = [getattr(one, name) for one in finished]
        if parts[0] is None:
            return None
        return np.stack(parts, axis=1).reshape(*plan.shape, len(parts), *parts[0].shape[1:])

    names = (
        "train_error",
        "test_error",
        "loss",
        "norm",
        "w",
        "stopped_at",
        "coordinates",
        "residuals",
        "weights",
    )
    return Runs(
        plan.task,
        plan.net,
        t=plan.t,
        w_star=np.stack([one.w_star for one in finished]),
        **{name: stacked(name) for name in names},
        trainer=plan.trainer,
        inputs=plan.law.name,
        targets=plan.targets,
        n=plan.n,
        seed=seed,
        asked=asked,
    )


def check_finished(runs: Runs) -> None:
    """SolveError naming the first network that failed."""
    bad = np.argwhere(np.isfinite(runs.stopped_at))
    if not len(bad):
        return
    *index, run = (int(i) for i in bad[0])
    alpha, lam = (np.broadcast_to(x, runs.shape)[tuple(index)] for x in (runs.net.alpha, runs.net.lam))
    t = float(runs.stopped_at[tuple(bad[0])])
    where = f"at alpha={alpha:g}, lam={lam:g}, run {run} ({len(bad)} of {np.size(runs.stopped_at)} networks)"
    if isinstance(runs.trainer, GradientDescent):
        step = runs.trainer.step
        raise SolveError(
            f"gradient descent diverged in step {round(t / step)} (t={t:g}) {where}: "
            f"take a step smaller than {step:g}, or throw=False to keep the rest"
        )
    raise SolveError(
        f"gradient flow could not be followed beyond t={t:.6g} {where}: "
        "take a larger tol, or throw=False to keep the rest"
    )
