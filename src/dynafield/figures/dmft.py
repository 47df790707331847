"""Figures of learning curves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.errors import Band, draw_errors, label, titled
from dynafield.figures.style import COLOURS, SYMBOLS, axes, finish
from dynafield.problem.networks import Network
from dynafield.problem.trainers import Steps

if TYPE_CHECKING:
    from dynafield.dmft.curves import Curves
    from dynafield.dmft.derivatives import CurveDerivative
    from dynafield.dmft.flow_curves import FlowCurves

__all__ = ["draw_curves", "draw_derivative"]


def draw_curves(curves: "Curves | FlowCurves", ax: Any = None) -> Any:
    """Train and test error with bands of two estimated errors."""
    steps = isinstance(curves.trainer, Steps)
    t = np.asarray(curves.t)[1:] if steps else np.geomspace(1e-4 * curves.t[-1], curves.t[-1], 300)
    points = curves.at(t)
    test = Band(points.test_error, 2 * points.test_error_se)
    train = Band(points.train_error, 2 * points.train_error_se)
    how = f", {curves.trainer}" if steps else ""
    what = f"depth {curves.net.depth}" if isinstance(curves.net, Network) else curves.net.name
    title = f"infinite network, {curves.task.prior}{curves.task.inputs}, {what}{how}"
    return draw_errors(curves, t, test, train, title, ax)


def draw_derivative(derivative: "CurveDerivative", ax: Any = None) -> Any:
    """Derivatives of test and training curves with bands of two estimated errors.

    Against time; those of the last values in the steps of a schedule against the number of the step.
    """
    ax = axes(ax)
    kind = "error" if derivative.test_error is not None else "loss"
    t, symbol = np.asarray(derivative.t), SYMBOLS.get(derivative.parameter, derivative.parameter)
    steps = np.ndim(getattr(derivative, f"test_{kind}")) > len(derivative.shape) + 1
    cells = list(np.ndindex(derivative.shape))
    for index, colour in zip(cells, np.resize(COLOURS, len(cells)), strict=True):
        for what, line in (("test", "-"), ("train", "--")):
            value, error = (
                np.asarray(getattr(derivative, f"{what}_{kind}{end}"))[index] for end in ("", "_se")
            )
            x = np.arange(1, len(value) + 1) if steps else t[1:]
            value, error = (part[:, -1] if steps else part[1:] for part in (value, error))
            ax.plot(x, value, color=colour, linestyle=line, label=titled(what, label(derivative, index)))
            ax.fill_between(x, value - 2 * error, value + 2 * error, color=colour, alpha=0.2, linewidth=0)
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    if not steps:
        ax.set_xscale("log")
    at_end = f" at t = {t[-1]:g}" if steps else ""
    task = f"{derivative.task.prior}{derivative.task.inputs}"
    ax.set_title(f"what a change of {symbol} does, {task}", fontsize=9)
    return finish(ax, "number of the step" if steps else "training time t", f"d {kind} / d {symbol}{at_end}")
