"""Train and test errors over time, however they were found."""

from typing import Any, NamedTuple

import numpy as np

from dynafield.figures.style import COLOURS, DEPTH, SYMBOLS, axes, finish
from dynafield.figures.theory import titled
from dynafield.records.problems import parameters
from dynafield.records.timed import TimedRecord

__all__ = ["Band", "draw_errors"]


class Band(NamedTuple):
    """A curve over the axes of the parameters and time, and the half width of its band."""

    value: np.ndarray
    width: np.ndarray


def label(record: TimedRecord, index: tuple[int, ...]) -> str:
    """Which problem of a sweep: the parameters that vary, by their symbols."""
    given = parameters(record.task, record.net)
    varied = {
        s: np.broadcast_to(given[n], record.shape)[index]
        for n, s in SYMBOLS.items()
        if n in given and given[n].ndim
    }
    return ", ".join(f"{symbol} = {value:.3g}" for symbol, value in varied.items())


def draw_errors(record: TimedRecord, t: np.ndarray, test: Band, train: Band, title: str, ax: Any) -> Any:
    """Train (dashed) and test error against time, log-log, with their bands."""
    ax = axes(ax)
    cells = list(np.ndindex(record.shape))
    for index, colour in zip(cells, np.resize(COLOURS, len(cells)), strict=True):
        which = label(record, index)
        for band, what, line in ((test, "test", "-"), (train, "train", "--")):
            value, width = band.value[index], band.width[index]
            entry = titled(what, which) if what == "test" or not which else None
            ax.plot(t, value, color=colour, linestyle=line, label=entry)
            low = np.maximum(value - width, value * 1e-2)
            ax.fill_between(t, low, value + width, color=colour, alpha=0.2, linewidth=0)
    if record.shape:
        ax.plot([], [], color="0.4", linestyle="--", label="training errors")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(bottom=max(ax.get_ylim()[0], DEPTH * ax.get_ylim()[1]))
    ax.set_title(title, fontsize=9)
    return finish(ax, "training time t", "error")
