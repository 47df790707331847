"""Learning curves: the present one with bands, its stages, pinned curves and finite networks."""

from typing import Any

import numpy as np
from bokeh.models import LabelSet, Legend, LegendItem

from dynafield.explorer.plot_parts import (
    GREY,
    MUTED,
    OWN,
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
from dynafield.figures.style import COLOURS, DEPTH, SHADES

__all__ = ["PINS", "CurvePlot"]

PINS = (COLOURS[2], COLOURS[3], COLOURS[4], COLOURS[5], COLOURS[6], "#7f7f7f")
"""Colours of pinned curves."""
ERRORS = ("t", "test_error", "test_error_sd", "train_error", "train_error_sd")
"""What is drawn of finite networks."""
CURVE = (
    "t",
    "test",
    "test_low",
    "test_high",
    "test_error",
    "train",
    "train_low",
    "train_high",
    "train_error",
)
"""Columns of the present curve: values, bands and two standard errors."""
OPTIONAL = (LIMIT, BEST) = ("test, t → ∞", "best stop")
"""Legends of what need not be there."""
LEAST = 1e-300
"""In place of zero on a logarithmic axis."""


def band(value: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A band about a curve that stays above zero."""
    return np.maximum(value - width, 1e-2 * value), value + width


def round_up(x: float) -> float:
    """The next number with one digit, or half of it, so that a linear axis rests while curves move."""
    unit = 10.0 ** np.floor(np.log10(x)) / 2
    return float(f"{np.ceil(x / unit) * unit:.6g}")


class CurvePlot:
    """The same curves in two figures, with a logarithmic and a linear error axis."""

    def __init__(self):
        self.curve = empty(*CURVE)
        self.limit, self.best = empty("t", "e"), empty("t", "e")
        self.strips, self.names = empty("x0", "x1", "colour"), empty("x", "log", "linear", "name")
        self.pins, self.pinned_training = (
            empty("t", "e", "colour", "label"),
            empty("t", "e", "colour", "label"),
        )
        self.bands, self.marks = empty("t", "e", "colour"), empty("t", "e", "colour", "marker", "name")
        self.own: list[Any] = []
        self.labels: list[Any] = []
        self.entries: list[Any] = []
        log = fresh("", "training time t", "error", x_axis_type="log", y_axis_type="log")
        linear = fresh("", "training time t", "error", x_range=log.x_range, x_axis_type="log")
        self.figures = {"log": log, "linear": linear}
        for scale, fig in self.figures.items():
            self.draw_own(fig, scale)
            above(fig)
            self.entries += [item for item in fig.legend[0].items if item.label.value in OPTIONAL]
            self.draw_others(fig, "bottom_left" if scale == "log" else "top_right")
        for renderer in self.own:
            renderer.name = OWN

    def draw_own(self, fig: Any, scale: str) -> None:
        """The present curve, its stages, its limit and its best time to stop."""
        strips = fig.vstrip(
            "x0", "x1", source=self.strips, fill_color="colour", fill_alpha=0.13, line_alpha=0,
            muted_color=GREY, muted_alpha=0.08,
        )  # fmt: skip
        label = LabelSet(
            x="x", y=scale, y_offset=-16, text="name", source=self.names, text_align="center",
            text_font_size="9pt", text_color="#555555",
        )  # fmt: skip
        fig.add_layout(label)
        self.labels.append(label)
        self.own.append(strips)
        line: Any = None
        for name, colour, dash, title in (
            ("train", TRAIN, "dashed", "training"),
            ("test", TEST, "solid", "test"),
        ):
            area = fig.varea(
                "t", f"{name}_low", f"{name}_high", source=self.curve, color=colour, alpha=0.25,
                muted_color=GREY, muted_alpha=0.2,
            )  # fmt: skip
            line = fig.line(
                "t", name, source=self.curve, color=colour, line_width=2.5, line_dash=dash,
                legend_label=title, **MUTED,
            )  # fmt: skip
            self.own += [area, line]
        limit = fig.line(
            "t", "e", source=self.limit, color=TEST, line_dash="dotted", line_width=2,
            legend_label=LIMIT, **MUTED,
        )  # fmt: skip
        self.own += [limit, mark(fig, self.best, "t", "e", 11, TEST, BEST)]
        rows = [("t", "@t{}"), ("test error", "@test{} ± @test_error{}")]
        hover(fig, [line], [*rows, ("training error", "@train{} ± @train_error{}")], "vline")

    def draw_others(self, fig: Any, place: Any) -> None:
        """Pinned curves and finite networks, none yet, with a legend of their own."""
        pins = fig.multi_line("t", "e", source=self.pins, color="colour", line_width=2)
        training = fig.multi_line(
            "t", "e", source=self.pinned_training, color="colour", line_width=1.5, line_dash="dashed"
        )
        fig.patches("t", "e", source=self.bands, fill_color="colour", fill_alpha=0.15, line_alpha=0)
        marks = fig.scatter(
            "t", "e", source=self.marks, marker="marker", size=6, fill_color="white", line_color="colour",
            line_width=1.5,
        )  # fmt: skip
        items: Any = [
            LegendItem(label={"field": "label"}, renderers=[pins]),
            LegendItem(label={"field": "name"}, renderers=[marks]),
        ]
        legend = Legend(items=items, location=place, click_policy="hide", label_text_font_size="9pt")
        legend.update(background_fill_alpha=0.7, border_line_alpha=0, padding=4, spacing=0)
        fig.add_layout(legend)
        hover(fig, [pins], [("", "@label"), ("t", "$x{}"), ("test error", "$y{}")])
        hover(fig, [training], [("", "@label"), ("t", "$x{}"), ("training error", "$y{}")])
        hover(fig, [marks], [("", "@name"), ("t", "@t{}"), ("error", "@e{}")])

    def grey(self, stale: bool) -> None:
        """Grey everything that belongs to the curve of another setting, or colour it again."""
        grey_out(self.own, stale)
        colour = GREY if stale else "#555555"
        for label in self.labels:
            if label.text_color != colour:
                label.text_color = colour

    def await_curve(self, t_max: float) -> None:
        """Axes of a curve that is still to come."""
        reach(self.figures["log"].x_range, float(f"{1e-3 * t_max:.3g}"), float(f"{t_max:.3g}"))
        reach(self.figures["log"].y_range, 1e-3, 1.0)
        reach(self.figures["linear"].y_range, 0.0, 1.0)

    def show_stages(self, stages: list[Any], t_max: float) -> None:
        """Shade the stages up to the last time; they are named where there is room."""
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
        self.names.data = {"x": [x for _, x in named], "name": [name for name, _ in named], **self.top(named)}

    def top(self, named: Any) -> dict[str, list[float]]:
        """Heights of the names of stages, in both figures."""
        return {scale: [fig.y_range.end] * len(named) for scale, fig in self.figures.items()}

    def show_curve(self, found: dict[str, Any] | None) -> None:
        """The present curve, or none."""
        if found is None:
            self.curve.data = {name: [] for name in CURVE}
            self.best.data = {"t": [], "e": []}
            self.name(BEST, False)
            return
        data = {"t": found["t"]}
        for name in ("test", "train"):
            value, error = np.maximum(found[f"{name}_error"], LEAST), 2 * found[f"{name}_error_se"]
            low, high = band(value, error)
            data |= {name: value, f"{name}_low": low, f"{name}_high": high, f"{name}_error": error}
        self.curve.data = data
        t, error, _, seen = found["best"]
        self.best.data = {"t": [t], "e": [error]} if seen else {"t": [], "e": []}
        self.name(BEST, bool(seen))
        self.frame()

    def frame(self) -> None:
        """Axes that show the present curve, and all errors of the pins."""
        t = self.curve.data["t"]
        if not len(t):
            return
        errors = [
            self.curve.data["test"],
            self.curve.data["train"],
            *self.pins.data["e"],
            *self.pinned_training.data["e"],
        ]
        low, high = min(float(np.min(e)) for e in errors), max(float(np.max(e)) for e in errors)
        reach(self.figures["log"].x_range, float(f"{t[0]:.3g}"), float(f"{t[-1]:.3g}"))
        low = max(low, DEPTH * high)
        reach(self.figures["log"].y_range, half_decade(0.8 * low, np.floor), half_decade(1.3 * high, np.ceil))
        reach(self.figures["linear"].y_range, 0.0, round_up(1.1 * high))
        names = self.names.data
        self.names.data = names | self.top(names["x"])

    def show_limit(self, error: float | None, t_max: float) -> None:
        """The test error in the limit of training, or none."""
        known = error is not None and error > 0
        self.limit.data = {"t": [1e-2 * t_max, t_max], "e": [error] * 2} if known else {"t": [], "e": []}
        self.name(LIMIT, known)

    def name(self, title: str, shown: bool) -> None:
        """Let the legend name something, or not."""
        for item in self.entries:
            if item.label.value == title and item.visible != shown:
                item.visible = shown

    def show_pins(self, pins: list[tuple[str, str, dict[str, Any]]]) -> None:
        """Curves kept for comparison: label, colour and numbers of each."""
        labels, colours = [label for label, _, _ in pins], [colour for _, colour, _ in pins]
        t, test, train = (
            [list(np.maximum(found[name], LEAST)) for _, _, found in pins]
            for name in ("t", "test_error", "train_error")
        )
        self.pins.data = {"t": t, "e": test, "colour": colours, "label": labels}
        self.pinned_training.data = {"t": t, "e": train, "colour": colours, "label": labels}
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
