r"""The time of grokking: \(2\log(\alpha)/\lambda\) and a shift that settles [eq:grokking_time]."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from dynafield.dmft.solve import solve
from dynafield.errors import InputError
from dynafield.problem.checks import integer, one_real, real_vector
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
    """Half-way times of the step of the test error over several α, and the curves around it."""

    title: ClassVar[str] = "grokking"

    half_time: Any = quantity("time at which the test error is half-way between plateau and end")
    half_time_se: Any = quantity("its standard error")
    shift: Any = quantity("half_time - 2 log(α)/λ")
    plateau: Any = quantity("test error of the plateau, the limit of the lazy phase", swept=False)
    end: Any = quantity("test error at the end of training", swept=False)
    offset: Any = quantity("times t - 2 log(α)/λ", False, over=("offset",), swept=False)
    test_error: Any = quantity("test error at these times", False, over=("offset",))

    def plot(self, ax: Any = None) -> Any:
        """Test errors against t - 2 log(α)/λ."""
        from dynafield.figures.phases import draw_grokking

        return draw_grokking(self, ax)


def grokking(
    task: Task,
    lam: float,
    alphas: Any = (3.0, 10.0, 30.0, 100.0, 300.0),
    tol: float = 1e-3,
    seed: int = 0,
    progress: Wanted = None,
) -> Grokking:
    """The half-way time of grokking for several large α, by the exact curves of networks of depth 2.

    Infinite where the step is not half done 8/λ after 2 log(α)/λ.
    """
    lam = one_real("lam", lam, lambda x: x > 0, "one number > 0")
    scales = np.array(real_vector("alphas", np.atleast_1d(alphas), lambda x: x > 1, "numbers > 1"))
    integer("seed", seed, 0)
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    for name in ("delta", "sigma"):
        one_real(name, getattr(task, name), lambda x: x >= 0, "one number")
    plateau, end = lazy_limit(task), end_of(task, DiagonalNetwork(1.0, lam))
    if end is None or not np.isfinite(plateau):
        raise InputError("delta must not be 1 with noise: the lazy phase then has no plateau")
    offset = np.linspace(-0.5 * REACH / lam, REACH / lam, 301)
    times, errors, curves = [], [], []
    with Progress("solving", float(len(scales)), progress) as bar:
        for k, alpha in enumerate(scales):
            bar.show(float(k), f"α = {alpha:g}")
            middle = 2 * np.log(alpha) / lam
            found = solve(
                task, DiagonalNetwork(alpha, lam), middle + REACH / lam, tol=tol, seed=seed, progress=False
            )
            seen = reading(found, ())
            time, error = seen.crossing("test_error", 0.5 * (plateau + end), plateau, 0.5 * middle)
            times.append(time)
            errors.append(error)
            early = middle + offset < 0
            points = found.at(np.maximum(middle + offset, 0.0)).test_error
            curves.append(np.where(early, np.nan, points))
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
    )
