"""Figures of training on given data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, axes, finish
from dynafield.records.problems import described

if TYPE_CHECKING:
    from dynafield.simulation.path_record import LearningPath

__all__ = ["draw_coefficients", "draw_learning_path", "draw_weights"]

LOWEST = 0.15
"""Training errors are drawn down to this part of the least estimate."""
NAMED = 8
"""Weights that are drawn in colour: the largest at the best stop."""


def draw_learning_path(path: "LearningPath", ax: Any = None) -> Any:
    """Training error, and the estimated test error with a band of two standard errors."""
    ax = axes(ax)
    what = "loss" if path.by_loss else "error"
    value, error = path.judged
    train = path.train_loss if path.by_loss else path.train_error
    shown = np.asarray(path.t) > 0
    t = np.asarray(path.t)[shown]
    ax.plot(t, value[shown], color=COLOURS[0], label=f"test {what}, estimated")
    low, high = np.maximum(value - 2 * error, 1e-2 * value)[shown], (value + 2 * error)[shown]
    ax.fill_between(t, low, high, color=COLOURS[0], alpha=0.2, linewidth=0, label="± 2 standard errors")
    ax.plot(t, train[shown], color=COLOURS[1], linestyle="--", label=f"training {what}")
    mark_stop(path.best_stop, ax)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finite = value[shown & np.isfinite(value)]
    if len(finite):
        ax.set_ylim(bottom=max(ax.get_ylim()[0], LOWEST * float(np.min(finite))))
    how = "each left out" if path.exact else f"{path.probes} probes"
    ax.set_title(f"n = {path.n}, d = {path.d}, {described(path.net)}, {how}", fontsize=9)
    return finish(ax, "training time t", what)


def draw_weights(path: "LearningPath", ax: Any = None) -> Any:
    """The weights against time; those that are largest at the best stop in colour."""
    ax = draw_coefficients(path.t, path.weights, path.best, path.feature, "weight", ax)
    ax.set_title(f"n = {path.n}, d = {path.d}, {described(path.net)}", fontsize=9)
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
    if ax.get_legend() is not None:
        ax.get_legend().set_title("largest")
    return ax


def mark_stop(t: float, ax: Any) -> None:
    """A line at the stop; none where that is the start."""
    if t > 0:
        ax.axvline(t, color="0.4", linestyle=":", label=f"best stop, t = {t:.3g}")
