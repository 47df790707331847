"""Every kind of result prints, plots, saves, loads, and is a data set and a table."""

import dataclasses
import functools

import matplotlib
import numpy as np
import pandas as pd
import pytest

import dynafield as df
from dynafield.figures.dispatch import DRAWINGS
from dynafield.records.record import Labelled, Record

TASK, NET = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)
SPREAD = df.Task(0.5, 0.1, df.Gaussian(1.0), df.data.PowerLaw(1.5, 30.0))
DECAYING, LAZY = df.DiagonalNetwork(3.0, 0.2), {"lazy": df.models.ridge_flow()}


@functools.cache
def curves():
    """Two problems of one shape."""
    return df.solve(TASK, df.DiagonalNetwork([1e-2, 0.5]), 4.0, tol=0.1)


@functools.cache
def runs():
    """Two networks."""
    return df.simulate(TASK, NET, 4.0, d=30, runs=2, t_eval=[1.0, 4.0])


@functools.cache
def data():
    """Inputs and labels."""
    drawn = df.data.training_data(TASK, 30)
    return drawn.X, drawn.y


RECORDS = {
    "Activation": lambda: curves()[0].activation(level=0.1),
    "Comparison": lambda: df.results.Comparison(curves()[1], runs()),
    "ConvergenceRate": lambda: df.convergence_rate(TASK, NET),
    "CurveDerivative": lambda: curves()[1].derivative("alpha"),
    "Curves": curves,
    "FixedPoint": lambda: df.fixed_point(TASK, NET),
    "FlowCurves": lambda: df.solve(TASK, df.models.ridge_flow(0.1), 2.0, tol=0.1),
    "Grokking": lambda: df.studies.grokking(TASK, 2.0, alphas=[2.0, 3.0], tol=0.1),
    "InfiniteDataCurves": lambda: df.theory.infinite_data_curves(TASK.prior, DECAYING, [9.0]),
    "LazyCurves": lambda: df.theory.lazy_curves(TASK, NET, [0.5, 1.0]),
    "LearningPath": lambda: df.train(*data(), NET, 4.0),
    "MessagePassing": lambda: df.endpoints.amp(*data(), df.DiagonalNetwork(0.5, 0.2), history=True),
    "Minimizer": lambda: df.endpoints.minimizer(*data(), df.DiagonalNetwork(0.5, [0.1, 0.2])),
    "Optimum": lambda: df.optimize(TASK, NET, "lam"),
    "Phases": lambda: df.phases(curves()[0]),
    "RegimeMap": lambda: df.studies.regime_map(TASK, [0.1, 0.5], [0.2, 0.5], t_max=1.0, tol=0.1),
    "Runs": runs,
    "FlowRuns": lambda: df.simulate(TASK, df.models.ridge_flow(0.1), 4.0, d=30, runs=2, t_eval=[1.0, 4.0]),
    "ScalingLaw": lambda: df.studies.scaling_law(SPREAD, LAZY, times=np.geomspace(0.1, 10, 9)),
    "SearchPhase": lambda: df.theory.search_phase(TASK, df.DiagonalNetwork(1e-3)),
    "StateEvolution": lambda: df.endpoints.state_evolution(TASK, NET, 20),
    "Tradeoff": lambda: df.tradeoff(TASK, [0.3, 1.0]),
}  # fmt: skip


def kinds(base):
    """All classes below, without those that are only bases of others."""
    return {k for one in base.__subclasses__() for k in (kinds(one) or {one})}


def test_all_kinds_are_here():
    for name in df.results.__all__:
        getattr(df.results, name)
    ours = {kind.__name__ for kind in kinds(Labelled) if kind.__module__.startswith("dynafield.")}
    assert ours == set(RECORDS)
    assert {kind for kind, _ in DRAWINGS} - ours == {"RunsRecord"}


@pytest.mark.parametrize("name", RECORDS)
def test_it_prints_plots_saves_and_loads(name, tmp_path):
    record = RECORDS[name]()
    assert type(record).__name__ == name
    assert name in repr(record)
    assert record._repr_html_().startswith("<")
    ax = np.ravel(record.plot())[0]
    assert all(one.get_ylabel() for one in ax.figure.axes)
    assert any(one.lines or one.collections or one.containers for one in ax.figure.axes)
    back = df.load(record.save(tmp_path / "x.nc"))
    assert type(back) is type(record)
    assert repr(back) == repr(record)
    assert record.to_xarray().identical(back.to_xarray())
    back.plot()
    assert len(pd.read_csv(record.save(tmp_path / "x.csv"))) == len(record.to_dataframe()) > 0
    matplotlib.pyplot.close("all")


def test_one_problem_of_several(tmp_path):
    several = curves()
    one = several[1]
    assert (len(several), len(one), one.shape, one.net.alpha) == (2, 1, (), 0.5)
    assert np.array_equal(one.test_error, several.test_error[1])
    assert np.array_equal(one.C_w, several.C_w[1])
    assert [k.net.alpha for k in several] == [0.01, 0.5]
    assert df.load(one.save(tmp_path / "x.nc")).test_error[-1] == several.test_error[1, -1]
    slope = several.derivative("alpha")
    assert np.array_equal(one.derivative("alpha").test_error, slope.test_error[1])
    assert slope[1].net.alpha == 0.5
    for bad in ((), (0, 0), 2):
        with pytest.raises(df.InputError, match="index"):
            several[bad]
    with pytest.raises(df.InputError, match=r"choose one, as in curves\[0\]"):
        several.law(1.0)
    with pytest.warns(FutureWarning, match=r"write record\[1\].law\(t\)"):
        old = several.law(1.0, 1)
    assert np.array_equal(old.w, one.law(1.0).w)
    point = df.fixed_point(TASK, df.DiagonalNetwork([0.1, 0.5]))
    assert point[1].law().tau == point.tau[1]
    assert np.array_equal(point[1].sample(5)[1], df.fixed_point(TASK, NET).sample(5)[1])


def test_a_record_without_a_picture_says_so():
    @dataclasses.dataclass(frozen=True, repr=False, eq=False)
    class Own(Record):
        """Without a plot."""

        title = "own"

    with pytest.raises(df.InputError, match="Own has no picture"):
        Own(TASK, NET).plot()
