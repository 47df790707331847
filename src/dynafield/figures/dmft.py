"""Figures of learning curves."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.errors import Band, draw_errors, label
from dynafield.figures.style import COLOURS, SYMBOLS, axes, finish, headline, titled
from dynafield.problem.trainers import Steps
from dynafield.records.problems import problem_words

if TYPE_CHECKING:
    from dynafield.dmft.differentiation.derivatives import CurveDerivative
    from dynafield.dmft.results.curves import Curves
    from dynafield.dmft.results.flow_curves import FlowCurves

__all__ = ["curve_panels", "draw_curves", "draw_derivative", "first_change"]


def draw_curves(curves: "Curves | FlowCurves", ax: Any = None) -> Any:
    """Train and test error with bands of two estimated errors; test errors on a linear scale beside.

    Thin lines are below what `tol` resolves.
    """
    return curve_panels(curves, ax)[0]


def first_change(curves: "Curves | FlowCurves") -> float:
    """Where a logarithmic axis of time begins: before a percent of any training error is gone."""
    t, values = np.asarray(curves.t), np.asarray(curves.train_error)
    moved = np.abs(values - values[..., :1]) > 0.01 * np.abs(values[..., :1])
    some = np.flatnonzero(np.any(moved.reshape(-1, len(t)), axis=0))
    return float(min(1e-4 * t[-1], t[max(1, int(some[0]) - 1)] if len(some) else t[-1]))


def curve_panels(curves: "Curves | FlowCurves", ax: Any = None) -> list[Any]:
    """The axes of `draw_curves`: one if it is given, two otherwise."""
    steps = isinstance(curves.trainer, Steps)
    t = np.asarray(curves.t)[1:] if steps else np.geomspace(first_change(curves), curves.t[-1], 300)
    points, unit = curves.at(t), np.asarray(curves.test_error)[..., :1]
    floor = curves.tol * unit if curves.rtol is None else 0.0 * unit
    test, train = (
        Band(value, 2 * error, np.maximum(floor, 2 * error), 4 * error)
        for value, error in (
            (points.test_error, points.test_error_se),
            (points.train_error, points.train_error_se),
        )
    )
    asked = f"tol = {curves.tol:g}" + ("" if curves.rtol is None else f", rtol = {curves.rtol:g}")
    how = f"{curves.trainer}, " if steps else ""
    title = f"infinite network: {problem_words(curves.task, curves.net)}, {how}{asked}"
    unsure = f"below tol = {curves.tol:g}" if curves.rtol is None else "not resolved"
    return draw_errors(curves, t, test, train, title, ax, unsure)


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
    headline(ax, f"what a change of {symbol} does: {problem_words(derivative.task, derivative.net)}")
    return finish(ax, "number of the step" if steps else "training time t", f"d {kind} / d {symbol}{at_end}")
