"""How a network is trained."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jax.core import Tracer
from jaxtyping import Float, Int

from dynafield.deprecation import warn_of
from dynafield.errors import InputError
from dynafield.problem.checks import called, flag, one_real, real, real_vector, shown, untraced
from dynafield.problem.model import Model
from dynafield.problem.task import Task

__all__ = [
    "DIVERGED",
    "MOST_STEPS",
    "SGD",
    "GradientDescent",
    "GradientFlow",
    "HeavyBall",
    "ShortSteps",
    "Steps",
    "Trainer",
    "check_features",
    "check_noise",
    "check_training",
    "nearest",
]

DIVERGED = 1e12
"""Training with a squared residual this many times the first one has diverged."""
CLOSE = 1e-9
"""Times that differ by so little, relatively, are the same."""
LOOK = 1024
"""Steps of a schedule that are looked at first."""
MOST_STEPS = 10_000_000
"""Steps that a schedule may take."""
MOST_EQUAL_STEPS = 100_000_000
"""Steps of one size that training may take."""


@dataclasses.dataclass(frozen=True)
class GradientFlow:
    r"""Training in continuous time, \((u, v)' = -\tfrac d2 \nabla L\) [eq:df_dln].

    Parameters
    ----------
    tol : float, optional
        Old place of the argument `tol` of `simulate`; None is right.
    temperature : float, default 0
        Temperature T ≥ 0: noise \(\sqrt{2T}\,dB\) is added to every parameter, B its own Brownian motion
        [eq:langevin_flow].
    """

    tol: float | None = dataclasses.field(default=None, repr=False)
    temperature: float = dataclasses.field(default=0.0, kw_only=True)

    def __post_init__(self):
        if self.tol is not None:
            one_real("tol", self.tol, lambda x: (x >= 1e-12) & (x <= 1e-2), "one number from 1e-12 to 1e-2")
            warn_of(f"GradientFlow: give tol={self.tol:g} to simulate")
        check_noise(self)

    def __repr__(self) -> str:
        return f"GradientFlow({f'temperature={self.temperature:g}' if self.random else ''})"

    @property
    def random(self) -> bool:
        """Whether two runs on the same data differ."""
        return self.temperature > 0

    def in_steps(self, end: float, count: int) -> "ShortSteps":
        """Short steps of equal size that replace the flow.

        Parameters
        ----------
        end : float
            Last time.
        count : int
            Number of steps.

        Returns
        -------
        ShortSteps
            A discrete trainer with the same temperature.
        """
        return ShortSteps((end / count,) * count, self.temperature)


Step = float | tuple[float, ...] | Callable[[Any], Any]
"""Size of a step: one number, or a schedule, that is an array or a function of the number of steps taken."""


class Steps:
    """Training in steps; time is the sum of their sizes.

    Every discrete trainer is described by its steps, its momentum (0 if it has none) and the fraction of the
    data that a step sees (1 if it sees all).
    """

    step: Any
    temperature: float = 0.0
    label_noise: float = 0.0

    @property
    def random(self) -> bool:
        """Whether two runs on the same data differ."""
        return self.fraction < 1 or self.temperature > 0 or self.label_noise > 0

    @property
    def inertia(self) -> float:
        """The factor by which a step keeps the velocity of the step before."""
        return 0.0

    @property
    def looks_ahead(self) -> bool:
        """Whether momentum is applied once more to the present step, as Nesterov's is."""
        return False

    @property
    def looks_back(self) -> bool:
        """Whether a step uses the velocities of the last two times [eq:two_rates]."""
        return False

    @property
    def fraction(self) -> float:
        """Fraction of the data that a step sees."""
        return 1.0

    @property
    def odd(self) -> bool:
        """Whether steps change sign with gradients and parameters."""
        return True

    @property
    def transformation(self) -> Any:
        """The optax transformation that makes the updates, or None."""
        return None

    @property
    def scheduled(self) -> bool:
        """Whether steps differ in size."""
        return callable(self.step) or np.ndim(self.step) > 0

    def sizes(self, count: int) -> Float[np.ndarray, " k"]:
        """Sizes of the first steps.

        Parameters
        ----------
        count : int
            Number of steps.

        Returns
        -------
        array (k,)
            Their sizes; k < count if `step` is an array that is shorter.
        """
        if callable(self.step):
            return values_of(self.step, count)
        return np.array(self.step[:count]) if self.scheduled else np.full(count, float(self.step))

    def times(self, end: float) -> Float[np.ndarray, " k"]:
        """Times after all steps, up to the step that reaches `end`.

        Parameters
        ----------
        end : float
            Time to reach.

        Returns
        -------
        array (k,)
            Increasing times, 0 first; they stop before `end` if `step` is an array that is too short.
        """
        if not self.scheduled:
            return self.step * np.arange(int(np.ceil(end / self.step - 1e-9)) + 1)
        count = LOOK
        while True:
            t = np.concatenate([[0.0], np.cumsum(self.sizes(count))])
            if t[-1] >= end * (1 - CLOSE) or len(t) <= count:
                return t[: int(np.searchsorted(t, end * (1 - CLOSE))) + 1]
            if count > MOST_STEPS:
                raise InputError(f"step must reach t={end:g} in {count} steps, reached {t[-1]:g}")
            count *= 4

    def number(self, name: str, t: Float[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """Numbers of steps to given times.

        Parameters
        ----------
        name : str
            Name of the argument, for the message.
        t : array (k,)
            Times, each of them after some step.

        Returns
        -------
        array of int (k,)
            Numbers of steps.

        Raises
        ------
        InputError
            If a time is not one after a step.
        """
        last = float(np.max(t, initial=0.0))
        if not self.scheduled and last > MOST_EQUAL_STEPS * self.step:
            raise InputError(
                f"{name} must be at most {MOST_EQUAL_STEPS * self.step:g}, which is {MOST_EQUAL_STEPS} steps "
                f"of {self.step:g}, got {last:g}"
            )
        known = self.times(last) if self.scheduled else None
        count = np.round(t / self.step).astype(int) if known is None else nearest(known, t)
        reached = count * self.step if known is None else known[count]
        least = self.step if known is None else known[1]
        off = np.abs(t - reached) > CLOSE * np.maximum(t, least)
        if off.any():
            wrong = t[off][0]
            if known is None:
                low = np.floor(wrong / self.step)
                near = low * self.step, (low + 1) * self.step
                what = f"a multiple of the step {self.step:g}"
            else:
                k = int(np.clip(np.searchsorted(known, wrong), 1, len(known) - 1))
                near, what = known[k - 1 : k + 1], "a sum of the first steps"
                if wrong > known[-1]:
                    raise InputError(
                        f"{name} must be at most {known[-1]:g}, the last time of the steps, got {wrong:g}"
                    )
            raise InputError(
                f"{name} must be {what}, got {wrong:.17g}: {near[0]:.12g} and {near[1]:.12g} are near"
            )
        return count

    def rounded(self, t: Float[np.ndarray, " k"]) -> Float[np.ndarray, " m"]:
        """The times after steps that are nearest to given ones.

        Parameters
        ----------
        t : array (k,)
            Times.

        Returns
        -------
        array (m,)
            Increasing times after steps, each of them once.
        """
        if not self.scheduled:
            return np.unique(np.round(t / self.step)) * self.step
        known = self.times(float(np.max(t)))
        return known[np.unique(nearest(known, t))]


def values_of(schedule: Callable[[Any], Any], count: int) -> Float[np.ndarray, " k"]:
    """A schedule at 0, 1, … count - 1, all at once where it can."""
    numbers = np.arange(count)
    try:
        found = np.asarray(schedule(numbers), float)
    except Exception:  # it may know single numbers alone
        found = np.zeros(())
    if found.shape != numbers.shape:
        found = np.array([float(called("step", schedule, k)) for k in range(count)])
    if not np.all(np.isfinite(found) & (found > 0)):
        bad = int(np.argmin(np.isfinite(found) & (found > 0)))
        raise InputError(f"step must be finite and > 0 at every step, got {found[bad]:g} at number {bad}")
    return found


def nearest(known: Float[np.ndarray, " m"], t: Float[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
    """Places of the nearest numbers of an increasing sequence."""
    above = np.clip(np.searchsorted(known, t), 1, len(known) - 1)
    return above - (t - known[above - 1] < known[above] - t)


def described(step: Step) -> str:
    """The sizes of the steps in a few words."""
    if callable(step):
        return getattr(step, "__name__", type(step).__name__)
    if isinstance(step, Tracer):
        return "<traced>"
    if isinstance(step, tuple):
        return f"<{len(step)} from {step[0]:g} to {step[-1]:g}>"
    return repr(step)


@dataclasses.dataclass(frozen=True, repr=False)
class GradientDescent(Steps):
    r"""Training in steps \((u, v) \leftarrow (u, v) - \mathrm{step}\cdot\tfrac d2 \nabla L\) [eq:steps].

    Time is the sum of all steps, so that small steps follow `GradientFlow`.

    Parameters
    ----------
    step : float, array (k,) or callable
        Size of the steps > 0, in units of time: one number, one for every step, or a function of the number
        of steps taken before.
    momentum : float, default 0
        β in [0, 1): the velocity \(m \leftarrow \beta m + r\) takes the place of the negative gradient r
        [eq:heavy_ball].
    nesterov : bool, default False
        Nesterov's momentum: \(\beta m + r\) with the new m takes the place of m.
    batch_fraction : float, default 1
        Fraction of the data in (0, 1] that a step sees, drawn anew in every step [eq:batches].
    temperature : float, default 0
        T ≥ 0: every step adds \(\sqrt{2\,T\,\mathrm{step}}\) times a fresh normal number to every parameter
        [eq:langevin].
    label_noise : float, default 0
        Standard deviation ≥ 0 of fresh noise that is added to every label in every step [eq:label_noise].

    Examples
    --------
    >>> trainer = GradientDescent(0.1, momentum=0.9)
    """

    step: Any
    momentum: float = 0.0
    nesterov: bool = False
    batch_fraction: float = 1.0
    temperature: float = 0.0
    label_noise: float = 0.0

    def __post_init__(self):
        allowed = lambda x: (x > 0) & np.isfinite(x)  # noqa: E731
        if np.ndim(self.step) > 0:
            sizes = real_vector("step", self.step, allowed, "finite numbers > 0")
            object.__setattr__(self, "step", sizes if isinstance(sizes, Tracer) else tuple(sizes.tolist()))
        elif not callable(self.step):
            words = "one finite number > 0, an array of them, or a function"
            step = real("step", self.step, allowed, words)
            object.__setattr__(self, "step", step if isinstance(step, Tracer) else float(step))
        object.__setattr__(self, "nesterov", flag("nesterov", self.nesterov))
        one_real("momentum", self.momentum, lambda x: (x >= 0) & (x < 1), "one number in [0, 1)")
        allowed = "one number in (0, 1]"
        one_real("batch_fraction", self.batch_fraction, lambda x: (x > 0) & (x <= 1), allowed)
        check_noise(self)

    def __repr__(self):
        told = [f"step={described(self.step)}"]
        for field in dataclasses.fields(self)[1:]:
            value = getattr(self, field.name)
            told += [] if value == field.default else [f"{field.name}={value!r}"]
        return f"{type(self).__name__}({', '.join(told)})"

    def with_step(self, step: float | np.ndarray) -> "GradientDescent":
        """The same trainer with other steps.

        Parameters
        ----------
        step : float or array (k,)
            Size of all steps, or of every one.

        Returns
        -------
        GradientDescent
            A copy.
        """
        other = copy.copy(self)
        object.__setattr__(other, "step", tuple(np.asarray(step).tolist()) if np.ndim(step) else step)
        return other

    @property
    def inertia(self) -> float:
        """The factor by which a step keeps the velocity of the step before."""
        return self.momentum

    @property
    def looks_ahead(self) -> bool:
        """Whether momentum is Nesterov's."""
        return self.nesterov

    @property
    def fraction(self) -> float:
        """Fraction of the data that a step sees."""
        return self.batch_fraction


def check_noise(trainer: Any) -> None:
    """InputError for a temperature or label noise that is negative or not finite."""
    for name in ("temperature", "label_noise"):
        value = getattr(trainer, name, 0.0)
        one_real(name, value, lambda x: (x >= 0) & np.isfinite(x), "one finite number ≥ 0")


class HeavyBall(GradientDescent):
    """Gradient descent with momentum, as `GradientDescent(step, momentum)` [eq:heavy_ball].

    Parameters
    ----------
    step : float, array (k,) or callable
        Size of the steps, as in `GradientDescent`.
    momentum : float
        Factor in [0, 1) by which the velocity of the step before is kept.
    """

    def __init__(self, step: Any, momentum: float):
        super().__init__(step, momentum)


class SGD(GradientDescent):
    """Gradient descent on mini-batches, as `GradientDescent(step, batch_fraction=…)` [eq:batches].

    Parameters
    ----------
    step : float, array (k,) or callable
        Size of the steps, as in `GradientDescent`.
    batch_fraction : float
        Fraction of the data in (0, 1] that a step sees, drawn anew in every step.
    """

    def __init__(self, step: Any, batch_fraction: float):
        super().__init__(step, batch_fraction=batch_fraction)


@dataclasses.dataclass(frozen=True)
class ShortSteps(Steps):
    """Short steps in place of gradient flow with noise, to second order in their size [eq:two_rates]."""

    step: tuple[float, ...]
    temperature: float

    @classmethod
    def through(cls, times: Float[np.ndarray, " k"], longest: float, temperature: float) -> "ShortSteps":
        """Steps that pass through all of the given increasing times, none longer than `longest`."""
        gaps = np.diff(np.concatenate([[0.0], times[times > 0]]))
        counts = np.ceil(gaps / longest * (1 - CLOSE)).astype(int)
        return cls(tuple(np.repeat(gaps / counts, counts).tolist()), temperature)

    @property
    def looks_back(self) -> bool:
        """A step uses the velocities of the last two times."""
        return True


Trainer = GradientFlow | Steps


def check_features(task: Task, net: Model, trainer: Any = None) -> None:
    """InputError if coordinates must be features but are eigenvectors of a covariance."""
    if task.spectrum is None or not task.spectrum.eigenbasis:
        return
    told = "spectrum must be that of features: this one is of eigenvectors of a covariance, and "
    if not net.rotates:
        raise InputError(
            f"{told}{net.name} treats every feature by itself; give a diagonal covariance, or take a model "
            "that is linear in its parameters"
        )
    if getattr(trainer, "transformation", None) is not None:
        raise InputError(
            f"{told}an optimizer that treats every parameter by itself trains others in that basis"
        )


def check_training(task: Any, net: Any, trainer: Any) -> None:
    """InputError unless these are a task, a network and a way to train it."""
    if not (isinstance(task, Task) and isinstance(net, Model)):
        raise InputError(
            "task must be a Task and net a network or a Flow, the first and the second argument, "
            f"got {type(task).__name__} and {type(net).__name__}"
        )
    check_features(task, net, trainer)
    if not isinstance(trainer, Trainer):
        raise InputError(
            "trainer must be GradientFlow(), GradientDescent(step, momentum, …), "
            "HeavyBall(step, momentum), SGD(step, batch_fraction) or an optax optimizer, "
            f"got {shown(trainer)}"
        )
    untraced(step=getattr(trainer, "step", None))
