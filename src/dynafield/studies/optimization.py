r"""The best numbers of training for a task, from theory: by closed results where there are some, else by
curves. Numbers are varied on a logarithmic scale.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dynafield.deprecation import old_calls
from dynafield.errors import InputError
from dynafield.problem.checks import one_real, plain, real_vector, same_shape, seed_of, shown
from dynafield.problem.model import Model, with_numbers
from dynafield.problem.optimizers import as_trainer
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientDescent, GradientFlow, check_training
from dynafield.progress import Progress, Wanted
from dynafield.records.problems import problem_at
from dynafield.studies.objectives import CurveSearch, closed_search
from dynafield.studies.optimum import Optimum
from dynafield.studies.searches import Result, Search, searched

__all__ = ["RANGES", "optimize"]

OBJECTIVES = ("end", "time", "best_stop", "reach")
"""Objectives by name."""
RANGES = {"alpha": (1e-3, 30.0), "lam": (1e-4, 3.0)}
"""Default ranges for the limit of training."""
NARROW = {"alpha": (0.03, 3.0), "lam": (1e-3, 1.0)}
"""Default ranges for learning curves, which take long where they are stiff."""


@old_calls()
def optimize(
    task: Task,
    net: Model,
    over: Any = ("alpha",),
    objective: Any = "end",
    *,
    t_max: float | None = None,
    error: float | None = None,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    bounds: dict[str, tuple[float, float]] | None = None,
    tol: float = 5e-3,
    seed: int = 0,
    progress: Wanted = None,
) -> Optimum:
    """The numbers of training that make an objective least [eq:optimum].

    Arrays of tasks are solved one by one, and give a curve of optima. For a model with an error of its own
    the loss takes the place of the error.

    Parameters
    ----------
    task : Task
        δ, σ and the prior.
    net : Network or Model
        What is trained; its numbers that are varied are replaced.
    over : str or tuple of str, default ("alpha",)
        What is varied: numbers of the model ("alpha", "lam", …), or "step" of discrete training. Where the
        step is varied, training takes the same number of steps for every size: those of `trainer` up to
        `t_max`.
    objective : str or callable, default "end"
        "end": test error in the limit of training (closed formulas, milliseconds); "time": test error at
        `t_max`; "best_stop": smallest test error up to `t_max`; "reach": time to reach the test error
        `error`, along a straight line between two steps; or a function of the record that `solve` returns,
        written for NumPy.
    t_max : float, optional
        Training time up to which curves are solved; needed unless the objective is "end".
    error : float, optional
        Test error for the objective "reach", in the units of y².
    trainer : GradientFlow or GradientDescent, default GradientFlow()
        How the model is trained.
    bounds : dict, optional
        Smallest and largest value of each number that is varied, such as {"alpha": (0.1, 10.0)}. Defaults:
        `alpha` from 1e-3 to 30 and `lam` from 1e-4 to 3 for "end", from 0.03 to 3 and 1e-3 to 1 otherwise;
        `step` from a hundredth to three times that of the trainer. Other numbers need a range.
    tol : float, default 5e-3
        Tolerance of `solve`.
    seed : int, default 0
        Seed of `solve`.
    progress : bool or callable, optional
        As in `solve`.

    Returns
    -------
    Optimum
        Best numbers with error bars, over the parameter axes.

    Raises
    ------
    InputError
        If an argument is out of range or missing.
    SolveError
        If the objective has no finite value in the ranges.
    """
    over = checked_names(over)
    check_training(task, net, as_trainer(trainer))
    if not isinstance(bounds, Mapping | None):
        raise InputError(
            f"bounds must be ranges by name, such as {{'alpha': (0.1, 10.0)}}, got {shown(bounds)}"
        )
    name = checked_objective(objective, over, t_max, error)
    low, high = checked_ranges(net, trainer, over, (RANGES if name == "end" else NARROW) | (bounds or {}))
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    seed = seed_of("seed", seed)
    # numbers that are varied have no axis of their own
    net = with_numbers(net, {n: float(np.ravel(x)[0]) for n, x in net.numbers().items() if n in over})
    shape = same_shape(delta=task.delta, sigma=task.sigma, **net.numbers())
    found = []
    with Progress("optimizing", float(np.prod(shape, dtype=int)), progress) as bar:
        for number, place in enumerate(np.ndindex(shape)):
            problem = problem_at(task, net, place)
            if name == "end":
                search = closed_search(*problem, over, low, high)
            else:
                curves = CurveSearch(*problem, over, objective, t_max, error, trainer, tol, seed)
                search = Search(curves.see, curves.scan, low, high)
            found.append(searched(search))
            bar.show(number + 1.0, f"{number + 1} of {int(np.prod(shape, dtype=int))} tasks")
    return collected(task, net, over, name, shape, found)


def checked_names(over: Any) -> tuple[str, ...]:
    """Names of what is varied, one or several, or InputError."""
    several = list(over) if isinstance(over, (list, tuple)) else [over]
    if not all(isinstance(name, str) for name in several):
        raise InputError(f"over must be a name, or several, got {shown(over)}")
    return tuple(several)


def checked_objective(objective: Any, over: tuple[str, ...], t_max: Any, error: Any) -> str:
    """The name of an objective, or InputError."""
    if not callable(objective) and not (isinstance(objective, str) and objective in OBJECTIVES):
        raise InputError(
            f"objective must be one of {', '.join(OBJECTIVES)}, or a function of the record, "
            f"got {shown(objective)}"
        )
    name = getattr(objective, "__name__", "own") if callable(objective) else objective
    if name != "end" or callable(objective):
        if t_max is None:
            raise InputError(f"t_max must be given for the objective {name!r}: curves are solved up to it")
        one_real("t_max", t_max, lambda x: (x > 0) & np.isfinite(x), "one finite number > 0")
    if objective == "reach":
        if "step" in over:
            raise InputError("over must not name step for the objective 'reach': steps are counted there")
        if error is None:
            raise InputError("error must be given for the objective 'reach': the test error to reach")
        one_real("error", error, lambda x: x > 0, "one number > 0")
    return f"own: {name}" if callable(objective) else name


def checked_ranges(
    net: Any, trainer: Any, over: tuple[str, ...], bounds: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the limits of all ranges, or InputError."""
    if not isinstance(net, Model):
        raise InputError(f"net must be a network or another model, got {type(net).__name__}")
    constant = isinstance(trainer, GradientDescent) and not trainer.scheduled
    known = list(net.numbers()) + (["step"] if constant else [])
    if not over or len(set(over)) < len(over) or not set(over) <= set(known):
        raise InputError(
            f"over must name some of {', '.join(known)}, each once, got {', '.join(over) or 'none'}"
        )
    ranges = dict(bounds)
    if constant:
        ranges.setdefault("step", (0.01 * trainer.step, 3.0 * trainer.step))
    ends = []
    for name in over:
        if name not in ranges:
            raise InputError(f"bounds must have a range for {name}, such as {{{name!r}: (0.1, 10.0)}}")
        pair = real_vector(f"bounds[{name!r}]", ranges[name], lambda x: x > 0, "two numbers > 0")
        if len(pair) != 2:
            raise InputError(f"bounds[{name!r}] must be two numbers > 0, got {len(pair)}")
        low, high = pair
        if low >= high:
            raise InputError(f"bounds[{name!r}] must be two increasing numbers, got {low:g} and {high:g}")
        ends.append((np.log(low), np.log(high)))
    low, high = np.array(ends).T
    return low, high


def padded(rows: list[np.ndarray]) -> np.ndarray:
    """Arrays of several lengths as one, filled up with NaN."""
    longest = max(map(len, rows))
    return np.stack([np.concatenate([x, np.full((longest - len(x), *x.shape[1:]), np.nan)]) for x in rows])


def collected(
    task: Task, net: Model, over: tuple[str, ...], name: str, shape: tuple[int, ...], found: list[Result]
) -> Optimum:
    """The results of all tasks as one record."""

    def over_tasks(values: Any) -> Any:
        values = np.asarray(values)
        return values.reshape(*shape, *values.shape[1:]) if shape else values[0]

    stops = [one.seen.stop for one in found]
    return Optimum(
        task,
        net,
        over=over,
        objective=name,
        place=over_tasks([np.exp(one.point) for one in found]),
        place_se=over_tasks([one.errors for one in found]),
        boundary=over_tasks([one.ends for one in found]),
        value=plain(over_tasks([one.seen.value for one in found])),
        value_se=plain(over_tasks([one.seen.value_se for one in found])),
        stop=None if stops[0] is None else plain(over_tasks(stops)),
        curvature=over_tasks([one.curvature for one in found]),
        scan=over_tasks([np.exp(one.scan) for one in found]),
        scan_value=over_tasks([one.scan_value for one in found]),
        path=over_tasks(padded([np.exp(one.path) for one in found])),
        path_value=over_tasks(padded([one.path_value for one in found])),
    )
