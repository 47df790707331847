"""Stages by closed forms: their names, order and times."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import dynafield as df
from dynafield.theory.phases import predicted


def names(task, *net):
    return [stage.name for stage in df.phases(task, df.DiagonalNetwork(*net))]


def test_which_stages_there_are(sparse):
    assert names(sparse, 10.0, 0.2) == ["lazy", "plateau", "grokking", "rich"]
    assert names(sparse, 10.0, 0.0) == ["lazy", "plateau"]
    assert names(sparse, 0.01, 0.1) == ["search", "descent", "rich"]
    assert names(sparse, 0.01, 5.0) == ["search"]  # nothing grows
    assert names(sparse, 5.0, 0.1, 3) == ["lazy", "plateau", "grokking", "rich"]
    assert names(sparse, 0.1, 0.0, 3) == ["search", "descent", "rich"]
    assert names(df.Task(1.0, 0.3, df.Discrete([0.0], [1.0])), 0.01) == ["search", "descent", "rich"]


@pytest.mark.parametrize(("alpha", "lam"), [(1.0, 0.0), (0.5, 0.1), (1.5, 0.0), (3.0, 2.0)])
def test_between_the_limits_no_phase_is_named(sparse, alpha, lam):
    found = df.phases(sparse, df.DiagonalNetwork(alpha, lam))
    (stage,) = found.stages
    assert (stage.name, stage.start, stage.end) == ("crossover", 0.0, np.inf)
    assert np.isnan(stage.validity)
    assert found.regime == "between the limits"


@pytest.mark.parametrize(
    "net", [(30.0, 0.2), (30.0,), (0.001,), (0.001, 0.3), (0.5,), (0.05, 0.001, 3), (4.0, 0.1, 3)]
)
def test_stages_follow_each_other(sparse, net):
    found = df.phases(sparse, df.DiagonalNetwork(*net))
    assert found[0].start == 0
    assert found[len(found) - 1].end == np.inf
    for one, following in pairwise(found):
        assert one.start < one.end == following.start
        assert found.at(0.5 * (one.start + one.end)) is one
    assert found.at(1e9) is found.stages[-1]
    text = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()
    assert all(f"`{stage.label}`" in text for stage in found)


def test_times_scale_as_they_should(sparse):
    """The step moves with 2 log(α)/λ, descent with log(1/α), lazy with α⁻², a deep search with 1/α."""
    a, b = (df.phases(sparse, df.DiagonalNetwork(x, 0.2)) for x in (10.0, 100.0))
    for name in ("start", "end"):
        shift = getattr(b["grokking"], name) - getattr(a["grokking"], name)
        assert shift == pytest.approx(2 * np.log(10) / 0.2, rel=1e-12)
    assert a["lazy"].end / b["lazy"].end == pytest.approx(100, rel=1e-9)
    assert b["lazy"].validity < a["lazy"].validity
    a, b = (df.phases(sparse, df.DiagonalNetwork(x)) for x in (1e-2, 1e-4))
    assert b["descent"].end / a["descent"].end == pytest.approx(2, rel=1e-9)
    a, b = (df.phases(sparse, df.DiagonalNetwork(x, 0.0, 3)) for x in (0.02, 0.01))
    assert b["descent"].end / a["descent"].end == pytest.approx(2, rel=1e-9)


def test_the_end_of_the_lazy_phase_is_where_the_data_are_fitted(sparse):
    net = df.DiagonalNetwork(20.0)
    end = df.phases(sparse, net)["lazy"].end
    assert df.theory.lazy_curves(sparse, net, [end]).train_error[0] == pytest.approx(0.01 * 0.11, rel=1e-6)
    noisy = df.Task(200.0, 5.0, df.Bernoulli(0.1))  # of the error most is noise that no network can lose
    error, end = 25.1, df.phases(noisy, df.DiagonalNetwork(20.0))["lazy"].end
    lost = error - df.theory.lazy_curves(noisy, df.DiagonalNetwork(20.0), [end]).train_error[0]
    assert lost == pytest.approx(0.99 * (0.1 + 25 / 200), rel=1e-6)


def test_sizes_are_those_of_the_targets_and_of_what_is_learnt():
    small = df.Task(0.5, 0.001, df.Bernoulli(0.1, 0.01))
    found = df.phases(small, df.DiagonalNetwork(1.0, 0.1))  # large beside targets of 0.01
    assert found.regime == "large α"
    assert 0 < found["grokking"].validity < 1
    big = df.phases(df.Task(0.5, 0.1, df.Bernoulli(0.1, 100.0)), df.DiagonalNetwork(2.0))
    assert "rescale" in big[0].compares
    fitted = df.Task(1.01, 1.0, df.Bernoulli(0.1))  # a linear model fits the noise with large weights
    assert df.phases(fitted, df.DiagonalNetwork(5.0))[0].name == "crossover"
    assert "δ = 1" in df.phases(df.Task(1.0, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(50.0))[0].compares
    none = df.phases(df.Task(1.0, 0.3, df.Bernoulli(0.0)), df.DiagonalNetwork(0.01))
    assert np.isfinite(none.horizon)


def test_text_and_refusals(sparse):
    found = df.phases(sparse, df.DiagonalNetwork(10.0, 0.2))
    assert "grokking" in repr(found)
    with pytest.raises(KeyError, match="there are lazy"):
        found["descent"]
    with pytest.raises(df.InputError, match="alpha must be one number"):
        df.phases(sparse, df.DiagonalNetwork([0.1, 0.2]))
    with pytest.raises(df.InputError, match="net must be a DiagonalNetwork"):
        df.phases(sparse, df.models.TruncatedDiagonalNetwork(0.1))
    with pytest.raises(df.InputError, match="task must be a Task"):
        predicted("task", df.DiagonalNetwork(0.1))
    with pytest.raises(df.InputError, match="nothing is learnt"):
        df.phases(df.Task(1.0, 0.0, df.Discrete([0.0], [1.0])), df.DiagonalNetwork(0.1))
    with pytest.raises(df.InputError, match="index must be empty"):
        df.phases(sparse, df.DiagonalNetwork(0.1), 0)
    with pytest.raises(df.InputError, match="a time ≥ 0"):
        found.at(-1.0)
