"""Controls: sliders with a field beside their name, and the choice of a trainer with its numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import panel as pn

from dynafield.explorer.setting import TRAINERS, Setting
from dynafield.explorer.style import TEXT

__all__ = ["DIALS", "Dial", "TrainerControls", "html"]


def html(name: str, text: str = "", **more: Any) -> Any:
    """A piece of HTML; everything in it has been escaped."""
    given = dict(sizing_mode="stretch_width", margin=(2, 0)) | more
    return pn.pane.HTML(text, stylesheets=[TEXT], css_classes=[name], **given)


class Scale(NamedTuple):
    """Values along a slider from 0 to 1: linear or logarithmic, with zero at its lower end if asked."""

    low: float
    high: float
    logarithmic: bool = False
    zero: bool = False

    def value(self, position: float) -> float:
        """The value at a position, to three digits."""
        if self.zero and position <= 0:
            return 0.0
        x = (
            self.low * (self.high / self.low) ** position
            if self.logarithmic
            else self.low + (self.high - self.low) * position
        )
        return float(f"{x:.3g}")

    def position(self, value: float) -> float:
        """The position of a value, or the nearer end."""
        if self.logarithmic:
            x = np.log(max(value, 1e-300) / self.low) / np.log(self.high / self.low)
        else:
            x = (value - self.low) / (self.high - self.low)
        return float(np.clip(x, 0.0, 1.0))


DIALS = {
    "alpha": ("α, initial scale", Scale(1e-3, 100.0, True)),
    "lam": ("λ, weight decay", Scale(1e-3, 1.0, True, True)),
    "delta": ("δ, samples per dimension", Scale(0.1, 10.0, True)),
    "sigma": ("σ, label noise", Scale(0.0, 1.0)),
    "sparsity": ("p, fraction of nonzero targets", Scale(0.01, 1.0)),
    "t_max": ("T, training time", Scale(1.0, 1000.0, True)),
}
"""Title and scale of every dial."""


class Slider(pn.widgets.FloatSlider):
    """A slider that reports every move at once; `Dial` takes moves together that come too fast."""

    _debounce = 1


class Dial:
    """A slider and a field for one quantity. `moved` is called with the text of a new value.

    `later` makes a function that runs when the document is free; moves that come faster are taken together.
    """

    def __init__(self, name: str, moved: Callable[[str], Any], later: Callable[[Callable], Callable]):
        title, self.scale = DIALS[name]
        self.moved = moved
        self.quiet = False
        self.latest: str | None = None
        self.pass_on = later(self.pass_latest)
        self.slider = Slider(
            name="",
            start=0.0,
            end=1.0,
            step=0.005,
            show_value=False,
            tooltips=False,
            sizing_mode="stretch_width",
            margin=(0, 8, 2, 8),
            css_classes=[f"slider-{name}"],
        )
        self.field = pn.widgets.TextInput(width=88, margin=0, css_classes=[f"field-{name}"])
        title_row = pn.Row(
            html("title", f"<label>{title}</label>", margin=0),
            self.field,
            sizing_mode="stretch_width",
            margin=0,
        )
        self.view = pn.Column(title_row, self.slider, sizing_mode="stretch_width", margin=0)
        self.slider.param.watch(self.slid, "value")
        self.field.param.watch(self.typed, "value")

    def slid(self, event: Any) -> None:
        """The slider was moved."""
        if not self.quiet:
            self.new(f"{self.scale.value(event.new):g}")

    def typed(self, event: Any) -> None:
        """Something was typed into the field."""
        if not self.quiet:
            self.new(event.new)

    def new(self, text: str) -> None:
        """Keep a new value until the document is free."""
        waiting, self.latest = self.latest is not None, text
        if not waiting:
            self.pass_on()

    def pass_latest(self) -> None:
        """Pass the latest value on."""
        text, self.latest = self.latest, None
        if text is not None:
            self.moved(text)

    def show(self, value: float | None, text: str) -> None:
        """Show a value without calling `moved`; None switches the dial off."""
        self.quiet = True
        try:
            self.slider.disabled = self.field.disabled = value is None
            if value is not None:
                position = self.scale.position(value)
                if self.scale.value(self.slider.value) != value:
                    self.slider.value = position
            self.field.value = text
        finally:
            self.quiet = False


NUMBERS = {"step": "step", "momentum": "momentum β", "batch_fraction": "batch fraction"}
"""Titles of the numbers of trainers."""


class TrainerControls:
    """The trainer and those of its numbers that it has."""

    def __init__(self):
        self.select = pn.widgets.Select(
            name="trainer",
            options={title: way for way, title in TRAINERS.items()},
            css_classes=["trainer"],
            sizing_mode="stretch_width",
            margin=(4, 0),
        )
        self.fields = {
            name: pn.widgets.TextInput(
                name=title,
                css_classes=[f"field-{name}"],
                sizing_mode="stretch_width",
                margin=(0, 6, 4, 0),
                visible=False,
            )
            for name, title in NUMBERS.items()
        }
        row = pn.Row(*self.fields.values(), sizing_mode="stretch_width", margin=0)
        self.view = pn.Column(self.select, row, sizing_mode="stretch_width", margin=0)

    def show(self, setting: Setting) -> None:
        """Show the trainer of a setting."""
        self.select.value = setting.way
        texts = setting.texts()
        for name, field in self.fields.items():
            field.visible = name in texts
            field.value = texts.get(name, "")
