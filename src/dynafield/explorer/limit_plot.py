"""Test error in the limit of training, along an axis; the present point on it, and the best if known."""

from typing import Any

import numpy as np
from bokeh.models import HoverTool

from dynafield.explorer.plot_parts import (
    MUTED,
    TEST,
    TRAIN,
    above,
    empty,
    fresh,
    grey_out,
    half_decade,
    hover,
    mark,
    reach,
)
from dynafield.explorer.setting import AXES, Setting
from dynafield.figures.style import COLOURS, SYMBOLS

__all__ = ["LimitPlot"]


class LimitPlot:
    """The panel of fixed points."""

    def __init__(self):
        fig = fresh("Limit of training", "", "test error, t → ∞", x_axis_type="log", y_axis_type="log")
        self.line, self.point, self.best = empty("x", "y"), empty("x", "y"), empty("x", "y", "name", "words")
        line = fig.line("x", "y", source=self.line, color=TEST, line_width=2, **MUTED)
        dots = fig.scatter("x", "y", source=self.line, color=TEST, size=4, **MUTED)
        point = mark(fig, self.point, "x", "y", 12, TRAIN, "present setting")
        ring = fig.scatter(
            "x", "y", source=self.best, size=22, fill_alpha=0, line_color=COLOURS[2], line_width=3,
            legend_field="name",
        )  # fmt: skip
        self.axis_value = hover(fig, [dots], [("x", "@x{}"), ("test error", "@y{}")])
        fig.add_tools(HoverTool(renderers=[ring], tooltips="@words"))
        above(fig)
        self.figure, self.own_line, self.own_point = fig, [line, dots], [point]

    def grey(self, line: bool, point: bool) -> None:
        """Grey the line, or the point, that belongs to another setting; colour it again."""
        grey_out(self.own_line, line)
        grey_out(self.own_point, point)

    def show_line(self, found: dict[str, Any] | None) -> None:
        """Test errors along the axis, or none."""
        if found is None:
            self.line.data = {"x": [], "y": []}
            return
        good = np.isfinite(found["x"]) & (found["x"] > 0) & np.isfinite(found["y"]) & (found["y"] > 0)
        self.line.data = {"x": found["x"][good], "y": found["y"][good]}
        if good.any():
            x, y = self.line.data["x"], self.line.data["y"]
            reach(self.figure.x_range, float(np.min(x)) / 1.3, float(np.max(x)) * 1.3)
            reach(self.figure.y_range, half_decade(np.min(y), np.floor), half_decade(np.max(y), np.ceil))
        self.figure.xaxis[0].axis_label = AXES[found["axis"]]
        name = {"tradeoff": "γ"}.get(found["axis"]) or SYMBOLS[found["axis"]]
        self.axis_value.tooltips = [(name, "@x{%.4g}"), ("test error", "@y{%.4g}")]

    def show_point(self, setting: Setting, axis: str, found: dict[str, Any]) -> None:
        """The present setting, if it has such a point."""
        x = found.get("gamma") if axis == "tradeoff" else getattr(setting, axis)
        y = found.get("test_error")
        known = x is not None and x > 0 and y is not None
        self.point.data = {"x": [x], "y": [y]} if known else {"x": [], "y": []}

    def show_best(self, axis: str, found: dict[str, Any] | None, words: str) -> None:
        """The best value of a number, on its own axis or the trade-off; None if it is not known."""
        self.best.data = {name: [] for name in self.best.data}
        if found is not None:
            x = {"tradeoff": found.get("gamma"), found["name"]: found["value"]}.get(axis)
            if x is not None:
                name = f"best {SYMBOLS[found['name']]}"
                self.best.data = {"x": [x], "y": [found["test_error"]], "name": [name], "words": [words]}
