"""Theory and finite networks in one picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.dmft import curve_panels, first_change
from dynafield.figures.style import COLOURS, LEGEND, headline
from dynafield.problem.trainers import Steps
from dynafield.records.problems import problem_words

if TYPE_CHECKING:
    from dynafield.dmft.results.curves import Curves
    from dynafield.simulation.runs import Runs
    from dynafield.studies.comparison import Comparison

__all__ = ["draw_both"]

MARKS = 14
"""Points drawn per curve."""
STYLE: dict[str, Any] = {"markersize": 4, "markerfacecolor": "white", "linewidth": 1}


def draw_comparison(curves: "Curves", runs: "Runs", ax: Any = None) -> Any:
    """Lines with bands for theory; means with bars of two standard errors for finite networks."""
    panels = curve_panels(curves, ax)
    t = np.asarray(runs.t)
    start = 0.0 if isinstance(curves.trainer, Steps) else first_change(curves)
    low = max(start, float(t[t > 0][0]))
    wanted = np.geomspace(low, t[-1], MARKS)
    which = np.unique(np.argmin(np.abs(np.log(np.maximum(t, 1e-300)) - np.log(wanted)[:, None]), axis=1))
    cells = list(np.ndindex(runs.shape))
    for index, colour in zip(cells, np.resize(COLOURS, len(cells)), strict=True):
        for name, mark in (("test_error", "o"), ("train_error", "s")):
            mean, error = runs.mean(name)[index][which], 2 * runs.standard_error(name)[index][which]
            bars = np.minimum(error, mean) if runs.count > 1 else None
            for panel in panels if name == "test_error" else panels[:1]:
                panel.errorbar(t[which], mean, yerr=bars, fmt=mark, color=colour, **STYLE)
    size = f"n = {runs.n}, d = {runs.d}, " if runs.d else ""
    bars = f"{runs.count} runs, bars: 2 standard errors" if runs.count > 1 else "one run"
    for mark, name in (("o", "test"), ("s", "train")):
        words = f"{name}, d = {runs.d}" if runs.d else f"{name}, given runs"
        panels[0].errorbar([], [], yerr=[], fmt=mark, color="0.4", label=words, **STYLE)
    panels[0].legend(**LEGEND)
    asked = problem_words(curves.task, curves.net)
    title = f"lines: infinite network, tol = {curves.tol:g}; marks: {size}{bars}. {asked}"
    headline(panels[0], title, whole=len(panels) > 1)
    return panels[0]


def draw_both(comparison: "Comparison", ax: Any = None) -> Any:
    """The picture of a comparison."""
    return draw_comparison(comparison.curves, comparison.runs, ax)
