"""One tab of the page: its view, what the user does, what is asked of the queues and what they answer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn

from dynafield.errors import InputError
from dynafield.explorer.best import Best
from dynafield.explorer.first_view import stored_view
from dynafield.explorer.job_queue import Request
from dynafield.explorer.layout import Widgets
from dynafield.explorer.pictures import Pictures
from dynafield.explorer.pins import Pins
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.requests import Requests, rules
from dynafield.explorer.setting import MOST_PINS, Setting, View
from dynafield.explorer.tab import Queues, Tab
from dynafield.explorer.words import duration, message, number, numbers

__all__ = ["Page"]

REST = 350
"""Milliseconds without a change after which a curve is computed to full accuracy."""
LONGER = 1000
"""Milliseconds after which address, scripts and files follow: the browser lays the page out anew for them."""
STARTING = "starting: the first curve takes some seconds"
STORED = "stored curve of this setting; computing it anew takes some seconds"
COMPUTING = "computing"
WAITING = "computing; where code is compiled, some seconds, once"
STEPS = "T is now {0}: {1} steps, of which this page takes a whole number up to 400"


class Page:
    """The state of one tab. Tabs share nothing but the queues."""

    def __init__(self, queues: Queues, query: str, connected: Callable[[], bool]):
        self.queues, self.tab = queues, Tab(queues, pn.state.curdoc, connected)
        self.requests = Requests(self.tab)
        self.networks: dict[str, Any] | None = None
        self.pictures = Pictures()
        self.widgets = Widgets(self, self.tab.later, self.pictures)
        self.pins = Pins(self.requests, self.draw_others, lambda text: self.say(text, "error"))
        self.best = Best(self.widgets.show_best, self.mark_best, self.change)
        self.view, self.trouble = View(), ""
        try:
            self.view = rules().read_view(query) if query else View()
        except InputError as error:
            self.trouble = f"The link was not understood: {error}. This is the default view."
        self.show_first()

    def show_first(self) -> None:
        """What is seen before anything is computed: controls, axes, and the stored curve if it is of use."""
        self.widgets.show_setting(self.view.setting)
        self.widgets.show_choices(self.view)
        self.pictures.forget(self.view.setting.t_max)
        stored = stored_view(self.view)
        if stored is not None:
            self.pictures.limit = stored["limits"]
            self.take_line(stored["line"])
            self.show_curve(stored["curve"])
        self.widgets.status(message(STARTING if stored is None else STORED, "busy"))
        self.show_notes()

    def begin(self) -> None:
        """The page is seen: compute what it shows."""
        for queue in (self.queues.quick, self.queues.curves):
            queue.start()  # meanwhile the library is imported here
        self.open(self.view, self.trouble)

    def open(self, view: View, trouble: str = "") -> None:
        """Show a view from the beginning."""
        known = self.pictures.curve if self.pictures.fresh_curve(view.setting) else None
        self.tab.forget()
        self.view = view._replace(pins=())
        self.networks = None
        if known is None:
            self.pictures.forget(view.setting.t_max)
        self.show_notes()
        self.best.forget()
        self.pins.open(view.pins)
        self.renew(line=True)
        if self.setting.d is not None:
            self.train()
        self.show_view()
        self.say(trouble, "error")

    @property
    def setting(self) -> Setting:
        """The present setting."""
        return self.view.setting

    def show_view(self) -> None:
        """Bring address, scripts and files up to date."""
        self.view = self.view._replace(pins=self.pins.settings)
        self.widgets.show_view(self.view)

    def grey(self) -> None:
        """Grey everything on the page that does not belong to the present setting."""
        pictures, setting = self.pictures, self.setting
        pictures.grey(setting, self.view.axis, self.view.kernel)
        fresh = pictures.fresh_limit(setting), pictures.fresh_curve(setting)
        self.widgets.table(numbers(pictures.limit, pictures.curve, fresh))

    # what the user does

    def change(self, name: str, text: str) -> None:
        """Give a field of the setting a new value; what the library refuses stays as it was."""
        self.try_change(lambda: rules().adjusted(self.setting.alone, **{name: text}))

    def change_sparsity(self, text: str) -> None:
        """Give the prior another fraction of nonzero targets."""
        self.change("prior", self.setting.with_sparsity(text))

    def change_trainer(self, way: str) -> None:
        """Train in another way; a training time that is no whole number of steps is changed."""
        self.try_change(lambda: rules().changed(self.setting.alone.trained_by(way)))

    def try_change(self, make: Callable[[], Setting]) -> None:
        """Go to another setting, unless it is refused."""
        try:
            new = make()
        except InputError as error:
            self.say(f"{error}", "error")
            self.show_again()
            return
        self.say("")
        old = self.setting
        if new == old:
            self.show_again()
            return
        if new.step is not None and new.t_max != old.t_max:
            words = STEPS.format(number(new.t_max), round(new.t_max / new.step))
            self.say(words, "hint")
        self.view = self.view._replace(setting=new)
        self.tab.forget("networks")
        self.networks = None
        if old.question() != new.question():
            self.tab.forget("best")
            self.best.forget()
        self.renew(line=not self.pictures.fresh_line(new, self.view.axis))

    def show_again(self) -> None:
        """Show the present setting after a change that came to nothing."""
        self.widgets.show_setting(self.setting)
        self.widgets.status(self.widgets.state.object)
        self.grey()

    def change_axis(self, axis: str) -> None:
        """Show fixed points along another axis."""
        self.view = self.view._replace(axis=axis)
        self.ask_line()
        self.pictures.draw_limit(self.setting, axis)
        self.best.draw()
        self.grey()
        self.show_view()

    def change_time(self, at: float) -> None:
        """Show the distribution of the weights at another time."""
        self.view = self.view._replace(at=at)
        self.draw_weights()
        self.show_view()

    def change_scale(self, scale: str) -> None:
        """Show errors on another scale."""
        self.view = self.view._replace(scale=scale)
        self.show_view()

    def change_kernel(self, name: str) -> None:
        """Show another kernel."""
        self.view = self.view._replace(kernel=name)
        self.grey()
        self.ask_kernel()
        self.show_view()

    def choose(self, name: str) -> None:
        """Open a preset."""
        if name:
            self.open(PRESETS[name].view)
            self.say(PRESETS[name].words, "hint")

    def find_best(self) -> None:
        """Look for the best α or λ."""
        take = lambda found: self.best.take(self.setting, found)  # noqa: E731
        self.requests.best(self.setting.alone, take, self.best.fail)
        self.best.await_answer(self.setting)

    def mark_best(self, found: dict[str, Any] | None, words: str) -> None:
        """Mark the best value in the panel of fixed points."""
        self.pictures.limits.show_best(self.view.axis, found, words)

    def pin(self) -> None:
        """Keep the present curve for comparison."""
        if len(self.pins.kept) >= MOST_PINS:
            self.say(f"at most {MOST_PINS} curves can be pinned: clear them first", "error")
            return
        setting = self.setting if self.networks is not None else self.setting.alone
        curve = self.pictures.curve if self.pictures.fresh_curve(setting) else None
        self.pins.add(setting, curve, self.networks)
        self.show_view()

    def clear(self) -> None:
        """Remove all pins."""
        self.pins.clear()
        self.show_view()

    def add_networks(self, d: str, runs: str) -> None:
        """Train finite networks of the present setting."""
        try:
            setting = rules().changed(self.setting, d=d, runs=runs)
        except InputError as error:
            self.say(f"{error}", "error")
            return
        self.view = self.view._replace(setting=setting)
        self.say("")
        self.networks = None
        self.draw_networks()
        self.train()
        self.show_view()

    def stop_networks(self) -> None:
        """Stop training finite networks, or remove them."""
        self.tab.forget("networks")
        self.view = self.view._replace(setting=self.setting.alone)
        self.networks = None
        self.widgets.show_training(None, "")
        self.draw_networks()
        self.show_view()

    # what is asked of the queues

    def renew(self, line: bool) -> None:
        """Grey what is old and ask for everything that the setting determines."""
        setting = self.setting.alone
        self.grey()
        self.requests.limits(setting, self.take_limits, self.no_limits)
        if line:
            self.ask_line()
        self.tab.forget("kernel")
        self.compute(True)
        self.widgets.show_setting(self.setting)
        self.widgets.show_training(None, "")
        self.draw_networks()
        self.tab.after(LONGER, self.rest, self.setting)

    def rest(self, setting: Setting) -> None:
        """Bring address, scripts and files up to date once the setting has been at rest."""
        if setting == self.setting:
            self.show_view()

    def ask_line(self) -> None:
        """Ask for fixed points along the axis."""
        self.requests.line(self.setting.alone, self.view.axis, self.take_line, self.no_line)
        if self.pictures.line is None:
            self.widgets.show_limit_note(WAITING, False)

    def ask_kernel(self) -> None:
        """Ask for the two-time kernel of the present curve, if it has come."""
        curve = self.pictures.curve
        if curve is None or not self.pictures.fresh_curve(self.setting):
            return
        name, preview = self.view.kernel, curve["preview"]
        if not (preview and name == "R_w"):  # seconds of work, in which no curve could be computed
            self.requests.kernel(self.setting.alone, name, preview, self.take_kernel, self.no_kernel)

    def compute(self, preview: bool) -> None:
        """Ask for the curve of the present setting."""
        progress = partial(self.show_progress, preview)
        setting, take, fail = self.setting.alone, self.take_curve, self.no_curve
        self.show_waiting(self.requests.curve("curve", setting, preview, take, fail, progress), preview)

    def train(self) -> None:
        """Ask for finite networks of the present setting."""
        progress = self.widgets.show_training
        take, fail = self.take_networks, self.no_networks
        request = self.requests.networks("networks", self.setting, take, fail, progress)
        waiting = self.queues.networks.ahead(request) > 1
        self.widgets.show_training(0.0, "waiting for other tabs" if waiting else "starting")

    # what the queues answer

    def take_limits(self, found: dict[str, Any]) -> None:
        """Fixed point, rate and stages have come."""
        self.pictures.limit = found
        self.pictures.draw_limit(self.setting, self.view.axis)
        self.grey()

    def no_limits(self, text: str) -> None:
        """They could not be computed."""
        self.pictures.limit = None
        self.grey()
        self.say(text, "error")

    def take_line(self, found: dict[str, Any]) -> None:
        """Fixed points along the axis have come."""
        self.pictures.line = found
        self.pictures.limits.show_line(found)
        self.widgets.show_limit_note(found["note"] and f"partly shown: {found['note']}", True)
        self.grey()

    def no_line(self, text: str) -> None:
        """There are none: say why in place of the picture."""
        self.pictures.line = None
        self.pictures.limits.show_line(None)
        self.widgets.show_limit_note(f"The limit of training is not shown: {text}.", False)

    def take_kernel(self, found: dict[str, Any]) -> None:
        """A kernel has come."""
        self.pictures.kernel = found
        self.pictures.kernels.show(found)
        self.widgets.show_kernel_note("", True)
        self.grey()

    def no_kernel(self, text: str) -> None:
        """There is none: say why in place of the picture."""
        self.pictures.kernel = None
        self.pictures.kernels.show(None)
        self.widgets.show_kernel_note(f"The kernel is not shown: {text}.", False)

    def take_curve(self, found: dict[str, Any]) -> None:
        """A curve has come; a preview is followed by the full accuracy once the setting is at rest."""
        self.show_curve(found)
        if not self.pictures.fresh_curve(self.setting):
            return
        self.ask_kernel()
        wide = number(2 * float(max(found["test_error_se"])), 2)
        if found["preview"]:
            words = f"preview: test error ± {wide}"
            self.widgets.status(message(words, "busy"))
            self.tab.after(REST, self.sharpen, found["setting"])
        else:
            words = f"solved in {duration(found['seconds'])}: test error ± {wide}"
            self.widgets.status(message(words, "done"))

    def show_curve(self, found: dict[str, Any]) -> None:
        """Draw the curve and what hangs on it."""
        self.pictures.curve = found
        self.pictures.curves.show_curve(found)
        self.pictures.draw_limit(self.setting, self.view.axis)
        self.draw_weights()
        self.say_empty()
        self.grey()

    def sharpen(self, setting: Setting) -> None:
        """Ask for full accuracy, if this is still the setting."""
        curve = self.pictures.curve
        present = curve is not None and curve["setting"] == setting and curve["preview"]
        if setting == self.setting.alone and present:
            self.compute(False)

    def no_curve(self, text: str) -> None:
        """There is no curve: say why."""
        self.pictures.curve = None
        self.pictures.curves.show_curve(None)
        self.draw_weights()
        self.no_kernel("there is no curve")
        self.grey()
        self.widgets.show_empty("no curve")
        self.widgets.status(message(text, "error"))

    def take_networks(self, found: dict[str, Any]) -> None:
        """Finite networks have been trained."""
        if found["setting"] == self.setting:
            self.networks = found
            words = f"{found['runs']} networks of n = {found['n']}, d = {self.setting.d}"
            self.widgets.show_training(None, words)
            self.draw_networks()

    def no_networks(self, text: str) -> None:
        """They could not be trained."""
        self.widgets.show_training(None, "")
        self.say(text, "error")

    # what is said and drawn

    def say(self, text: str, kind: str = "") -> None:
        """Say something above the curves: a refusal, a hint, or nothing any more."""
        self.widgets.trouble(message(text, kind))

    def show_notes(self) -> None:
        """Say in place of every picture that is still to come that it is being computed."""
        self.say_empty()
        if self.pictures.line is None:
            self.widgets.show_limit_note(WAITING, False)
        if self.pictures.kernel is None:
            self.widgets.show_kernel_note(WAITING, False)

    def say_empty(self) -> None:
        """Say in the frame that the curve is still to come, while there is none."""
        self.widgets.show_empty("" if self.pictures.curve is not None else "The curve is being computed …")

    def show_waiting(self, request: Request, preview: bool) -> None:
        """Say what is waited for."""
        words, queue = COMPUTING, self.queues.curves
        if not queue.ready:
            words = STORED if self.pictures.fresh_curve(self.setting) else STARTING
        elif queue.new_code(request):
            words = "compiling for this kind of problem (depth, number of atoms, trainer): seconds, once"
        elif preview and queue.ahead(request) > 2:
            words = f"waiting for {queue.ahead(request)} other tabs"
        self.widgets.status(message(words, "busy"))
        self.say_empty()

    def show_progress(self, preview: bool, part: float, words: str) -> None:
        """How far a curve is."""
        if not preview and part > 0:
            self.widgets.status(message(f"computing to full accuracy: {part:.0%}, {words}", "busy"))

    def draw_weights(self) -> None:
        """The distribution of the weights at the chosen time."""
        self.widgets.show_time(self.pictures.weights.show(self.pictures.curve, self.view.at))

    def draw_others(self) -> None:
        """Pins and finite networks that are known."""
        self.pictures.draw_pins(self.pins.kept)
        self.draw_networks()

    def draw_networks(self) -> None:
        """Finite networks that are known."""
        self.pictures.draw_networks(self.setting, self.networks, self.pins.kept)
