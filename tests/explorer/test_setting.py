"""Links, scripts and numbers of the page without a browser."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynafield as df
from dynafield.errors import InputError
from dynafield.explorer import jobs
from dynafield.explorer.controls import DIALS
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.scripts import as_command, as_python
from dynafield.explorer.setting import MOST_PINS, Setting, View
from dynafield.explorer.words import best, message, numbers


def quiet(share, words):
    """Nobody looks."""


@pytest.mark.parametrize("name", PRESETS)
def test_presets_round_trip_through_links(name):
    view = PRESETS[name].view
    assert View.read(view.query()) == view


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("bernoulli:0.1", "bernoulli:0.4"),
        ("bernoulli:0.25,2", "bernoulli:0.4,2"),
        ("gauss-bernoulli:0.3,1.5", "gauss-bernoulli:0.4,1.5"),
    ],
)
def test_the_share_of_a_prior_is_read_and_moved(text, moved):
    setting = Setting(prior=text)
    assert setting.sparsity == float(setting.task.prior.p)
    assert setting.with_sparsity("0.4") == moved
    assert setting.changed(prior=moved).sparsity == 0.4


def test_a_field_that_is_no_longer_set_is_a_difference():
    """A spectrum that was cleared left the line of fixed points of before."""
    some, none = Setting(spectrum="power:1.5"), Setting()
    assert some.differs(none) == none.differs(some) == {"spectrum"}
    assert Setting(alpha=2.0, sigma=0.3).differs(none) == {"alpha", "sigma"}
    assert none.differs(Setting()) == set()


@pytest.mark.parametrize("text", ["gaussian:1", "discrete:0@0.5,1@0.5"])
def test_other_priors_have_no_share(text):
    assert Setting(prior=text).sparsity is None
    assert not hasattr(Setting(prior=text).task.prior, "p")


positive = st.floats(1e-6, 1e3)


@given(positive, st.floats(0, 10), positive, st.floats(0, 5), st.integers(2, 10), st.floats(0, 1))
def test_every_number_survives_a_link(alpha, lam, delta, sigma, depth, at):
    setting = Setting(alpha, lam, delta, sigma, depth=depth, t_max=12.3456789)
    view = View(setting, (setting, Setting()), "lam", at)
    assert View.read(view.query()) == view


BAD = {
    "alpha=-1": "alpha must",
    "alpha=__import__('os')": "alpha must be a number",
    "alpha=nan": "alpha must",
    "alpha=0.1&alpha=0.2": "once",
    "sigma=-0.1": "sigma must",
    "delta=0": "delta must",
    "depth=2.5": "depth must be a whole number",
    "depth=1": "depth must",
    "depth=99": "depth must be",
    "t_max=0": "t_max must",
    "t_max=1e9": "t_max must",
    "step=0.3": "multiple of the step",
    "step=0.01": "at most 400 steps",
    "tol=1e-9": "tol must",
    "prior=empirical:/etc/passwd": "prior must be bernoulli",
    "prior=bernoulli:7": "p must",
    "prior=" + "discrete:" + "0@0.1," * 200: "at most 400 characters",
    "d=1e6": "d must",
    "d=3000&delta=3": "at most",
    "d=500&seeds=1000": "seeds must",
    "axis=path": "axis must",
    "at=7": "at must",
    "color=red": "got 'color'",
    "pin=alpha%3D-3": "alpha must",
    "pin=alpha%3D1%26alpha%3D2": "once",
    "prior=bernoulli:0&sigma=0": "task must have targets or noise",
    "&".join(["pin=alpha%3D1"] * (MOST_PINS + 1)): "pins",
    "&".join(f"x{k}=1" for k in range(60)): "at most 40",
}


@pytest.mark.parametrize("query", BAD, ids=lambda q: q[:30])
def test_bad_links_are_refused_in_words(query):
    with pytest.raises(InputError, match=re.escape(BAD[query])):
        View.read(query)


def test_text_from_links_is_escaped():
    assert "<script>" not in message("<script>alert(1)</script>")


@pytest.mark.parametrize("name", [n for n in DIALS if n != "lam"])
def test_dials_return_what_they_show(name):
    _, scale = DIALS[name]
    for position in (0.0, 0.3, 1.0):
        value = scale.value(position)
        assert scale.value(scale.position(value)) == value
    assert scale.position(1e9) == 1.0


def test_weight_decay_can_be_zero():
    scale = DIALS["lam"][1]
    assert scale.value(0.0) == 0.0
    assert scale.position(0.0) == 0.0
    assert scale.value(0.005) > 0


def test_the_page_computes_what_the_library_does():
    setting = Setting(lam=0.2, t_max=20.0, tol=0.01)
    found = jobs.limits(setting, report=quiet)
    point = df.fixed_point(setting.task, setting.net)
    assert found["test_error"] == point.test_error
    assert found["zero"] == pytest.approx(float(point.mass_at_zero))
    assert np.sum(found["mass"]) == pytest.approx(1.0, abs=1e-4)  # the bins reach beyond all but this much
    assert found["stages"] == [tuple(s) for s in df.phases(setting.task, setting.net)]
    curve = jobs.curve(setting, False, report=quiet)
    exact = df.solve(setting.task, setting.net, 20.0, tol=0.01)
    np.testing.assert_array_equal(curve["test_error"], exact.at(curve["t"]).test_error)
    assert curve["best"][0] == df.phases(exact)["best_stop"].value
    np.testing.assert_allclose(curve["histograms"].sum(axis=1), 1.0, atol=1e-3)
    assert "best time to stop" in numbers(found, curve)
    rate = jobs.limits(Setting(), report=quiet)["gamma"]
    assert rate == df.convergence_rate(Setting().task, Setting().net).gamma


def test_troubles_are_told_part_by_part():
    found = jobs.limits(Setting(delta=1.0), report=quiet)
    assert "test_error" not in found
    assert any("delta must not be 1" in text for text in found["troubles"])
    assert found["stages"]


@pytest.mark.parametrize("axis", ["tradeoff", "alpha", "lam", "delta", "sigma"])
def test_fixed_points_along_an_axis(axis):
    setting = Setting(lam=0.0 if axis == "tradeoff" else 0.1)
    found = jobs.along(setting, axis, report=quiet)
    k = 10
    varied, value = (axis, found["x"][k]) if axis != "tradeoff" else ("alpha", jobs.scales(2)[k])
    alone = Setting(**{"lam": setting.lam, varied: float(value)})
    if axis == "tradeoff":
        assert found["x"][k] == pytest.approx(
            float(df.convergence_rate(alone.task, alone.net).gamma), rel=1e-7
        )
    assert found["y"][k] == pytest.approx(float(df.fixed_point(alone.task, alone.net).test_error), rel=1e-7)


BEST = {
    "inside": (Setting(sigma=0.3), "best α = 0.591, test error 0.228"),
    "end": (Setting(), "smaller α is better down to 0.001, test error 0.04215"),
    "decay": (Setting(sigma=0.3, lam=0.2), "best λ = 0.579, test error 0.1668"),
}


@pytest.mark.parametrize("name", BEST)
def test_the_best_number_is_that_of_the_library(name):
    setting, words = BEST[name]
    found, exact = jobs.best(setting, report=quiet), df.optimize(setting.task, setting.net, setting.decisive)
    assert found["value"] == exact.best[setting.decisive]
    assert (found["test_error"], found["end"]) == (exact.value, exact.boundary[0])
    assert best(found) == words
    assert ("gamma" in found) == (setting.lam == 0), "the trade-off has no weight decay"
    if setting.lam == 0:
        assert found["gamma"] == df.convergence_rate(setting.task, exact.network()).gamma
    axis = jobs.along(setting, setting.decisive, report=quiet)
    assert axis["x"][0] * (1 - 1e-9) <= found["value"] <= axis["x"][-1], "the axis has a place for the mark"


def test_there_need_not_be_a_best_number():
    found = jobs.best(Setting(delta=2.0), report=quiet)
    assert found["value"] is None
    assert best(found) == "at the end every α is as good: test error 0.02"
    with pytest.raises(InputError, match=r"lam must be 0 at depth 3, got 0\.1"):
        jobs.best(Setting(depth=3, lam=0.1), report=quiet)


def test_a_best_number_beyond_the_trade_off_has_no_place_there(monkeypatch):
    monkeypatch.setattr(jobs, "scales", lambda depth: np.geomspace(0.1, 10.0, 3))  # as for deep networks
    found = jobs.best(Setting(), report=quiet)
    assert found["end"] == "lower"
    assert "gamma" not in found


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(jobs, "KEPT", 3)
    for k in range(10):
        jobs.remember(("number", k), lambda k=k: k)
    assert len(jobs.kept) == 3
    assert jobs.remember(("number", 9), lambda: "anew") == 9


SMALL = Setting(t_max=5.0, tol=0.05, d=60, seeds=2)
VIEWS = {
    "pins": View(SMALL, (Setting(alpha=1.0, t_max=5.0, tol=0.05),)),
    "steps": View(Setting(step=0.5, t_max=5.0, tol=0.05, prior="discrete:-1@0.1,0@0.8,2@0.1")),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_script_makes_the_picture_of_the_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    view, drawn = VIEWS[name], []
    save = plt.Figure.savefig
    monkeypatch.setattr(
        plt.Figure, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k))
    )
    exec(as_python(view), {})
    script = drawn[-1]
    content = jobs.picture(view, report=quiet)
    assert content.startswith(b"\x89PNG")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    lines = [[line.get_xydata() for line in figure.axes[0].lines] for figure in (script, drawn[-1])]
    assert len(lines[0]) == len(lines[1]) > 1
    for one, other in zip(*lines, strict=True):
        np.testing.assert_array_equal(one, other)
    plt.close("all")


def test_the_command_solves_the_same_problem(tmp_path, monkeypatch, capsys):
    import shlex

    from typer.testing import CliRunner

    from dynafield.cli.main import app

    monkeypatch.chdir(tmp_path)
    view = View(Setting(t_max=5.0, tol=0.05, prior="discrete:-1@0.1,0@0.8,2@0.1"))
    done = CliRunner().invoke(app, shlex.split(as_command(view))[1:])
    assert done.exit_code == 0, done.output
    found = jobs.solved(view.setting, False, quiet)
    np.testing.assert_array_equal(df.load("curves.nc").test_error, found.test_error)
    assert as_command(VIEWS["pins"]).startswith("dynafield compare")


def test_files_of_the_page_load():
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("curve", jobs.curve_file), ("runs", jobs.runs_file)):
            path = Path(folder) / f"{name}.nc"
            path.write_bytes(make(SMALL, report=quiet))
            assert df.load(path).task.delta == SMALL.delta


def test_variances_of_features_survive_links_and_scripts():
    setting = Setting().changed(spectrum="power:1.5,50")
    view = View(setting)
    assert View.read(view.query()) == view
    assert "--spectrum power:1.5,50" in as_command(view)
    names = {}
    exec(as_python(view).split("curves =")[0], names)
    assert str(names["problem"][0].spectrum) == "PowerLaw(1.5, 50)"
    assert setting.changed(spectrum="").spectrum is None
    with pytest.raises(InputError, match="spectrum must be"):
        setting.changed(spectrum="empirical:secrets.txt")
