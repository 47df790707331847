"""Runs that another program has made: records, comparison, PyTorch, refusals."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import dynafield as df

TASK, NET = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)
TRAINER = df.GradientDescent(0.25)


def test_given_runs_are_compared_as_our_own(tmp_path):
    ours = df.compare(TASK, NET, 2.0, d=100, runs=4, tol=2e-2, t_eval=[0.5, 2.0], trainer=TRAINER)
    runs = ours.runs
    given = df.results.Runs.of(TASK, NET, runs.t, runs.train_error, runs.test_error, d=100, trainer=TRAINER)
    assert (given.n, given.d, given.count, given.complete) == (50, 100, 4, True)
    theirs = df.compare(TASK, NET, 2.0, tol=2e-2, trainer=TRAINER, runs=given)
    assert np.array_equal(theirs.difference(), ours.difference())
    ax = theirs.plot()
    assert "n = 50, d = 100, 4 runs, bars: 2 standard errors" in " ".join(ax.figure.get_suptitle().split())
    assert {"test, d = 100", "train, d = 100"} <= {text.get_text() for text in ax.get_legend().get_texts()}
    again = df.load(given.save(tmp_path / "given.nc"))
    assert np.array_equal(again.train_error, runs.train_error)
    assert "made elsewhere" in repr(again)
    with pytest.raises(df.InputError, match="loss is not among the curves that were given"):
        given.mean("loss")


def test_one_curve_of_a_flow():
    flow = df.models.ridge_flow(0.3)
    given = df.results.FlowRuns.of(TASK, flow, [0.0, 1.0], [0.2, 0.1], [0.2, 0.15])
    assert (given.d, given.count) == (0, 1)
    both = df.compare(TASK, flow, 1.0, tol=2e-2, runs=given)
    assert np.isnan(both.worst())
    assert "test, given runs" in [text.get_text() for text in both.plot().get_legend().get_texts()]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            dict(train_error=[0.1, 0.2, 0.3]),
            "train_error must have 1 x 2 values, .* got 1 x 3",
        ),
        (dict(t=[1.0, 0.0]), "t must be increasing times"),
        (dict(net=df.models.ridge_flow(0.1)), "Runs.of is for networks"),
        (dict(net=df.DiagonalNetwork([0.1, 0.2])), "task and net must be one problem"),
        (dict(speed=[1.0, 1.0]), "speed must not be given: curves are"),
    ],
)
def test_what_is_refused(change, words):
    arguments = dict(task=TASK, net=NET, t=[0.0, 1.0], train_error=[0.1, 0.2], test_error=[0.1, 0.2]) | change
    with pytest.raises(df.InputError, match=words):
        df.results.Runs.of(**arguments)


def test_runs_beyond_the_end():
    given = df.results.Runs.of(TASK, NET, [0.0, 3.0], [0.1, 0.1], [0.1, 0.1])
    with pytest.raises(df.InputError, match="runs must stop at t_max = 2 or before, got 3"):
        df.compare(TASK, NET, 2.0, runs=given)
    with pytest.raises(df.InputError, match="runs must be a number of networks, or runs of"):
        df.compare(TASK, NET, 2.0, runs=[0.1])


def test_a_loop_in_pytorch(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    both = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "pytorch_loop.py"))["both"]
    assert np.all(np.abs(both.difference()) < 4 * both.standard_error() + 1 / 500)
