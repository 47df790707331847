"""Widgets of the page and where they stand. What they do is the page's business."""

from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import panel as pn

from dynafield.explorer.controls import DIALS, Dial
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.scripts import as_command, as_python
from dynafield.explorer.setting import AXES, Setting, View, plain
from dynafield.explorer.words import message
from dynafield.figures.style import SYMBOLS

if TYPE_CHECKING:
    from dynafield.explorer.page import Page

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
PAGE = """
:host { min-width: 0 !important; display: flex; flex-wrap: wrap; gap: 14px; max-width: 1500px;
  margin: 0 auto; padding: 0 8px }
.controls { flex: 0 0 330px; min-width: 290px }
.main { flex: 1 1 560px; min-width: 300px !important }
@media (max-width: 760px) { .controls, .main { flex: 1 1 100% } }
"""
PAIR = """
:host { min-width: 0 !important; display: flex; flex-wrap: wrap; gap: 10px }
:host > * { flex: 1 1 340px; min-width: 290px !important }
"""
TEXT = """
.message { padding: 5px 9px; border-radius: 4px; font-size: 13px }
.error { background: #fbe4df; color: #7a1f0b } .hint { background: #e8f1f8 } .busy { background: #fff6dd }
.done { background: #e4f3ec } .quiet { color: #555555 }
table { border-collapse: collapse; font-size: 13px; width: 100% }
th { text-align: left; font-weight: 600; padding: 2px 14px 2px 0; white-space: nowrap; width: 1% }
td:nth-child(2) { white-space: nowrap; width: 1% }
td { padding: 2px 10px 2px 0 } tr { border-bottom: 1px solid #e4e4e4 }
a.file { display: inline-block; margin: 2px 6px 2px 0; padding: 4px 9px; border: 1px solid #bbbbbb;
  border-radius: 4px;  color: #0b4f7d; text-decoration: none; font-size: 13px }
h1 { font-size: 20px; margin: 6px 0 2px 0 } p { margin: 2px 0; font-size: 13px; color: #444444 }
pre { background: #f5f5f5; padding: 8px; font-size: 12px; overflow-x: auto; white-space: pre-wrap }
"""
HEAD = """<h1>dynafield explorer</h1><p>Exact learning curves of diagonal linear networks of infinite size.
Drag, or type any value.</p>"""


def html(name: str, text: str = "", **more: Any) -> Any:
    """A piece of HTML; everything in it has been escaped."""
    return pn.pane.HTML(
        text, stylesheets=[TEXT], sizing_mode="stretch_width", margin=(2, 5), css_classes=[name], **more
    )


class Widgets:
    """Everything that can be touched or read beside the three pictures."""

    def __init__(self, page: "Page", curves: Any, limits: Any, law: Any):
        self.page, self.quiet = page, False
        self.problem_widgets()
        self.network_widgets()
        self.link_widgets()
        self.words, self.state, self.rows = html("trouble"), html("status"), html("rows")
        self.end_widgets()
        self.time = pn.widgets.FloatSlider(
            name="time",
            start=0.0,
            end=1.0,
            step=0.01,
            value=1.0,
            show_value=False,
            tooltips=False,
            css_classes=["slider-time"],
            sizing_mode="stretch_width",
            margin=(0, 5),
        )
        self.when(self.time, page.change_time)
        self.view = self.arrange(curves, limits, law)

    def when(self, widget: Any, do: Callable[[Any], Any]) -> None:
        """Call `do`, in the page's own turn, with every value the user gives a widget."""
        act = self.page.tab.later(do)

        def changed(event: Any) -> None:
            if not self.quiet:
                act(event.new)

        widget.param.watch(changed, "value")

    def problem_widgets(self) -> None:
        """Preset, dials, prior, depth, trainer and accuracy."""
        page = self.page
        self.preset = pn.widgets.Select(
            name="preset", options=["", *PRESETS], css_classes=["preset"], sizing_mode="stretch_width"
        )
        self.when(self.preset, page.choose)
        self.dials = {name: Dial(name, partial(page.change, name), page.tab.later) for name in DIALS}
        self.dials["sparsity"].moved = self.sparsity
        wide = dict(sizing_mode="stretch_width")
        self.prior = pn.widgets.TextInput(name="law of the targets", css_classes=["field-prior"], **wide)
        self.spectrum = pn.widgets.TextInput(
            name="variances of the features", placeholder="empty: all one; power:1.5, groups:4@0.2,0.25@0.8",
            css_classes=["field-spectrum"], **wide,
        )  # fmt: skip
        self.depth = pn.widgets.IntSlider(name="depth", start=2, end=6, css_classes=["slider-depth"], **wide)
        self.step = pn.widgets.TextInput(
            name="step", placeholder="empty: gradient flow", css_classes=["field-step"], **wide
        )
        self.tol = pn.widgets.Select(
            name="error at rest",
            options={"1 %": "0.01", "0.3 %": "0.003", "0.1 %": "0.001"},
            css_classes=["field-tol"],
            width=110,
        )
        for name in ("prior", "spectrum", "depth", "step", "tol"):
            self.when(getattr(self, name), lambda value, name=name: page.change(name, str(value)))

    def network_widgets(self) -> None:
        """Finite networks: size, number, start and stop."""
        self.d = pn.widgets.TextInput(name="d", value="400", width=80, css_classes=["field-d"])
        self.seeds = pn.widgets.TextInput(name="runs", value="10", width=70, css_classes=["field-seeds"])
        self.add = pn.widgets.Button(name="Add finite network", button_type="primary", css_classes=["add"])
        self.stop = pn.widgets.Button(name="Stop", disabled=True, css_classes=["stop"])
        self.share = pn.indicators.Progress(value=0, max=100, visible=False, sizing_mode="stretch_width")
        self.training = html("training")
        add, stop = self.page.tab.later(self.page.add_networks), self.page.tab.later(self.page.stop_networks)
        self.add.on_click(lambda event: add(self.d.value, self.seeds.value))
        self.stop.on_click(lambda event: stop())

    def end_widgets(self) -> None:
        """What fixed points run over, and the search for the best."""
        self.axis = pn.widgets.Select(
            name="fixed points along",
            options={title: name for name, title in AXES.items()},
            css_classes=["axis"],
            margin=(0, 5),
            sizing_mode="stretch_width",
            max_width=270,
        )
        self.find = pn.widgets.Button(name="best α", css_classes=["find"], margin=(0, 5), align="end")
        self.best = html("best")
        self.when(self.axis, self.page.change_axis)
        find = self.page.tab.later(self.page.best.ask)
        self.find.on_click(lambda event: find())

    def link_widgets(self) -> None:
        """Pins, link, Python, command and files."""
        self.keep = pn.widgets.Button(name="Pin this curve", css_classes=["keep"])
        keep, clear = self.page.tab.later(self.page.pin), self.page.tab.later(self.page.clear)
        self.clear = pn.widgets.Button(name="Clear pins", css_classes=["clear"])
        self.keep.on_click(lambda event: keep())
        self.clear.on_click(lambda event: clear())
        self.link, self.python, self.command = (pn.widgets.TextInput(visible=False) for _ in range(3))
        self.link.jscallback(value=ADDRESS, args={"source": self.link})
        self.copies = []
        for title, source in (("link", self.link), ("Python", self.python), ("CLI", self.command)):
            button = pn.widgets.Button(name=f"Copy {title}", css_classes=[f"copy-{title.lower()}"])
            button.jscallback(
                clicks=COPY, args={"source": source, "button": button, "link": source is self.link}
            )
            self.copies.append(button)
        self.files, self.script = html("files"), html("script")

    def arrange(self, curves: Any, limits: Any, law: Any) -> Any:
        """Controls at the left, pictures at the right; one below the other where there is no room."""
        row = dict(sizing_mode="stretch_width", margin=0)
        controls = pn.Column(
            html("head", HEAD),
            self.preset,
            *(dial.view for dial in self.dials.values()),
            self.prior,
            self.spectrum,
            self.depth,
            pn.Row(self.step, self.tol, **row),
            pn.Row(self.keep, self.clear, **row),
            pn.Row(self.d, self.seeds, **row),
            pn.Row(self.add, self.stop, **row),
            self.share,
            self.training,
            pn.Row(*self.copies, **row),
            self.files,
            pn.Card(self.script, title="Python that makes this picture", collapsed=True, **row),
            self.link,
            self.python,
            self.command,
            css_classes=["controls"],
        )
        pane = dict(sizing_mode="stretch_width", margin=(2, 5))
        pair = pn.Row(
            pn.Column(
                pn.pane.Bokeh(limits, css_classes=["plot-limits"], **pane),
                pn.Row(self.axis, self.find, sizing_mode="stretch_width", margin=(0, 0, 5, 0)),
                self.best,
                sizing_mode="stretch_width",
            ),
            pn.Column(
                pn.pane.Bokeh(law, css_classes=["plot-law"], **pane), self.time, sizing_mode="stretch_width"
            ),
            stylesheets=[PAIR],
            sizing_mode="stretch_width",
        )
        main = pn.Column(
            self.words,
            self.state,
            pn.pane.Bokeh(curves, css_classes=["plot-curves"], **pane),
            pair,
            self.rows,
            css_classes=["main"],
            sizing_mode="stretch_width",
        )
        return pn.Row(controls, main, stylesheets=[PAGE], sizing_mode="stretch_width")

    def sparsity(self, text: str) -> None:
        """Another share of targets that are not zero, of the same kind of prior."""
        self.page.change("prior", self.page.setting.with_sparsity(text))

    def show_setting(self, setting: Setting) -> None:
        """All controls at the values of a setting."""
        texts = setting.texts()
        self.quiet = True
        try:
            for name, dial in self.dials.items():
                value = getattr(setting, name)
                dial.show(value, "" if value is None else plain(value))
            self.prior.value, self.step.value = setting.prior, texts.get("step", "")
            self.spectrum.value = setting.spectrum or ""
            self.depth.end = max(self.depth.end, setting.depth)
            self.depth.value = setting.depth
            self.find.name = f"best {SYMBOLS[setting.decisive]}"
            if texts["tol"] not in self.tol.options.values():
                self.tol.options = {**self.tol.options, texts["tol"]: texts["tol"]}
            self.tol.value = texts["tol"]
        finally:
            self.quiet = False

    def show_view(self, view: View) -> None:
        """Address, scripts and files of a view."""
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
        self.files.object = "Download " + "".join(links)
        self.quiet = True
        try:
            self.axis.value = view.axis
            self.time.value = view.at
            if view.setting.d is not None:
                self.d.value, self.seeds.value = str(view.setting.d), str(view.setting.seeds)
        finally:
            self.quiet = False

    def show_time(self, moment: float | None) -> None:
        """The time of the histogram."""
        self.time.name = "time of w(t)" if moment is None else f"law of w(t) at t = {moment:.3g}"

    def show_training(self, share: float | None, words: str) -> None:
        """Progress of finite networks; None when none are being trained."""
        busy = share is not None
        self.share.visible, self.stop.disabled = busy, not (busy or words)
        self.stop.name = "Stop" if busy or not words else "Remove"
        self.share.value = round(100 * (share or 0.0))
        self.training.object = message(words, "quiet")

    def show_best(self, text: str) -> None:
        """The best value of a number, or that it is looked for, or why there is none."""
        self.best.object = text

    def trouble(self, text: str) -> None:
        """A refusal, or a hint."""
        self.words.object = text

    def status(self, text: str) -> None:
        """How good the curve is."""
        self.state.object = text

    def table(self, text: str) -> None:
        """The table of numbers."""
        self.rows.object = text
