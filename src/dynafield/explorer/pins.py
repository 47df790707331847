"""Curves kept for comparison: their settings, and what has been computed of them."""

import dataclasses
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from dynafield.explorer.requests import Requests
from dynafield.explorer.setting import Setting

__all__ = ["Pin", "Pins"]


@dataclasses.dataclass(eq=False)
class Pin:
    """A setting kept for comparison, and what is known of it."""

    setting: Setting
    curve: dict[str, Any] | None = None
    networks: dict[str, Any] | None = None
    kind: str = dataclasses.field(default_factory=lambda: f"pin {uuid.uuid4().hex}")
    """Kind of the requests that are made for it."""

    @property
    def label(self) -> str:
        """Its name in the legend: α, and what differs from the default setting."""
        base = dataclasses.replace(Setting(), alpha=2 * self.setting.alpha)
        return f"pinned: {self.setting.label(base)}"


class Pins:
    """The pins of a tab. `draw` is called when something has come; `say` with the reason of a failure."""

    def __init__(self, requests: Requests, draw: Callable[[], Any], say: Callable[[str], Any]):
        self.requests, self.draw, self.say = requests, draw, say
        self.kept: list[Pin] = []

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the pins."""
        return tuple(pin.setting for pin in self.kept)

    def open(self, settings: tuple[Setting, ...]) -> None:
        """Keep these settings in place of all others, and ask for their curves and networks."""
        self.kept = [Pin(setting) for setting in settings]
        for pin in self.kept:
            self.compute(pin, True)
            if pin.setting.d is not None:
                take = partial(self.take_networks, pin)
                self.requests.networks(pin.kind, pin.setting, take, self.fail, None)
        self.draw()

    def add(self, setting: Setting, curve: dict[str, Any] | None, networks: dict[str, Any] | None) -> None:
        """Keep a setting with what is known of it; ask for its curve unless that is known accurately."""
        pin = Pin(setting, curve, networks)
        self.kept.append(pin)
        if curve is None or curve["preview"]:
            self.compute(pin, False)
        self.draw()

    def clear(self) -> None:
        """Remove all pins."""
        for pin in self.kept:
            self.requests.tab.forget(pin.kind)
        self.kept = []
        self.draw()

    def compute(self, pin: Pin, preview: bool) -> None:
        """Ask for the curve of a pin."""
        take = partial(self.take_curve, pin)
        self.requests.curve(pin.kind, pin.setting.alone, preview, take, self.fail, None)

    def take_curve(self, pin: Pin, found: dict[str, Any]) -> None:
        """The curve of a pin has come; a preview is followed by the full accuracy."""
        if pin in self.kept:
            pin.curve = found
            self.draw()
            if found["preview"]:
                self.compute(pin, False)

    def take_networks(self, pin: Pin, found: dict[str, Any]) -> None:
        """The networks of a pin have been trained."""
        pin.networks = found
        self.draw()

    def fail(self, text: str) -> None:
        """Something of a pin could not be computed."""
        self.say(f"a pinned curve: {text}")
