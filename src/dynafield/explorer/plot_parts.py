"""What the figures of the page have in common: frame, ticks, legend, hover and greying."""

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, CustomJSTickFormatter, HoverTool, Range1d
from bokeh.plotting import figure

from dynafield.figures.style import COLOURS

__all__ = [
    "GREY",
    "MUTED",
    "OWN",
    "TEST",
    "TICK",
    "TRAIN",
    "above",
    "empty",
    "fresh",
    "grey_out",
    "half_decade",
    "hover",
    "mark",
    "reach",
]

TEST, TRAIN = COLOURS[0], COLOURS[1]
GREY = "#a8a8a8"
"""Colour of what does not belong to the present setting."""
OWN = "own"
"""Name of what belongs to the present setting."""
MUTED = dict(muted_color=GREY, muted_alpha=0.55)
"""How a curve looks that does not belong to the present setting."""
TOOLS = "pan,box_zoom,wheel_zoom,reset,save"
TICK = """
const x = Number(tick.toPrecision(3)), size = Math.abs(x)
if (size == 0 || (size >= 0.001 && size < 10000)) return x.toString()
const exponent = Math.floor(Math.log10(size) + 1e-9)
const factor = Number((x / 10 ** exponent).toPrecision(3))
const raised = [...String(exponent)].map((c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('')
return (factor == 1 ? '' : factor == -1 ? '-' : factor + '·') + '10' + raised
"""
"""Ticks as people write them: 0.01, 250, 10⁻⁵, 3·10⁶."""


def empty(*names: str) -> Any:
    """A source with these columns and nothing in them."""
    return ColumnDataSource({name: [] for name in names})


def fresh(title: str, x: str, y: str, x_range: Any = None, **more: Any) -> Any:
    """An empty figure in the look of the page; its height is that of its place on the page."""
    fig: Any = figure(
        title=title,
        x_axis_label=x,
        y_axis_label=y,
        sizing_mode="stretch_both",
        tools=TOOLS,
        min_border_left=58,
        min_width=260,
        x_range=x_range or Range1d(start=0.1, end=1.0),
        y_range=Range1d(start=0.1, end=1.0),
        **more,
    )
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    fig.toolbar.active_drag = None  # a finger on the plot scrolls the page
    fig.grid.grid_line_alpha = 0.4
    fig.outline_line_alpha = 0
    fig.title.text_font_size = "11pt"
    for axis in fig.axis:
        axis.formatter = CustomJSTickFormatter(code=TICK)
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_alpha = 0.4
    return fig


def above(fig: Any) -> None:
    """Put the legend above the frame, where it covers nothing; a click on an entry hides what it names."""
    fig.legend.update(
        orientation="horizontal",
        margin=0,
        padding=2,
        spacing=10,
        border_line_alpha=0,
        label_text_font_size="9pt",
        click_policy="hide",
        background_fill_alpha=0,
    )
    fig.add_layout(fig.legend[0], "above")


def mark(fig: Any, source: Any, x: str, y: str, size: int, colour: str, label: str) -> Any:
    """A point that stands out."""
    return fig.scatter(
        x, y, source=source, size=size, color=colour, line_color="white", line_width=2, legend_label=label,
        **MUTED,
    )  # fmt: skip


def hover(fig: Any, renderers: list[Any], rows: list[tuple[str, str]], mode: Any = "mouse") -> Any:
    """Values under the mouse, but not of what is greyed. Fields are written as @name with four digits."""
    fields = [part.split("{")[0] for _, text in rows for part in text.split() if part[0] in "@$"]
    texts = [(name, text.replace("{}", "{%.4g}")) for name, text in rows]
    numbers: Any = {part: "printf" for part in fields}
    tool = HoverTool(
        renderers=renderers, tooltips=texts, formatters=numbers, mode=mode, point_policy="snap_to_data",
        muted_policy="ignore",
    )  # fmt: skip
    fig.add_tools(tool)
    return tool


def grey_out(renderers: list[Any], stale: bool) -> None:
    """Grey renderers that do not belong to the present setting, or colour them again."""
    for renderer in renderers:
        if renderer.muted != stale:
            renderer.muted = stale


def reach(range_: Any, low: float, high: float) -> None:
    """Let an axis reach from low to high, unless it does: the user may have zoomed."""
    if (range_.reset_start, range_.reset_end) != (low, high):
        range_.update(start=low, end=high, reset_start=low, reset_end=high)


def half_decade(x: float, rounded: Any) -> float:
    """The next power of ten, or half-way to it, so that axes rest while curves move."""
    return float(10 ** (rounded(2 * np.log10(x)) / 2))
