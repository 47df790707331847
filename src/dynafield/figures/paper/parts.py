"""What the figures of the paper are made of: theory as lines, finite networks as points with bars."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import xarray as xr

from dynafield.figures.style import COLOURS, finish

__all__ = [
    "DMFT",
    "FORM",
    "MARK",
    "chosen",
    "draw_law",
    "draw_learning",
    "draw_theory",
    "errors_with_bars",
    "key",
    "legend_beside",
    "look",
    "mean_and_error",
    "number",
    "panels",
    "sequence",
]

MARKS = 11
"""Points drawn per curve."""
MARK: dict[str, Any] = {"linestyle": "none", "markersize": 3.5, "markerfacecolor": "white", "linewidth": 0.9}
DMFT: dict[str, Any] = {"linewidth": 1.4}
FORM: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.1}
"""Closed forms are black and dashed, the DMFT solution is solid and coloured."""
FLOOR = 1e-9
"""Training errors are drawn down to this part of the largest."""
SURE = 3.0
"""A value is drawn as a solid line if it is more than so many of its estimated errors."""


@contextmanager
def look() -> Iterator[None]:
    """Type for the width of a column."""
    import matplotlib as mpl

    settings: Any = {
        "font.size": 8,
        "axes.labelsize": 8,
        "axes.titlesize": 8,
        "legend.fontsize": "small",
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "savefig.bbox": None,
        "pdf.fonttype": 42,
    }
    with mpl.rc_context(settings):
        yield


def panels(count: int = 1) -> tuple[Any, list[Any]]:
    """A figure with so many panels side by side, each as wide as a column."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, count, figsize=(3.5 * count, 2.75), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def sequence(count: int) -> list[Any]:
    """Colours of an ordered list, dark to light, told apart with every kind of colour vision."""
    import matplotlib as mpl

    return [mpl.colormaps["viridis"](x) for x in np.linspace(0.0, 0.85, count)]


def mean_and_error(runs: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean over runs and two of its standard errors."""
    count = runs.shape[axis]
    return np.mean(runs, axis=axis), 2 * np.std(runs, axis=axis, ddof=min(1, count - 1)) / np.sqrt(count)


def chosen(x: np.ndarray, log: bool, low: float, high: float) -> np.ndarray:
    """Which of the points to draw: spread evenly over what is shown."""
    inside = np.flatnonzero((x >= low) & (x <= high))
    if not len(inside):
        return inside
    first, last = x[inside[0]], x[inside[-1]]
    wanted = np.geomspace(first, last, MARKS) if log and first > 0 else np.linspace(first, last, MARKS)
    return np.unique(inside[np.argmin(np.abs(x[inside][None, :] - wanted[:, None]), axis=1)])


def errors_with_bars(
    ax: Any, x: np.ndarray, runs: np.ndarray, colour: Any, mark: str = "o", label: str | None = None
) -> None:
    """Means over the last axis with bars of two standard errors."""
    mean, error = mean_and_error(runs, -1)
    ax.errorbar(x, mean, yerr=np.minimum(error, 0.95 * mean), marker=mark, color=colour, label=label, **MARK)


def key(ax: Any, entries: dict[str, dict[str, Any]]) -> None:
    """What lines and points stand for, below the colours in the legend."""
    for words, style in entries.items():
        ax.plot([], [], label=words, **({"color": "0.35"} | style))


def number(value: float) -> str:
    """A number for a legend, as people write it."""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        return f"{value:g}"
    power = int(np.floor(np.log10(abs(value))))
    digits = f"{value / 10.0**power:g}"
    return f"10^{{{power}}}" if digits == "1" else rf"{digits} \cdot 10^{{{power}}}"


def legend_beside(figure: Any, width: float = 4.9) -> None:
    """The legend of a single panel beside it, where it hides nothing; the figure as wide as given."""
    ax = figure.axes[0]
    figure.set_size_inches(width, figure.get_size_inches()[1])
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    figure.legend(*ax.get_legend_handles_labels(), loc="outside center right", frameon=False)


def draw_theory(
    ax: Any, x: np.ndarray, value: np.ndarray, error: np.ndarray, colour: Any, label: str
) -> None:
    """A DMFT curve with a band of two estimated errors, thin where it is not known to a third."""
    sure = value >= SURE * error
    ax.plot(x, np.where(sure, value, np.nan), color=colour, label=label, **DMFT)
    if not np.all(sure):
        ax.plot(x, value, color=colour, linewidth=0.6)
    low, high = np.maximum(value - 2 * error, 0.0), value + 2 * error
    ax.fill_between(x, low, high, color=colour, alpha=0.25, linewidth=0)


def draw_learning(
    data: xr.Dataset,
    rescaled: Callable[[np.ndarray, float, float], np.ndarray],
    x: str,
    names: tuple[str, ...] = ("train_error", "test_error"),
    limits: tuple[float, float] | None = None,
    log: bool = True,
    forms: dict[str, tuple[np.ndarray, np.ndarray]] | None = None,
    form_name: str = "closed form",
    late: bool = False,
) -> Any:
    """Errors of all curves against time rescaled as a function of (t, α, λ); a closed form over them.

    `late` curves begin where the training error is least, so that an axis for late stages has no spike of the
    first one. The band of a DMFT curve is two estimated errors, mostly narrower than the line.
    """
    figure, axes = panels(len(names))
    colours = sequence(data.sizes["curve"])
    for ax, name in zip(axes, names, strict=True):
        falls = name == "train_error" and not (len(names) == 1 and not log)
        ax.set_xscale("log" if log else "linear")
        ax.set_yscale("log" if falls else "linear")
        theory, errors, seen = data[f"{name}_theory"].values, data[f"{name}_theory_se"].values, []
        for k, colour in enumerate(colours):
            alpha, lam = float(data["alpha"][k]), float(data["lam"][k])
            place = rescaled(data["t"].values[k], alpha, lam)
            first = int(np.argmin(data["train_error_theory"].values[k])) if late else 1
            shown = np.arange(len(place)) >= first
            label = rf"$\alpha = {number(alpha)}$"
            draw_theory(ax, place[shown], theory[k][shown], errors[k][shown], colour, label)
            low, high = limits or (float(np.min(place[shown])), float(np.max(place)))
            seen.append(theory[k][shown & (place >= low) & (place <= high)])
            which = chosen(np.where(shown, place, np.nan), log, low, high)
            errors_with_bars(ax, place[which], data[name].values[k].T[which], colour)
        if forms and name in forms:
            ax.plot(*forms[name], **FORM)
        if not falls:
            ax.set_ylim(0.0, 1.35 * float(np.max(np.concatenate(seen))))
        else:
            least, most = (float(f(np.concatenate(seen))) for f in (np.min, np.max))
            ax.set_ylim(0.5 * max(least, FLOOR * most), 2 * most)
        if limits:
            ax.set_xlim(*limits)
        if ax is axes[-1]:
            key(ax, {"DMFT": DMFT} | ({form_name: FORM} if forms else {}))
            key(ax, {f"networks, d = {data.attrs['d']}": {"marker": "o"} | MARK})
        finish(ax, x, name, legend=ax is axes[-1])
        if len(names) > 1:
            ax.set_title({"train_error": "training", "test_error": "test"}[name])
    return figure


def draw_law(ax: Any, data: xr.Dataset, title: str) -> None:
    """A histogram of the coordinates of w(∞) and their limit; its point mass at 0, over a bin, an arrow."""
    w = data["weights"].values.ravel()
    edges = np.linspace(float(data["w"][0]), float(data["w"][-1]), 46)
    edges = edges - edges[np.argmin(np.abs(edges))] - 0.5 * (edges[1] - edges[0])  # a bin around 0
    width = edges[1] - edges[0]
    density, mass = data["density"].values, float(data["mass_at_zero"])
    counts, _ = np.histogram(w, edges)
    label = f"networks, d = {data.attrs['d']}"
    ax.stairs(counts / w.size / width, edges, fill=True, color="0.78", label=label)
    ax.plot(data["w"].values, density, color=COLOURS[1], label=r"limit $d \to \infty$", **DMFT)
    ax.set_yscale("log")
    highest = max(float(np.max(density)), float(np.max(counts)) / w.size / width)
    ax.set_ylim(0.5 / (w.size * width), 15 * highest)  # room for the legend
    if mass > 0:
        height = mass / width + float(np.interp(0.0, data["w"].values, density))
        arrow = {"arrowstyle": "-|>", "color": COLOURS[1], "linewidth": 1.4}
        ax.annotate("", xy=(0.0, height), xytext=(0.0, ax.get_ylim()[0]), arrowprops=arrow)
        ax.plot([], [], color=COLOURS[1], marker="^", linestyle="none", markersize=4,
                label=f"point mass {mass:.3g} at 0")  # fmt: skip
    ax.set_title(title)
    finish(ax, r"coordinate $w(\infty)$", "density")
