"""A two-time kernel as a heat map."""

from typing import Any

import numpy as np
from bokeh.models import ColorBar, CustomJSTickFormatter, LinearColorMapper
from bokeh.palettes import Blues256

from dynafield.explorer.plot_parts import GREY, TICK, empty, fresh, grey_out, hover, reach

__all__ = ["KernelPlot"]

RISING = tuple(reversed(Blues256))
"""White for zero, blue for positive numbers."""
DIVERGING = tuple(
    "#{:02x}{:02x}{:02x}".format(*(round((1 - a) * 247 + a * c) for c in colour))
    for x in np.linspace(-1, 1, 255)
    for a, colour in [(abs(x), (33, 102, 172) if x < 0 else (178, 24, 43))]
)
"""Blue for negative, white for zero, red for positive numbers."""


PRINTED: Any = {name: "printf" for name in ("@t", "@s", "@value", "@image")}
"""Fields of the hover that are numbers."""


class KernelPlot:
    """The panel of kernels: C as a correlation from -1 to 1, R as it is."""

    def __init__(self):
        fig = fresh("Kernel", "time s", "time t", x_axis_type="log", y_axis_type="log")
        self.image = empty("image", "value", "t", "s", "x", "y", "dw", "dh")
        self.colours = LinearColorMapper(palette=RISING, low=0.0, high=1.0, nan_color="rgba(0,0,0,0)")
        glyph = fig.image(
            "image", "x", "y", "dw", "dh", source=self.image, color_mapper=self.colours, muted_alpha=0.25
        )
        bar = ColorBar(
            color_mapper=self.colours, width=10, padding=4, label_standoff=5, margin=0,
            formatter=CustomJSTickFormatter(code=TICK), background_fill_alpha=0,
        )  # fmt: skip
        fig.add_layout(bar, "right")
        fig.grid.visible = False
        self.tool = hover(fig, [glyph], [("t", "@t{}"), ("s", "@s{}"), ("value", "@value{}")])
        self.figure, self.glyph, self.bar = fig, glyph, bar

    def grey(self, stale: bool) -> None:
        """Fade a kernel that belongs to another setting, or show it again."""
        if self.glyph.muted != stale:
            grey_out([self.glyph], stale)
            self.bar.major_label_text_color = GREY if stale else "#444444"

    def show(self, found: dict[str, Any] | None) -> None:
        """Draw a kernel, or none."""
        if found is None:
            self.image.data = {name: [] for name in self.image.data}
            return
        name = found["name"]
        self.figure.title.text = (
            f"Correlation C{name[1:]}(t, s)" if name[0] == "C" else f"Response {name}(t, s)"
        )
        t, value, nodes = found["t"], found["value"], found["nodes"]
        shown = found.get("correlation", value)
        signed = bool(np.nanmin(shown) < -0.02 * np.nanmax(np.abs(shown)))
        high = 1.0 if "correlation" in found else float(np.nanmax(np.abs(shown)))
        high = high or 1.0
        self.colours.update(palette=DIVERGING if signed else RISING, low=-high if signed else 0.0, high=high)
        rows = [("t", "@t{%.4g}"), ("s", "@s{%.4g}"), (name, "@value{%.4g}")]
        more = [("correlation", "@image{%.3g}")] if "correlation" in found else []
        self.tool.update(tooltips=rows + more, formatters=PRINTED)
        ratio = float(np.sqrt(t[1] / t[0]))
        low, end = float(t[0] / ratio), float(t[-1] * ratio)
        reach(self.figure.x_range, low, end)
        reach(self.figure.y_range, low, end)
        s, later = np.meshgrid(nodes, nodes)
        self.image.data = {
            "image": [shown], "value": [value], "t": [later], "s": [s],
            "x": [low], "y": [low], "dw": [end - low], "dh": [end - low],
        }  # fmt: skip
