r"""Train on given data, and estimate the test error at every moment from the run itself."""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.deprecation import old_calls
from dynafield.errors import InputError, SolveError
from dynafield.numerics import chebyshev
from dynafield.problem.checks import (
    check_memory,
    flag,
    flag_or_none,
    integer,
    labelled_data,
    one_real,
    real_list,
    seed_of,
    shown,
    untraced,
)
from dynafield.problem.model import Model, SquaredLoss, bare
from dynafield.problem.optimizers import as_trainer
from dynafield.problem.trainers import DIVERGED, GradientFlow, Steps
from dynafield.problem.updates import Update
from dynafield.progress import Progress, Wanted
from dynafield.simulation import own_data
from dynafield.simulation.followers import Copies, OtherWeights, Probes, Stretch, Tangents, size_of
from dynafield.simulation.left_out import Response
from dynafield.simulation.own_data import FlowSteps, Given, Outputs, Taken
from dynafield.simulation.path_record import LearningPath
from dynafield.simulation.plan import read_coordinates

__all__ = ["learning_path", "train"]

PER_DECADE = 10
"""Times of a path in each decade."""
EARLY = 0.03
"""How far outputs or layers may have moved at the first time."""
MOST_TIMES = 160
"""Times of a path at most."""
PATIENCE = 6.0
"""Training that stops by itself goes on for this many times the time at which the estimate was least."""
BETTER = 1e-3
"""Relative gain of the estimate that counts."""
EXACT_WORK = 2e7
"""n²d up to which all data are left out one by one, unless the user says otherwise."""
EXACT_DATA = 1000
"""Most data that are left out one by one, unless the user says otherwise."""
SMALLEST = 1e-12
"""Smallest step, relative to the time reached."""
SHAPE = 16
"""Steps of a stretch, and times, are padded to multiples of this number, so that little is compiled."""
SAFE = 1.25
"""Margin of the largest rate, which is known from a few powers."""
MOST_STEPS = 1_000_000
"""Steps of descent at most if training stops by itself."""


class Schedule(NamedTuple):
    """Times at which training is observed, from 0; whether it may stop early; and the last time asked
    for.
    """

    t: Float[np.ndarray, " k"]
    open_end: bool
    asked: float


class Plan(NamedTuple):
    """Checked arguments."""

    given: Given
    net: Model
    trainer: Any
    probes: int
    exact: bool
    seed: int
    tol: float
    features: np.ndarray


@old_calls()
def learning_path(
    X: Any,
    y: Any,
    net: Any,
    t_max: Any = None,
    *,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    probes: Any = 8,
    seed: Any = 0,
    exact: bool | None = None,
    fit_intercept: bool = False,
    coordinates: Any = None,
    tol: Any = 1e-3,
    progress: Wanted = None,
) -> LearningPath:
    """Train on your own data, and estimate the error on new data at every time [eq:leave_one_out].

    Rows of X are taken as independent draws from one distribution; nothing else is assumed of it. Columns
    should have variance of order 1/d, as everywhere, for `alpha`, `lam` and times to mean what they mean in
    theory.

    Parameters
    ----------
    X : array (n, d)
        Inputs, one row for each sample.
    y : array (n,)
        Labels: numbers, or ±1 for `logistic_flow`.
    net : Network or Model
        A network of any depth, or a flow with one channel; its `datum.f_star` is the label.
    t_max : float, optional
        Training time, in the units of gradient flow. None: train until the estimate has stopped improving.
    trainer : GradientFlow or GradientDescent, default GradientFlow()
        How the model is trained; without noise and mini-batches.
    probes : int, default 8
        Number of random directions along which the response of training is measured. 0: nothing is estimated.
    seed : int, default 0
        Seed of the probes, and of a flow's random start.
    exact : bool, optional
        Whether every datum is really left out in turn, by training n copies side by side. None: if that is
        cheap.
    fit_intercept : bool, default False
        Whether a constant is added to the outputs that fits best at every time (squared loss only).
    coordinates : list of int, optional
        Features whose weights are kept at all times. None: all.
    tol : float, default 1e-3
        Relative error of the weights in one step of gradient flow; that of a whole path is a few times
        larger.
    progress : bool or callable, optional
        As in `simulate`.

    Returns
    -------
    LearningPath
        Errors and weights along training. Ctrl-C returns the path so far.

    Raises
    ------
    InputError
        If shapes do not fit, or the model or trainer is not one for given data.
    SolveError
        If training diverges.
    """
    plan, theta = checked(X, y, net, t_max, trainer, probes, seed, exact, fit_intercept, coordinates, tol)
    return followed(plan, times_of(plan, t_max, theta), theta, Progress("learning path", 1.0, progress))


def train(
    X: Any,
    y: Any,
    net: Any,
    t: Any,
    *,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    seed: Any = 0,
    fit_intercept: bool = False,
    coordinates: Any = None,
    tol: Any = 1e-5,
    progress: Wanted = None,
) -> LearningPath:
    """Train on your own data, and keep the weights along training; nothing is estimated.

    Columns of X should have variance of order 1/d for `alpha`, `lam` and times to mean what they mean in
    theory.

    Parameters
    ----------
    X : array (n, d)
        Inputs, one row for each sample.
    y : array (n,)
        Labels: numbers, or ±1 for `logistic_flow`.
    net : Network or Model
        A network of any depth, or a flow with one channel; its `datum.f_star` is the label.
    t : float or array (k,)
        Training time, in the units of gradient flow; or increasing times at which weights and errors are
        kept, besides t = 0. With steps, times after a step.
    trainer : GradientFlow or GradientDescent, default GradientFlow()
        How the model is trained; without noise and mini-batches.
    seed : int, default 0
        Seed of a flow's random start.
    fit_intercept : bool, default False
        Whether a constant is added to the outputs that fits best at every time (squared loss only).
    coordinates : list of int, optional
        Features whose weights are kept. None: all.
    tol : float, default 1e-5
        Relative error of the weights in one step of gradient flow; that of a whole path is a few times
        larger.
    progress : bool or callable, optional
        As in `simulate`.

    Returns
    -------
    LearningPath
        `weights` over (time, feature), `train_error` and `train_loss` over time; `test_error` is NaN.

    Raises
    ------
    InputError
        If shapes do not fit, or the model or trainer is not one for given data.
    SolveError
        If training diverges.
    """
    several = np.ndim(t) > 0
    kept = times_after_start("t", t) if several else None
    if kept is None:
        end = one_real(
            "t", t, lambda x: (x > 0) & np.isfinite(x), "one finite number > 0, or increasing times"
        )
    else:
        end = float(kept[-1])
    plan, theta = checked(X, y, net, end, trainer, 0, seed, False, fit_intercept, coordinates, tol)
    schedule = times_of(plan, end, theta)
    if kept is not None:
        if isinstance(plan.trainer, Steps):
            plan.trainer.number("t", kept)
        schedule = Schedule(np.concatenate([[0.0], kept]), False, end)
    return followed(plan, schedule, theta, Progress("training", 1.0, progress))


def times_after_start(name: str, times: Any) -> Float[np.ndarray, " k"]:
    """Increasing times > 0; a first time that is 0 is left out."""
    t = real_list(name, times, lambda x: (x >= 0) & np.isfinite(x), "increasing times ≥ 0")
    if np.any(np.diff(t) <= 0) or not np.any(t > 0):
        raise InputError(f"{name} must be increasing times, at least one of them > 0")
    return t[t > 0]


def followed(plan: Plan, schedule: Schedule, theta: Any, progress: Progress) -> LearningPath:
    """Training through all times; after Ctrl-C, up to the last one that was reached."""
    path = Path(plan, schedule, theta)
    with progress as bar:
        try:
            for k in range(1, len(schedule.t)):
                path.advance(float(schedule.t[k]))
                bar.show(share(k, schedule), f"t = {schedule.t[k]:.4g}")
                if schedule.open_end and path.settled():
                    break
        except KeyboardInterrupt:
            if len(path.moments) < 3:
                raise
            warnings.warn(f"interrupted: the path stops at t = {path.t[-1]:.4g}", stacklevel=4)
            return path.result(float(schedule.t[-1] if not schedule.open_end else 1e300))
    return path.result(schedule.asked)


def share(k: int, schedule: Schedule) -> float:
    """Fraction of the work that is done: late times cost most."""
    t = schedule.t
    return float(np.sqrt(t[k] / t[-1])) if not schedule.open_end else k / (len(t) - 1)


def checked(
    X: Any, y: Any, net: Any, t_max: Any, trainer: Any, probes: Any, seed: Any, exact: Any,
    fit_intercept: Any, coordinates: Any, tol: Any,
) -> tuple[Plan, Any]:  # fmt: skip
    """The arguments as a plan, and where parameters start; or InputError."""
    X, y = labelled_data(X, y)
    n, d = X.shape
    fit_intercept, exact = flag("fit_intercept", fit_intercept), flag_or_none("exact", exact)
    check_model(net, y, fit_intercept)
    trainer = as_trainer(trainer)
    if not isinstance(trainer, (GradientFlow, Steps)) or getattr(trainer, "transformation", None) is not None:
        raise InputError(f"trainer must be GradientFlow() or GradientDescent(step, …), got {shown(trainer)}")
    if trainer.random:
        raise InputError(f"trainer must be without noise and batches for a learning path, got {trainer!r}")
    if t_max is not None:
        one_real("t_max", t_max, lambda x: (x > 0) & np.isfinite(x), "one finite number > 0, or None")
    probes, seed = integer("probes", probes, 0), seed_of("seed", seed)
    check_memory("probes", probes, 16.0 * probes * (n + d), "take fewer: the error bar needs a few alone")
    one_real("tol", tol, lambda x: (x >= 1e-8) & (x <= 0.1), "one number from 1e-8 to 0.1")
    if exact is None:
        exact = probes > 0 and n <= EXACT_DATA and n * n * d <= EXACT_WORK
    if exact and not probes:
        raise InputError("probes must be > 0 where data are left out: the error bar needs them")
    flow = isinstance(trainer, GradientFlow)
    model = net.in_flow(1e300 if t_max is None else float(t_max)) if flow else net
    normals = np.random.default_rng(seed).standard_normal((d, model.start.normals))
    start = model.start.rows(normals, np.full(d, np.nan))
    if not np.all(np.isfinite(start)):
        raise InputError("net must have a start that does not depend on w*, which is not known here")
    features = np.arange(d) if coordinates is None else np.unique(read_coordinates(coordinates, d))
    given = Given.of(bare(model), X, y, bool(fit_intercept))
    return Plan(given, net, trainer, probes, exact, seed, float(tol), features), jnp.asarray(start, float)


def check_model(net: Any, y: Float[np.ndarray, " n"], fit_intercept: bool) -> None:
    """InputError unless a model can be trained on these labels."""
    if not isinstance(net, Model):
        raise InputError(f"net must be a network or a flow, got {type(net).__name__}")
    untraced(**net.numbers())
    for name, value in net.numbers().items():
        one_real(name, value, np.isfinite, "one number for a learning path")
    if net.channels != ():
        raise InputError(f"net must have one channel for a learning path, got {net.channels}")
    if net.own.normals or np.size(net.own.rows(np.zeros((1, 0)))) > 1:
        raise InputError("net must have no randomness z of its own: your labels y contain it already")
    if fit_intercept and not isinstance(net, SquaredLoss):
        raise InputError("fit_intercept must be False unless the loss is squared: add a constant column to X")
    net.check_labels(y)


def times_of(plan: Plan, t_max: float | None, theta: Any) -> Schedule:
    """Times with equal ratios, from one at which little has happened; for descent, after whole steps."""
    pace = own_data.pace(plan.given, theta)
    first = EARLY / max(pace, 1e-290)
    if not np.isfinite(pace):
        raise InputError(f"X and y must be of moderate size: rates at the start are {pace:g}")
    if t_max is None and pace == 0:
        raise InputError("t_max must be given: nothing moves at the start (are X or y zero?)")
    if t_max is None:
        t = first * 10 ** (np.arange(MOST_TIMES) / PER_DECADE)
    else:
        first = min(first, t_max / 10)
        count = min(MOST_TIMES, int(np.ceil(PER_DECADE * np.log10(t_max / first))) + 1)
        t = np.geomspace(first, t_max, count)
    if isinstance(plan.trainer, Steps):
        if t_max is None and plan.trainer.scheduled:
            raise InputError("t_max must be given with a schedule of steps")
        t = plan.trainer.rounded(t[t <= MOST_STEPS * plan.trainer.step] if t_max is None else t)
        if not np.any(t > 0):
            raise InputError(f"t_max must be at least one step, got {t_max}")
    t = np.concatenate([[0.0], t[t > 0]])
    return Schedule(t, t_max is None, np.inf if t_max is None else float(t[-1]))


class Training:
    """Training under way: its present state, and the steps it takes."""

    def __init__(self, plan: Plan, schedule: Schedule, theta: Any):
        self.plan, self.t = plan, 0.0
        self.rule = Update.of(plan.trainer) if isinstance(plan.trainer, Steps) else None
        self.after = plan.trainer.times(float(schedule.t[-1])) if self.rule else None
        self.state = own_data.first_state(theta, self.rule)
        self.h, self.mode = float(schedule.t[1]) / 4, np.random.default_rng(0).standard_normal(theta.shape)
        self.seen = self.look()
        self.largest = DIVERGED * (1.0 + float(np.mean(self.seen.ell**2)))

    def look(self) -> Outputs:
        """What training shows at the present time."""
        seen = own_data.observe(self.plan.given, self.state[0], np.asarray(self.t))
        return jax.tree.map(np.asarray, seen)

    def advance(self, end: float) -> Stretch:
        """Train up to the next time."""
        start, before, last = self.t, self.state, self.seen
        steps = self.steps_to(end)
        if self.rule:
            self.state = own_data.advance(self.plan.given, self.rule, steps, before)
        self.t = end
        self.seen = seen = self.look()
        size = float(np.mean(seen.ell**2))
        if not (np.isfinite(size) and size < self.largest and np.all(np.isfinite(seen.w))):
            raise SolveError(
                f"training diverged between t={start:g} and t={end:g}: take a smaller step, or scale X and y"
            )
        return Stretch(self.rule, steps, before, self.state, start, end, seen, size_of(seen.f - last.f))

    def steps_to(self, end: float) -> FlowSteps | Taken:
        """Steps up to the next time; those of a flow are tried, and taken, on the way."""
        start = self.t
        if self.rule:
            first, last = self.plan.trainer.number("t", np.array([start, end]))
            after: Any = self.after
            return Taken(jnp.asarray(after), jnp.asarray(first), jnp.asarray(last),
                         jnp.asarray(self.plan.trainer.inertia))  # fmt: skip
        taken = list(self.flow_steps(start, end))
        length = SHAPE * int(np.ceil(len(taken) / SHAPE))
        padded = taken + [taken[-1]] * (length - len(taken))
        t, h, stages = zip(*padded, strict=True)
        table = jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *stages)
        return FlowSteps(jnp.asarray(t), jnp.asarray(h), table, jnp.asarray(len(taken)))

    def flow_steps(self, t: float, end: float) -> Iterator[tuple[float, float, chebyshev.Stages]]:
        """Steps of a flow whose errors are within the tolerance, each of them taken."""
        given, tol = self.plan.given, self.plan.tol
        while t < end * (1 - 1e-12):
            theta, memory = self.state
            mode, rate = own_data.stiffness(given, theta, np.asarray(t), self.mode)
            if not np.isfinite(rate):
                raise SolveError(f"the flow is not finite at t={t:g}: scale X and y to order one")
            self.mode = mode if rate > 0 else self.mode
            stiff = SAFE * float(rate)
            left = end - t
            h = min(self.h, chebyshev.LONGEST / max(stiff, 1e-290))
            h = left / np.ceil(left / h * (1 - 1e-9))
            coefficients = chebyshev.stages(chebyshev.stages_needed(stiff * h))
            after, error = own_data.trial(given, theta, np.asarray(t), np.asarray(h), coefficients)
            error = float(error) / tol
            factor = 0.8 * max(error, 1e-6) ** (-1 / 3) if np.isfinite(error) else 0.1
            if error < 1:
                yield t, h, coefficients
                self.state, t = (after, memory), t + h
                self.h = max(self.h if left <= h * (1 + 1e-9) else 0.0, h * min(factor, 4.0))
            else:
                self.h = h * max(min(factor, 0.5), 0.05)
                if self.h < SMALLEST * t + 1e-290:
                    raise SolveError(f"the flow could not be followed beyond t={t:.6g}: scale X and y")


class Moment(NamedTuple):
    """What is known of a time: what training shows, outputs as if each datum had been left out, and mean
    loss and error of these."""

    t: float
    seen: Outputs
    left_out: np.ndarray
    estimate: np.ndarray


class Path:
    """Training, what follows it, and the moments so far."""

    def __init__(self, plan: Plan, schedule: Schedule, theta: Any):
        self.plan = plan
        self.training = one = Training(plan, schedule, theta)
        given, count = plan.given, plan.probes
        self.probes = self.copies = self.weights = self.tangents = None
        out = np.full(len(given.y), np.nan)
        if count:
            self.probes = Probes(given, count, plan.seed, one.seen)
            self.copies = Copies(given, one.state) if plan.exact else None
            out = (self.copies or self.probes).left_out()
            self.weights = OtherWeights(given, count, plan.seed, out)
            shift = self.weights.shifts[0] - self.weights.level(self.weights.shifts[0])
            self.tangents = Tangents(given, one.state, np.hstack([self.probes.ramps.total, shift]))
        self.moments = [self.moment(0.0, one.seen, out)]

    def advance(self, end: float) -> None:
        """Train up to the next time, with all that follows training."""
        stretch = self.training.advance(end)
        out = np.full(len(self.plan.given.y), np.nan)
        if self.probes and self.weights and self.tangents:
            shift = np.hstack([self.probes.ramps.add(stretch.moved), self.weights.next_shift()])
            along_ramps, by_weight = np.split(self.tangents.follow(stretch, shift), 2, axis=1)
            self.probes.take(stretch.seen, along_ramps)
            if self.copies:
                self.copies.follow(stretch)
            out = (self.copies or self.probes).left_out()
            self.weights.take(by_weight, out, end)
        self.moments.append(self.moment(end, stretch.seen, out))

    def moment(self, t: float, seen: Outputs, left_out: np.ndarray) -> Moment:
        """Everything that is known at the present time."""
        each = own_data.measured(self.plan.given, jnp.asarray(left_out), np.asarray(t))
        return Moment(t, seen, left_out, np.mean(np.asarray(each), axis=0))

    @property
    def t(self) -> Float[np.ndarray, " k"]:
        """Times so far."""
        return np.array([moment.t for moment in self.moments])

    def stacked(self, name: str) -> np.ndarray:
        """One of the observed quantities over all times so far."""
        return np.stack([getattr(moment.seen, name) for moment in self.moments])

    def left_out(self) -> Float[np.ndarray, "k n"]:
        """Outputs as if each datum had been left out."""
        return np.stack([moment.left_out for moment in self.moments])

    def measured(self, f: np.ndarray) -> Float[np.ndarray, "k n 2"]:
        """Loss and error of all data at outputs f over time."""
        more = (0, -len(f) % SHAPE)
        padded = jnp.asarray(np.pad(f, (more, (0, 0)))), jnp.asarray(np.pad(self.t, more, mode="edge"))
        return np.asarray(over_time(self.plan.given, *padded))[: len(f)]

    def settled(self) -> bool:
        """Whether outputs have long stopped moving, or the estimate has long stopped improving."""
        which = judged(self.plan.net)
        train = np.mean(self.stacked("measures"), axis=1)[:, which]
        f, t = self.stacked("f"), self.t
        way = np.linalg.norm(f - f[0], axis=1)
        long_ago = int(np.searchsorted(t, t[-1] / PATIENCE, side="right")) - 1
        if long_ago > 0 and np.linalg.norm(f[-1] - f[long_ago]) <= BETTER * np.max(way):
            return True
        moved = np.flatnonzero(train <= 0.9 * train[0])
        if not len(moved):
            return False
        curve = np.array([moment.estimate[which] for moment in self.moments]) if self.probes else train
        best = np.flatnonzero(curve <= (1 + BETTER) * np.nanmin(curve))[0]
        return bool(self.t[-1] >= PATIENCE * max(self.t[best], self.t[moved[0]]))

    def result(self, asked: float) -> LearningPath:
        """Everything as a record."""
        plan, given = self.plan, self.plan.given
        train = np.mean(self.stacked("measures"), axis=1)
        value, error = self.judgement()
        return LearningPath(
            net=plan.net, trainer=plan.trainer, t=self.t,
            train_loss=train[:, 0], train_error=train[:, 1],
            test_loss=value[:, 0], test_error=value[:, 1],
            test_loss_se=error[:, 0], test_error_se=error[:, 1],
            degrees_of_freedom=self.degrees_of_freedom(), intercept=self.stacked("level"),
            weights=np.stack([moment.seen.w[plan.features] for moment in self.moments]),
            feature=plan.features, left_out=self.left_out(),
            n=len(given.y), d=given.X.shape[1], probes=plan.probes, exact=plan.exact,
            by_loss=bool(judged(plan.net) == 0), fit_intercept=given.intercept, seed=plan.seed,
            asked=float(asked),
        )  # fmt: skip

    def degrees_of_freedom(self) -> Float[np.ndarray, " k"]:
        """How outputs follow shifts of what data send back, summed; an intercept is one more."""
        if not self.probes:
            return np.full(len(self.moments), np.nan)
        n, intercept = len(self.plan.given.y), int(self.plan.given.intercept)
        remains = self.probes.response(len(self.moments)).of_residuals[:, 0].mean(axis=1)
        return (n - intercept) * (remains[0] - remains) + intercept

    def judgement(self) -> tuple[np.ndarray, np.ndarray]:
        """Estimated loss and error on new data, and their standard errors."""
        if not self.probes:
            nothing = np.full((len(self.moments), 2), np.nan)
            return nothing, nothing
        response, m = self.probes.response(len(self.moments)), self.plan.probes
        if self.copies:
            each = self.measured(self.left_out())
            return each.mean(axis=1), self.scatter(response, each)
        each = self.measured(self.probes.outputs_without(response))
        whole, over_data = each.mean(axis=1), self.scatter(response, each)
        if m == 1:
            return whole, np.full_like(whole, np.nan)
        parts = [self.measured(self.probes.outputs_without(response, p)).mean(axis=1) for p in range(m)]
        by_probes = np.sqrt((m - 1) * np.var(parts, axis=0))
        most = np.minimum(by_probes, 0.5 * whole)
        bias = np.clip((m - 1) * (np.mean(parts, axis=0) - whole), -most, most)
        return whole - bias, np.hypot(over_data, by_probes)

    def scatter(self, response: Response, each: np.ndarray) -> Float[np.ndarray, "k 2"]:
        """Standard error over the data of mean loss and error, by other weights of the data [eq:multipliers].

        Errors of left-out data depend on each other, since they are of almost the same network.
        """
        assert self.probes
        assert self.weights
        n, count = len(self.plan.given.y), len(self.moments)
        f, slope, mean, size = (
            self.left_out(),
            self.stacked("slope"),
            each.mean(axis=1, keepdims=True),
            n**-0.5,
        )
        changes, shifts = (np.stack(x[:count]) for x in (self.weights.changes, self.weights.shifts))
        squares = np.zeros((count, 2))
        for k, one in enumerate(self.weights.multipliers.T):
            moved = changes[..., k]
            moved = self.probes.own_part_removed(response, moved, shifts[..., k] + slope * moved)
            up, down = (self.measured(f + sign * size * moved) for sign in (1, -1))
            through = np.mean(up - down, axis=1) / (2 * size)
            squares += (np.mean(one[:, None] * (each - mean), axis=1) + through) ** 2
        return np.sqrt(np.maximum(squares / self.plan.probes, each.var(axis=1, ddof=1) / n))


def judged(net: Model) -> int:
    """The measure by which a stop is chosen: the loss (0) if a model has one of its own, else the error
    (1).
    """
    return 0 if net.own_loss else 1


@jax.jit
def over_time(given: Given, f: Any, t: Any) -> Any:
    """Loss and error of all data at all times."""
    return jax.vmap(lambda f, t: own_data.measured(given, f, t))(f, t)
