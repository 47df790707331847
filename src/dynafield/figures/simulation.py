"""Figures of training runs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.errors import Band, draw_errors
from dynafield.problem.trainers import Steps
from dynafield.records.problems import problem_words

if TYPE_CHECKING:
    from dynafield.simulation.runs import RunsRecord

__all__ = ["draw_runs"]


def draw_runs(runs: "RunsRecord", ax: Any = None) -> Any:
    """Train and test error, means of the runs with bands of one standard deviation."""
    shown, names = np.asarray(runs.t) > 0, ("test_error", "train_error")
    test, train = (
        Band(mean, runs.standard_deviation(name)[..., shown], 0.0, 0.01 * mean)
        for name, mean in ((name, runs.mean(name)[..., shown]) for name in names)
    )
    size = [f"n = {runs.n}, d = {runs.d}"] if runs.d else []
    how = [f"{runs.trainer}"] if isinstance(runs.trainer, Steps) else []
    bands = f"{runs.count} runs, band: 1 standard deviation" if runs.count > 1 else "one run"
    words = [problem_words(runs.task, runs.net), *size, f"{runs.inputs} inputs", *how, bands]
    return draw_errors(runs, np.asarray(runs.t)[shown], test, train, ", ".join(words), ax)[0]
