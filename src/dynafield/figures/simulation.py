"""Figures of training runs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.errors import Band, draw_errors

if TYPE_CHECKING:
    from dynafield.simulation.runs import RunsRecord

__all__ = ["draw_runs"]


def draw_runs(runs: "RunsRecord", ax: Any = None) -> Any:
    """Train and test error, means of the runs with bands of one standard deviation."""
    shown = np.asarray(runs.t) > 0
    test, train = (
        Band(runs.mean(name)[..., shown], runs.standard_deviation(name)[..., shown])
        for name in ("test_error", "train_error")
    )
    band = f", band: 1 sd of {runs.seeds} runs" if runs.seeds > 1 else ""
    title = f"n = {runs.n}, d = {runs.d}, {runs.inputs} inputs{band}"
    return draw_errors(runs, np.asarray(runs.t)[shown], test, train, title, ax)
