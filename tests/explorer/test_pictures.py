"""The pictures of a tab without a browser: what is grey, what is drawn, what hangs on which import."""

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from bokeh.models import HoverTool

import dynafield
from dynafield.explorer.first_view import stored_view
from dynafield.explorer.kernel_plot import KernelPlot
from dynafield.explorer.pictures import Pictures
from dynafield.explorer.setting import Setting, View
from dynafield.explorer.words import numbers

STORED = stored_view(View())
ROOM = Path(dynafield.__file__).parent / "explorer"
ORDER = (
    "setting", "scope", "rules", "scripts", "presets", "words", "style", "controls", "layout", "plot_parts",
    "curve_plot", "limit_plot", "weight_plot", "kernel_plot", "worker", "jobs", "first_view", "job_queue",
    "tab", "requests", "pins", "pictures", "best", "page", "files", "guard", "server",
)  # fmt: skip
"""Modules of the page; each imports only from those before it, also inside functions."""


def imported(name):
    """Modules of the page that a module imports, wherever in its text."""
    tree = ast.parse((ROOM / f"{name}.py").read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    inside = {
        node.module.rpartition(".")[2] for node in found if node.module.startswith("dynafield.explorer.")
    }
    direct = {alias.name for node in found if node.module == "dynafield.explorer" for alias in node.names}
    return inside | direct


def test_imports_point_one_way():
    assert set(ORDER) == {path.stem for path in ROOM.glob("*.py")} - {"__init__"}
    for k, name in enumerate(ORDER):
        assert imported(name) <= set(ORDER[:k]), name


@pytest.fixture
def pictures():
    """Everything of the default view."""
    made = Pictures()
    made.limit, made.line, made.curve = STORED["limits"], STORED["line"], STORED["curve"]
    made.curves.show_curve(made.curve)
    made.draw_limit(Setting(), "tradeoff")
    made.grey(Setting(), "tradeoff", "C_w")
    return made


def muted(renderers):
    """Whether all or none are grey."""
    (state,) = {one.muted for one in renderers}
    return state


def parts(pictures):
    """Which parts are grey: curve, line, point, histogram, limit."""
    plots = pictures.limits, pictures.weights
    lines = plots[0].own_line, plots[0].own_point, plots[1].own_bars, plots[1].own_limit
    return [muted(one) for one in (pictures.curves.own, *lines)]


CHANGES = {
    "alpha": (0.6, [True, False, True, True, True]),
    "delta": (0.6, [True, True, True, True, True]),
    "t_max": (50.0, [True, False, False, True, False]),
    "d": (100, [False] * 5),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_belongs_to_another_setting_is_grey(pictures, name):
    assert parts(pictures) == [False] * 5
    value, grey = CHANGES[name]
    pictures.grey(dataclasses.replace(Setting(), **{name: value}), "tradeoff", "C_w")
    assert parts(pictures) == grey
    for figure in pictures.curves.figures.values():
        tools = [tool for tool in figure.select(HoverTool) if tool.renderers[0] in pictures.curves.own]
        assert [tool.muted_policy for tool in tools] == ["ignore"], (
            "no values of another setting under the mouse"
        )
    pictures.grey(Setting(), "tradeoff", "C_w")
    assert parts(pictures) == [False] * 5


def test_the_table_is_greyed_part_by_part(pictures):
    for fresh in ((True, False), (False, True)):
        table = numbers(pictures.limit, pictures.curve, fresh)
        assert table.count('class="fresh"') == table.count('class="stale"') == 1


def test_both_scales_show_the_same_curve(pictures):
    log, linear = pictures.curves.figures.values()
    assert log.x_range is linear.x_range
    assert linear.y_range.start == 0.0
    error = STORED["curve"]["test_error"]
    for figure in (log, linear):
        assert figure.y_range.end > np.max(error)
    assert linear.y_range.end < 2 * np.max(error)
    sources = [{one.data_source for one in fig.renderers} for fig in (log, linear)]
    assert sources[0] == sources[1]


def test_a_legend_names_only_what_is_drawn(pictures):
    def named():
        return {item.label.value for item in pictures.curves.entries if item.visible}

    assert named() == {"test, t → ∞", "best stop"}
    pictures.curves.show_limit(None, 100.0)
    pictures.curves.show_curve(STORED["curve"] | {"best": (100.0, 0.1, 0.1, False)})
    assert named() == set()
    assert len(pictures.curves.best.data["t"]) == 0


def test_a_kernel_has_a_scale_that_fits_its_signs():
    t = np.geomspace(0.1, 10.0, 4)
    kernel = {"name": "C_f", "t": t, "nodes": t, "value": np.eye(4), "correlation": np.eye(4)}
    plot = KernelPlot()
    plot.show(kernel)
    assert (plot.colours.low, plot.colours.high) == (0.0, 1.0)
    assert plot.image.data["dw"][0] == pytest.approx(plot.figure.x_range.end - plot.figure.x_range.start)
    plot.show({"name": "R_f", "t": t, "nodes": t, "value": np.eye(4) - 0.5})
    assert (plot.colours.low, plot.colours.high) == (-0.5, 0.5)
    plot.show(None)
    assert plot.image.data["image"] == []
