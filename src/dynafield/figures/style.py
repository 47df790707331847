"""One look for all figures."""

import re
import textwrap
from typing import Any

import numpy as np

__all__ = [
    "COLOURS",
    "DEPTH",
    "LABELS",
    "LEGEND",
    "SHADES",
    "SYMBOLS",
    "axes",
    "error_scale",
    "finish",
    "headline",
    "spread",
    "titled",
    "wrapped",
]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
"""Told apart with every kind of colour vision (the palette of Okabe and Ito)."""
SHADES = {
    "lazy": "#0b6e99",
    "plateau": "#c9c9c9",
    "grokking": "#d1495b",
    "rich": "#3a7d44",
    "search": "#edae49",
    "descent": "#6a4c93",
    "crossover": "#ffffff",
}
"""Colours of the stages, the same in all figures."""
DEPTH = 1e-5
"""Errors are on a logarithmic scale down to this part of the largest one, and on a linear one below."""
LEGEND: dict[str, Any] = {"framealpha": 0.75, "edgecolor": "none", "facecolor": "white", "fontsize": "small"}
"""Legends stay readable where a curve runs through them."""
LETTER = 0.6
"""Width of a letter, on average, in units of the size of type."""
SYMBOLS = {"delta": "δ", "sigma": "σ", "alpha": "α", "lam": "λ"}
LABELS = {
    "alpha": r"initial scale $\alpha$",
    "delta": r"samples per dimension $\delta = n/d$",
    "sigma": r"label noise $\sigma$",
    "lam": r"weight decay $\lambda$",
    "test_error": r"test error $C_w + \sigma^2$",
    "train_error": r"training error $C_f$",
    "gamma": r"convergence rate $\gamma$",
}


def axes(ax: Any = None, size: tuple[float, float] = (5.2, 3.6)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def finish(ax: Any, x: str, y: str, legend: bool = True) -> Any:
    """Labels, a quiet grid, a legend if there is anything in it."""
    ax.set_xlabel(LABELS.get(x, x))
    ax.set_ylabel(LABELS.get(y, y))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(**LEGEND)
    return ax


def titled(what: str, which: str) -> str:
    """A legend entry: what is drawn, and for which curve when there are several."""
    return f"{what}, {which}" if which else what


def spread(values: Any) -> str:
    """Log scale for positive values that span more than a factor 20."""
    positive = np.asarray(values)
    return "log" if positive.min() > 0 and positive.max() / positive.min() > 20 else "linear"


def wrapped(text: str, letters: int) -> str:
    """Text in lines of so many letters, not broken within a name's brackets or next to an equals sign."""
    tied = re.sub(r" = |\([^()]*\)", lambda found: found.group().replace(" ", "\xa0"), text)
    return textwrap.fill(tied, letters).replace("\xa0", " ")


def headline(ax: Any, text: str, size: float = 9.0, whole: bool = False) -> None:
    """A title, broken into lines that are no wider than the axes, or than the whole figure."""
    figure = ax.get_figure(root=True)
    width = figure.get_size_inches()[0] if whole else ax.get_window_extent().width / figure.dpi
    lines = wrapped(text, max(20, int(72 * width / (LETTER * size))))
    if whole:
        figure.suptitle(lines, fontsize=size)
    else:
        ax.set_title(lines, fontsize=size)


def error_scale(ax: Any, lowest: float, highest: float) -> None:
    """A logarithmic axis for errors that keeps 0 in sight.

    It is linear below the last power of ten above `DEPTH` times the largest error, if errors go there.
    """
    if not highest > 0:
        return
    end = 10.0 ** np.ceil(np.log10(DEPTH * highest) - 1e-9)
    if lowest >= end:
        ax.set_yscale("log")
        return
    ax.set_yscale("symlog", linthresh=end, linscale=0.3)
    ax.set_ylim(0.0, 2 * highest)
    marks = 10.0 ** np.arange(np.log10(end), np.ceil(np.log10(2 * highest)))
    ax.set_yticks([0.0, *marks[marks <= 2 * highest]])
    ax.set_yticks([k * mark for mark in marks for k in range(2, 10) if k * mark < 2 * highest], minor=True)
    if "linear" not in [text.get_text() for text in ax.texts]:
        ax.axhspan(0.0, end, facecolor="0.5", alpha=0.08, linewidth=0)
        ax.annotate("linear", (1.01, 0.5 * end), xycoords=("axes fraction", "data"), fontsize=6,
                    color="0.45", ha="left", va="center", annotation_clip=False)  # fmt: skip
