"""The command line as a user runs it: real processes for the doors, the runner for the rest."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import dynafield as df
from dynafield.cli import main
from tests.pictures import has_axes_and_curves

DYNAFIELD = [sys.executable, "-c", "from dynafield.cli.main import run; run()"]


def call(cache, *arguments):
    """The command in a fresh process with a cache folder of its own; jax sets the log level here."""
    ours = ("JAX_COMPILATION_CACHE_DIR", "TF_CPP_MIN_LOG_LEVEL")
    env = {k: v for k, v in os.environ.items() if k not in ours} | {"XDG_CACHE_HOME": str(cache)}
    return subprocess.run(
        [*DYNAFIELD, *arguments], capture_output=True, text=True, timeout=120, check=False, env=env
    )


def invoke(*arguments):
    """The command in this process; exceptions pass through."""
    return CliRunner().invoke(main.app, arguments, catch_exceptions=False)


def test_json_is_json():
    answer = json.loads(invoke("fixed-point", "--json").stdout)
    assert answer["result"]["test_error"] == pytest.approx(0.0618006290, abs=6e-11)
    assert answer["result"]["chi_w"] is None  # infinite
    assert answer["parameters"] == dict(
        delta=0.5, sigma=0.1, alpha=0.5, lam=0.0, depth=2, prior="Bernoulli(p=0.1, value=1.0)"
    )


@pytest.mark.parametrize(("old", "new"), main.OLD_NAMES.items())
def test_old_names_of_commands_work_and_say_the_new_one(old, new):
    done = CliRunner().invoke(main.app, [old, "--help"])
    assert done.exit_code == 0
    assert done.stderr == f"dynafield: {old} is now {new}; the old name will be removed in version 1.0\n"
    assert done.stdout == CliRunner().invoke(main.app, [new, "--help"]).stdout
    assert f" {new} [OPTIONS]" in done.stdout


def test_commands_are_called_as_the_functions():
    """All but `fit`, which is a method in Python, and `explore`, which serves a page."""
    names = {command.__name__ for command in main.COMMANDS}
    assert names - {"fit", "explore"} <= set(df.__all__)


def test_variances_of_features_by_name():
    done = invoke(
        "fixed-point", "--alpha", "0.5", "--lam", "0.1", "--spectrum", "groups:4@0.2,0.25@0.8", "--json"
    )
    found = json.loads(done.stdout)
    assert found["parameters"]["spectrum"] == "Spectrum.groups([(0.2, 4), (0.8, 0.25)])"
    task = df.Task(0.5, 0.1, df.Bernoulli(0.1), spectrum=df.data.Spectrum.groups([(0.2, 4.0), (0.8, 0.25)]))
    expected = df.fixed_point(task, df.DiagonalNetwork(0.5, 0.1)).test_error
    assert found["result"]["test_error"] == pytest.approx(expected, rel=1e-12)


def test_lists_make_a_grid_with_a_table_a_file_and_a_picture(tmp_path):
    out, picture = tmp_path / "r.nc", tmp_path / "r.png"
    options = ("--alpha", "0.1:1:3:log", "--delta", "0.5,2", "--out", str(out), "--plot", str(picture))
    done = invoke("convergence-rate", *options)
    lines = done.stdout.strip().splitlines()
    assert lines[-7].split()[:4] == ["delta", "alpha", "case", "gamma"]
    assert lines[-6].split()[:3] == ["0.5", "0.1", "interpolating"]
    assert df.load(out).gamma.shape == (2, 3)
    assert has_axes_and_curves(picture)


def test_a_sweep_from_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "two.toml"
    study.write_text(
        '[task]\ndelta = [0.5, 1.0]\nsigma = 0.1\nprior = "bernoulli:0.1"\n'
        "[network]\nalpha = 0.5\n[fixed_point]\n[phases]\n"
    )
    costs = invoke("sweep", "two.toml", "--dry-run").stdout
    assert "two: 2 points (delta 2)" in costs
    assert not (tmp_path / "two.sweep").exists()
    done = invoke("sweep", "two.toml")
    assert "fixed_point: 1 of 2 points failed, the first: InputError: delta must not be 1" in done.stderr
    assert (tmp_path / "two.sweep" / "result.nc").exists()
    answer = json.loads(invoke("sweep", "two.toml", "--json").stdout)
    assert answer["points"] == 2
    assert len(answer["failed"]["fixed_point"]) == 1
    with pytest.raises(df.InputError, match="must not be given together"):
        invoke("sweep", "two.toml", "--scheduler", "tcp://127.0.0.1:1", "--slurm", "2")


def test_phases_are_a_table_json_and_a_picture(tmp_path):
    lines = invoke("phases", "--alpha", "10", "--lam", "0.2").stdout.splitlines()
    assert [line.split()[0] for line in lines[1::2]] == ["lazy", "plateau", "grokking", "rich"]
    out, picture = tmp_path / "p.nc", tmp_path / "p.png"
    done = invoke(
        "phases", "--alpha", "0.05", "--t-max", "20", "--json", "--out", str(out), "--plot", str(picture)
    )
    answer = json.loads(done.stdout)
    assert [stage["name"] for stage in answer["stages"]] == ["search", "descent", "rich"]
    assert answer["stages"][-1]["end"] is None
    assert "best_stop" in [one["name"] for one in answer["measured"]]
    assert df.load(out).t_max == 20.0
    assert has_axes_and_curves(picture)
    with pytest.raises(df.InputError, match="alpha must be one number"):
        invoke("phases", "--alpha", "0.1,0.2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bernoulli:0.1", df.Bernoulli(0.1)),
        ("bernoulli:0.1,2", df.Bernoulli(0.1, 2.0)),
        ("gaussian:2", df.Gaussian(2.0)),
        ("gauss-bernoulli:0.2", df.GaussBernoulli(0.2)),
        ("discrete:-1@0.25,0@0.75", df.Discrete([-1.0, 0.0], [0.25, 0.75])),
    ],
)
def test_priors_by_name(text, expected):
    from dynafield.problem.text import read_prior

    assert repr(read_prior(text)) == repr(expected)


def test_a_prior_from_a_file(tmp_path):
    from dynafield.problem.text import read_prior

    (tmp_path / "w.txt").write_text("0\n1\n1\n")
    assert read_prior(f"empirical:{tmp_path / 'w.txt'}").second_moment == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--alpha", "-1"], "error: alpha must be finite and > 0, got -1"),
        (["--alpha", "x"], "error: alpha must be a number, got 'x'"),
        (["--alpha", "1:2"], "error: alpha range must be"),
        (["--alpha", "0:2:5:log"], "positive limits"),
        (["--alpha", "1:2:0"], "count ≥ 1"),
        (["--delta", "1"], "error: delta must not be 1"),
        (["--prior", "poisson:3"], "error: prior must be bernoulli:P"),
        (["--prior", "empirical:/nowhere"], "error: prior empirical:FILE must name a readable file"),
        (["--depth", "3", "--lam", "1"], "error: lam must be 0 at depth 3"),
        (["--out", "/nowhere/x.nc"], "error: path must be a file in an existing folder"),
        (["--out", "/"], "error: path must be a file in an existing folder"),
        (["--plot", "/nowhere/x.png"], "error: path must be a file in an existing folder"),
        (["--plot", "x.xyz"], "error: path must end in .png, .pdf, .svg"),
        (["--out", "x.txt"], "error: path must end in .nc, .csv, got 'x.txt'"),
    ],
)
def test_bad_input_is_one_line_and_status_two(arguments, text, capsys):
    status = main.guarded(lambda: main.app(["fixed-point", *arguments], standalone_mode=False))
    captured = capsys.readouterr()
    assert status == 2
    assert text in captured.err
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err


def test_numerical_failure_is_status_one(monkeypatch, capsys):
    monkeypatch.setattr("dynafield.theory.points.COUNTS", (16, 16))
    assert main.guarded(lambda: main.app(["fixed-point", "--alpha", "1e-6"], standalone_mode=False)) == 1
    assert "error: the fixed point was not found" in capsys.readouterr().err


def test_interruption_is_quiet(capsys):
    def command():
        raise KeyboardInterrupt

    assert main.guarded(command) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_help_loads_nothing_heavy():
    """No wall clock: the modules that cost seconds must simply not be there."""
    code = (
        "import sys\nsys.argv = ['dynafield', '--help']\nfrom dynafield.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "heavy = {'jax', 'numpy', 'xarray', 'matplotlib'} & set(sys.modules)\nassert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "fixed-point" in done.stdout


def test_version():
    assert invoke("--version").stdout.strip() == f"dynafield {df.__version__}"


def test_one_problem_prints_a_block_and_the_next_command_finds_compiled_code(tmp_path):
    """The cache is filled by the first command and used, in silence, by the second."""
    first = call(tmp_path, "fixed-point", "--lam", "0.1")
    kept = {p: p.stat().st_mtime for p in tmp_path.rglob("*-cache")}
    assert kept
    second = call(tmp_path, "fixed-point", "--lam", "0.2")
    expected = df.fixed_point(df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5, 0.2)).C_w
    for done, number in ((first, "0.01916405236"), (second, f"{float(expected):.8f}")):
        assert done.returncode == 0
        assert done.stderr == ""
        assert f"C_w          {number}" in done.stdout
    assert {p: p.stat().st_mtime for p in tmp_path.rglob("*-cache")} == kept


def test_simulate_prints_a_table_and_writes_file_and_picture(tmp_path):
    out, picture = tmp_path / "runs.nc", tmp_path / "runs.png"
    places = ("--out", str(out), "--plot", str(picture))
    done = invoke(
        "simulate",
        "--alpha",
        "0.1,1",
        "--t-max",
        "10",
        "--t-eval",
        "1,10",
        "--d",
        "40",
        "--runs",
        "3",
        *places,
    )
    lines = done.stdout.strip().splitlines()
    assert "n=20 d=40 gaussian inputs" in done.stdout
    assert lines[-5].split() == ["alpha", "t", "train_error", "train_error_sd", "test_error", "test_error_sd"]
    assert [line.split()[:2] for line in lines[-4:]] == [["0.1", "1"], ["0.1", "10"], ["1", "1"], ["1", "10"]]
    runs = df.load(out)
    assert runs.test_error.shape == (2, 3, 2)
    assert float(lines[-1].split()[4]) == pytest.approx(runs.mean("test_error")[1, 1], rel=1e-7)
    assert has_axes_and_curves(picture)


def test_simulate_as_json_says_how_it_was_made():
    options = ("--t-max", "2", "--d", "20", "--runs", "1", "--step", "0.5", "--inputs", "binary", "--M", "3")
    answer = json.loads(invoke("simulate", "--json", "--seed", "4", *options).stdout)
    assert answer["kind"] == "Runs"
    told = {k: answer["parameters"][k] for k in ("trainer", "trainer_step", "inputs", "n", "seed")}
    assert told == dict(trainer="GradientDescent", trainer_step=0.5, inputs="binary", n=10, seed=4)
    assert answer["result"]["t"] == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_simulate_reads_a_matrix(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).standard_normal((10, 20)) / np.sqrt(20))
    done = invoke("simulate", "--inputs", str(tmp_path / "X.npy"), "--t-max", "1", "--runs", "1")
    assert "n=10 d=20 matrix inputs" in done.stdout
    with pytest.raises(df.InputError, match="readable matrix"):
        invoke("simulate", "--inputs", "missing.npy")


STOPS_ITSELF = """
import os, signal, sys, threading, time

signal.signal(signal.SIGINT, signal.default_int_handler)  # started from the background, it would be ignored


def later():
    while "dynafield.simulation.simulate" not in sys.modules:
        time.sleep(0.05)
    began = time.process_time()
    while time.process_time() < began + 2.0:  # a run takes a few milliseconds
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=later, daemon=True).start()
"""


def test_ctrl_c_in_simulate_keeps_finished_runs(tmp_path):
    out = tmp_path / "runs.nc"
    options = ["simulate", "--d", "60", "--runs", "100000", "--t-max", "1", "--out", str(out)]
    command = [sys.executable, "-c", STOPS_ITSELF + DYNAFIELD[-1], *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 130
    assert "of 100000 asked for" in done.stdout
    assert "interrupted" in done.stderr
    runs = df.load(out)
    assert 0 < runs.count < 100_000
    assert not runs.complete


def test_solve_prints_a_table_and_writes_file_and_picture(tmp_path):
    out, picture = tmp_path / "curves.nc", tmp_path / "curves.png"
    options = ("--t-max", "2", "--tol", "0.05", "--t-eval", "0.5,2", "--alpha", "0.5,1")
    done = invoke("solve", *options, "--out", str(out), "--plot", str(picture))
    lines = done.stdout.strip().splitlines()
    assert "finished" in done.stdout
    assert lines[-5].split() == ["alpha", "t", "train_error", "train_error_se", "test_error", "test_error_se"]
    curves = df.load(out)
    assert float(lines[-1].split()[4]) == pytest.approx(curves.at(2.0).test_error[1, 0], rel=1e-6)
    assert has_axes_and_curves(picture)
    with pytest.raises(df.InputError, match="at most t_max = 2"):
        invoke("solve", *options, "--t-eval", "3")


def test_solve_as_json():
    answer = json.loads(invoke("solve", "--json", "--t-max", "1", "--tol", "0.05").stdout)
    assert answer["kind"] == "Curves"
    assert answer["parameters"]["tol"] == 0.05
    assert len(answer["result"]["test_error"]) == len(answer["result"]["t"])


def test_compare_prints_both_and_draws_them(tmp_path):
    out, picture = tmp_path / "both.nc", tmp_path / "both.png"
    options = ("--t-max", "2", "--tol", "0.05", "--t-eval", "0.5,2", "--d", "60", "--runs", "3")
    done = invoke("compare", *options, "--out", str(out), "--plot", str(picture))
    assert "standard errors apart" in done.stdout
    assert done.stdout.strip().splitlines()[-3].split()[:4] == [
        "t",
        "train_theory",
        "train_theory_se",
        "train_finite",
    ]
    assert has_axes_and_curves(picture)
    table = json.loads(invoke("compare", "--json", *options).stdout)
    assert table["t"] == [0.5, 2.0]
    assert df.load(out).runs.count == 3


def test_solve_by_steps():
    options = ["--t-max", "2", "--tol", "0.05", "--json"]
    shown = invoke("solve", "--step", "0.5", "--momentum", "0.5", *options)
    told = json.loads(shown.stdout)
    assert told["parameters"]["trainer"] == "HeavyBall"
    assert told["result"]["t"] == [0.0, 0.5, 1.0, 1.5, 2.0]
    shown = invoke("solve", "--step", "0.5", "--momentum", "0.5", "--batch-fraction", "0.5", *options)
    told = json.loads(shown.stdout)["parameters"]
    assert (told["trainer_momentum"], told["trainer_batch_fraction"]) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--momentum", "0.5"], "momentum needs a step"),
        (["--batch-fraction", "0.5"], "batch_fraction needs a step"),
        (["--label-noise", "0.5"], "label_noise needs a step"),
        (["--step", "0.3", "--t-max", "1"], "t_max must be a multiple"),
    ],
)
def test_trainers_that_make_no_sense(options, words):
    with pytest.raises(df.InputError, match=words):
        invoke("solve", *options)


def test_flows_are_served_as_networks_are(tmp_path):
    out, picture = tmp_path / "flow.nc", tmp_path / "flow.png"
    shared = ("--flow", "logistic", "--t-max", "4", "--tol", "0.05")
    done = invoke("solve", *shared, "--lam", "0.1,0.3", "--t-eval", "1,4", "--out", str(out))
    lines = done.stdout.strip().splitlines()
    assert lines[-5].split()[:4] == ["lam", "t", "train_loss", "train_loss_se"]
    curves = df.load(out)
    assert curves.net.numbers()["lam"].tolist() == [0.1, 0.3]
    assert float(lines[-1].split()[6]) == pytest.approx(curves.at(4.0).test_loss[1, 0], rel=1e-6)
    shown = json.loads(invoke("phases", *shared, "--lam", "0.1", "--json", "--plot", str(picture)).stdout)
    measured = {one["name"]: one["value"] for one in shown["measured"]}
    assert 0 < measured["plateau_end"] < measured["half_time"] < measured["descent_end"] < 4
    assert has_axes_and_curves(picture)
    table = invoke("compare", *shared, "--d", "50", "--runs", "2", "--t-eval", "1,4").stdout
    assert "standard errors apart" in table
    runs = json.loads(
        invoke("simulate", *shared[:4], "--d", "20", "--runs", "1", "--t-eval", "4", "--json").stdout
    )
    assert runs["parameters"]["flow"] == "logistic regression, λ=0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--flow", "perceptron"], "flow must be one of ridge, logistic, huber, phase-retrieval"),
        (["--flow", "logistic", "--alpha", "1"], "alpha must not be given: flow logistic has lam"),
        (["--flow", "phase-retrieval", "--lam", "1"], "flow phase-retrieval has overlap"),
        (["--bend", "1"], "bend must not be given: a diagonal network has alpha, lam, depth, M"),
        (["--flow", "huber", "--bend", "0"], "bend must be"),
    ],
)
def test_numbers_that_a_flow_has_not(options, words):
    with pytest.raises(df.InputError, match=words):
        invoke("solve", *options)


@pytest.fixture
def measured(tmp_path):
    """A table with a target that depends on two of five columns, and one without a target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    y = 3.0 + 2.0 * X[:, 0] - X[:, 3] + 0.5 * rng.standard_normal(40)
    lines = [[*row, target, "high" if target > 3 else "low"] for row, target in zip(X, y, strict=True)]
    names = ["a", "b", "c", "d", "e"]
    for name, kept in (("data.csv", [0, 1, 2, 3, 4, 5]), ("classes.csv", [0, 1, 2, 3, 4, 6])):
        head = ",".join([*names, "y"])
        rows = [",".join(str(line[k]) for k in kept) for line in lines]
        (tmp_path / name).write_text("\n".join([head, *rows]))
    rows = [",".join(map(str, row[::-1])) for row in X[:3]]
    (tmp_path / "new.csv").write_text("\n".join([",".join(names[::-1]), *rows]))
    return tmp_path, y


def test_fit_chooses_predicts_and_keeps(measured):
    folder, y = measured
    out, plot, told = folder / "path.nc", folder / "path.png", folder / "told.csv"
    places = ["--predict", folder / "new.csv", "--predictions", told, "--out", out, "--plot", plot]
    fixed = ["fit", folder / "data.csv", "--target", "y", "--alpha", "0.1,1", "--json"]
    done = invoke(*map(str, [*fixed, *places]))
    answer = json.loads(done.stdout)
    assert answer["coefficients"]["a"] == pytest.approx(2.0, abs=0.4)
    assert answer["coefficients"]["d"] == pytest.approx(-1.0, abs=0.4)
    assert abs(answer["estimated_test_error"] - 0.27) < 3 * answer["estimated_test_error_se"]
    np.testing.assert_allclose(answer["predictions"], y[:3], atol=1.5)
    written = told.read_text().splitlines()
    assert written[0] == "y"
    np.testing.assert_allclose([float(line) for line in written[1:]], answer["predictions"])
    kept = df.load(out)
    assert isinstance(kept, df.results.LearningPath)
    assert kept.best_stop == answer["stop"]
    assert has_axes_and_curves(plot)


def test_fit_tells_classes_apart_and_says_what_is_wrong(measured):
    folder, _ = measured
    classes = str(folder / "classes.csv")
    done = invoke("fit", classes, "--target", "y", "--classify", "--alpha", "0.3", "--t-max", "20")
    assert "test_error of new data" in done.stdout
    assert "column" in done.stdout
    for arguments, message in (
        (("fit", classes, "--target", "y"), "must be numbers, or give --classify"),
        (("fit", classes, "--target", "z"), "target must be one of the columns"),
        (
            ("fit", classes, "--target", "y", "--classify", "--predictions", "p.csv"),
            "needs --predict",
        ),
    ):
        with pytest.raises(df.InputError, match=message):
            invoke(*arguments)
