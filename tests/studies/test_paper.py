"""The paper, reproduced: data against engines, figures by structure, verdicts that may fail."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
from typer.testing import CliRunner

import dynafield as df
from dynafield.cli import main
from dynafield.figures.paper.catalogue import BEYOND, FIGURES, named
from dynafield.records import files
from dynafield.studies.paper import data_claims, experiments, laws
from dynafield.studies.paper.claims import CORRECTED, PAPER, PRINTED, bound, from_theory
from dynafield.studies.paper.parts import crossing, local_rates
from dynafield.studies.paper.reproduction import ALWAYS
from dynafield.studies.paper.setting import FULL, QUICK, Setting
from dynafield.studies.paper.verdicts import judged
from tests.studies.paper_checks import CHECKS, small_init_curves

THREE = ("rates-theory", "fixed-point-ridgeless", "descent")
"""Theory alone, where networks end, and a learning curve."""


def reproduce(folder, *arguments):
    done = CliRunner().invoke(main.app, ["reproduce", *arguments, "--out", str(folder), "--workers", "1"])
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three") / "deep" / "out"
    return folder, reproduce(folder, *THREE)


def read(folder):
    return {path.stem: files.read(path) for path in (folder / "data").glob("*.nc")}


def structure(figure):
    """What can be said of a figure without its pixels."""
    return [
        (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), ax.get_yscale(), len(ax.containers))
        for ax in figure.axes
    ]


def words(figure):
    return [text.get_text() for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()]


def test_one_figure_with_data_and_report(tmp_path):
    done = reproduce(tmp_path, "rates-theory")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "rates-theory.png", "rates-theory.pdf", "data", "report.html", "claims.json", "setting.json",
    }  # fmt: skip
    CHECKS["rates-theory"](read(tmp_path)["rates-theory"], QUICK)
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert claims
    page = (tmp_path / "report.html").read_text()
    assert page.count('class="holds"') + page.count('class="fails"') == len(claims)
    assert "report.html" in done.stdout
    assert "1 of 1 experiments are there already" in reproduce(tmp_path, "rates-theory").stderr


@pytest.mark.slow
def test_three_figures_with_data_and_report(three):
    folder, done = three
    names = {path.name for path in folder.iterdir()}
    pictures = {f"{name}.{ending}" for name in THREE for ending in ("png", "pdf")}
    assert names == pictures | {"data", "report.html", "claims.json", "setting.json"}
    assert set(read(folder)) == {"rates-theory", "fixed-point-ridgeless", "small-init"}
    for name in sorted(pictures | {"report.html"}):
        assert name in done.stdout
    page = (folder / "report.html").read_text()
    assert page.count("data:image/png;base64,") == len(THREE)
    assert not re.search(r"(src|href)=.?(https?:|//)", page), "the page opens offline"
    claims = json.loads((folder / "claims.json").read_text())
    assert page.count('class="holds"') + page.count('class="fails"') == len(claims)
    assert all(c["difference"] for c in claims)
    assert "{" not in "".join(f"{c['theory']}{c['measured']}{c['difference']}{c['rule']}" for c in claims)
    assert {c["topic"] for c in claims} == {
        "Descent time", "DMFT equations", "Fixed point, case (ii)", "Law of coordinates", "Train-test gap",
        "Monotonicity",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rates-theory", "fixed-point-ridgeless", "small-init"])
def test_data_are_what_the_engines_say(three, name):
    check = small_init_curves if name == "small-init" else CHECKS[name]
    check(read(three[0])[name], QUICK)


@pytest.mark.slow
def test_a_second_call_computes_nothing_and_redraw_needs_no_more(three):
    folder, _ = three
    before = {path: path.stat().st_mtime_ns for path in (folder / "data").iterdir()}
    (folder / "descent.png").unlink()
    assert "3 of 3 experiments are there already" in reproduce(folder, *THREE).stderr
    assert (folder / "descent.png").is_file()
    (folder / "descent.png").unlink()
    reproduce(folder, "descent", "--redraw")
    assert (folder / "descent.png").is_file()
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "data").iterdir()}


@pytest.mark.slow
def test_what_is_asked_otherwise_is_not_taken_for_done(three, tmp_path):
    folder, _ = three
    assert experiments.kept(folder, "small-init", Setting(QUICK)) is not None
    assert experiments.kept(folder, "small-init", Setting(FULL)) is None
    assert experiments.kept(folder, "small-init", Setting(QUICK, seed=1)) is None
    assert experiments.kept(folder, "small-init", Setting(QUICK, "pancan")) is not None, "no real data in it"
    (tmp_path / "data").mkdir()
    content = experiments.path_of(folder, "small-init").read_bytes()
    experiments.path_of(tmp_path, "small-init").write_bytes(content[: len(content) // 2])
    assert experiments.kept(tmp_path, "small-init", Setting(QUICK)) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mona-lisa"], "figure must be one of timescales, fixed-points, .*, got 'mona-lisa'"),
        (["descent", "--redraw"], "redraw needs the data of small-init"),
        (["gene-histogram", "--data", "pancan"], "tcga_pancan has not been downloaded"),
        (["gene-histogram", "--data", "no.zip"], "source must be an existing file or folder, got 'no.zip'"),
    ],
)
def test_absurd_requests(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("DYNAFIELD_DATA", str(tmp_path / "nothing"))
    command = ["reproduce", *arguments, "--out", str(tmp_path / "out")]
    assert main.guarded(lambda: main.app(command, standalone_mode=False)) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "out" / "report.html").exists()


def test_the_out_folder_must_be_one(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    command = ["reproduce", "descent", "--out", str(tmp_path / "file")]
    assert main.guarded(lambda: main.app(command, standalone_mode=False)) == 2
    assert "out must be a folder" in capsys.readouterr().err


@pytest.mark.slow
def test_structure_of_three_figures(three):
    data = read(three[0])
    theory, over, descent = (drawing.draw(data) for drawing in named(list(THREE)))
    assert structure(theory) == [(r"initial scale $\alpha$", r"convergence rate $\gamma$", "log", "log", 0)]
    np.testing.assert_array_equal(theory.axes[0].lines[0].get_ydata(), data["rates-theory"]["gamma"][0])
    np.testing.assert_array_equal(theory.axes[0].lines[1].get_ydata(), data["rates-theory"]["large_alpha"][0])
    delta = r"samples per dimension $\delta = n/d$"
    assert structure(over) == [
        (delta, "error", "log", "log", 2),
        (r"coordinate $w(\infty)$", "density", "linear", "log", 0),
    ]
    mean = data["fixed-point-ridgeless"]["test_error"].mean("run")
    np.testing.assert_allclose(over.axes[0].containers[0].lines[0].get_ydata(), mean)
    x = r"$t / \log(1/\alpha)$"
    assert structure(descent) == [(x, r"training error $C_f$", "linear", "linear", 3)]
    assert words(descent)[-2:] == ["DMFT", "simulation, d = 200"]
    small, line = data["small-init"], descent.axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), small["train_error_theory"][0, 1:])
    np.testing.assert_allclose(line.get_xdata(), small["t"][0, 1:] / np.log(10))


def changed(data, name, **changes):
    """All data, with functions of some values of one experiment in their place."""
    one = data[name].copy(deep=True)
    for key, function in changes.items():
        one[key] = (one[key].dims, np.array(function(one[key].values)))
    return data | {name: one}


@pytest.mark.slow
def test_verdicts_follow_the_data(three):
    data = read(three[0])

    def verdicts(given):
        return {(c.topic, c.source, c.statement[:20]): c.holds for c in judged(given)}

    right = verdicts(data)
    assert all(holds == (source != PRINTED) for (_, source, _), holds in right.items()), right

    def flipped(name, **changes):
        after = verdicts(changed(data, name, **changes))
        return {key[:2] for key in after if after[key] != right[key]}

    ends = "fixed-point-ridgeless"
    assert flipped(ends, test_error_expected=lambda x: 1.5 * x) == {("Fixed point, case (ii)", PAPER)}
    assert flipped(ends, chi_w=lambda x: 1.5 * x) == {("Train-test gap", PAPER)}
    both = {("Law of coordinates", PAPER), ("Fixed point, case (ii)", PAPER)}
    assert flipped(ends, weights=lambda x: 1.2 * x) == both
    both = {("Monotonicity", PAPER), ("Monotonicity", CORRECTED)}
    assert flipped("rates-theory", gamma=lambda x: x[:, ::-1]) == both
    both = {("Descent time", PRINTED), ("Descent time", CORRECTED)}
    assert flipped("small-init", active=lambda x: x[:, [2, 1, 2]]) == both
    slow = flipped("small-init", train_error_theory=lambda x: x * (1 + 0.5 * np.arange(3)[:, None]))
    assert slow >= {("DMFT equations", PAPER), ("Descent time", PAPER)}


@pytest.mark.slow
def test_red_where_a_claim_fails(three):
    page = (three[0] / "report.html").read_text()
    rows = re.findall(r'<tr class="(holds|fails)">(.*?)</tr>', page, flags=re.S)
    assert all(("does not hold" in row) == (kind == "fails") for kind, row in rows)
    assert {"holds", "fails"} == {kind for kind, _ in rows}
    assert re.search(r"tr\.fails td\.verdict \{ color: #b3261e", page)


def test_all_figures_are_named_and_have_experiments():
    assert len(FIGURES) == 20
    for drawing in (*FIGURES, *BEYOND):
        assert set(drawing.needs) <= set(experiments.EXPERIMENTS)
    shown = {need for drawing in (*FIGURES, *BEYOND) for need in drawing.needs}
    assert set(experiments.EXPERIMENTS) == shown | set(ALWAYS) == set(CHECKS)


def test_distance_of_samples_is_that_of_sorted_ones_on_a_line():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200))
    expected = np.sqrt(np.mean((np.sort(a) - np.sort(b)) ** 2))
    assert laws.distance(a[:, None], b[:, None]) == pytest.approx(expected)


def test_draws_keep_shares_and_weights():
    rows = np.column_stack([np.arange(100.0), np.arange(100) >= 90])
    weight = np.where(rows[:, 1] == 1, 0.3 / 10, 0.7 / 90)
    drawn = laws.drawn(rows, weight, 50, [0])
    assert np.sum(drawn[:, 1]) in (15, 16)
    assert len(np.unique(drawn[:, 0])) > 30


def test_local_rate_is_that_of_training():
    """The slope of a run's training error at late times, d = 40."""
    task, net = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(1.0)
    drawn = df.training_data(task, 40)
    (gamma,) = local_rates(drawn.X, df.minimizer(drawn.X, drawn.y, net).w[None], np.ones(1))
    t = np.array([8.0, 10.0]) / gamma
    runs = df.simulate(
        task, net, t[-1], d=40, seeds=1, t_eval=t, trainer=df.GradientFlow(1e-11), progress=False
    )
    slope = -np.diff(np.log(runs.train_error[0])) / np.diff(t)
    assert slope[0] == pytest.approx(2 * gamma, rel=0.01)  # the next mode is down by e⁻⁸ or so


def test_training_data_are_those_of_simulate():
    task = df.Task(0.5, 0.3, df.Bernoulli(0.2))
    drawn = df.training_data(task, 30, "binary", seed=4, run=2)
    runs = df.simulate(
        task,
        df.DiagonalNetwork(0.5),
        1.0,
        d=30,
        seeds=3,
        inputs="binary",
        seed=4,
        t_eval=[0.0],
        progress=False,
    )
    np.testing.assert_array_equal(drawn.w_star, runs.w_star[2])
    assert np.mean(drawn.y**2) == pytest.approx(runs.train_error[2, 0], rel=1e-12)


def test_crossings_and_standard_errors():
    assert crossing(np.arange(4.0), np.array([3.0, 1.0, 2.0, 0.0]), 1.5) == 2.25
    assert np.isnan(crossing(np.arange(2.0), np.array([0.0, 1.0]), 2.0))
    runs = np.random.default_rng(0).standard_normal((1, 400)) + 5
    distance = from_theory(runs, 5.0)
    assert distance.worst == pytest.approx(abs(scipy.stats.ttest_1samp(runs[0], 5.0).statistic))
    assert distance.percent == pytest.approx(20 * abs(np.mean(runs) - 5))
    assert distance.most == bound(400, 1) == pytest.approx(scipy.stats.t.isf(0.005, 399))
    same = from_theory(np.ones((2, 5)), 1.0)
    assert (same.worst, same.holds) == (0.0, True), "no spread and no difference"


def test_bounds_are_kept_by_right_theories():
    """Means of 5 numbers, the worst of 20: beyond the bound in 1 case of 100, here of 4000; 4 sd of that."""
    rng = np.random.default_rng(1)
    failed = sum(not from_theory(rng.standard_normal((20, 5)), 0.0).holds for _ in range(4000))
    assert abs(failed - 40) < 4 * np.sqrt(40)


@pytest.mark.slow
def test_folders_are_of_one_kind(three, capsys):
    command = ["reproduce", "descent", "--full", "--out", str(three[0])]
    assert main.guarded(lambda: main.app(command, standalone_mode=False)) == 2
    assert "another kind (quick, luad, seed 0)" in capsys.readouterr().err


@pytest.mark.slow
def test_pictures_of_replaced_data_go(three, tmp_path):
    """A picture whose data are to be computed anew is not left to be taken for theirs."""
    (tmp_path / "data").mkdir()
    old = files.read(experiments.path_of(three[0], "rates-theory"))
    files.write(
        old.assign_attrs(fingerprint="another"), "Experiment", tmp_path / "data" / "gene-histogram.nc"
    )
    (tmp_path / "gene-histogram.pdf").write_text("old")
    (tmp_path / "paths.png").write_text("of other data")
    df.reproduce("gene-histogram", out=tmp_path)
    assert (tmp_path / "gene-histogram.pdf").stat().st_size > 5000
    assert (tmp_path / "paths.png").read_text() == "of other data"
    assert "paths" not in (tmp_path / "report.html").read_text()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    reproduce(folder, "--quick")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_all_data_are_what_the_engines_say(whole, name):
    CHECKS[name](read(whole)[name], QUICK)


@pytest.mark.slow
def test_whole_report(whole):
    claims = json.loads((whole / "claims.json").read_text())
    topics = {
        "DMFT equations", "Lazy collapse", "Grokking time", "Descent time", "Fixed point, case (i)",
        "Fixed point, case (ii)", "Fixed point, case (iii)", "Law of coordinates", "Train-test gap",
        "Convergence rate", "Monotonicity", "Small λ", "Law of whole paths", "Universality", "Real data",
        "Rich phase", "Generalization", "Trade-off",
    }  # fmt: skip
    assert {claim["topic"] for claim in claims} == topics
    for claim in claims:
        assert claim["holds"] == (claim["source"] != PRINTED), claim
    page = (whole / "report.html").read_text()
    assert page.count("<figure id=") == 23
    for drawing in (*FIGURES, *BEYOND):
        assert (whole / f"{drawing.name}.pdf").stat().st_size > 5000
        assert f'<figure id="{drawing.name}">' in page


PANELS = {
    "timescales": 2, "fixed-points": 1, "rates-gaussian": 1, "rates-real": 2, "dynamics": 1, "grokking": 1,
    "descent": 1, "large-init": 2, "large-init-lazy": 2, "large-init-grokking": 2, "large-init-rich": 2,
    "small-init": 2, "small-init-descent": 2, "fixed-point-regularized": 2, "fixed-point-ridgeless": 2,
    "fixed-point-interpolating": 2, "rates-detail": 2, "rates-theory": 1, "universality": 2,
    "gene-histogram": 1, "paths": 1, "small-decay": 2,
    "generalization": 2,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("drawing", [*FIGURES, *BEYOND], ids=lambda d: d.name)
def test_structure_of_all_figures(whole, drawing):
    data = read(whole)
    figure = drawing.draw(data)
    assert len(figure.axes) == PANELS[drawing.name]
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert ax.lines
    assert "{" not in drawing.caption(data)
    dynamics = {"dynamics", "large-init", "small-init", "rates", "small-decay"}
    if dynamics & set(drawing.needs):
        entries = [*words(figure), *(t.get_text() for legend in figure.legends for t in legend.get_texts())]
        assert any("DMFT" in entry for entry in entries)
        assert any(ax.containers for ax in figure.axes), "networks as points with bars"


FAILS = [
    ("dynamics", "train_error_theory", 1.2, {"`dynamics`: finite"}),
    ("dynamics", "alpha", 2.0, {"the training error"}),
    ("large-init", "lazy_at", 1.1, {"for large α both", "and networks follow"}),
    ("large-init", "half_way", np.array([1.0, 1.0, 1.2]), {"the step comes at", "networks grok when"}),
    ("small-init", "t", np.array([1.0, 1.0, 1.2])[:, None], {"for small α training"}),
    ("small-init", "train_error", np.linspace(1, 0.1, 120), {"`small-init`: finite", "and networks take"}),
    ("identities", "lazy_form", 1.05, {"C_w(t, 0) = ρ² ∫"}),
    ("identities", "layers_corrected", 1.001, {"(u² + v²)/2 = √(w"}),
    ("identities", "negative_end", 0.9, {"for infinite δ"}),
    ("fixed-point-regularized", "test_error_expected", 1.5, {"λ > 0: training"}),
    ("fixed-point-regularized", "chi_w", 1.2, {"case (i): test error"}),
    ("fixed-point-regularized", "mass_at_zero", 0.8, {"case (i): the"}),
    ("identities", "noise_fitted", 0.97, {"χ_f = 1: that"}),
    (
        "generalization",
        "test_error",
        np.array([1.1, 1, 1, 1])[:, None],
        {"smaller α generalizes better for", "with more noise", "better solutions are"},
    ),
    (
        "generalization",
        "local_rate",
        np.array([4, 1, 1, 1])[:, None],
        {"better solutions", "the trade-off has"},
    ),
    ("rate-limits", "large_ratio", 1.02, {"γ → α²(1"}),
    ("rate-limits", "dense_gamma", 1.02, {"γ → 0 as α → 0, but"}),
    ("rate-limits", "dense_local_rate", np.array([1, 1, 1, 1.02])[:, None], {"on finite data of that"}),
    ("fixed-points", "minimizer_test_error", 1.2, {"λ = 0, δ < 1:"}),
    ("fixed-points", "weights", 1.3, {"training ends at the interp", "case (iii): coordinates"}),
    ("rates", "train_error_theory", np.exp(-0.05 * np.linspace(0, 8, 121)), {"the loss of the infinite"}),
    ("rates", "gamma", 1.25, {"δ = 0.5: the slowest", "δ = 2: the slowest", "the loss of the infinite"}),
    ("rates", "late_loss", 1.5, {"loss = exp(-2γt + o(t)"}),
    ("rates-theory", "dgamma_dalpha", 1.02, {"dγ/dα with the law"}),
    ("small-decay", "lam", 20.0, {"little weight decay"}),
    ("paths", "distance", 1.1, {"the coordinates of a network"}),
    ("universality", "test_error", 1.3, {"inputs ±1/√d end"}),
    ("universality", "local_rate", 1.3, {"and converge at the same"}),
    ("universality", "curve_train_error", 1.3, {"and follow the same"}),
    ("fixed-points", "real_test_error", 1.3, {"gene expression ends"}),
    ("rates-real", "local_rate", 0.8, {"gene expression converges", "its rates are those"}),
    ("rates-real", "eigenvalues", 1.2, {"how far: with more"}),
    ("rates-real", "train_error", 1e7, {"columns normalized over"}),
]
"""Experiment, variable and factor, and the beginnings of the statements that no longer hold."""


@pytest.mark.slow
@pytest.mark.parametrize("change", FAILS, ids=lambda c: f"{c[0]}-{c[1]}")
def test_every_verdict_can_fail(whole, change):
    data, (name, key, factor, expected) = read(whole), change
    claims = judged(changed(data, name, **{key: lambda x: x * factor}))
    failing = [c.statement for c in claims if c.source != PRINTED and not c.holds]
    assert {start for start in expected if any(s.startswith(start) for s in failing)} == expected, failing
    assert all(any(s.startswith(start) for start in expected) for s in failing), failing


@pytest.mark.slow
def test_the_law_of_paths_tells_a_fifth_more_initial_scale(monkeypatch):
    """Networks of α = 0.36 against the law of 0.3: W₂² beyond chance is seen at d = 400."""
    setting = Setting(QUICK)
    right = laws.paths(setting)
    assert data_claims.path_laws(right)[0].holds
    train = laws.train
    wrong = df.DiagonalNetwork(0.36)
    monkeypatch.setattr(laws, "train", lambda s, problem, *a, **k: train(s, (problem[0], wrong), *a, **k))
    assert not data_claims.path_laws(laws.paths(setting))[0].holds


def test_a_cohort_that_is_not_there_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNAFIELD_DATA", str(tmp_path / "nothing"))
    with pytest.raises(df.FileError, match="not been downloaded"):
        df.reproduce("gene-histogram", out=tmp_path / "out", data="pancan")
    assert not (tmp_path / "out").exists()
