"""Every script of the gallery is on its page, is short, and draws one labelled figure."""

import ast
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import dynafield as df
from dynafield.studies import comparison

DOCS = Path(__file__).parent.parent / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))


def test_page_and_scripts_agree():
    shown = re.findall(r"^```\{gallery\} (\w+)$", (DOCS / "gallery.md").read_text(), flags=re.M)
    assert sorted(shown) == [script.stem for script in SCRIPTS]
    assert len(shown) >= 8


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_is_short_and_says_what_one_sees(script):
    text = script.read_text()
    title, blank, *words = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert 0 < len(title) <= 40
    assert not title.endswith(".")
    assert blank == ""
    assert words
    assert len(text.splitlines()) <= 40
    assert "savefig" not in text


def changed(function, **options):
    """The same with other options."""
    return lambda *arguments, **named: function(*arguments, **named | options)


def shortened(compare):
    """The same up to the third of the times that are asked for."""

    def short(task, net, t_max, *, t_eval=None, **options):
        if t_eval is not None:
            t_eval = t_eval[: len(t_eval) // 3]
            t_max = t_eval[-1]
        return compare(task, net, t_max, t_eval=t_eval, **options)

    return short


def made_small(monkeypatch):
    """Little accuracy, small networks and short training: here only the drawing is tested."""
    monkeypatch.setattr(df, "compare", shortened(df.compare))
    coarse = {"tol": 0.1, "preview": True}
    for place, name, options in (
        (df, "solve", coarse),
        (comparison, "solve", coarse),
        (comparison, "simulate", {"d": 40, "runs": 2}),
        (df.data, "training_data", {"d": 40}),
        (df.studies, "scaling_law", {"tol": 0.1}),
    ):
        monkeypatch.setattr(place, name, changed(getattr(place, name), **options))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_draws_one_labelled_figure(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made_small(monkeypatch)
    plt.close("all")
    runpy.run_path(str(script), run_name="__main__")
    (number,) = plt.get_fignums()
    axes = [ax for ax in plt.figure(number).axes if ax.get_label() != "<colorbar>"]
    assert axes
    for ax in axes:
        assert any(one.get_xlabel() for one in ax.get_shared_x_axes().get_siblings(ax))
        assert ax.get_ylabel()
        assert ax.lines or ax.collections or ax.patches
    assert not list(tmp_path.iterdir())
    plt.close("all")
