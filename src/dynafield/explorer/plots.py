"""The three pictures of the page, and what changes in them."""

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, CustomJSTickFormatter, HoverTool, LabelSet, Range1d
from bokeh.plotting import figure

from dynafield.explorer.setting import AXES, Setting
from dynafield.figures.style import COLOURS, DEPTH, SHADES, SYMBOLS

__all__ = ["CurvePlot", "LawPlot", "LimitPlot"]

TEST, TRAIN = COLOURS[0], COLOURS[1]
PINS = (COLOURS[2], COLOURS[3], COLOURS[4], COLOURS[5], COLOURS[6], "#7f7f7f")
ERRORS = ("t", "test_error", "test_error_sd", "train_error", "train_error_sd")
TOOLS = "pan,box_zoom,wheel_zoom,reset,save"


def empty(*names: str) -> Any:
    """A source with these columns and nothing in them."""
    return ColumnDataSource({name: [] for name in names})


def fresh(title: str, x: str, y: str, height: int, **more: Any) -> Any:
    """A figure with our look."""
    fig: Any = figure(
        title=title,
        x_axis_label=x,
        y_axis_label=y,
        height=height,
        sizing_mode="stretch_width",
        tools=TOOLS,
        min_border_left=60,
        min_width=280,
        x_range=Range1d(start=0.1, end=1.0),
        y_range=Range1d(start=0.1, end=1.0),
        **more,
    )
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    fig.grid.grid_line_alpha = 0.4
    fig.title.text_font_size = "11pt"
    for axis in fig.axis:  # plain numbers: mathematics in labels would need a typesetter
        axis.formatter = CustomJSTickFormatter(code="return Number(tick.toPrecision(3)).toString()")
    return fig


def explain(fig: Any, place: str) -> None:
    """A legend through which curves can be seen; a click on an entry hides what it names."""
    fig.legend.location = place
    fig.legend.label_text_font_size = "9pt"
    fig.legend.background_fill_alpha = 0.7
    fig.legend.click_policy = "hide"


def mark(fig: Any, source: Any, x: str, y: str, size: int, colour: str, label: str) -> None:
    """A point that stands out."""
    fig.scatter(
        x, y, source=source, size=size, color=colour, line_color="white", line_width=2, legend_label=label
    )


def reach(range_: Any, low: float, high: float) -> None:
    """Let an axis reach from low to high, unless it does: the user may have zoomed."""
    if (range_.reset_start, range_.reset_end) != (low, high):
        range_.update(start=low, end=high, reset_start=low, reset_end=high)


def half_decade(x: float, rounded: Any) -> float:
    """The next power of ten, or half-way to it, so that axes rest while curves move."""
    return float(10 ** (rounded(2 * np.log10(x)) / 2))


def band(value: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A band about a curve that stays above zero."""
    return np.maximum(value - width, 1e-2 * value), value + width


class CurvePlot:
    """Learning curves: the present one with bands, its stages, pins and finite networks."""

    def __init__(self):
        fig = fresh("", "training time t", "error", 430, x_axis_type="log", y_axis_type="log")
        self.strips, self.names = empty("x0", "x1", "colour"), empty("x", "y", "name")
        fig.vstrip("x0", "x1", source=self.strips, fill_color="colour", fill_alpha=0.13, line_alpha=0)
        labels = LabelSet(
            x="x",
            y="y",
            y_offset=-16,
            text="name",
            source=self.names,
            text_align="center",
            text_font_size="9pt",
            text_color="#555555",
        )
        fig.add_layout(labels)
        self.curve = empty("t", "test", "test_low", "test_high", "train", "train_low", "train_high")
        for name, colour, dash, label in (
            ("test", TEST, "solid", "test error"),
            ("train", TRAIN, "dashed", "training error"),
        ):
            fig.varea("t", f"{name}_low", f"{name}_high", source=self.curve, color=colour, alpha=0.25)
            fig.line(
                "t", name, source=self.curve, color=colour, line_width=2.5, line_dash=dash, legend_label=label
            )
        self.limit = empty("t", "e")
        fig.line(
            "t",
            "e",
            source=self.limit,
            color=TEST,
            line_dash="dotted",
            line_width=2,
            legend_label="test error at the fixed point",
        )
        self.best = empty("t", "e")
        mark(fig, self.best, "t", "e", 11, TEST, "best time to stop")
        self.figure = fig
        self.beside(fig)
        explain(fig, "bottom_left")

    def beside(self, fig: Any) -> None:
        """Pins and finite networks, none yet."""
        self.pins = empty("t", "e", "colour", "label")
        fig.multi_line("t", "e", source=self.pins, color="colour", line_width=2, legend_field="label")
        self.pinned_training = empty("t", "e", "colour")
        fig.multi_line(
            "t", "e", source=self.pinned_training, color="colour", line_width=1.5, line_dash="dashed"
        )
        self.bands = empty("t", "e", "colour")
        fig.patches("t", "e", source=self.bands, fill_color="colour", fill_alpha=0.15, line_alpha=0)
        self.marks = empty("t", "e", "colour", "marker", "name")
        fig.scatter(
            "t",
            "e",
            source=self.marks,
            marker="marker",
            size=6,
            fill_color="white",
            line_color="colour",
            line_width=1.5,
            legend_field="name",
        )

    def show_stages(self, stages: list[Any], t_max: float) -> None:
        """Shade the stages up to the last time; only named where there is room."""
        first = 1e-6 * t_max
        shown = [(s[0], max(s[1], first), min(s[2], t_max)) for s in stages if s[1] < t_max]
        self.strips.data = {
            "x0": [low for _, low, _ in shown],
            "x1": [high for _, _, high in shown],
            "colour": [SHADES[name] for name, _, _ in shown],
        }
        begin = float(self.curve.data["t"][0]) if len(self.curve.data["t"]) else 1e-3 * t_max
        room = np.log(t_max / begin)
        placed = [(name, max(low, begin), high) for name, low, high in shown if high > begin]
        named = [
            (name, np.sqrt(low * high)) for name, low, high in placed if np.log(high / low) > 0.06 * room
        ]
        top = [self.figure.y_range.end] * len(named)
        self.names.data = {"x": [x for _, x in named], "y": top, "name": [name for name, _ in named]}

    def show_curve(self, found: dict[str, Any] | None) -> None:
        """The present curve."""
        if found is None:
            self.curve.data = {name: [] for name in self.curve.data}
            self.best.data = {"t": [], "e": []}
            return
        data = {"t": found["t"]}
        for name in ("test", "train"):
            value = np.maximum(found[f"{name}_error"], 1e-300)
            low, high = band(value, 2 * found[f"{name}_error_se"])
            data |= {name: value, f"{name}_low": low, f"{name}_high": high}
        self.curve.data = data
        self.best.data = {"t": [found["best"][0]], "e": [found["best"][1]]}
        self.frame()

    def frame(self) -> None:
        """Axes that show the present curve, and all errors of the pins."""
        if not len(self.curve.data["t"]):
            return
        t = self.curve.data["t"]
        errors = [
            self.curve.data["test"],
            self.curve.data["train"],
            *self.pins.data["e"],
            *self.pinned_training.data["e"],
        ]
        low, high = min(float(np.min(e)) for e in errors), max(float(np.max(e)) for e in errors)
        reach(self.figure.x_range, float(f"{t[0]:.3g}"), float(f"{t[-1]:.3g}"))
        low = max(low, DEPTH * high)
        reach(self.figure.y_range, half_decade(0.8 * low, np.floor), half_decade(1.3 * high, np.ceil))
        names = self.names.data
        self.names.data = names | {"y": [self.figure.y_range.end] * len(names["x"])}

    def show_limit(self, error: float | None, t_max: float) -> None:
        """The test error where training ends."""
        self.limit.data = (
            {"t": [], "e": []} if error is None else {"t": [1e-2 * t_max, t_max], "e": [error] * 2}
        )

    def show_pins(self, pins: list[tuple[str, str, dict[str, Any]]]) -> None:
        """Curves kept for comparison: label, colour and numbers of each."""
        labels, colours = [label for label, _, _ in pins], [colour for _, colour, _ in pins]
        t, test, train = (
            [list(np.maximum(found[name], 1e-300)) for _, _, found in pins]
            for name in ("t", "test_error", "train_error")
        )
        self.pins.data = {"t": t, "e": test, "colour": colours, "label": labels}
        self.pinned_training.data = {"t": t, "e": train, "colour": colours}
        self.frame()

    def show_networks(self, networks: list[tuple[str, str | None, dict[str, Any]]]) -> None:
        """Finite networks (label, colour or None for the present ones): marks at means, bands of one sd."""
        marks: dict[str, list] = {name: [] for name in self.marks.data}
        bands: dict[str, list] = {name: [] for name in self.bands.data}
        for label, colour, whole in networks:
            found = {name: whole[name][1:] for name in ERRORS}  # log t begins after 0
            least = DEPTH * float(np.nanmax(found["test_error"]))
            for name, marker, own in (("test_error", "circle", TEST), ("train_error", "square", TRAIN)):
                mean, sd = found[name], found[f"{name}_sd"]
                low, high = (np.maximum(x, least) for x in band(mean, sd))
                kept = (mean > least) & (found["t"] >= 1e-3 * found["t"][-1])
                bands["t"].append(np.concatenate([found["t"], found["t"][::-1]]))
                bands["e"].append(np.concatenate([low, high[::-1]]))
                bands["colour"].append(colour or own)
                few = np.flatnonzero(kept)[::2]
                for key, column in (("t", found["t"][few]), ("e", mean[few])):
                    marks[key] += list(column)
                marks["colour"] += [colour or own] * len(few)
                marks["marker"] += [marker] * len(few)
                marks["name"] += [label] * len(few)
        if networks or len(self.bands.data["t"]):
            self.marks.data, self.bands.data = marks, bands


class LimitPlot:
    """Test error where training ends, along an axis; the present point on it, and the best if known."""

    def __init__(self):
        fig = fresh(
            "Where training ends", "", "test error at the end", 320, x_axis_type="log", y_axis_type="log"
        )
        self.line, self.point, self.best = empty("x", "y"), empty("x", "y"), empty("x", "y", "name", "words")
        fig.line("x", "y", source=self.line, color=TEST, line_width=2)
        fig.scatter("x", "y", source=self.line, color=TEST, size=4)
        mark(fig, self.point, "x", "y", 12, TRAIN, "present setting")
        ring = fig.scatter(
            "x", "y", source=self.best, size=22, fill_alpha=0, line_color=COLOURS[2], line_width=3,
            legend_field="name",
        )  # fmt: skip
        fig.add_tools(HoverTool(renderers=[ring], tooltips="@words"))
        explain(fig, "top_left")
        fig.legend.update(orientation="horizontal", margin=0, padding=0, border_line_alpha=0)
        fig.add_layout(fig.legend[0], "above")  # where it covers no mark
        self.figure = fig

    def wait(self, words: str) -> None:
        """Say that the line is still to come."""
        self.figure.title.text = f"Where training ends ({words})"

    def show_line(self, found: dict[str, Any]) -> None:
        """Test errors along the axis."""
        self.figure.title.text = "Where training ends"
        good = np.isfinite(found["x"]) & (found["x"] > 0) & np.isfinite(found["y"])
        self.line.data = {"x": found["x"][good], "y": found["y"][good]}
        if good.any():
            x, y = self.line.data["x"], self.line.data["y"]
            reach(self.figure.x_range, float(np.min(x)) / 1.3, float(np.max(x)) * 1.3)
            reach(self.figure.y_range, half_decade(np.min(y), np.floor), half_decade(np.max(y), np.ceil))
        self.figure.xaxis[0].axis_label = AXES[found["axis"]]

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


class LawPlot:
    """The law of a weight at a time, and at the end."""

    def __init__(self):
        fig = fresh("Law of a weight", "weight w", "probability per bin", 320, y_axis_type="log")
        reach(fig.y_range, 1e-4, 1.5)
        self.bars, self.limit = empty("left", "right", "top"), empty("x", "y")
        fig.quad(
            "left",
            "right",
            "top",
            1e-5,
            source=self.bars,
            fill_color=COLOURS[5],
            line_color="white",
            line_width=0.4,
            legend_label="w(t)",
        )
        fig.step(
            "x",
            "y",
            source=self.limit,
            color=TRAIN,
            mode="after",
            line_width=1.5,
            legend_label="where training ends",
        )
        explain(fig, "top_right")
        self.figure = fig

    def show(self, found: dict[str, Any] | None, at: float) -> float | None:
        """The histogram at a share of the axis of log time; the time that it is of."""
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
            "top": np.maximum(found["histograms"][k], 1e-5),
        }
        return float(moments[k])

    def show_limit(self, found: dict[str, Any]) -> None:
        """The law where training ends."""
        if "mass" not in found:
            self.limit.data = {"x": [], "y": []}
            return
        mass = np.maximum(found["mass"], 1e-5)
        self.limit.data = {"x": found["edges"], "y": np.append(mass, mass[-1])}
