"""Dials: a slider that fits its quantity beside a field in which any value can be typed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import panel as pn

__all__ = ["DIALS", "Dial", "Scale"]


class Scale(NamedTuple):
    """Values along a slider from 0 to 1: linear, or logarithmic, if asked with zero at its lower end."""

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
        """Where a value is, or the nearer end."""
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
    "sparsity": ("p, share of targets that are not 0", Scale(0.01, 1.0)),
    "t_max": ("T, training time", Scale(1.0, 1000.0, True)),
}
"""Title and scale of every dial."""


class Slider(pn.widgets.FloatSlider):
    """A slider whose moves are told at once; that they do not pile up is seen to by `Dial`."""

    _debounce = 1


class Dial:
    """A slider and a field for one quantity. `moved` is called with the text of a new value.

    `later` lets it be called in the page's own turn; moves that come faster than turns are taken together.
    """

    def __init__(self, name: str, moved: Callable[[str], Any], later: Callable[[Callable], Callable]):
        title, self.scale = DIALS[name]
        self.moved = moved
        self.quiet = False
        self.latest: str | None = None
        self.tell = later(self.told)
        self.slider = Slider(
            name=title,
            start=0.0,
            end=1.0,
            step=0.005,
            show_value=False,
            tooltips=False,
            sizing_mode="stretch_width",
            margin=(0, 5, 0, 5),
            css_classes=[f"slider-{name}"],
        )
        self.field = pn.widgets.TextInput(width=74, margin=(8, 0, 0, 5), css_classes=[f"field-{name}"])
        self.view = pn.Row(self.slider, self.field, sizing_mode="stretch_width", margin=0)
        self.slider.param.watch(self.slid, "value")
        self.field.param.watch(self.typed, "value")

    def slid(self, event: Any) -> None:
        """The slider has moved."""
        if not self.quiet:
            self.new(f"{self.scale.value(event.new):g}")

    def typed(self, event: Any) -> None:
        """Something has been typed."""
        if not self.quiet:
            self.new(event.new)

    def new(self, text: str) -> None:
        """There is a new value; its turn comes."""
        waiting, self.latest = self.latest is not None, text
        if not waiting:
            self.tell()

    def told(self) -> None:
        """Its turn has come."""
        text, self.latest = self.latest, None
        if text is not None:
            self.moved(text)

    def show(self, value: float | None, text: str) -> None:
        """Show a value without telling anybody; None switches the dial off."""
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
