"""Figures of training runs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, axes, finish
from dynafield.figures.theory import titled
from dynafield.records.problems import parameters

if TYPE_CHECKING:
    from dynafield.simulation.runs import Runs

__all__ = ["draw_runs"]

DEPTH = 1e-5
"""Training errors are drawn down to this share of the largest error, or the test error would be flat."""
SYMBOLS = {"alpha": "α", "lam": "λ"}


def label(runs: "Runs", index: tuple[int, ...]) -> str:
    """Which network of a sweep: the parameters that vary, by their symbols."""
    given = parameters(runs.task, runs.net)
    varied = {s: np.broadcast_to(given[n], runs.shape)[index] for n, s in SYMBOLS.items() if given[n].ndim}
    return ", ".join(f"{symbol} = {value:.3g}" for symbol, value in varied.items())


def draw_runs(runs: "Runs", ax: Any = None) -> Any:
    """Train (dashed) and test error against time, log-log, with bands of one standard deviation."""
    ax = axes(ax)
    t = np.asarray(runs.t)
    shown = t > 0
    cells = list(np.ndindex(runs.shape))
    for index, colour in zip(cells, np.resize(COLOURS, len(cells)), strict=True):
        which = label(runs, index)
        for name, what, line in (("test_error", "test", "-"), ("train_error", "train", "--")):
            mean, spread = runs.mean(name)[index][shown], runs.standard_deviation(name)[index][shown]
            entry = titled(what, which) if what == "test" or not which else None
            ax.plot(t[shown], mean, color=colour, linestyle=line, label=entry)
            low = np.maximum(mean - spread, mean * 1e-2)
            ax.fill_between(t[shown], low, mean + spread, color=colour, alpha=0.15, linewidth=0)
    if runs.shape:
        ax.plot([], [], color="0.4", linestyle="--", label="training errors")
    ax.set_xscale("log")
    ax.set_yscale("log")
    top = ax.get_ylim()[1]
    ax.set_ylim(bottom=max(ax.get_ylim()[0], DEPTH * top))
    band = f", band: 1 sd of {runs.seeds} runs" if runs.seeds > 1 else ""
    ax.set_title(f"n = {runs.n}, d = {runs.d}, {runs.inputs} inputs{band}", fontsize=9)
    return finish(ax, "training time t", "error")
