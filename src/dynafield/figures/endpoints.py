"""Figures of where training on given data ends, and of message passing on its way there."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, axes, finish, headline

if TYPE_CHECKING:
    from dynafield.endpoints.evolution import StateEvolution
    from dynafield.endpoints.message_passing import MessagePassing
    from dynafield.endpoints.minimizers import Minimizer

__all__ = ["draw_iterations", "draw_minimizer"]


def draw_minimizer(end: "Minimizer", ax: Any = None) -> Any:
    """The weights by their features; of several problems, one colour each."""
    ax = axes(ax)
    rows = np.reshape(end.w, (-1, np.shape(end.w)[-1]))
    for k, row in enumerate(rows):
        colour = COLOURS[k % len(COLOURS)]
        place = np.flatnonzero(row)
        ax.vlines(place, 0, row[place], color=colour, linewidth=0.8)
        label = None if len(rows) == 1 else f"problem {k}"
        ax.plot(place, row[place], "o", color=colour, markersize=3, label=label)
    ax.axhline(0, color="black", linewidth=0.5)
    ax.set_xlim(-1, rows.shape[1])
    count = ", ".join(str(np.count_nonzero(row)) for row in rows[:4]) + (" …" if len(rows) > 4 else "")
    headline(ax, f"{end.case}: {count} of {rows.shape[1]} weights are not zero")
    return finish(ax, "feature", "weight w")


def draw_iterations(run: "MessagePassing | StateEvolution", ax: Any = None) -> Any:
    """Effective noise and threshold against iterations; of message passing on data its last change, too."""
    ax = axes(ax)
    k = np.arange(len(run.tau))
    ax.plot(k, run.tau, color=COLOURS[0], label="effective noise τ")
    ax.plot(k, run.t, color=COLOURS[1], linestyle="--", label="threshold, or response where λ = 0")
    for name, label in (("test_error", "test error"), ("change", "relative change of w")):
        values = getattr(run, name, None)
        if values is not None:
            shown = np.where(np.asarray(values) > 0, values, np.nan)
            ax.plot(k, shown, color=COLOURS[2], linestyle=":", label=label)
    ax.set_yscale("log")
    headline(ax, f"{run.title}: {run.case}")
    return finish(ax, "iteration", "value")
