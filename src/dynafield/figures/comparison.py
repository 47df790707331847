"""Theory and finite networks in one picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.dmft import draw_curves
from dynafield.figures.style import COLOURS

if TYPE_CHECKING:
    from dynafield.dmft.curves import Curves
    from dynafield.simulation.runs import Runs

__all__ = ["draw_comparison"]

MARKS = 14
"""Points drawn per curve."""
STYLE: dict[str, Any] = {"markersize": 4, "markerfacecolor": "white", "linewidth": 1}


def draw_comparison(curves: "Curves", runs: "Runs", ax: Any = None) -> Any:
    """Lines with bands for theory; means with bars of two standard errors for finite networks."""
    ax = draw_curves(curves, ax)
    t = np.asarray(runs.t)
    low = max(ax.get_xlim()[0], float(t[t > 0][0]))
    wanted = np.geomspace(low, t[-1], MARKS)
    which = np.unique(np.argmin(np.abs(np.log(np.maximum(t, 1e-300)) - np.log(wanted)[:, None]), axis=1))
    cells = list(np.ndindex(runs.shape))
    for index, colour in zip(cells, np.resize(COLOURS, len(cells)), strict=True):
        for name, mark in (("test_error", "o"), ("train_error", "s")):
            mean, error = runs.mean(name)[index][which], 2 * runs.standard_error(name)[index][which]
            shown = mean > ax.get_ylim()[0]
            bars = np.minimum(error, 0.95 * mean)[shown] if runs.seeds > 1 else None
            ax.errorbar(t[which][shown], mean[shown], yerr=bars, fmt=mark, color=colour, **STYLE)
    ax.errorbar(
        [], [], yerr=[], fmt="o", color="0.4", label=f"d = {runs.d}" if runs.d else "given runs", **STYLE
    )
    ax.legend(frameon=False, fontsize=9)
    size = f"n = {runs.n}, d = {runs.d}, " if runs.d else ""
    marks = f"{size}{runs.seeds} runs, bars 2 se"
    ax.set_title(f"lines: infinite network; marks: {marks}", fontsize=9)
    return ax
