"""Figures of the best training."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import ListedColormap, LogNorm

from dynafield.figures.style import COLOURS, LABELS, SYMBOLS, axes, finish, headline
from dynafield.records.axes import parameter_axes
from dynafield.records.problems import parameters, problem_words

if TYPE_CHECKING:
    from dynafield.studies.optimum import Optimum

__all__ = ["draw_optimum"]

WORDS = {
    "end": "test error at the end",
    "time": "test error at t_max",
    "best_stop": "test error at its best stop",
    "reach": "time to reach the error",
}
"""Objectives in words."""
FEW = 4
"""More tasks than this along each of two axes are a map, not lines."""
ENDS = {
    "lower": ("best at its lower end", "0.85"),
    "upper": ("best at its upper end", "0.6"),
    "any": ("all are as good", "white"),
}
"""Where there is no best number inside its range: words and colour."""


def draw_optimum(optimum: "Optimum", ax: Any = None) -> Any:
    """The objective over what was varied, and its best place; of several tasks, best numbers over an axis."""
    ax = axes(ax)
    words = WORDS.get(optimum.objective, optimum.objective)
    if len(optimum.shape) == 2 and min(optimum.shape) > FEW and len(optimum.over) == 1:
        return best_map(optimum, ax)
    if optimum.shape:
        return best_along(optimum, ax)
    name = optimum.over[0]
    symbol = SYMBOLS.get(name, name)
    tried, values = np.asarray(optimum.scan), np.asarray(optimum.scan_value)
    if len(optimum.over) == 1:
        order = np.argsort(tried[:, 0])
        ax.plot(tried[order, 0], values[order], ".-", color=COLOURS[0], label="scan")
    else:
        dots = ax.scatter(tried[:, 0], tried[:, 1], c=values, cmap="viridis_r", s=30, label="scan")
        ax.figure.colorbar(dots, ax=ax, label=words)
        ax.set_yscale("log")
    path = np.asarray(optimum.path)
    heights = np.asarray(optimum.path_value) if len(optimum.over) == 1 else path[:, 1]
    ax.plot(path[:, 0], heights, "x", color=COLOURS[1], markersize=5, label="on the way")
    best = np.asarray(optimum.place)
    height = optimum.value if len(optimum.over) == 1 else best[1]
    told = ", ".join(f"{SYMBOLS.get(n, n)} = {x:.3g}" for n, x in optimum.best.items())
    ax.plot([best[0]], [height], "o", color=COLOURS[3], label=f"best: {told}")
    ax.set_xscale("log")
    headline(ax, f"{words}: {fixed_words(optimum)}")
    second = optimum.over[1] if len(optimum.over) > 1 else None
    return finish(ax, symbol, words if second is None else SYMBOLS.get(second, second))


def fixed_words(optimum: "Optimum") -> str:
    """The problem without what was varied."""
    varied = tuple(f"{SYMBOLS.get(name, name)} = " for name in optimum.over)
    return ", ".join(
        part for part in problem_words(optimum.task, optimum.net).split(", ") if not part.startswith(varied)
    )


def along_axes(optimum: "Optimum") -> tuple[dict[str, np.ndarray], list[str]]:
    """Numbers of the tasks by name, one for each task, and the names of their axes."""
    given = parameters(optimum.task, optimum.net)
    return {n: np.broadcast_to(x, optimum.shape) for n, x in given.items()}, list(parameter_axes(given))


def best_map(optimum: "Optimum", ax: Any) -> Any:
    """The best number over two axes, with grey where it lies at an end of its range."""
    known, names = along_axes(optimum)
    grids = dict(zip(names, np.indices(optimum.shape), strict=True)) | known
    second, first = (np.asarray(grids[name], float) for name in names)
    place, ends = np.asarray(optimum.place)[..., 0], np.asarray(optimum.boundary)[..., 0]
    symbol = SYMBOLS.get(optimum.over[0], optimum.over[0])
    inside = np.where(ends == "", place, np.nan)
    shades_of = LogNorm(np.nanmin(optimum.scan), np.nanmax(optimum.scan))
    if np.any(ends == ""):
        shades = ax.pcolormesh(first, second, inside, norm=shades_of, cmap="viridis", shading="nearest")
        ax.figure.colorbar(shades, ax=ax, label=f"best {symbol}")
    for end, (words, colour) in ENDS.items():
        if np.any(ends == end):
            there = np.where(ends == end, 1.0, np.nan)
            ax.pcolormesh(first, second, there, cmap=ListedColormap([colour]), shading="nearest")
            ax.plot([], [], "s", color=colour, markeredgecolor="0.5", label=f"{symbol}: {words}")
    for axis, values in (("x", first), ("y", second)):
        if np.min(values) > 0 and np.max(values) > 10 * np.min(values):
            ax.set(**{f"{axis}scale": "log"})
    headline(
        ax, f"best {symbol} for the {WORDS.get(optimum.objective, optimum.objective)}: {fixed_words(optimum)}"
    )
    finish(ax, LABELS.get(names[1], names[1]), LABELS.get(names[0], names[0]))
    if ax.get_legend() is not None:
        ax.legend(fontsize="small", framealpha=0.9)
    return ax


def best_along(optimum: "Optimum", ax: Any) -> Any:
    """Best numbers of tasks along their last axis; filled where they are inside their range."""
    known, names = along_axes(optimum)
    place, ends = np.asarray(optimum.place), np.asarray(optimum.boundary)
    rows = list(np.ndindex(optimum.shape[:-1]))
    for row, colour in zip(rows, np.resize(COLOURS, len(rows)), strict=True):
        x = known[names[-1]][row] if names[-1] in known else np.arange(optimum.shape[-1])
        told = [f"{SYMBOLS.get(n, n)} = {known[n][row][0]:.3g}" for n in names[:-1] if n in known]
        for k, name in enumerate(optimum.over):
            inside = ends[row][:, k] == ""
            ax.plot(x, place[row][:, k], "-", color=colour, label=", ".join([SYMBOLS.get(name, name), *told]))
            ax.plot(x[inside], place[row][inside, k], "o", color=colour)
    ax.set_yscale("log")
    words = WORDS.get(optimum.objective, optimum.objective)
    headline(ax, f"best for the {words}; those with a dot lie inside their range. {fixed_words(optimum)}")
    varied = ", ".join(SYMBOLS.get(n, n) for n in optimum.over)
    return finish(ax, LABELS.get(names[-1], names[-1]), f"best {varied}")
