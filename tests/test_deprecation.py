"""Calls as they were before version 0.9 work on, with a warning that says what to write."""

import numpy as np
import pytest

import dynafield as df
from dynafield.deprecation import old_calls
from dynafield.studies.computations import Simulate

TASK, NET = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)
SMALL = dict(d=20, t_eval=[1.0])


@old_calls(paths="points")
def call(task, net, *, tol=1.0, points=None):
    """Something to call."""
    return task, net, tol, points


def test_arguments_by_position_are_told_by_name():
    with pytest.warns(FutureWarning, match=r"call: give tol=…, points=… by name") as told:
        assert call(1, 2, 3, 4) == (1, 2, 3, 4)
    assert told[0].filename == __file__
    with pytest.raises(TypeError, match="takes 2 arguments by position, got 5"):
        call(1, 2, 3, 4, 5)
    with pytest.warns(FutureWarning), pytest.raises(TypeError, match="got tol twice"):
        call(1, 2, 3, tol=3)


def test_old_names_are_told_by_the_new_ones():
    with pytest.warns(FutureWarning, match="paths is now called points") as told:
        assert call(1, 2, paths=7) == (1, 2, 1.0, 7)
    assert told[0].filename == __file__
    with pytest.raises(TypeError, match="both paths and points"):
        call(1, 2, paths=1, points=2)


def test_runs_is_the_number_of_networks():
    new = df.simulate(TASK, NET, 1.0, runs=2, **SMALL)
    with pytest.warns(FutureWarning, match="seeds is now called runs"):
        old = df.simulate(TASK, NET, 1.0, seeds=2, **SMALL)
    assert np.array_equal(new.test_error, old.test_error)
    with pytest.warns(FutureWarning, match=r"runs\.count"):
        assert old.seeds == old.count == 2


def test_the_tolerance_of_simulate_is_its_own_argument(tmp_path):
    new = df.simulate(TASK, NET, 1.0, runs=1, tol=1e-3, **SMALL)
    with pytest.warns(FutureWarning, match="give tol=0.001 to simulate") as told:
        trainer = df.GradientFlow(1e-3)
    assert told[0].filename == __file__
    old = df.simulate(TASK, NET, 1.0, runs=1, trainer=trainer, **SMALL)
    assert np.array_equal(new.test_error, old.test_error)
    assert new.tol == old.tol == 1e-3
    assert not np.array_equal(new.test_error, df.simulate(TASK, NET, 1.0, runs=1, **SMALL).test_error)
    assert df.load(old.save(tmp_path / "old.nc")).tol == 1e-3
    data = new.to_xarray()
    data.attrs["trainer_tol"] = data.attrs.pop("tol")  # as older versions wrote it
    assert df.results.Runs.from_xarray(data).tol == 1e-3


def test_old_settings_of_studies():
    with pytest.warns(FutureWarning, match=r"simulate\.seeds is now called simulate\.runs"):
        assert Simulate.read({"t_max": 1.0, "seeds": 3}).runs == 3


def test_names_that_moved_to_submodules_are_still_found():
    with pytest.warns(FutureWarning, match=r"df\.lazy_curves is now df\.theory\.lazy_curves") as told:
        old = df.lazy_curves
    assert told[0].filename == __file__
    assert old is df.theory.lazy_curves
    with pytest.warns(FutureWarning, match=r"df\.Curves is now df\.results\.Curves") as told:
        from dynafield import Curves
    assert told[0].filename == __file__
    assert Curves is df.results.Curves
    with pytest.raises(AttributeError, match="no attribute 'lasy_curves'"):
        df.lasy_curves  # noqa: B018
