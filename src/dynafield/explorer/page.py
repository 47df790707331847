"""What a tab shows: its view and widgets, what the user does, what is asked for and what comes."""

import dataclasses
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import panel as pn

from dynafield.errors import InputError
from dynafield.explorer.best import Best
from dynafield.explorer.desk import Desk, Wish
from dynafield.explorer.layout import Widgets
from dynafield.explorer.plots import PINS, CurvePlot, LawPlot, LimitPlot
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.setting import MOST_PINS, Setting, View
from dynafield.explorer.tab import GRACE, Desks, Tab
from dynafield.explorer.words import message, numbers

__all__ = ["Page"]

REST = 350
"""Milliseconds without a change after which a curve is sharpened."""
LONGER = 1000
"""Milliseconds after which address, scripts and files follow: the browser lays the page out anew for them."""
PREVIEWS, PINNED, SHARP = 0, 1, 2
"""Ranks of work."""
NONE = np.array([])
STARTING = "starting: the first curve takes some seconds"


@dataclasses.dataclass(eq=False)
class Pin:
    """A setting kept for comparison, and what is known of it."""

    setting: Setting
    curve: dict[str, Any] | None = None
    networks: dict[str, Any] | None = None
    kind: str = dataclasses.field(default_factory=lambda: f"pin {uuid.uuid4().hex}")
    """Of the wishes that are made for it."""


class Page:
    """The state of one tab. No other tab sees it; all it shares are the desks."""

    def __init__(self, desks: Desks, query: str, connected: Callable[[], bool]):
        self.desks, self.tab = desks, Tab(desks, pn.state.curdoc, connected)
        self.pins: list[Pin] = []
        self.limits: dict[str, Any] | None = None
        self.curve: dict[str, Any] | None = None
        self.networks: dict[str, Any] | None = None
        self.plots = CurvePlot(), LimitPlot(), LawPlot()
        self.best = Best(self)
        self.widgets = Widgets(self, *(plot.figure for plot in self.plots))
        self.first, self.trouble = View(), ""
        try:
            self.first = View.read(query)
        except InputError as error:
            self.trouble = f"The link was not understood: {error}. This is the default view."
        self.setting, self.axis, self.at = self.first.setting, self.first.axis, self.first.at
        self.widgets.show_setting(self.setting)
        self.widgets.status(message(STARTING, "busy"))

    def begin(self) -> None:
        """The page is seen: compute what it shows."""
        for desk in (self.desks.quick, self.desks.curves):
            desk.start()  # beside the rules of the library, which are imported here
        self.open(self.first, self.trouble)

    def open(self, view: View, trouble: str = "") -> None:
        """Show a view from the beginning."""
        self.setting, self.axis, self.at = view.setting, view.axis, view.at
        self.tab.forget()
        self.pins = [Pin(setting) for setting in view.pins]
        self.curve = self.limits = self.networks = None
        self.best.forget()
        for pin in self.pins:
            self.compute(pin, True)
            if pin.setting.d is not None:
                self.train(pin)
        self.draw_pins()
        self.renew(line=True)
        if self.setting.d is not None:
            self.train(self)
        self.widgets.show_view(self.view)
        self.widgets.trouble(message(trouble, "error"))

    @property
    def view(self) -> View:
        """What the tab shows, as a link describes it."""
        return View(self.setting, tuple(pin.setting for pin in self.pins), self.axis, self.at)

    # what the user does

    def change(self, name: str, text: str) -> None:
        """A value was typed or dragged; what the library refuses stays as it was."""
        try:
            new = self.setting.alone.changed(**{name: text})
        except InputError as error:
            self.widgets.trouble(message(f"{error}", "error"))
            self.widgets.show_setting(self.setting)
            return
        self.widgets.trouble("")
        if new == self.setting:
            self.widgets.show_setting(self.setting)
            return
        old, self.setting = self.setting, new
        self.tab.forget("networks")
        self.networks = None
        self.best.follow(old)
        still = {"t_max", "step", "tol"} | ({"alpha", "lam"} if self.axis == "tradeoff" else {self.axis})
        self.renew(line=bool(new.differs(old) - still))

    def change_axis(self, axis: str) -> None:
        """Fixed points along something else."""
        self.axis = axis
        self.ask_line()
        self.draw_limits()
        self.best.draw()
        self.widgets.show_view(self.view)

    def change_time(self, at: float) -> None:
        """The law of the weights at another time."""
        self.at = at
        self.draw_law()
        self.widgets.show_view(self.view)

    def choose(self, name: str) -> None:
        """A preset, or none."""
        if not name:
            return
        self.open(PRESETS[name].view)
        self.widgets.trouble(message(PRESETS[name].words, "hint"))

    def pin(self) -> None:
        """Keep the present curve."""
        if len(self.pins) >= MOST_PINS:
            self.widgets.trouble(
                message(f"at most {MOST_PINS} curves can be pinned: clear them first", "error")
            )
            return
        kept = self.setting if self.networks is not None else self.setting.alone
        pin = Pin(kept, self.curve, self.networks)
        self.pins.append(pin)
        if self.curve is None or self.curve["setting"].alone != kept.alone or self.curve["preview"]:
            self.compute(pin, False)
        self.draw_pins()
        self.widgets.show_view(self.view)

    def clear(self) -> None:
        """Forget all pins."""
        for pin in self.pins:
            self.tab.forget(pin.kind)
        self.pins = []
        self.draw_pins()
        self.widgets.show_view(self.view)

    def add_networks(self, d: str, seeds: str) -> None:
        """Train finite networks beside the present curve."""
        try:
            self.setting = self.setting.changed(d=d, seeds=seeds)
        except InputError as error:
            self.widgets.trouble(message(f"{error}", "error"))
            return
        self.widgets.trouble("")
        self.networks = None
        self.draw_networks()
        self.train(self)
        self.widgets.show_view(self.view)

    def stop_networks(self) -> None:
        """End the training of the present networks, or take them away."""
        self.tab.forget("networks")
        self.setting, self.networks = self.setting.alone, None
        self.widgets.show_training(None, "")
        self.draw_networks()
        self.widgets.show_view(self.view)

    # what is asked of the desks

    def renew(self, line: bool) -> None:
        """Ask for everything that the setting determines; while that is computed, the widgets follow."""
        self.tab.ask(
            self.desks.quick,
            "limits",
            "limits",
            (self.setting.alone,),
            self.take_limits,
            self.no_limits,
            code=self.setting.kind(),
        )
        if line:
            self.ask_line()
        self.compute(self, True)
        self.widgets.show_setting(self.setting)
        self.widgets.show_training(None, "")
        self.draw_networks()
        self.tab.after(LONGER, self.rest, self.setting)

    def rest(self, setting: Setting) -> None:
        """Bring address, scripts and files up to date once the setting has been at rest."""
        if setting == self.setting:
            self.widgets.show_view(self.view)

    def ask_line(self) -> None:
        """Ask for fixed points along the axis."""
        wish = self.tab.ask(
            self.desks.quick,
            "line",
            "along",
            (self.setting.alone, self.axis),
            self.plots[1].show_line,
            lambda text: self.plots[1].show_line({"axis": self.axis, "x": NONE, "y": NONE}),
            rank=1,
            code=(self.axis, *self.setting.kind()),
        )
        if self.desks.quick.new_code(wish):
            self.plots[1].wait("compiling: seconds, once")

    def compute(self, whose: "Page | Pin", preview: bool) -> None:
        """Ask for a curve."""
        setting, own = whose.setting.alone, whose is self
        rank = (PREVIEWS if preview else SHARP) + (0 if own else PINNED)
        desk = self.desks.curves
        wish = self.tab.ask(
            desk,
            whose.kind if isinstance(whose, Pin) else "curve",
            "curve",
            (setting, preview),
            partial(self.take_curve, whose),
            self.no_curve if own else self.no_pin,
            rank,
            (preview, *setting.kind()),
            partial(self.show_progress, preview) if own else None,
            GRACE if preview else 0.0,
        )
        if own:
            self.show_waiting(desk, wish, preview)

    def train(self, whose: "Page | Pin") -> None:
        """Ask for finite networks."""
        own = whose is self
        wish = self.tab.ask(
            self.desks.networks,
            whose.kind if isinstance(whose, Pin) else "networks",
            "networks",
            (whose.setting,),
            partial(self.take_networks, whose),
            self.no_networks if own else self.no_pin,
            progress=self.widgets.show_training if own else None,
        )
        if own:
            waiting = self.desks.networks.ahead(wish) > 1
            self.widgets.show_training(0.0, "waiting for other tabs" if waiting else "starting")

    # what the desks answer

    def take_limits(self, found: dict[str, Any]) -> None:
        """Fixed point, rate and stages have come."""
        self.limits = found
        self.draw_limits()

    def no_limits(self, text: str) -> None:
        """They could not be computed."""
        self.limits = None
        self.widgets.trouble(message(text, "error"))

    def take_curve(self, whose: "Page | Pin", found: dict[str, Any]) -> None:
        """A curve has come; it is sharpened once the setting has been at rest."""
        if isinstance(whose, Pin):
            if whose not in self.pins:
                return
            whose.curve = found
            self.draw_pins()
            if found["preview"]:
                self.compute(whose, False)
            return
        self.curve = found
        self.plots[0].show_curve(found)
        self.draw_limits()
        self.draw_law()
        if found["setting"] != self.setting.alone:
            return
        wide = 2 * float(max(found["test_error_se"]))
        if found["preview"]:
            self.widgets.status(
                message(f"preview: test error within about {wide:.2g}; sharpens at rest", "busy")
            )
            self.tab.after(REST, self.sharpen, found["setting"])
        else:
            how = f"{found['replicas']} samples of {found['points']} paths, {found['nodes']} times"
            words = f"solved: test error within {wide:.2g} at all times ({how}, {found['seconds']:.2g} s)"
            self.widgets.status(message(words, "done"))

    def sharpen(self, setting: Setting) -> None:
        """The whole accuracy, if this is still the setting."""
        present = self.curve is not None and self.curve["setting"] == setting and self.curve["preview"]
        if setting == self.setting.alone and present:
            self.compute(self, False)

    def no_curve(self, text: str) -> None:
        """No curve: the reason, and an empty picture."""
        self.curve = None
        self.plots[0].show_curve(None)
        self.draw_law()
        self.widgets.status(message(text, "error"))

    def no_pin(self, text: str) -> None:
        """Something of a pin could not be computed; what is shown of the present setting stays."""
        self.widgets.trouble(message(f"a pinned curve: {text}", "error"))

    def take_networks(self, whose: "Page | Pin", found: dict[str, Any]) -> None:
        """Finite networks have been trained."""
        if found["setting"] != whose.setting:
            return
        whose.networks = found
        if whose is self:
            self.widgets.show_training(
                None, f"{found['runs']} networks of n = {found['n']}, d = {whose.setting.d}"
            )
        self.draw_networks()

    def no_networks(self, text: str) -> None:
        """They could not be trained."""
        self.widgets.show_training(None, "")
        self.widgets.trouble(message(text, "error"))

    # what is drawn

    def show_waiting(self, desk: Desk, wish: Wish, preview: bool) -> None:
        """Say why nothing has come yet, if that will take a while."""
        if not desk.ready:
            self.widgets.status(message(STARTING, "busy"))
        elif desk.new_code(wish):
            words = "compiling for this kind of problem (depth, number of atoms, trainer): seconds, once"
            self.widgets.status(message(words, "busy"))
        elif preview and desk.ahead(wish) > 2:
            self.widgets.status(message(f"waiting for {desk.ahead(wish)} other tabs", "busy"))

    def show_progress(self, preview: bool, share: float, words: str) -> None:
        """How far a curve is."""
        if not preview and share > 0:
            self.widgets.status(message(f"sharpening: {share:.0%}, {words}", "busy"))

    def draw_limits(self) -> None:
        """Stages, fixed point and the table."""
        found = self.limits
        self.widgets.table(numbers(found, self.curve))
        if found is None:
            return
        setting = found["setting"]
        self.plots[0].show_stages(found["stages"], setting.t_max)
        self.plots[0].show_limit(found.get("test_error"), setting.t_max)
        self.plots[1].show_point(setting, self.axis, found)
        self.plots[2].show_limit(found)

    def draw_law(self) -> None:
        """The law of the weights at the chosen time."""
        moment = self.plots[2].show(self.curve, self.at)
        self.widgets.show_time(moment)

    def draw_pins(self) -> None:
        """Pinned curves that are known."""
        coloured = zip(self.pins, PINS, strict=False)
        kept = [(self.label(pin), colour, pin.curve) for pin, colour in coloured if pin.curve is not None]
        self.plots[0].show_pins(kept)
        self.draw_networks()

    def label(self, pin: Pin) -> str:
        """The name of a pin in the legend: α, and what differs from the default."""
        base = dataclasses.replace(Setting(), alpha=2 * pin.setting.alpha)
        return f"pinned: {pin.setting.label(base)}"

    def draw_networks(self) -> None:
        """All finite networks that are known."""
        shown: list[Any] = []
        if self.networks is not None:
            shown.append((f"d = {self.setting.d}", None, self.networks))
        for pin, colour in zip(self.pins, PINS, strict=False):
            if pin.networks is not None:
                shown.append((f"{self.label(pin)}, d = {pin.setting.d}", colour, pin.networks))
        self.plots[0].show_networks(shown)
