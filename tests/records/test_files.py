"""Results survive saving and loading; other files are refused with a reason."""

import os
import resource
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dynafield as df
from dynafield.records import files
from dynafield.writing import remove_stale_parts, write_whole

NET = df.DiagonalNetwork
RESULTS = {
    "one": lambda: df.fixed_point(df.Task(0.5, 0.1, df.Bernoulli(0.1)), NET(0.5)),
    "grid": lambda: df.fixed_point(
        df.Task(np.array([0.5, 2.0, 3.0]), 0.1, df.Discrete([-1, 0, 2], [0.2, 0.5, 0.3])),
        NET(np.array([[0.1], [0.2]]), np.array([0.0, 0.0, 0.2])),
    ),
    "single": lambda: df.fixed_point(df.Task(0.5, 0.1, df.Bernoulli(0.1)), NET(np.array([0.5]))),
    "rate": lambda: df.convergence_rate(
        df.Task(2.0, 0.1, df.GaussBernoulli(0.1)), NET(np.array([0.1, 0.2]), depth=3)
    ),
    "decay": lambda: df.convergence_rate(df.Task(2.0, 0.1, df.Empirical([0.0, 1.0])), NET(0.1, 0.2)),
    "tradeoff": lambda: df.tradeoff(df.Task(0.5, 0.1, df.Gaussian(2.0)), np.array([0.1, 1.0])),
}


@pytest.mark.parametrize("name", RESULTS)
def test_round_trip_is_exact(name, tmp_path):
    result = RESULTS[name]()
    back = df.load(result.save(tmp_path / "x.nc"))
    assert type(back) is type(result)
    assert back.shape == result.shape
    assert repr(back) == repr(result)
    for quantity in result.quantities():
        np.testing.assert_array_equal(getattr(back, quantity), getattr(result, quantity))
        assert np.shape(getattr(back, quantity)) == np.shape(getattr(result, quantity))
    for part in ("delta", "sigma"):
        np.testing.assert_array_equal(getattr(back.task, part), getattr(result.task, part))
    assert repr(back.task.prior) == repr(result.task.prior)
    assert back.net.depth == result.net.depth


def test_the_file_repeats_the_computation(tmp_path):
    result = RESULTS["grid"]()
    back = df.load(result.save(tmp_path / "x.nc"))
    np.testing.assert_array_equal(df.fixed_point(back.task, back.net).C_w, result.C_w)
    np.testing.assert_array_equal(back.sample(5, seed=3)[0], result.sample(5, seed=3)[0])


def test_any_xarray_user_can_open_it(tmp_path):
    path = RESULTS["rate"]().save(tmp_path / "x.nc")
    with xr.open_dataset(path) as data:
        assert data.gamma.dims == ("alpha",)
        assert data.alpha.values.tolist() == [0.1, 0.2]
        assert float(data.delta) == 2.0
        assert data.attrs["dynafield_version"] == df.__version__
        assert data.attrs["depth"] == 3
        assert "rate" in data.gamma.attrs["long_name"]


class Gaussian(df.data.Prior):
    """A prior of the user's own, named like one of ours."""

    gap: float

    def mixture(self) -> df.data.Components:
        return df.data.Components(np.array([0.5, 0.5]), np.array([0.0, self.gap]), np.zeros(2))


def test_a_foreign_prior_comes_back_as_its_mixture(tmp_path):
    result = df.fixed_point(df.Task(0.5, 0.1, Gaussian(2.0)), NET(0.5))
    back = df.load(result.save(tmp_path / "x.nc"))
    assert isinstance(back.task.prior, df.data.GaussianMixture)
    assert df.fixed_point(back.task, back.net).C_w == result.C_w


def damage_number(path):
    import h5py

    with h5py.File(path, "r+") as f:
        f["test_error"][...] = 0.25


def drop_variable(path):
    import h5py

    with h5py.File(path, "r+") as f:
        del f["C_w"]


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (damage_number, "damaged: its content does not match its fingerprint"),
        (drop_variable, "damaged"),
        (truncate, "not a netCDF-4 file that can be read, or is damaged"),
        (lambda path: path.write_text("hello"), "not a netCDF-4 file"),
        (lambda path: path.unlink(), "path must be an existing file"),
        (
            lambda path: xr.Dataset({"a": 1}).to_netcdf(path, engine="h5netcdf"),
            "was not written by dynafield",
        ),
    ],
)
def test_spoilt_files_are_refused(spoil, text, tmp_path):
    path = RESULTS["one"]().save(tmp_path / "x.nc")
    spoil(path)
    with pytest.raises(df.errors.FileError, match=text):
        df.load(path)


def test_a_result_of_a_later_version_is_named(tmp_path):
    from dynafield.records import files

    path = files.write(RESULTS["one"]().to_xarray(), "TimeMachine", tmp_path / "x.nc")
    with pytest.raises(
        df.errors.FileError, match=r"holds a 'TimeMachine', written by dynafield .* does not know"
    ):
        df.load(path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(df.errors.FileError, match="path must be a file in an existing folder"):
        RESULTS["one"]().save(tmp_path / "none" / "x.nc")


def test_text_and_html_say_what_matters():
    result = RESULTS["one"]()
    assert "test_error   0.06180062899" in repr(result)
    assert "<td" in result._repr_html_()
    assert "0.06180062899" in result._repr_html_()
    assert "[2×3]" in repr(RESULTS["grid"]())


def test_tables(tmp_path, sparse):
    """One row for each point, parameters and times beside the numbers; further axes are left out."""
    one = df.fixed_point(sparse, df.DiagonalNetwork(0.5, 0.1))
    table = pd.read_csv(one.save(tmp_path / "one.csv"))
    assert len(table) == 1
    assert table["test_error"][0] == pytest.approx(one.test_error, rel=1e-15)
    assert table["alpha"][0] == 0.5
    grid = df.fixed_point(sparse, df.DiagonalNetwork(np.array([[0.5], [1.0]]), np.array([0.1, 0.2, 0.3])))
    table = grid.to_dataframe()
    assert len(table) == 6
    np.testing.assert_array_equal(table["test_error"], np.ravel(grid.test_error))
    np.testing.assert_array_equal(table["lam"], [0.1, 0.2, 0.3] * 2)
    runs = df.simulate(sparse, df.DiagonalNetwork(0.5), 2.0, d=20, runs=2, t_eval=[1.0, 2.0], progress=False)
    table = runs.to_dataframe()
    assert list(table.columns[:2]) == ["run", "time"]
    np.testing.assert_array_equal(table["time"], [1.0, 2.0] * 2)
    np.testing.assert_array_equal(runs.to_xarray()["test_error"].sel(time=2.0), runs.test_error[:, 1])
    np.testing.assert_array_equal(table["test_error"], runs.test_error.ravel())
    with pytest.raises(df.errors.FileError, match=r"must end in \.nc, \.csv"):
        one.save(tmp_path / "one.h5")


def test_only_records_are_loaded(tmp_path):
    """A file whose kind is the name of a function, or of nothing."""
    for kind in ("solve", "problem", "Nothing"):
        files.write(xr.Dataset({"x": 1.0}), kind, tmp_path / "odd.nc")
        with pytest.raises(df.errors.FileError, match=f"holds a '{kind}', written by dynafield"):
            df.load(tmp_path / "odd.nc")


def test_a_failed_write_leaves_neither_a_file_nor_a_part(tmp_path, sparse):
    end = df.fixed_point(sparse, df.DiagonalNetwork(0.5, 0.1))
    path = tmp_path / "end.nc"
    end.save(path)
    before = path.read_bytes()

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # as a full disk: a part of it is written
    try:
        for target in (path, tmp_path / "end.csv", tmp_path / "new.nc"):
            with pytest.raises(df.errors.FileError, match="could not be written: File too large"):
                write_whole(target, before)
        with pytest.raises(df.errors.FileError, match=r"end\.nc could not be written"):
            end.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_parts_of_dead_processes_are_removed_and_those_being_written_are_not(tmp_path):
    """By their age; a part has a name of its own, so that two processes can write the same file."""
    old, new = tmp_path / "a.nc.1-ab.part", tmp_path / "a.nc.2-cd.part"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    remove_stale_parts(tmp_path)
    assert list(tmp_path.iterdir()) == [new]


def test_links_stay_links(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"x"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_device_is_written_to_and_not_replaced():
    with pytest.raises(df.errors.FileError, match="/dev/full could not be written: No space left on device"):
        write_whole(Path("/dev/full"), b"x")
