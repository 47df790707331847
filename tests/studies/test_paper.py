"""The paper, reproduced: data against engines, figures by structure, verdicts that may fail."""

import dataclasses
import html
import json
import os
import re
import shutil

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
import xarray as xr
from typer.testing import CliRunner

import dynafield as df
from dynafield.cli import main
from dynafield.figures.paper.catalogue import BEYOND, FIGURES, named
from dynafield.figures.report import write_report
from dynafield.records import files
from dynafield.studies.paper import data_claims, experiments, laws, reproduction
from dynafield.studies.paper.as_printed_claims import one_mode
from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    PRINTED,
    Claim,
    bound,
    corrects,
    from_theory,
    plain,
)
from dynafield.studies.paper.corrections import ADDED, CORRECTIONS, WEIGHTS
from dynafield.studies.paper.parts import crossing, local_rates
from dynafield.studies.paper.perturbations import turns
from dynafield.studies.paper.reproduction import ALWAYS
from dynafield.studies.paper.setting import FULL, QUICK, Setting
from dynafield.studies.paper.truncated import SIGNED, TIMES, gaussian_draws, trained
from dynafield.studies.paper.verdicts import Group, judged
from tests.explorer.browser import chromium
from tests.pictures import is_a_drawing
from tests.studies.paper_checks import CHECKS

THREE = ("rates-theory", "fixed-point-ridgeless", "descent")
"""Theory alone, where networks end, and a learning curve."""
THREE_DATA = ("rates-theory", "fixed-point-ridgeless", "small-init")
"""The experiments that these show."""


def reproduce(folder, *arguments, workers=1):
    command = ["reproduce", *arguments, "--out", str(folder), "--workers", str(workers)]
    done = CliRunner().invoke(main.app, command)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    reproduce(folder, "--quick", workers=max(1, (os.cpu_count() or 1) // 2))  # two processes run tests
    return folder


@pytest.fixture(scope="module")
def three(whole, tmp_path_factory):
    """Three figures of data that `whole` has computed."""
    folder = tmp_path_factory.mktemp("three") / "deep" / "out"
    (folder / "data").mkdir(parents=True)
    for name in THREE_DATA:
        shutil.copy(experiments.path_of(whole, name), experiments.path_of(folder, name))
    return folder, reproduce(folder, *THREE)


@pytest.fixture(scope="module")
def all_data(whole):
    return read(whole)


def read(folder):
    return {path.stem: files.read(path) for path in (folder / "data").glob("*.nc")}


def seen(text):
    """Words without what HTML does to spaces and signs."""
    return html.unescape(text).replace("\xa0", " ").replace(" ", "")


def structure(figure):
    """What can be said of a figure without its pixels."""
    return [
        (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), ax.get_yscale(), len(ax.containers))
        for ax in figure.axes
    ]


def words(figure):
    return [text.get_text() for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A figure of theory alone."""
    out = tmp_path_factory.mktemp("one") / "deep" / "out"
    return out, reproduce(out, "rates-theory")


def test_one_figure_with_data_and_report(one):
    out, done = one
    names = {path.name for path in out.iterdir()}
    assert names == {
        "rates-theory.png", "rates-theory.pdf", "data", "report.html", "claims.json", "setting.json",
    }  # fmt: skip
    CHECKS["rates-theory"](read(out)["rates-theory"], QUICK)
    claims = json.loads((out / "claims.json").read_text())
    assert claims
    page = (out / "report.html").read_text()
    assert page.count('class="holds"') + page.count('class="fails"') == len(claims)
    derivative = CORRECTIONS["rate-derivative"]
    for words in (
        "A Unifying Analysis by Dynamical Mean-Field Theory", "Sota Nishiyama and Masaaki Imaizumi",
        "Result 2, λ&nbsp;= 0; Proposition C.1; Figure 14", "A time, a rate or another value is wrong (1)",
        derivative.place, derivative.printed, derivative.corrected,
        *(one.corrected for one in CORRECTIONS.values() if not one.judged),
    ):  # fmt: skip
        assert seen(words) in seen(page)
    assert done.stdout.splitlines()[-4:] == [
        str(out / "report.html"),
        "1 of 1 claims of the paper hold",
        "0 of 1 statements that need a correction hold as printed",
        "1 of 1 corrected or added statements hold",
    ]
    assert "1 of 1 experiments are there already" in reproduce(out, "rates-theory").stderr


def test_data_of_another_version_are_not_redrawn_in_silence(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    path = experiments.path_of(tmp_path, "rates-theory")
    files.write(xr.Dataset({"rate": 1.0}).assign_attrs(scale="quick"), "Experiment", path)
    command = ["reproduce", "rates-theory", "--redraw", "--out", str(tmp_path)]
    assert main.guarded(lambda: main.app(command, standalone_mode=False)) == 2
    assert "another version made them; run without redraw" in capsys.readouterr().err


def test_progress_says_what_is_being_done(tmp_path):
    told = []
    df.reproduce("gene-histogram", out=tmp_path, progress=lambda share, words: told.append((share, words)))
    assert told == [(0.0, "1 left, now gene-histogram"), (1.0, "done")]


@pytest.mark.slow
def test_three_figures_with_data_and_report(three):
    folder, done = three
    names = {path.name for path in folder.iterdir()}
    pictures = {f"{name}.{ending}" for name in THREE for ending in ("png", "pdf")}
    assert names == pictures | {"data", "report.html", "claims.json", "setting.json"}
    assert set(read(folder)) == set(THREE_DATA)
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
        "Descent time", "DMFT equations", "Fixed point, case (ii)", "Distribution of coordinates",
        "Train-test gap", "Monotonicity",
    }  # fmt: skip


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


def test_an_experiment_that_fails_is_told_and_the_others_go_on(one, tmp_path, monkeypatch):
    """In the report and in red, with its message; exit code 1; done well later, it is gone.

    The second time it gives what it has given before, when it was really computed.
    """

    def broken(setting):
        raise ZeroDivisionError("no <data> today")

    right = files.read(experiments.path_of(one[0], "rates-theory"))
    monkeypatch.setitem(experiments.EXPERIMENTS, "rates-theory", broken)
    command = ["reproduce", "rates-theory", "gene-histogram", "--out", str(tmp_path), "--workers", "1"]
    done = CliRunner().invoke(main.app, command)
    assert done.exit_code == 1
    assert "rates-theory: FAILED (ZeroDivisionError: no <data> today)" in done.stderr
    page = (tmp_path / "report.html").read_text()
    assert '<div class="broken">' in page
    assert "ZeroDivisionError: no &lt;data&gt; today" in page
    assert (tmp_path / "gene-histogram.png").is_file()
    assert not (tmp_path / "rates-theory.png").exists()
    monkeypatch.setitem(experiments.EXPERIMENTS, "rates-theory", lambda setting: right)
    assert CliRunner().invoke(main.app, command).exit_code == 0
    assert '<div class="broken">' not in (tmp_path / "report.html").read_text()


def test_a_figure_that_fails_is_told_and_the_others_are_drawn(tmp_path, monkeypatch):
    reproduce(tmp_path, "gene-histogram")
    (drawing,) = named(["gene-histogram"])
    bad = dataclasses.replace(drawing, name="bad", function=lambda data: data["nothing"])
    monkeypatch.setattr(reproduction, "named", lambda names: [bad, drawing])
    made = df.reproduce(["bad", "gene-histogram"], out=tmp_path)
    assert [path.name for path in made.files][:2] == ["gene-histogram.png", "gene-histogram.pdf"]
    assert list(made.failed) == ["figure bad"]
    assert "nothing" in made.failed["figure bad"]


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
    assert words(descent)[-2:] == ["DMFT", "networks, d = 200"]
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
    both = {("Distribution of coordinates", PAPER), ("Fixed point, case (ii)", PAPER)}
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
    assert re.search(r"--bad: #b3261e.*tr\.fails td\.verdict \{ color: var\(--bad\)", page, flags=re.S)


def test_corrections_are_whole():
    """Each says where, what is right, and how much it weighs; only what is added has nothing in print."""
    for name, one in CORRECTIONS.items():
        assert one.place, name
        assert one.corrected, name
        assert one.weight in WEIGHTS, name
        assert one.printed or one.weight == ADDED, name
        assert all(text.endswith(".") for text in (one.printed or ".", one.corrected)), name


def test_report_sorts_claims_by_what_they_are(tmp_path):
    """A claim that holds, two statements that do not (heaviest first), a correction, one that surprises."""

    def claim(source, statement, holds, erratum=""):
        made = Claim("Topic", source, statement, "1", "2", "3 %", "rule", holds, "", place="Section 9")
        return (corrects(erratum, made) if erratum else [made])[0].facts()

    claims = [
        claim(PAPER, "First.", True),
        claim(PRINTED, "Second.", False, "limit-sign"),
        claim(PRINTED, "Third.", False, "single-rates"),
        claim(CORRECTED, "Fourth.", True, "limit-sign"),
        claim(PAPER, "Fifth.", False),
    ]
    paper = {"title": "A < B", "authors": "C"}
    page = write_report(tmp_path / "report.html", paper, ["About."], claims, [], [], {}).read_text()
    places = [
        page.index(words)
        for words in (
            "A &lt; B", "1 of 2</b> claims of the paper", "0 of 2</b> statements", "1 of 1</b> corrected",
            'id="unexpected"', "Fifth.", 'id="holding"', "First.", 'id="printed"',
            "The conclusion changes (1)", "Third.", "is misprinted (1)", "Second.", 'id="corrected"',
            "Correct: w(∞)", "Fourth.",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert 'id="notation"' not in page
    assert 'id="figures"' not in page
    assert page.count("<tr") == page.count("</tr>")
    assert page.count("<td") == page.count("</td>")


def test_numbers_are_written_without_exponents_where_that_is_short():
    assert plain([1234.5, 99.4, 0.00012, 2e7], 2) == "1234, 99, 0.00012, 2e+07"


def test_report_fits_wide_and_narrow_screens(tmp_path):
    """Nothing is wider than the screen; on a narrow one every cell says what it is."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    one = Claim("Topic", PRINTED, "Statement.", "1", "2", "3 %", "rule " * 9, False, "")
    claims = [claim.facts() for claim in corrects("single-rates", one)]
    report = write_report(tmp_path / "report.html", {"title": "A", "authors": "B"}, [], claims, [], [], {})
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for width, shown in ((1400, "table-header-group"), (420, "none")):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.goto(report.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate("getComputedStyle(document.querySelector('thead')).display") == shown
        label = "getComputedStyle(document.querySelectorAll('tbody td')[1], '::before').content"
        assert page.evaluate(label) == '"correct"'
        browser.close()


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


def test_draws_of_a_gaussian_law_have_its_covariance():
    covariance = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 0.0]])
    first, second = gaussian_draws(covariance, 20_000, 2, [0])
    np.testing.assert_allclose(first.T @ first / len(first), covariance, atol=0.08)  # 4 sd of the largest
    assert np.all(first[:, 2] == 0)
    assert abs(np.mean(first[:, 0] * second[:, 0])) < 0.06


def test_networks_of_a_law_have_no_excess_over_it():
    """Samples that are draws themselves: W₂² beyond chance within 4 standard errors of 0; shifted not."""
    rng = np.random.default_rng(1)
    samples, draws = rng.standard_normal((20, 40, 2)), rng.standard_normal((20, 4, 40, 2))
    for shift, seen in ((0.0, False), (0.5, True)):
        distance, floor, between = laws.from_law(list(samples + shift), lambda run: list(draws[run])) ** 2
        excess = distance - 0.5 * (floor + between)
        assert (abs(np.mean(excess)) > 4 * np.std(excess, ddof=1) / np.sqrt(20)) == seen


def test_a_truncated_network_is_that_of_simulate():
    """The same data, trained to 1e-3 and to 1e-6; layers make the weights."""
    net = df.models.TruncatedDiagonalNetwork(0.3, 0.05, 2, M=1.0)
    one = trained(net, 40, 7, 1)
    runs = df.simulate(SIGNED, net, 10.0, d=40, runs=2, t_eval=TIMES, seed=7, weights=True, progress=False)
    np.testing.assert_allclose(one.w, runs.weights[1], atol=2e-3)
    train, test = one.errors
    np.testing.assert_allclose(train, runs.train_error[1], rtol=5e-3)
    np.testing.assert_allclose(test, runs.test_error[1], rtol=5e-3)
    eta = net.truncation
    np.testing.assert_allclose(one.w, (eta(one.u**2)[0] - eta(one.v**2)[0]) / 2, atol=1e-12)


def test_draws_keep_shares_and_weights():
    rows = np.column_stack([np.arange(100.0), np.arange(100) >= 90])
    weight = np.where(rows[:, 1] == 1, 0.3 / 10, 0.7 / 90)
    drawn = laws.drawn(rows, weight, 50, [0])
    assert np.sum(drawn[:, 1]) in (15, 16)
    assert len(np.unique(drawn[:, 0])) > 30


def test_local_rate_is_that_of_training():
    """The slope of a run's training error at late times, d = 40."""
    task, net = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(1.0)
    drawn = df.data.training_data(task, 40)
    (gamma,) = local_rates(drawn.X, df.endpoints.minimizer(drawn.X, drawn.y, net).w[None], np.ones(1))
    t = np.array([8.0, 10.0]) / gamma
    runs = df.simulate(task, net, t[-1], d=40, runs=1, t_eval=t, tol=1e-11, progress=False)
    slope = -np.diff(np.log(runs.train_error[0])) / np.diff(t)
    assert slope[0] == pytest.approx(2 * gamma, rel=0.01)  # the next mode is down by e⁻⁸ or so


def test_training_data_are_those_of_simulate():
    task = df.Task(0.5, 0.3, df.Bernoulli(0.2))
    drawn = df.data.training_data(task, 30, inputs="binary", seed=4, run=2)
    runs = df.simulate(
        task,
        df.DiagonalNetwork(0.5),
        1.0,
        d=30,
        runs=3,
        inputs="binary",
        seed=4,
        t_eval=[0.0],
        progress=False,
    )
    np.testing.assert_array_equal(drawn.w_star, runs.w_star[2])
    assert np.mean(drawn.y**2) == pytest.approx(runs.train_error[2, 0], rel=1e-12)


def test_steps_move_a_mode_by_their_curvature():
    """One mode, first order in ηx: ηx/(2e), at 2xt = 1; a mode at rest is not moved."""
    assert one_mode(0.1, 0.2) == pytest.approx(0.02 / (2 * np.e), rel=0.05)
    assert one_mode(0.1, 0.0) == 0


def test_the_error_below_the_peak_is_that_of_its_identity():
    """[eq:double_descent]: the test error by R_w and the mean of Φ², here over 4e5 draws, within 4 sd."""
    task, net = df.Task(0.9, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)
    point = df.fixed_point(task, net)
    square = np.arcsinh(point.sample(400_000)[0] / 0.25) ** 2
    mean, error = np.mean(square), np.std(square) / 400_000**0.5
    expected, slope = (0.9 * (x + point.R_w**2 * y) / 0.1 for x, y in ((0.01, mean), (0.0, error)))
    assert abs(point.test_error - expected) < 4 * slope


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
    assert "out holds another reproduction (quick, luad, seed 0)" in capsys.readouterr().err


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
    assert is_a_drawing(tmp_path / "gene-histogram.pdf")
    assert (tmp_path / "paths.png").read_text() == "of other data"
    assert "paths" not in (tmp_path / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_all_data_are_what_the_engines_say(all_data, name):
    CHECKS[name](all_data[name], QUICK)


@pytest.mark.slow
def test_whole_report(whole):
    claims = json.loads((whole / "claims.json").read_text())
    topics = {
        "DMFT equations", "Lazy phase", "Grokking time", "Descent time", "Fixed point, case (i)",
        "Fixed point, case (ii)", "Fixed point, case (iii)", "Distribution of coordinates", "Train-test gap",
        "Convergence rate", "Monotonicity", "Small λ", "Distribution of paths", "Universality", "Real data",
        "Rich phase", "Generalization", "Trade-off", "Search phase", "Infinite data",
        "Rates under weight decay", "Truncated networks", "Descent limit", "Rich limit", "Late times",
        "The paper's training", "Message passing", "Double descent",
    }  # fmt: skip
    assert {claim["topic"] for claim in claims} == topics
    for claim in claims:
        assert claim["holds"] == (claim["source"] != PRINTED), claim
        assert claim["place"], claim
        assert bool(claim["erratum"]) == (claim["source"] != PAPER), claim
    judged_ones = {name for name, one in CORRECTIONS.items() if one.judged}
    assert {claim["erratum"] for claim in claims} - {""} == judged_ones
    page = (whole / "report.html").read_text()
    assert page.count("<figure id=") == len(FIGURES) + len(BEYOND)
    for drawing in (*FIGURES, *BEYOND):
        assert is_a_drawing(whole / f"{drawing.name}.pdf"), drawing.name
        assert f'<figure id="{drawing.name}">' in page


PANELS = {
    "timescales": 2, "fixed-points": 1, "rates-gaussian": 1, "rates-real": 2, "dynamics": 1, "grokking": 1,
    "descent": 1, "large-init": 2, "large-init-lazy": 2, "large-init-grokking": 2, "large-init-rich": 2,
    "small-init": 2, "small-init-descent": 2, "fixed-point-regularized": 2, "fixed-point-ridgeless": 2,
    "truncated": 3, "phase-limits": 2,
    "fixed-point-interpolating": 3, "rates-detail": 2, "rates-theory": 1, "universality": 2,
    "gene-histogram": 1, "paths": 1, "small-decay": 2,
    "generalization": 2, "as-printed": 3,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("drawing", [*FIGURES, *BEYOND], ids=lambda d: d.name)
def test_structure_of_all_figures(all_data, drawing):
    figure = drawing.draw(all_data)
    assert len(figure.axes) == PANELS[drawing.name]
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert ax.lines
    assert "{" not in drawing.caption(all_data)
    dynamics = {"dynamics", "large-init", "small-init", "rates", "small-decay"}
    if dynamics & set(drawing.needs):
        entries = [*words(figure), *(t.get_text() for legend in figure.legends for t in legend.get_texts())]
        assert any("DMFT" in entry for entry in entries)
        assert any(ax.containers for ax in figure.axes), "networks as points with bars"


FAILS = [
    ("dynamics", "train_error_theory", 1.2, {"`dynamics`: finite"}),
    ("dynamics", "alpha", 2.0, {"The training error stops"}),
    ("large-init", "lazy_at", 1.1, {"For large α both", "Finite networks follow the closed"}),
    (
        "large-init",
        "half_way",
        np.array([1.0, 1.0, 1.2]),
        {"The transition comes at", "At the largest α finite"},
    ),
    (
        "small-init",
        "t",
        np.array([1.0, 1.0, 1.2])[:, None],
        {"For small α training", "The infinite network follows the same limit equation for α → 0"},
    ),
    (
        "small-init",
        "train_error",
        np.linspace(1, 0.1, 120),
        {"`small-init`: finite", "Finite networks descend"},
    ),
    ("identities", "lazy_form", 1.05, {"C_w(t, 0) = ρ² ∫"}),
    ("identities", "layers_corrected", 1.001, {"(u² + v²)/2 = √(w"}),
    ("identities", "negative_end", 0.9, {"δ → ∞: w(∞) = sign"}),
    ("fixed-point-regularized", "test_error_expected", 1.5, {"λ > 0: the errors"}),
    ("fixed-point-regularized", "chi_w", 1.2, {"Case (i): test error"}),
    ("fixed-point-regularized", "mass_at_zero", 0.8, {"Case (i): the threshold"}),
    ("identities", "noise_fitted", 0.97, {"χ_f = 1: all"}),
    (
        "generalization",
        "test_error",
        np.array([1.1, 1, 1, 1])[:, None],
        {"Smaller α generalizes better for", "With more noise (σ = 0.3) there", "Better solutions are"},
    ),
    (
        "generalization",
        "local_rate",
        np.array([4, 1, 1, 1])[:, None],
        {"Better solutions", "With more noise (σ = 0.3) the trade-off"},
    ),
    ("rate-limits", "large_ratio", 1.02, {"γ → α²(1"}),
    ("rate-limits", "dense_gamma", 1.02, {"γ → 0 as α → 0, except"}),
    ("rate-limits", "dense_local_rate", np.array([1, 1, 1, 1.02])[:, None], {"For σ = 0, δ > 1 and targets"}),
    ("search-phase", "search_weights", 1.2, {"W = w/α²"}),
    ("search-phase", "search_off", np.array([1.15, 1])[:, None, None], {"W = exp(-λt) sinh"}),
    ("search-phase", "search_moved", np.array([1.15, 1])[:, None, None], {"Both errors keep"}),
    ("search-phase", "search_moved_form", 1.2, {"The training error changes by -2α²"}),
    (
        "search-phase",
        "rule_time",
        1.01,
        {"A coordinate first reaches |w| = ½ when |∫g|"},
    ),
    (
        "search-phase",
        "active_time",
        np.array([[1, 1], [1, 1], [1, 0.95]])[..., None, None],
        {"Any size of order one"},
    ),
    ("infinite-data", "path_distance", np.array([1, 1.5])[:, None], {"δ → ∞: every"}),
    (
        "infinite-data",
        "form_off",
        np.array([1, 1, 1.2]),
        {"δ → ∞, lazy", "δ → ∞, search", "δ → ∞, descent"},
    ),
    ("infinite-data", "half_time", 1.001, {"δ → ∞: a coordinate becomes"}),
    ("infinite-data", "speed", 1.05, {"With many data"}),
    ("infinite-data", "grokking_time", 1.001, {"δ → ∞: the rich phase begins"}),
    ("infinite-data", "approach_rate", 1.02, {"δ → ∞, rich phase: coordinates"}),
    ("decay-rates", "gap_theory", np.exp(-0.05 * 5 * 2.0 ** np.arange(4)), {"With weight decay the loss"}),
    (
        "decay-rates",
        "gap",
        np.exp(-0.01 * np.maximum(5 * 2.0 ** np.arange(7) - 40, 0)),
        {"The loss of finite networks"},
    ),
    ("decay-rates", "slowest", 1.5, {"There are arbitrarily"}),
    ("decay-rates", "rate", 1.05, {"Coordinates with limit zero: the"}),
    ("decay-rates", "rate", 1.2, {"Coordinates with limit zero: the", "Active coordinates: the"}),
    ("decay-rates", "local_rate", 1.03, {"Coordinates with limit zero decay"}),
    ("decay-rates", "relaxation", 1.05, {"|w|/(1 + χ_w) is a local rate"}),
    ("decay-rates", "share", np.array([1, 1, 1.6])[:, None], {"Where |w| has a density"}),
    ("decay-rates", "pole_rate", 1.02, {"What is left of the pole"}),
    ("decay-rates", "left_theory", 1.01, {"The response of an active"}),
    ("decay-rates", "alone_pole", 1.01, {"There is a real pole"}),
    ("phase-limits", "descent_test_error", np.array([1, 1, 1.02])[:, None, None], {"For α → 0 the errors"}),
    ("phase-limits", "descent_end", 1e6, {"The descent converges"}),
    (
        "phase-limits",
        "descent_test_limit",
        1.1,
        {"For α → 0 the errors", "The infinite network follows the same limit equation for α → 0"},
    ),
    ("phase-limits", "rich_memory", np.array([1, 1, 1, 0.9])[:, None], {"For α → ∞ the rich phase"}),
    (
        "phase-limits",
        "rich_test_limit",
        1.1,
        {"The infinite network follows the same limit equation for α → ∞"},
    ),
    ("fixed-points", "minimizer_test_error", 1.2, {"λ = 0, δ < 1: the test"}),
    ("as-printed", "end_expected", 1.5, {"Networks trained the paper's way"}),
    ("as-printed", "test_error_theory", 1.02, {"Steps of 0.1 change"}),
    (
        "as-printed",
        "test_error_theory",
        1.05,
        {"Steps of 0.1 change", "Where steps of 0.1"},
    ),
    (
        "as-printed",
        "iid_test_error",
        1.3,
        {"Independent targets widen", "The test error grows", "Independent targets leave"},
    ),
    ("as-printed", "share_slope", 1.03, {"The test error grows"}),
    ("as-printed", "growth", 1.2, {"Steps of 0.1 are stable"}),
    ("message-passing", "C_w_evolution", 1.3, {"The iterates of message"}),
    ("message-passing", "tau_evolution", 1.05, {"The iterates of message"}),
    ("message-passing", "entries_evolution", 1.03, {"The entries of iterate"}),
    ("message-passing", "mapped", 1 + 1e-8, {"The fixed point of state"}),
    ("message-passing", "distance", 1e3, {"The fixed points of the iteration"}),
    (
        "double-descent",
        "test_error",
        np.array([1, 1, 1, 1.3, 1, 1])[:, None],
        {"λ = 0, with label noise", "Weight decay"},
    ),
    (
        "double-descent",
        "test_error",
        np.array([1, 1, 0.6, 0.5, 1, 1])[:, None],
        {"λ = 0, with label noise", "With label noise and", "Without label noise", "Weight decay"},
    ),
    ("double-descent", "below", 1.03, {"The test error diverges"}),
    ("gene-histogram", "feature_kurtosis", 0.8, {"Whitened features have"}),
    ("gene-histogram", "beyond", 0.3, {"Whitened features have"}),
    ("fixed-points", "train_error", 1e6, {"λ = 0, δ < 1: the training"}),
    ("fixed-points", "minimizer_test_error", 1.2, {"λ = 0, δ < 1: the test"}),
    ("fixed-points", "weights", 1.3, {"Training converges to the interp", "Case (iii): the coordinates"}),
    (
        "rates",
        "train_error_theory",
        np.exp(-0.05 * np.linspace(0, 8, 121)),
        {"δ = 0.5: the loss of the infinite"},
    ),
    ("rates", "gamma", 1.25, {"δ = 0.5: on", "δ = 2: on", "δ = 0.5: the loss of the infinite"}),
    ("rates", "late_loss", 1.5, {"L(t) - L(∞) = exp(-2γt + o(t)"}),
    ("late-times", "response", 1.0005, {"δ < 1: R_w(t) - R_w(∞)"}),
    ("late-times", "response_late", 1.01, {"δ < 1: R_w(t) - R_w(∞)", "R_f decays"}),
    ("late-times", "network_limit", 1.01, {"δ < 1: the response"}),
    ("late-times", "network_response", 1.05, {"δ < 1: the response"}),
    ("late-times", "memory", np.exp(-0.05 * np.linspace(0.5, 3.5, 13)), {"R_f decays"}),
    ("late-times", "loss", np.exp(-0.08 * np.linspace(0.5, 5.0, 19)), {"δ = 2: the loss of the"}),
    ("late-times", "excess", np.array([1.0, 0.8]), {"δ = 2: the loss of a"}),
    ("late-times", "path_slope", np.array([1.05, 1.0])[:, None], {"λ = 0: all coord"}),
    ("late-times", "coordinate_late", 1.01, {"λ = 0: u(p)"}),
    ("rates-theory", "dgamma_dalpha", 1.02, {"dγ/dα is the total"}),
    ("small-decay", "lam", 20.0, {"Weak weight decay"}),
    ("paths", "distance", 1.1, {"The coordinates of a network"}),
    ("truncated", "test_error_theory", 1.05, {"Finite networks with an active"}),
    ("truncated", "layers_distance", 1.1, {"The layers (u, v) of"}),
    ("truncated", "data_distance", 1.1, {"The label noise and f"}),
    ("truncated", "v_speed_corrected", 1.0001, {"dv/dt = -(λv"}),
    ("truncated", "w_by_v_corrected", 1.0001, {"∂w/∂v = -v^(L-1) η'(v^L)"}),
    ("truncated", "unbounded_weights", 1.02, {"The truncation can be ignored while |u|^L"}),
    ("truncated", "noise_share_theory", 1.1, {"∂f/∂z_f ends with -R_w"}),
    ("universality", "test_error", 1.3, {"With inputs ±1/√d the test"}),
    ("universality", "local_rate", 1.3, {"With inputs ±1/√d training"}),
    ("universality", "curve_train_error", 1.3, {"With inputs ±1/√d the learning"}),
    ("fixed-points", "real_test_error", 1.3, {"On gene expression the test"}),
    ("rates-real", "local_rate", 0.8, {"On gene expression training", "The rates on gene"}),
    ("rates-real", "eigenvalues", 1.2, {"With more features"}),
    ("rates-real", "train_error", 1e7, {"Columns normalized over"}),
]
"""Experiment, variable and factor, and the beginnings of the statements that no longer hold."""


@pytest.mark.slow
@pytest.mark.parametrize("change", FAILS, ids=lambda c: f"{c[0]}-{c[1]}")
def test_every_verdict_can_fail(all_data, change):
    name, key, factor, expected = change
    claims = judged(changed(all_data, name, **{key: lambda x: x * factor}))
    failing = [c.statement for c in claims if c.source != PRINTED and not c.holds]
    assert {start for start in expected if any(s.startswith(start) for s in failing)} == expected, failing
    assert all(any(s.startswith(start) for start in expected) for s in failing), failing


@pytest.mark.slow
def test_the_report_says_how_little_turns_each_verdict(whole):
    claims = json.loads((whole / "claims.json").read_text())
    assert all(bool(claim["turns"]) == claim["holds"] for claim in claims), claims
    factors = [re.search(r"[×÷] (?:1 to )?(\S+)", c["turns"]) for c in claims]
    far = {
        claim["statement"]
        for claim, found in zip(claims, factors, strict=True)
        if found and float(found.group(1)) > 2
    }
    assert all(any(s.startswith(start) for start in ROBUST) for s in far), far


ROBUST = (
    "γ increases with α",
    "On gene expression the rate increases",
    "Columns normalized over",
    "The descent converges",
    "With label noise and without weight decay the test error has a peak",
    "The loss of finite networks falls like a power",
    "Where |w| has a density the continuous spectrum",
    "The fixed points of the iteration are the minimizers",
)
"""Statements that hold by far: steps of γ and of rates, what is met to rounding, a peak, long falls."""


def test_turns_are_the_smallest_factors():
    """A made-up claim that holds while x < 1.04 and y falls along k: 1.05 and a tilt of the first step."""
    data = {
        "made-up": xr.Dataset({"x": 1.0, "y": ("k", [4.0, 2.0, 1.0]), "truth": ("k", np.ones(3, np.int8))})
    }

    def judge(one):
        holds = (
            float(one["x"]) < 1.04,
            bool(np.all(np.diff(one["y"]) < 0)),
            bool(np.any(one["truth"])),
            False,
        )
        return [Claim("", PAPER, "", "", "", "", "", held, "") for held in holds]

    found = turns(Group(judge, ("made-up",)), data)
    assert found == ["x × 1.05", "y × 1 to 5 along k", "truth negated in one entry of 1", ""]


@pytest.mark.slow
def test_the_law_of_paths_tells_a_fifth_more_initial_scale(monkeypatch):
    """Networks of α = 0.36 against the law of 0.3: W₂² beyond chance is seen at d = 400."""
    setting = Setting(QUICK)
    right = laws.paths(setting)
    assert data_claims.path_distribution(right)[0].holds
    train = laws.train
    wrong = df.DiagonalNetwork(0.36)
    monkeypatch.setattr(laws, "train", lambda s, problem, *a, **k: train(s, (problem[0], wrong), *a, **k))
    assert not data_claims.path_distribution(laws.paths(setting))[0].holds


def test_a_cohort_that_is_not_there_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNAFIELD_DATA", str(tmp_path / "nothing"))
    with pytest.raises(df.errors.FileError, match="not been downloaded"):
        df.reproduce("gene-histogram", out=tmp_path / "out", data="pancan")
    assert not (tmp_path / "out").exists()
