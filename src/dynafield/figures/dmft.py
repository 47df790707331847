"""Figures of learning curves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, axes, finish
from dynafield.figures.theory import titled
from dynafield.records.problems import parameters

if TYPE_CHECKING:
    from dynafield.dmft.curves import Curves

__all__ = ["draw_curves"]

DEPTH = 1e-5
"""Training errors are drawn down to this share of the largest error, or the test error would be flat."""
SYMBOLS = {"delta": "δ", "sigma": "σ", "alpha": "α", "lam": "λ"}


def draw_curves(curves: "Curves", ax: Any = None) -> Any:
    """Train (dashed) and test error against time, log-log, with bands of two estimated errors."""
    ax = axes(ax)
    t = np.geomspace(1e-4 * curves.t[-1], curves.t[-1], 300)
    points = curves.at(t)
    given = parameters(curves.task, curves.net)
    cells = list(np.ndindex(curves.shape))
    for index, colour in zip(cells, np.resize(COLOURS, len(cells)), strict=True):
        varied = {
            s: np.broadcast_to(given[n], curves.shape)[index] for n, s in SYMBOLS.items() if given[n].ndim
        }
        which = ", ".join(f"{symbol} = {value:.3g}" for symbol, value in varied.items())
        for name, what, line in (("test_error", "test", "-"), ("train_error", "train", "--")):
            value, error = getattr(points, name)[index], getattr(points, name + "_se")[index]
            entry = titled(what, which) if what == "test" or not which else None
            ax.plot(t, value, color=colour, linestyle=line, label=entry)
            low = np.maximum(value - 2 * error, value * 1e-2)
            ax.fill_between(t, low, value + 2 * error, color=colour, alpha=0.2, linewidth=0)
    if curves.shape:
        ax.plot([], [], color="0.4", linestyle="--", label="training errors")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(bottom=max(ax.get_ylim()[0], DEPTH * ax.get_ylim()[1]))
    ax.set_title(f"infinite network, {curves.task.prior}, depth {curves.net.depth}", fontsize=9)
    return finish(ax, "training time t", "error")
