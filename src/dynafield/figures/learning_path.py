"""Figures of training on given data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, axes, finish
from dynafield.records.problems import described

if TYPE_CHECKING:
    from dynafield.simulation.path_record import LearningPath

__all__ = ["draw_learning_path", "draw_weights"]

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
    mark_best(path, ax)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finite = value[shown & np.isfinite(value)]
    if len(finite):
        ax.set_ylim(bottom=max(ax.get_ylim()[0], 1e-3 * float(np.max(finite))))
    how = "each left out" if path.exact else f"{path.probes} probes"
    ax.set_title(f"n = {path.n}, d = {path.d}, {described(path.net)}, {how}", fontsize=9)
    return finish(ax, "training time t", what)


def draw_weights(path: "LearningPath", ax: Any = None) -> Any:
    """The weights against time; those that are largest at the best stop in colour."""
    ax = axes(ax)
    shown = np.asarray(path.t) > 0
    t, weights = np.asarray(path.t)[shown], np.asarray(path.weights)[shown]
    order = np.argsort(-np.abs(path.weights[path.best]))
    ax.plot(t, weights[:, order[NAMED:]], color="0.7", linewidth=0.5)
    for place, colour in zip(order[:NAMED], np.resize(COLOURS, NAMED), strict=False):
        ax.plot(t, weights[:, place], color=colour, label=f"feature {path.feature[place]}")
    mark_best(path, ax)
    ax.set_xscale("log")
    ax.set_title(f"n = {path.n}, d = {path.d}, {described(path.net)}", fontsize=9)
    return finish(ax, "training time t", "weight")


def mark_best(path: "LearningPath", ax: Any) -> None:
    """A line at the best stop; none where that is the start."""
    if path.best_stop > 0:
        ax.axvline(path.best_stop, color="0.4", linestyle=":", label=f"best stop, t = {path.best_stop:.3g}")
