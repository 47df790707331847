r"""The time of grokking: \(2\log(\alpha)/\lambda\) plus a shift that converges [eq:grokking_time]."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from dynafield.deprecation import old_calls
from dynafield.dmft.solve import solve
from dynafield.errors import InputError
from dynafield.problem.checks import one_real, real_list, seed_of
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.progress import Progress, Wanted
from dynafield.records.record import Record, quantity
from dynafield.studies.phases import end_of, reading
from dynafield.theory.lazy import lazy_limit

__all__ = ["Grokking", "grokking"]

REACH = 8.0
"""Curves are solved until 2 log(α)/λ plus this many 1/λ."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Grokking(Record):
    """Half-way times of the fall of the test error for several α, as `grokking` returns them.

    Attributes
    ----------
    task, net
        The problem; `net.alpha` has all α.
    half_time : array (m,)
        Time at which the test error is half-way between plateau and limit; infinite if it is not reached.
    half_time_se : array (m,)
        Its standard error.
    shift : array (m,)
        half_time - 2 log(α)/λ.
    plateau : float
        Test error of the plateau, the limit of the lazy phase.
    end : float
        Test error in the limit of training.
    offset : array (k,)
        Times t - 2 log(α)/λ.
    test_error, test_error_se : array (m, k)
        Test error at these times, and its estimated error.
    """

    title: ClassVar[str] = "grokking"

    half_time: Any = quantity("time at which the test error is half-way between plateau and limit")
    half_time_se: Any = quantity("its standard error")
    shift: Any = quantity("half_time - 2 log(α)/λ")
    plateau: Any = quantity("test error of the plateau, the limit of the lazy phase", swept=False)
    end: Any = quantity("test error in the limit of training", swept=False)
    offset: Any = quantity("times t - 2 log(α)/λ", False, over=("offset",), swept=False)
    test_error: Any = quantity("test error at these times", False, over=("offset",))
    test_error_se: Any = quantity("its estimated error", False, over=("offset",), optional=True)


@old_calls()
def grokking(
    task: Task,
    lam: float,
    *,
    alphas: Any = (3.0, 10.0, 30.0, 100.0, 300.0),
    tol: float = 1e-3,
    seed: int = 0,
    progress: Wanted = None,
) -> Grokking:
    """The half-way time of grokking for several large α, by the exact curves of networks of depth 2
    [eq:grokking_time].

    Curves are solved up to 8/λ after 2 log(α)/λ.

    Parameters
    ----------
    task : Task
        One δ, one σ, and the prior.
    lam : float
        Weight decay λ > 0.
    alphas : array (m,), default (3, 10, 30, 100, 300)
        Initial scales α > 1.
    tol : float, default 1e-3
        Tolerance of `solve`.
    seed : int, default 0
        Seed of `solve`.
    progress : bool or callable, optional
        As in `solve`.

    Returns
    -------
    Grokking
        Half-way times over α, and the curves around them.

    Raises
    ------
    InputError
        If an argument is out of range, or δ = 1 with noise, where there is no plateau.
    """
    lam = one_real("lam", lam, lambda x: x > 0, "one number > 0")
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    scales = real_list("alphas", alphas, lambda x: x > 1, "numbers > 1")
    seed_of("seed", seed)
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    for name in ("delta", "sigma"):
        one_real(name, getattr(task, name), lambda x: x >= 0, "one number")
    plateau, end = lazy_limit(task), end_of(task, DiagonalNetwork(1.0, lam))
    if end is None or not np.isfinite(plateau):
        raise InputError("delta must not be 1 with noise: the lazy phase then has no plateau")
    offset = np.linspace(-0.5 * REACH / lam, REACH / lam, 301)
    times, errors, curves, widths = [], [], [], []
    with Progress("solving", float(len(scales)), progress) as bar:
        for k, alpha in enumerate(scales):
            bar.show(float(k), f"α = {alpha:g}")
            middle = 2 * np.log(alpha) / lam
            found = solve(
                task, DiagonalNetwork(alpha, lam), middle + REACH / lam, tol=tol, seed=seed, progress=False
            )
            seen = reading(found)
            time, error = seen.crossing("test_error", 0.5 * (plateau + end), plateau, 0.5 * middle)
            times.append(time)
            errors.append(error)
            early = middle + offset < 0
            points = found.at(np.maximum(middle + offset, 0.0))
            curves.append(np.where(early, np.nan, points.test_error))
            widths.append(np.where(early, np.nan, points.test_error_se))
    half = np.array(times)
    return Grokking(
        task,
        DiagonalNetwork(scales, lam),
        half_time=half,
        half_time_se=np.array(errors),
        shift=half - 2 * np.log(scales) / lam,
        plateau=plateau,
        end=end,
        offset=offset,
        test_error=np.stack(curves),
        test_error_se=np.stack(widths),
    )
