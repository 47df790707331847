"""Links, scripts and numbers of the page without a browser."""

import dataclasses
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
from dynafield.explorer.first_view import stored_view
from dynafield.explorer.presets import PRESETS
from dynafield.explorer.rules import adjusted, changed, network_of, read_view, task_of, trainer_of
from dynafield.explorer.scope import no_limit
from dynafield.explorer.scripts import as_command, as_python
from dynafield.explorer.setting import MOST_PINS, TRAINERS, Setting, View
from dynafield.explorer.words import best, duration, message, number, numbers, with_error


def quiet(part, words):
    """Nobody looks."""


@pytest.mark.parametrize("name", PRESETS)
def test_presets_round_trip_through_links(name):
    view = PRESETS[name].view
    assert read_view(view.query()) == view


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
    assert setting.sparsity == float(task_of(setting).prior.p)
    assert setting.with_sparsity("0.4") == moved
    assert changed(setting, prior=moved).sparsity == 0.4


def test_a_field_that_is_no_longer_set_is_a_difference():
    """A spectrum that was cleared left the line of fixed points of before."""
    some, none = Setting(spectrum="power:1.5"), Setting()
    assert some.differs(none) == none.differs(some) == {"spectrum"}
    assert Setting(alpha=2.0, sigma=0.3).differs(none) == {"alpha", "sigma"}
    assert none.differs(Setting()) == set()


@pytest.mark.parametrize("text", ["gaussian:1", "discrete:0@0.5,1@0.5"])
def test_other_priors_have_no_share(text):
    assert Setting(prior=text).sparsity is None
    assert not hasattr(task_of(Setting(prior=text)).prior, "p")


positive = st.floats(1e-6, 1e3)
none_or_some = st.just(0.0) | st.floats(1e-100, 5)


@given(positive, none_or_some, positive, none_or_some, st.integers(2, 10), st.floats(0, 1))
def test_every_number_survives_a_link(alpha, lam, delta, sigma, depth, at):
    setting = Setting(alpha, lam, delta, sigma, depth=depth, t_max=12.3456789)
    view = View(setting, (setting, Setting()), "lam", at)
    assert read_view(view.query()) == view


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
    "d=500&seeds=1000": "runs must",
    "d=500&runs=1000": "runs must",
    "d=500&runs=5&seeds=5": "once",
    "momentum=0.9": "momentum needs a step",
    "step=0.1&t_max=1&momentum=1": "momentum must",
    "step=0.1&t_max=1&batch_fraction=0": "batch_fraction must",
    "scale=cubic": "scale must be one of log, linear",
    "kernel=C_x": "kernel must",
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
        read_view(query)


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
    point = df.fixed_point(task_of(setting), network_of(setting))
    assert found["test_error"] == point.test_error
    assert found["zero"] == pytest.approx(float(point.mass_at_zero))
    assert np.sum(found["mass"]) == pytest.approx(1.0, abs=1e-4)  # the bins reach beyond all but this much
    assert found["stages"] == [tuple(s) for s in df.phases(task_of(setting), network_of(setting))]
    curve = jobs.curve(setting, False, report=quiet)
    exact = df.solve(task_of(setting), network_of(setting), 20.0, tol=0.01)
    np.testing.assert_array_equal(curve["test_error"], exact.at(curve["t"]).test_error)
    assert curve["best"][0] == df.phases(exact)["best_stop"].value
    np.testing.assert_allclose(curve["histograms"].sum(axis=1), 1.0, atol=1e-3)
    assert "best time to stop" in numbers(found, curve)
    rate = jobs.limits(Setting(), report=quiet)["gamma"]
    assert rate == df.convergence_rate(task_of(Setting()), network_of(Setting())).gamma


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
            float(df.convergence_rate(task_of(alone), network_of(alone)).gamma), rel=1e-7
        )
    assert found["y"][k] == pytest.approx(
        float(df.fixed_point(task_of(alone), network_of(alone)).test_error), rel=1e-7
    )


BEST = {
    "inside": (Setting(sigma=0.3), "best α = 0.591, test error 0.228"),
    "end": (Setting(), "smaller α is better down to 0.001, test error 0.04215"),
    "decay": (Setting(sigma=0.3, lam=0.2), "best λ = 0.579, test error 0.1668"),
}


@pytest.mark.parametrize("name", BEST)
def test_the_best_number_is_that_of_the_library(name):
    setting, words = BEST[name]
    found, exact = (
        jobs.best(setting, report=quiet),
        df.optimize(task_of(setting), network_of(setting), setting.decisive),
    )
    assert found["value"] == exact.best[setting.decisive]
    assert (found["test_error"], found["end"]) == (exact.value, exact.boundary[0])
    assert best(found) == words
    assert ("gamma" in found) == (setting.lam == 0), "the trade-off has no weight decay"
    if setting.lam == 0:
        assert found["gamma"] == df.convergence_rate(task_of(setting), exact.network()).gamma
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


SMALL = Setting(t_max=5.0, tol=0.05, d=60, runs=2)
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
    setting = changed(Setting(), spectrum="power:1.5,50")
    view = View(setting)
    assert read_view(view.query()) == view
    assert "--spectrum power:1.5,50" in as_command(view)
    names = {}
    exec(as_python(view).split("curves =")[0], names)
    assert str(names["problem"][0].spectrum) == "PowerLaw(1.5, 50)"
    assert changed(setting, spectrum="").spectrum is None
    with pytest.raises(InputError, match="spectrum must be"):
        changed(setting, spectrum="empirical:secrets.txt")


OLD_LINKS = {
    "alpha=0.3&lam=0&delta=0.5&sigma=0.1&prior=bernoulli:0.1&depth=2&t_max=20&tol=0.003&d=100&seeds=4"
    "&axis=delta&at=0.5&pin=alpha%3D10%26d%3D200%26seeds%3D5": View(
        Setting(alpha=0.3, t_max=20.0, d=100, runs=4), (Setting(alpha=10.0, d=200, runs=5),), "delta", 0.5
    ),
    "step=0.5&t_max=20": View(Setting(step=0.5, t_max=20.0)),
}
"""Links as they were written before the number of networks was called runs, and before trainers."""


@pytest.mark.parametrize("link", OLD_LINKS, ids=["seeds", "step"])
def test_links_of_older_versions_work(link):
    assert read_view(link) == OLD_LINKS[link]


def test_what_pictures_show_survives_a_link():
    view = View(Setting(step=0.1, t_max=1.0, momentum=0.5, batch_fraction=0.25), scale="linear", kernel="R_f")
    assert read_view(view.query()) == view


KINDS = {
    "flow": df.GradientFlow(),
    "descent": df.GradientDescent(0.1),
    "momentum": df.HeavyBall(0.1, 0.9),
    "batches": df.SGD(0.1, 0.5),
    "both": df.GradientDescent(0.1, momentum=0.9, batch_fraction=0.5),
}


@pytest.mark.parametrize("way", TRAINERS)
def test_trainers_are_those_of_the_library(way):
    setting = changed(Setting().trained_by(way))
    assert setting.way == way
    assert trainer_of(setting) == KINDS[way]
    assert setting.trained_by("flow").trained_by(way) == setting.in_whole_steps()
    if way != "flow":
        assert f"trainer=df.{KINDS[way]!r}" in as_python(View(setting))
        assert eval(f"df.{trainer_of(setting)!r}", {"df": df}) == KINDS[way]
    assert ("--momentum 0.9" in as_command(View(setting))) == (way in ("momentum", "both"))
    assert ("--batch-fraction 0.5" in as_command(View(setting))) == (way in ("batches", "both"))


def test_training_times_are_moved_to_whole_steps():
    setting = Setting(step=0.1, t_max=1.0)
    assert adjusted(setting, t_max="2.34").t_max == 2.3
    assert adjusted(setting, step="0.3").t_max == 0.9
    assert adjusted(setting, t_max="1000").t_max == 40.0
    assert adjusted(Setting(), t_max="2.34").t_max == 2.34
    for text in ("0", "-1", "nan"):
        with pytest.raises(InputError, match="t_max must"):
            adjusted(setting, t_max=text)
        with pytest.raises(InputError, match="step must"):
            adjusted(setting, step=text)


STEPS = Setting(step=0.1, t_max=2.0, tol=0.05)
HOLDS = {
    "flow": (Setting(), True),
    "steps that interpolate": (STEPS, False),
    "decay": (dataclasses.replace(STEPS, lam=0.1), True),
    "more samples than dimensions": (dataclasses.replace(STEPS, delta=2.0), True),
    "batches": (dataclasses.replace(STEPS, delta=2.0, batch_fraction=0.5), False),
    "batches with decay": (dataclasses.replace(STEPS, lam=0.1, batch_fraction=0.5), False),
    "batches without noise": (dataclasses.replace(STEPS, delta=2.0, sigma=0.0, batch_fraction=0.5), True),
}


@pytest.mark.parametrize("name", HOLDS)
def test_formulas_that_do_not_hold_for_a_trainer_are_not_shown_and_that_is_said(name):
    setting, holds = HOLDS[name]
    assert (no_limit(setting) == "") == holds
    found = jobs.limits(setting, report=quiet)
    flow = setting.step is None
    assert ("test_error" in found) == holds
    assert ("gamma" in found) == bool(found["stages"]) == flow
    table = numbers(found, None)
    assert ("not shown" in table) == (not flow)
    assert (no_limit(setting) in found["troubles"]) == (not holds)


@pytest.mark.slow
def test_fixed_points_are_drawn_along_the_part_of_an_axis_where_they_hold():
    along = jobs.along(STEPS, "delta", report=quiet)
    np.testing.assert_array_equal(np.isfinite(along["y"]), along["x"] > 1)
    assert along["note"] == no_limit(STEPS)


def test_fixed_points_are_not_drawn_where_they_do_not_hold():
    for axis in ("tradeoff", "alpha"):
        with pytest.raises(InputError, match="gradient flow"):
            jobs.along(STEPS, axis, report=quiet)
    with pytest.raises(InputError, match="gradient flow"):
        jobs.best(STEPS, report=quiet)


@pytest.mark.slow
def test_steps_end_where_the_page_says_they_do():
    """The rule of `scope` against the solver: with decay steps end in the fixed point of the flow."""
    setting = Setting(step=0.05, t_max=10.0, tol=0.05, lam=0.5, delta=1.5, momentum=0.9)
    limit = jobs.limits(setting, report=quiet)["test_error"]
    curves = jobs.solved(setting, False, quiet)
    assert abs(curves.test_error[-1] - limit) < 4 * curves.test_error_se[-1]


KERNEL = Setting(t_max=5.0, tol=0.05)


def test_kernels_are_those_of_the_library():
    curves = jobs.solved(KERNEL, False, quiet)
    found = jobs.kernel(KERNEL, "C_w", False, report=quiet)
    t, value = found["t"], found["value"]
    exact = curves.at(t).test_error - KERNEL.sigma**2
    np.testing.assert_allclose(np.diag(value), exact, rtol=1e-2)  # a square interpolated in two ways
    np.testing.assert_allclose(np.diag(found["correlation"]), 1.0)
    np.testing.assert_allclose(value, value.T)
    np.testing.assert_allclose(value[-1, -1], curves.C_w[-1, -1])
    response = jobs.kernel(KERNEL, "R_f", False, report=quiet)
    assert np.isnan(response["value"][0, -1])
    assert response["value"][-1, -1] == curves.R_f[-1, -1]
    with pytest.raises(InputError, match="mini-batches"):
        jobs.kernel(HOLDS["batches"][0], "R_w", False, report=quiet)


def test_the_stored_first_view_is_what_the_code_computes_now():
    stored = stored_view(View())
    assert stored_view(View(Setting(alpha=1.0))) is None
    kept, curve = stored["curve"], jobs.curve(Setting(), True, report=quiet)
    assert set(kept) == set(curve)
    now = jobs.solved(Setting(), True, quiet).at(kept["t"])
    error = np.hypot(now.test_error_se, kept["test_error_se"])
    assert np.all(np.abs(kept["test_error"] - now.test_error) < 5 * error + 1e-5)  # five digits are kept
    limits = jobs.limits(Setting(), report=quiet)
    assert kept["best"][3] is True
    assert stored["limits"]["test_error"] == pytest.approx(limits["test_error"], rel=1e-4)
    assert stored["limits"]["gamma"] == pytest.approx(limits["gamma"], rel=1e-4)
    np.testing.assert_allclose(stored["limits"]["mass"], limits["mass"], rtol=1e-4)


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.0, "0"), (0.06178, "0.06178"), (100.0, "100"), (1e-9, "10⁻⁹"), (3.1e-7, "3.1 × 10⁻⁷"), (np.inf, "∞")],
)
def test_numbers_are_written_as_people_do(x, text):
    assert number(x) == text


def test_errors_and_durations_are_written_as_people_do():
    assert with_error(0.0617771, 6.5e-5) == "0.061777 ± 0.000065"
    assert with_error(1.52e-9, 1.2e-9) == "(1.5 ± 1.2) × 10⁻⁹"
    assert with_error(2.0, np.nan) == "2"
    told = {0.04: "40 ms", 2.44: "2.4 s", 12.3: "12 s", 185.0: "3 min 5 s"}
    assert {x: duration(x) for x in told} == told
