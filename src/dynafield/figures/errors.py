"""Train and test errors over time, however they were found."""

from typing import Any, NamedTuple

import numpy as np

from dynafield.figures.style import COLOURS, LEGEND, SYMBOLS, error_scale, finish, headline, titled
from dynafield.records.problems import parameters
from dynafield.records.timed import TimedRecord

__all__ = [
    "THIN",
    "Band",
    "draw_band",
    "draw_errors",
    "error_panels",
    "label",
    "mark_least",
    "test_panel",
]

SIZE = (9.6, 4.0)
"""Of two panels, in inches."""
THIN: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.7}
"""Values that are less sure than the tolerance that was asked for."""


class Band(NamedTuple):
    """A curve over the axes of the parameters and time, and the half width of its band.

    Values below `floor` are not resolved: they are drawn as thin lines. A least value counts if the curve
    rises by more than `rise` after it. Both broadcast to the curve.
    """

    value: np.ndarray
    width: np.ndarray
    floor: np.ndarray | float
    rise: np.ndarray | float

    def at(self, index: tuple[int, ...]) -> "Band":
        """That of one problem."""
        whole = (np.broadcast_to(part, self.value.shape)[index] for part in self)
        return Band(*(np.nan_to_num(part) if k else part for k, part in enumerate(whole)))


def label(record: TimedRecord, index: tuple[int, ...]) -> str:
    """Which problem of a sweep: the parameters that vary, by their symbols."""
    given = parameters(record.task, record.net)
    varied = {
        SYMBOLS.get(name, name): np.broadcast_to(value, record.shape)[index]
        for name, value in given.items()
        if value.ndim
    }
    return ", ".join(f"{symbol} = {value:.3g}" for symbol, value in varied.items())


def error_panels(ax: Any) -> list[Any]:
    """The given axes, for logarithms of errors; or two new ones, the second for test errors alone."""
    if ax is not None:
        return [ax]
    import matplotlib.pyplot as plt

    return list(plt.subplots(1, 2, figsize=SIZE, layout="constrained")[1])


def draw_errors(
    record: TimedRecord, t: np.ndarray, test: Band, train: Band, title: str, ax: Any, unsure: str = ""
) -> list[Any]:
    """Train (dashed) and test error against time with their bands; the axes it drew on.

    Logarithmic on the first axes; beside it, if `ax` is None, test errors on a linear scale with their least
    values. `unsure` says what a thin line means.
    """
    panels = error_panels(ax)
    cells, drawn, thin = list(np.ndindex(record.shape)), [], False
    for index, colour in zip(cells, np.resize(COLOURS, len(cells)), strict=True):
        which = label(record, index)
        for band, what, line in ((test, "test", "-"), (train, "train", "--")):
            here = band.at(index)
            entry = titled(what, which) if what == "test" or not which else None
            thin = draw_band(panels[0], t, here, colour, line, entry) or thin
            drawn.append(here.value[np.isfinite(here.value)])
            if what == "test" and len(panels) > 1:
                draw_band(panels[1], t, here, colour, line, entry)
                mark_least(panels[1], t, here, colour)
    if record.shape:
        panels[0].plot([], [], color="0.4", linestyle="--", label="training errors")
    if thin and unsure:
        panels[0].plot([], [], color="0.4", label=unsure, **THIN)
    values = np.concatenate([*drawn, *heights(panels[0])])
    error_scale(panels[0], float(np.min(values, initial=np.inf)), float(np.max(values, initial=0.0)))
    for panel, words in zip(panels, ("error", "test error"), strict=False):
        panel.set_xscale("log")
        finish(panel, "training time t", words)
    headline(panels[0], title, whole=len(panels) > 1)
    if len(panels) > 1:
        test_panel(panels[1], record.shape)
    return panels


def heights(ax: Any) -> list[np.ndarray]:
    """Values of the curves that are on the axes already."""
    curves = (line for line in ax.get_lines() if line.get_transform() == ax.transData)
    values = (np.asarray(line.get_ydata(), float) for line in curves)
    return [value[np.isfinite(value)] for value in values]


def draw_band(ax: Any, t: np.ndarray, curve: Band, colour: Any, line: str, entry: str | None) -> bool:
    """A curve with its band, thin where it is not resolved, and whether there is such a place."""
    value, width, floor, _ = curve
    sure = (value >= floor) | np.isnan(value)
    ax.plot(t, np.where(sure, value, np.nan), color=colour, linestyle=line, label=entry)
    if not np.all(sure):
        edge = ~sure | np.append(~sure[1:], False) | np.insert(~sure[:-1], 0, False)
        ax.plot(t, np.where(edge, value, np.nan), color=colour, linestyle=line, **THIN)
    low = np.maximum(value - width, 0.0)
    ax.fill_between(t, low, value + width, color=colour, alpha=0.2, linewidth=0)
    return not bool(np.all(sure))


def mark_least(ax: Any, t: np.ndarray, curve: Band, colour: Any) -> None:
    """A dot where a curve is least, if it is seen to rise after that."""
    value, _, _, rise = curve
    if not np.any(np.isfinite(value)):
        return
    k = int(np.nanargmin(value))
    if k > 0 and np.nanmax((value - rise)[k:]) > value[k]:
        words = f"least: {value[k]:.3g} at t = {t[k]:.3g}"
        ax.plot([t[k]], [value[k]], "o", color=colour, markersize=5, label=words)


def test_panel(ax: Any, shape: tuple[int, ...]) -> None:
    """The scale of test errors from 0 on, unless they vary by less than a third; a legend of least values."""
    values = np.concatenate([np.zeros(0), *heights(ax)])
    least, most = float(np.min(values, initial=np.inf)), float(np.max(values, initial=0.0))
    if most > 0 and least < most / 1.5:
        ax.set_ylim(0.0, 1.1 * most)
    handles, labels = ax.get_legend_handles_labels()
    kept = [k for k, words in enumerate(labels) if words.startswith("least") or not shape]
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    if kept:
        ax.legend([handles[k] for k in kept], [labels[k] for k in kept], **LEGEND)
