"""Widgets of the page and where they stand. What they do is passed in as `Actions`."""

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any, Protocol

import panel as pn

from dynafield.explorer.controls import DIALS, Dial, TrainerControls, html
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.setting import AXES, KERNELS, SCALES, Setting, View, plain
from dynafield.explorer.style import CONTROLS, LARGE, PAGE, PANELS, SMALL
from dynafield.explorer.words import message, number, place
from dynafield.figures.style import SYMBOLS

__all__ = ["Widgets"]

COPY = """
const old = button.label
const tell = () => { button.label = 'copied'; setTimeout(() => { button.label = old }, 1200) }
const text = link ? window.location.origin + window.location.pathname + '?' + source.value : source.value
if (navigator.clipboard && window.isSecureContext) { navigator.clipboard.writeText(text).then(tell) }
else {
  const area = document.createElement('textarea'); area.value = text; document.body.appendChild(area)
  area.select(); document.execCommand('copy'); area.remove(); tell()
}
"""
ADDRESS = "window.history.replaceState(null, '', window.location.pathname + '?' + source.value)"
MOVED = """
if (!document.documentElement.matches(':active')) return
for (const figure of [log, linear]) {
  for (const one of figure.renderers) { if (one.name == 'own') one.muted = true }
}
state.text = '&lt;div class=&quot;message busy&quot;&gt;computing&lt;/div&gt;'
"""
"""In the browser, at once: a slider that is being dragged makes what is shown old."""
HEAD = """<h1>dynafield explorer</h1><p>Exact learning curves of diagonal linear networks of infinite size.
Drag a slider, or type any value.</p>"""
OVER = dict(position="absolute", top="42%", left="60px", right="0", pointer_events="none", z_index="2")
"""Place of words in the middle of a frame that is still empty."""
WIDE: dict[str, Any] = dict(sizing_mode="stretch_width", margin=(4, 0))
ROW: dict[str, Any] = dict(sizing_mode="stretch_width", margin=0)


class Actions(Protocol):
    """What the user can do, called by the widgets."""

    def choose(self, name: str) -> None:
        """Open a preset."""

    def change(self, name: str, text: str) -> None:
        """Give a field of the setting a new value."""

    def change_sparsity(self, text: str) -> None:
        """Give the prior another fraction of nonzero targets."""

    def change_trainer(self, way: str) -> None:
        """Train in another way."""

    def change_axis(self, axis: str) -> None:
        """Show fixed points along another axis."""

    def change_time(self, at: float) -> None:
        """Show the distribution of the weights at another time."""

    def change_scale(self, scale: str) -> None:
        """Show errors on another scale."""

    def change_kernel(self, name: str) -> None:
        """Show another kernel."""

    def find_best(self) -> None:
        """Look for the best α or λ."""

    def pin(self) -> None:
        """Keep the present curve for comparison."""

    def clear(self) -> None:
        """Remove all pins."""

    def add_networks(self, d: str, runs: str) -> None:
        """Train finite networks."""

    def stop_networks(self) -> None:
        """Stop training them, or remove them."""


class Widgets:
    """Everything that can be touched or read beside the pictures."""

    def __init__(self, actions: Actions, later: Callable[[Callable], Callable], pictures: Any):
        self.actions, self.later, self.quiet = actions, later, False
        self.problem_widgets()
        self.network_widgets()
        self.link_widgets()
        self.picture_widgets(pictures)
        self.words, self.state, self.rows = html("trouble"), html("status"), html("rows")
        figures = {**pictures.curves.figures, "state": self.state}
        for dial in self.dials.values():
            dial.slider.jscallback(value=MOVED, args=figures)
        self.view = self.arrange(pictures)

    def when(self, widget: Any, do: Callable[[Any], Any]) -> None:
        """Call `do` with every value the user gives a widget, when the document is free."""
        act = self.later(do)

        def changed(event: Any) -> None:
            if not self.quiet:
                act(event.new)

        widget.param.watch(changed, "value")

    def button(self, title: str, name: str, do: Callable[[], Any], **more: Any) -> Any:
        """A button that calls `do` when the document is free."""
        made = pn.widgets.Button(name=title, css_classes=[name], **({"margin": (4, 6, 4, 0)} | more))
        act = self.later(do)
        made.on_click(lambda event: act())
        return made

    def problem_widgets(self) -> None:
        """Preset, dials, prior, depth, trainer and accuracy."""
        actions = self.actions
        self.preset = pn.widgets.Select(
            name="preset", options={"choose …": ""} | {name: name for name in PRESETS},
            css_classes=["preset"], **WIDE,
        )  # fmt: skip
        self.when(self.preset, actions.choose)
        self.dials = {name: Dial(name, partial(actions.change, name), self.later) for name in DIALS}
        self.dials["sparsity"].moved = actions.change_sparsity
        self.prior = pn.widgets.TextInput(
            name="distribution of the targets", css_classes=["field-prior"], **WIDE
        )
        self.spectrum = pn.widgets.TextInput(
            name="variances of the features", placeholder="all 1; or power:1.5, groups:4@0.2,…",
            css_classes=["field-spectrum"], **WIDE,
        )  # fmt: skip
        self.depth = pn.widgets.Select(
            options=list(range(2, 11)), width=88, margin=0, css_classes=["field-depth"]
        )
        self.tol = pn.widgets.Select(
            name="error at rest",
            options={"1 %": "0.01", "0.3 %": "0.003", "0.1 %": "0.001"},
            css_classes=["field-tol"],
            **WIDE,
        )
        for name in ("prior", "spectrum", "depth", "tol"):
            self.when(getattr(self, name), lambda value, name=name: actions.change(name, str(value)))
        self.trainer = TrainerControls()
        self.when(self.trainer.select, actions.change_trainer)
        for name, field in self.trainer.fields.items():
            self.when(field, partial(actions.change, name))

    def network_widgets(self) -> None:
        """Finite networks: size, number, start and stop."""
        wide = dict(sizing_mode="stretch_width")
        self.d = pn.widgets.TextInput(
            name="dimension d", value="400", css_classes=["field-d"], margin=(0, 8, 4, 0), **wide
        )
        self.runs = pn.widgets.TextInput(
            name="networks", value="10", css_classes=["field-runs"], margin=(0, 0, 4, 0), **wide
        )
        train = lambda: self.actions.add_networks(self.d.value, self.runs.value)  # noqa: E731
        self.add = self.button("Add finite networks", "add", train, button_type="primary")
        self.stop = self.button("Stop", "stop", self.actions.stop_networks, disabled=True)
        self.part = pn.indicators.Progress(value=0, max=100, visible=False, **WIDE)
        self.training = html("training")

    def picture_widgets(self, pictures: Any) -> None:
        """What the pictures show."""
        low = dict(sizing_mode="stretch_width", margin=(0, 0, 4, 0))
        self.scale = pn.widgets.RadioButtonGroup(
            options={"log": "log", "linear": "linear"}, css_classes=["scale"], width=120, margin=(2, 0, 2, 8),
            align="center", description="scale of the error axis",
        )  # fmt: skip
        self.axis = pn.widgets.Select(
            name="along", options={title: name for name, title in AXES.items()}, css_classes=["axis"], **low
        )
        self.find = self.button("best α", "find", self.actions.find_best, align="end", margin=(0, 0, 4, 8))
        self.best, self.limit_note, self.kernel_note = html("best"), html("limit-note"), html("kernel-note")
        self.kernel = pn.widgets.Select(
            name="kernel",
            options={title: name for name, title in KERNELS.items()},
            css_classes=["kernel"],
            **low,
        )
        self.time = pn.widgets.FloatSlider(
            name="", start=0.0, end=1.0, step=0.01, value=1.0, show_value=False, tooltips=False,
            css_classes=["slider-time"], sizing_mode="stretch_width", margin=(0, 8),
        )  # fmt: skip
        self.time_words = html("time-words", margin=0)
        self.when(self.scale, self.actions.change_scale)
        self.when(self.axis, self.actions.change_axis)
        self.when(self.kernel, self.actions.change_kernel)
        self.when(self.time, self.actions.change_time)
        self.panes = {
            scale: self.pane(pictures.curves.figures[scale], "plot-curves", LARGE, visible=scale == "log")
            for scale in SCALES
        }
        self.limit_pane = self.pane(pictures.limits.figure, "plot-limits", SMALL)
        self.weight_pane = self.pane(pictures.weights.figure, "plot-weights", SMALL)
        self.kernel_pane = self.pane(pictures.kernels.figure, "plot-kernel", SMALL)
        self.empty = html("empty", styles={k.replace("_", "-"): v for k, v in OVER.items()}, margin=0)

    def pane(self, figure: Any, name: str, height: str, **more: Any) -> Any:
        """The place of a figure, whose height a style sheet gives."""
        inner = pn.pane.Bokeh(figure, sizing_mode="stretch_both", margin=0)
        wide = dict(sizing_mode="stretch_width", margin=(2, 0))
        return pn.Column(inner, css_classes=[name], stylesheets=[height], **wide, **more)

    def link_widgets(self) -> None:
        """Pins, link, Python, command and files."""
        self.keep = self.button("Pin this curve", "keep", self.actions.pin)
        self.clear = self.button("Clear pins", "clear", self.actions.clear)
        self.link, self.python, self.command = (pn.widgets.TextInput(visible=False) for _ in range(3))
        self.link.jscallback(value=ADDRESS, args={"source": self.link})
        self.copies = []
        for title, source in (("link", self.link), ("Python", self.python), ("CLI", self.command)):
            button = pn.widgets.Button(
                name=f"Copy {title}", css_classes=[f"copy-{title.lower()}"], margin=(4, 6, 4, 0)
            )
            button.jscallback(
                clicks=COPY, args={"source": source, "button": button, "link": source is self.link}
            )
            self.copies.append(button)
        self.files, self.script = html("files"), html("script")

    def arrange(self, pictures: Any) -> Any:
        """Controls at the left, pictures at the right; one below the other where there is no room."""
        controls = pn.Column(
            self.preset,
            *(dial.view for dial in self.dials.values()),
            pn.Row(html("title", "<label>L, depth</label>", margin=0), self.depth, **ROW),
            self.prior,
            self.spectrum,
            self.trainer.view,
            self.tol,
            pn.Row(self.keep, self.clear, **ROW),
            html("part", "<h2>Finite networks</h2>"),
            pn.Row(self.d, self.runs, **ROW),
            pn.Row(self.add, self.stop, **ROW),
            self.part,
            self.training,
            html("part", "<h2>Take it with you</h2>"),
            pn.Row(*self.copies, **ROW),
            self.files,
            pn.Card(
                self.script, title="Python that makes this picture", collapsed=True, hide_header=False, **WIDE
            ),
            self.link,
            self.python,
            self.command,
            css_classes=["controls"],
            stylesheets=[CONTROLS],
        )
        curves = pn.Column(
            self.words,
            pn.Row(self.state, self.scale, **ROW),
            *self.panes.values(),
            self.empty,
            css_classes=["curves"],
            styles={"position": "relative"},
            sizing_mode="stretch_width",
        )
        panels = pn.Row(
            pn.Column(
                self.limit_pane, self.limit_note, pn.Row(self.axis, self.find, **ROW), self.best, **ROW
            ),
            pn.Column(self.weight_pane, self.time_words, self.time, **ROW),
            pn.Column(self.kernel_pane, self.kernel_note, self.kernel, **ROW),
            stylesheets=[PANELS],
            **ROW,
        )
        rest = pn.Column(panels, self.rows, css_classes=["rest"], sizing_mode="stretch_width")
        return pn.Row(
            html("head", HEAD), controls, curves, rest, stylesheets=[PAGE], sizing_mode="stretch_width"
        )

    def show_setting(self, setting: Setting) -> None:
        """All controls at the values of a setting."""
        texts = setting.texts()
        self.quiet = True
        try:
            for name, dial in self.dials.items():
                value = getattr(setting, name)
                dial.show(value, "" if value is None else plain(value))
            self.prior.value, self.spectrum.value = setting.prior, setting.spectrum or ""
            self.depth.value = setting.depth
            self.trainer.show(setting)
            self.find.name = f"best {SYMBOLS[setting.decisive]}"
            if texts["tol"] not in self.tol.options.values():
                self.tol.options = {**self.tol.options, texts["tol"]: texts["tol"]}
            self.tol.value = texts["tol"]
        finally:
            self.quiet = False

    def show_view(self, view: View) -> None:
        """Address, scripts and files of a view."""
        from dynafield.explorer.scripts import as_command, as_python  # imports the library

        self.link.value, self.python.value, self.command.value = (
            view.query(),
            as_python(view),
            as_command(view),
        )
        self.script.object = f"<pre>{escape(as_python(view))}</pre>"
        query = escape(view.query(), quote=True)
        files = [("curve.nc", "netCDF of the curve"), ("picture.png", "PNG")]
        if view.setting.d is not None:
            files.append(("runs.nc", "netCDF of the networks"))
        links = [
            f'<a class="file" href="{name}?{query}" download="{name}">{what}</a>' for name, what in files
        ]
        self.files.object = "".join(links)
        self.show_choices(view)

    def show_choices(self, view: View) -> None:
        """What the pictures of a view show."""
        self.quiet = True
        try:
            self.axis.value, self.time.value = view.axis, view.at
            self.scale.value, self.kernel.value = view.scale, view.kernel
            for scale, pane in self.panes.items():
                pane.visible = scale == view.scale
            if view.setting.d is not None:
                self.d.value, self.runs.value = str(view.setting.d), str(view.setting.runs)
        finally:
            self.quiet = False

    def show_time(self, moment: float | None) -> None:
        """The time of the histogram."""
        told = "time of w(t)" if moment is None else f"w(t) at t = {number(moment, 3)}"
        self.time_words.object = f"<label>{escape(told)}</label>"

    def show_training(self, part: float | None, words: str) -> None:
        """Progress of finite networks from 0 to 1; None when none are being trained."""
        busy = part is not None
        self.part.visible, self.stop.disabled = busy, not (busy or words)
        self.stop.name = "Stop" if busy or not words else "Remove"
        self.part.value = round(100 * (part or 0.0))
        self.training.object = message(words, "quiet")

    def show_best(self, text: str) -> None:
        """The best value of a number, or that it is looked for, or why there is none."""
        self.best.object = text

    def show_limit_note(self, text: str, drawn: bool) -> None:
        """Why fixed points are not shown, or not all of them; the picture is hidden if none is drawn."""
        self.limit_note.object = message(text, "hint") if drawn else place(text)
        self.limit_pane.visible = drawn

    def show_kernel_note(self, text: str, drawn: bool) -> None:
        """Why a kernel is not shown; the picture is hidden if none is drawn."""
        self.kernel_note.object = message(text, "hint") if drawn else place(text)
        self.kernel_pane.visible = drawn

    def show_empty(self, text: str) -> None:
        """Words in the middle of the frame of the curves while there is no curve."""
        self.empty.object = f'<div class="over">{escape(text)}</div>' if text else ""

    def trouble(self, text: str) -> None:
        """A refusal, or a hint."""
        self.words.object = text

    def status(self, text: str) -> None:
        """How good the curve is."""
        if self.state.object == text:
            self.state.param.trigger("object")  # the browser may show something else: see MOVED
        else:
            self.state.object = text

    def table(self, text: str) -> None:
        """The table of numbers."""
        self.rows.object = text
