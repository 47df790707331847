"""The distribution of a weight at a time, and in the limit of training."""

from typing import Any

import numpy as np

from dynafield.explorer.plot_parts import GREY, MUTED, TRAIN, above, empty, fresh, grey_out, hover, reach
from dynafield.figures.style import COLOURS

__all__ = ["WeightPlot"]

LEAST = 1e-5
"""Probability at which bars begin."""


class WeightPlot:
    """The panel of weights."""

    def __init__(self):
        fig = fresh("Distribution of a weight", "weight w", "probability per bin", y_axis_type="log")
        reach(fig.y_range, 1e-4, 1.5)
        reach(fig.x_range, -1.0, 2.0)
        self.bars, self.limit = empty("left", "right", "top"), empty("x", "y")
        bars = fig.quad(
            "left", "right", "top", LEAST, source=self.bars, fill_color=COLOURS[5], line_color="white",
            line_width=0.4, legend_label="w(t)", muted_fill_color=GREY, muted_fill_alpha=0.4,
        )  # fmt: skip
        step = fig.step(
            "x", "y", source=self.limit, color=TRAIN, mode="after", line_width=1.5,
            legend_label="limit, t → ∞", **MUTED,
        )  # fmt: skip
        hover(fig, [bars], [("w from", "@left{}"), ("to", "@right{}"), ("probability", "@top{}")])
        above(fig)
        self.figure, self.own_bars, self.own_limit = fig, [bars], [step]

    def grey(self, bars: bool, limit: bool) -> None:
        """Grey the histogram, or the limit, that belongs to another setting; colour it again."""
        grey_out(self.own_bars, bars)
        grey_out(self.own_limit, limit)

    def show(self, found: dict[str, Any] | None, at: float) -> float | None:
        """The histogram at a place from 0 to 1 along the axis of log time; the time it belongs to."""
        if found is None:
            self.bars.data = {"left": [], "right": [], "top": []}
            return None
        moments = found["moments"]
        wanted = moments[0] * (moments[-1] / moments[0]) ** at
        k = int(np.argmin(np.abs(np.log(moments / wanted))))
        edges = found["edges"]
        reach(self.figure.x_range, float(edges[0]), float(edges[-1]))
        self.bars.data = {
            "left": edges[:-1],
            "right": edges[1:],
            "top": np.maximum(found["histograms"][k], LEAST),
        }
        return float(moments[k])

    def show_limit(self, found: dict[str, Any]) -> None:
        """The distribution in the limit of training."""
        if "mass" not in found:
            self.limit.data = {"x": [], "y": []}
            return
        mass = np.maximum(found["mass"], LEAST)
        self.limit.data = {"x": found["edges"], "y": np.append(mass, mass[-1])}
