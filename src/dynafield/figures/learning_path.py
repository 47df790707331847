"""Figures of training on given data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.errors import error_panels
from dynafield.figures.style import COLOURS, LEGEND, axes, error_scale, finish, headline
from dynafield.problem.trainers import Steps
from dynafield.records.problems import described

if TYPE_CHECKING:
    from dynafield.simulation.path_record import LearningPath

__all__ = ["draw_coefficients", "draw_learning_path", "draw_weights"]

NAMED = 8
"""Weights that are drawn in colour: the largest at the best stop."""


def draw_learning_path(path: "LearningPath", ax: Any = None) -> Any:
    """Training error, and the estimated test error with a band of two standard errors.

    Logarithmic on the first axes, which it returns; beside it, if `ax` is None, the estimate on a linear
    scale.
    """
    if not path.probes:
        return draw_training(path, ax)
    what = "loss" if path.by_loss else "error"
    value, error = path.judged
    train = np.asarray(path.train_loss if path.by_loss else path.train_error)
    shown = np.asarray(path.t) > 0
    t, estimate, width = (np.asarray(part)[shown] for part in (path.t, value, 2 * np.asarray(error)))
    panels = error_panels(ax)
    for panel in panels:
        panel.plot(t, estimate, color=COLOURS[0], label=f"test {what}, estimated")
        low, high = np.maximum(estimate - width, 0.0), estimate + width
        panel.fill_between(
            t, low, high, color=COLOURS[0], alpha=0.2, linewidth=0, label="± 2 standard errors"
        )
    panels[0].plot(t, train[shown], color=COLOURS[1], linestyle="--", label=f"training {what}")
    known = np.concatenate([estimate[np.isfinite(estimate)], train[shown]])
    error_scale(panels[0], float(np.min(known, initial=np.inf)), float(np.max(known, initial=0.0)))
    for panel in panels:
        mark_stop(path.best_stop, panel)
        panel.set_xscale("log")
    finish(panels[0], "training time t", what)
    if len(panels) > 1:
        panels[1].set_ylim(bottom=0.0)
        finish(panels[1], "training time t", f"estimated test {what}")
    how = "each left out in turn" if path.exact else f"{path.probes} probes"
    how = f"{path.trainer}, {how}" if isinstance(path.trainer, Steps) else how
    headline(panels[0], f"n = {path.n}, d = {path.d}, {described(path.net)}, {how}", whole=len(panels) > 1)
    return panels[0]


def draw_training(path: "LearningPath", ax: Any = None) -> Any:
    """The training error of a path without estimates; beside it, if `ax` is None, its weights."""
    what = "loss" if path.by_loss else "error"
    train = np.asarray(path.train_loss if path.by_loss else path.train_error)
    panels, shown = error_panels(ax), np.asarray(path.t) > 0
    panels[0].plot(np.asarray(path.t)[shown], train[shown], color=COLOURS[1], label=f"training {what}")
    error_scale(panels[0], float(np.min(train[shown])), float(np.max(train[shown])))
    panels[0].set_xscale("log")
    finish(panels[0], "training time t", f"training {what}", legend=False)
    if len(panels) > 1:
        draw_coefficients(path.t, path.weights, path.best, path.feature, "weight", panels[1])
    headline(panels[0], f"n = {path.n}, d = {path.d}, {described(path.net)}", whole=len(panels) > 1)
    return panels[0]


def draw_weights(path: "LearningPath", ax: Any = None) -> Any:
    """The weights against time; those that are largest at the best stop in colour."""
    ax = draw_coefficients(path.t, path.weights, path.best, path.feature, "weight", ax)
    headline(ax, f"n = {path.n}, d = {path.d}, {described(path.net)}")
    return ax


def draw_coefficients(t: Any, values: Any, stop: int, names: Any, what: str, ax: Any = None) -> Any:
    """Values over time and features; those that are largest at the stop in colour and named."""
    ax = axes(ax)
    t, values = np.asarray(t), np.asarray(values)
    shown = t > 0
    order = np.argsort(-np.abs(values[stop]))
    ax.plot(t[shown], values[shown][:, order[NAMED:]], color="0.7", linewidth=0.5)
    for place, colour in zip(order[:NAMED], np.resize(COLOURS, NAMED), strict=False):
        name = place if names is None else names[place]
        ax.plot(t[shown], values[shown, place], color=colour, label=str(name))
    mark_stop(float(t[stop]), ax)
    ax.set_xscale("log")
    finish(ax, "training time t", what)
    if ax.get_legend() is not None:  # weights are small at first, so that there is room on the left
        ax.legend(title="largest", loc="upper left", ncols=2, **LEGEND)
    return ax


def mark_stop(t: float, ax: Any) -> None:
    """A line at the stop; none where that is the start."""
    if t > 0:
        ax.axvline(t, color="0.4", linestyle=":", label=f"best stop, t = {t:.3g}")
