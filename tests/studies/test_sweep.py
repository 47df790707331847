"""Studies: what a file may say, what comes out, and that nothing is lost or mixed on the way."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import xarray as xr
from typer.testing import CliRunner

import dynafield as df
from dynafield.cli import main
from dynafield.numerics.processes import in_single_threads
from dynafield.records import files
from dynafield.studies.estimate import estimate
from dynafield.studies.store import Store
from dynafield.studies.sweep import client_of

BASE = {
    "task": {"delta": 0.5, "sigma": 0.1, "prior": "bernoulli:0.1"},
    "network": {"alpha": [0.1, 0.5, 2.0], "lam": [0.0, 0.1]},
    "phases": {},
}
FINITE = """
name = "finite"
batch = 2
[task]
delta = [0.4, 0.6, 0.8]
sigma = 0.1
prior = "bernoulli:0.2"
[network]
alpha = [0.3, 2.0]
[simulate]
t_max = 5
d = 60
runs = 2
t_eval = [0, 1, 5]
"""


def change(path, value):
    """The base study with one entry changed, or without it."""
    content = json.loads(json.dumps(BASE))
    *above, last = path.split(".")
    table = content
    for key in above:
        table = table.setdefault(key, {})
    table[last] = value
    return content


def test_axes_points_and_batches():
    study = df.studies.Study.make(BASE | {"batch": 4, "fixed_point": {}})
    assert study.shape == (3, 2)
    assert [axis.name for axis in study.axes] == ["alpha", "lam"]
    points = study.points()
    assert [(p.alpha, p.lam) for p in points[:3]] == [(0.1, 0.0), (0.1, 0.1), (0.5, 0.0)]
    names = [batch.name for batch in study.batches()]
    assert names == ["phases-00000", "phases-00001", "fixed_point-00000", "fixed_point-00001"]
    assert study.batches()[1].points == (4, 5)


def test_spectra_are_an_axis(tmp_path):
    texts = ["groups:1@1", "groups:4@0.2,0.25@0.8"]
    content = change("task.spectrum", texts) | {"network": {"alpha": 0.5, "lam": 0.1}, "fixed_point": {}}
    del content["phases"]
    found = df.sweep(df.studies.Study.make(content), tmp_path, progress=False)
    values = found["fixed_point_test_error"].sel(spectrum=texts).values
    one, two = (
        df.Task(0.5, 0.1, df.Bernoulli(0.1), spectrum=x)
        for x in (None, df.data.Spectrum.groups([(0.2, 4.0), (0.8, 0.25)]))
    )
    net = df.DiagonalNetwork(0.5, 0.1)
    assert values == pytest.approx([df.fixed_point(task, net).test_error for task in (one, two)], rel=1e-12)


def test_ranges_and_zipped_axes():
    content = change("network.alpha", {"first": 0.01, "last": 1, "count": 3, "scale": "log"})
    content["network"]["lam"] = "0:0.2:3"
    study = df.studies.Study.make(content | {"zip": [["alpha", "lam"]]})
    assert study.shape == (3,)
    assert [p.alpha for p in study.points()] == pytest.approx([0.01, 0.1, 1])
    assert [p.lam for p in study.points()] == pytest.approx([0, 0.1, 0.2])
    deep = df.studies.Study.make(change("network.depth", [2, 3]) | {"batch": 100})
    assert [len(batch.points) for batch in deep.batches()] == [6, 6]  # one depth at a time


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("network.alhpa", 1.0, "network.alhpa is not known here: there are alpha"),
        ("network.alpha", "1:2", "network.alpha range must be"),
        ("network.alpha", [0.1, "x"], "network.alpha must be finite numbers, got"),
        ("network.alpha", [], "network.alpha must not be an empty list"),
        ("network.alpha", -1.0, "alpha must be finite and > 0"),
        ("network.alpha", {"first": 1, "last": 2}, "network.alpha.count is missing"),
        ("network.alpha", {"first": 1, "last": 2, "count": 0}, "network.alpha.count must be"),
        (
            "network.alpha",
            {"first": 1, "last": 2, "count": 2, "scale": "cubic"},
            "scale must be linear or log",
        ),
        ("network.depth", 1.5, "network.depth must be an integer"),
        ("task.prior", "cauchy:1", "prior must be bernoulli"),
        ("task.prior", 3, "task.prior must be text"),
        ("task", 3, "task must be a table"),
        ("solve", {}, "solve.t_max is missing"),
        ("solve", {"t_max": 1, "tolerance": 1}, "solve.tolerance is not known"),
        ("solve", {"t_max": -1}, "solve.t_max must be"),
        ("solve", {"t_max": 5, "t_eval": [6]}, "solve.t_eval must be times from 0 to t_max"),
        ("simulate", {"t_max": 5, "inputs": "cauchy"}, "simulate.inputs must be"),
        ("trainer", {"momentum": 0.9}, "momentum needs a step"),
        ("zip", [["alpha", "lam"]], "zip needs lists of one length"),
        ("zip", [["alpha", "sigma"]], "zip must name swept parameters once"),
        ("seed", -1, "seed must be"),
        ("network.lam", {"first": 0, "last": 1, "count": 10**6}, "at most 1000000 points"),
    ],
)
def test_what_is_wrong_is_named(path, value, words):
    with pytest.raises(df.InputError, match=words):
        df.studies.Study.make(change(path, value))


def test_impossible_combinations_are_refused_before_anything_runs():
    steps = change("trainer", {"step": 0.3})
    with pytest.raises(df.InputError, match=r"solve.t_eval must be a multiple of the step"):
        df.studies.Study.make(steps | {"solve": {"t_max": 1.0, "t_eval": [0.5]}})
    with pytest.raises(df.InputError, match="phases must be false for a discrete trainer"):
        df.studies.Study.make(steps | {"solve": {"t_max": 0.9, "t_eval": [0.9], "phases": True}})
    with pytest.raises(df.InputError, match="needs something to compute"):
        df.studies.Study.make({key: value for key, value in BASE.items() if key != "phases"})
    with pytest.raises(df.InputError, match=r"task.sigma is missing"):
        df.studies.Study.make(BASE | {"task": {"delta": 0.5, "prior": "bernoulli:0.1"}})


def test_files_that_are_not_studies(tmp_path):
    (tmp_path / "bad.toml").write_text("alpha = [1,\n2\nx")
    with pytest.raises(df.InputError, match="line 3"):
        df.studies.Study.read(tmp_path / "bad.toml")
    with pytest.raises(df.InputError, match="readable TOML"):
        df.studies.Study.read(tmp_path / "none.toml")


def test_every_number_is_that_of_its_engine(tmp_path):
    content = BASE | {
        "solve": {"t_max": 2.0, "tol": 0.1, "t_eval": [1.0, 2.0], "phases": True},
        "fixed_point": {},
        "convergence_rate": {},
        "simulate": {"t_max": 2.0, "d": 50, "runs": 2, "t_eval": [1.0, 2.0]},
    }
    data = df.sweep(df.studies.Study.make(content | {"seed": 3}), tmp_path / "out", workers=0)
    task = df.Task(0.5, 0.1, df.Bernoulli(0.1))
    net = df.DiagonalNetwork(np.array([[0.1], [0.5], [2.0]]), np.array([0.0, 0.1]))
    end = df.fixed_point(task, net)
    assert data["fixed_point_test_error"].values == pytest.approx(end.test_error, rel=1e-9)
    assert data["fixed_point_case"].values.tolist() == end.case.tolist()
    assert data["convergence_rate_gamma"].values == pytest.approx(
        df.convergence_rate(task, net).gamma, rel=1e-8
    )
    columns = df.DiagonalNetwork(np.ravel(np.broadcast_to(net.alpha, (3, 2))), np.tile([0.0, 0.1], 3))
    curves = df.solve(task, columns, 2.0, tol=0.1, seed=3)  # the same batch
    errors = curves.at([1.0, 2.0]).test_error.reshape(3, 2, 2)
    assert np.array_equal(data["solve_test_error"].values, errors)
    best = curves[2].phases()["best_stop"].value
    assert data["solve_best_stop"].sel(alpha=0.5, lam=0.0).item() == best
    runs = df.simulate(task, columns, 2.0, d=50, runs=2, t_eval=[1.0, 2.0], seed=3)
    assert np.array_equal(data["simulate_test_error"].values, np.reshape(runs.test_error, (3, 2, 2, 2)))
    assert data["phases_regime"].sel(alpha=2.0, lam=0.0).item() == "large α"
    with xr.open_dataset(tmp_path / "out" / "result.nc") as stored:
        assert stored["solve_test_error"].dims == ("alpha", "lam", "solve_time")
        assert stored["delta"].item() == 0.5
        assert json.loads(stored.attrs["settings"])["solve"]["tol"] == 0.1
        assert stored["solve_test_error"].attrs["long_name"] == "test error"


def test_failed_points_are_recorded_and_the_rest_goes_on(tmp_path):
    content = change("task.delta", [0.5, 1.0]) | {"fixed_point": {}}
    del content["phases"]
    data = df.sweep(df.studies.Study.make(content), tmp_path / "out", workers=0)
    at = data.sel(delta=1.0, lam=0.0)
    assert np.all(np.isnan(at["fixed_point_test_error"]))
    assert all("delta must not be 1" in str(error) for error in at["fixed_point_error"].values)
    fine = data.sel(lam=0.1)
    assert np.all(np.isfinite(fine["fixed_point_test_error"]))
    assert set(np.ravel(fine["fixed_point_error"].values)) == {""}


def test_a_changed_study_does_not_mix_with_old_points(tmp_path):
    df.sweep(df.studies.Study.make(BASE), tmp_path / "out", workers=0)
    for other in (change("network.alpha", [0.1, 0.5]), BASE | {"seed": 1}, BASE | {"batch": 2}):
        with pytest.raises(df.InputError, match="out holds another study"):
            df.sweep(df.studies.Study.make(other), tmp_path / "out", workers=0)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "study.json").write_text("{}")
    with pytest.raises(df.InputError, match="must be the folder of a study"):
        df.sweep(df.studies.Study.make(BASE), tmp_path / "other")


def test_only_what_is_missing_is_done_and_damage_is_noticed(tmp_path, monkeypatch):
    study = df.studies.Study.make(change("network.lam", 0.1) | {"batch": 1})
    whole = df.sweep(study, tmp_path / "out", workers=0)
    store = Store.open(tmp_path / "out", study)
    assert store.missing() == []
    lost, cut = store.batches[0], store.batches[2]
    store.path(lost).unlink()
    store.path(cut).write_bytes(store.path(cut).read_bytes()[:1000])
    assert store.missing() == [lost, cut]
    done = []
    computation = type(study.computations[0])
    run = computation.run
    monkeypatch.setattr(
        computation, "run", lambda self, points, seed: done.append(len(points)) or run(self, points, seed)
    )
    assert df.sweep(study, tmp_path / "out", workers=0).identical(whole)
    assert done == [1, 1]


def running(path, out):
    """A sweep in a process of its own."""
    code = "import sys, dynafield as df; df.sweep(sys.argv[1], sys.argv[2], workers=0)"
    return subprocess.Popen([sys.executable, "-c", code, str(path), str(out)], stderr=subprocess.DEVNULL)


def killed_and_resumed(tmp_path, kills, seed):
    """Kill a sweep so often, at random moments after it has done something, and let it end here at last."""
    path, out = tmp_path / "finite.toml", tmp_path / "killed"
    path.write_text(FINITE)
    rng, count = np.random.default_rng(seed), 0
    while count < kills:
        before = len(list(out.glob("batches/*.nc")))
        process = running(path, out)
        while process.poll() is None and len(list(out.glob("batches/*.nc"))) == before:
            time.sleep(0.005)
        assert process.poll() is None, "it has ended before it was killed"
        time.sleep(rng.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        count += 1
        left = sorted(out.glob("batches/*.nc"))  # forget some, or there would soon be nothing left to kill
        for lost in rng.choice(left, size=max(0, len(left) - 2), replace=False):
            lost.unlink()
    df.sweep(path, out, workers=0)
    return files.read(out / "result.nc")


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_ends_with_the_same_data(tmp_path, kills):
    found = killed_and_resumed(tmp_path, kills, seed=kills)
    whole = df.sweep(tmp_path / "finite.toml", tmp_path / "whole", workers=0)
    assert found.drop_attrs().identical(files.read(tmp_path / "whole" / "result.nc").drop_attrs())
    assert np.array_equal(found["simulate_test_error"], whole["simulate_test_error"])


def test_two_processes_one_of_them_killed(tmp_path, monkeypatch):
    """Without Dask and without a port; what the one that dies had is done again."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    path = tmp_path / "finite.toml"
    path.write_text(FINITE.replace("batch = 2", "batch = 1"))
    here = df.sweep(path, tmp_path / "here", workers=0)
    kept, keep = [], Store.keep

    def keep_and_kill(self, batch, data):
        keep(self, batch, data)
        kept.append(batch)
        if len(kept) == 2:
            victim = next(
                p for p in psutil.Process().children(recursive=True) if "LokyProcess" in str(p.cmdline())
            )
            victim.kill()

    monkeypatch.setattr(Store, "keep", keep_and_kill)
    there = df.sweep(path, tmp_path / "there", workers=2)
    assert len(kept) == len(Store.open(tmp_path / "here", df.studies.Study.read(path)).batches)
    assert there.identical(here)


def test_processes_that_always_die_are_given_up():
    with pytest.raises(df.SolveError, match="processes died 2 times; 1 tasks are not done"):
        list(in_single_threads(os._exit, {"a": (1,)}, 1, retries=1))


def test_dask_is_asked_for_only_where_it_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr("dynafield.studies.clusters.find_spec", lambda name: None)
    path = tmp_path / "finite.toml"
    path.write_text(FINITE)
    for option in (["--scheduler", "tcp://127.0.0.1:1"], ["--slurm", "2"]):
        done = CliRunner().invoke(main.app, ["sweep", str(path), "--dry-run", *option])
        assert isinstance(done.exception, df.InputError)
        assert "needs Dask: pip install 'dynafield[cluster]'" in str(done.exception)


def test_two_workers_one_of_them_killed(tmp_path):
    """A real scheduler and two processes; the batch of the one that dies is done by another."""
    from distributed import Client, LocalCluster

    path = tmp_path / "finite.toml"
    path.write_text(FINITE.replace("batch = 2", "batch = 1").replace("d = 60", "d = 200"))
    here = df.sweep(path, tmp_path / "here", workers=0)
    how = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    with LocalCluster(**how) as cluster, Client(cluster, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))
        kept, keep = [], Store.keep

        def keep_and_kill(self, batch, data):
            keep(self, batch, data)
            kept.append(batch)
            if len(kept) == 3:
                os.kill(victim, signal.SIGKILL)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "keep", keep_and_kill)
            there = df.sweep(path, tmp_path / "there", scheduler=cluster.scheduler_address)
        with client_of(client) as given:
            assert given is client
        assert client.status == "running", "a client of the user is not closed"
    assert len(kept) == len(Store.open(tmp_path / "here", df.studies.Study.read(path)).batches)
    assert there.identical(here)


def test_what_it_will_cost(tmp_path):
    path = tmp_path / "finite.toml"
    path.write_text(FINITE + "[phases]\n")
    simulating, naming = estimate(df.studies.Study.read(path))
    assert (simulating.points, simulating.batches) == (6, 3)
    assert simulating.result_bytes == 6 * 2 * 2 * 3 * 8
    assert simulating.seconds > 0
    assert naming.computation == "phases"


def test_schedulers_that_are_not_there(tmp_path):
    """And what Dask computes afterwards is computed here, as before."""
    dask = pytest.importorskip("dask")
    before = dask.config.get("scheduler", None)
    with pytest.raises(df.InputError, match="scheduler must be the address") as refused:
        df.sweep(df.studies.Study.make(BASE), tmp_path / "out", scheduler="nonsense")
    assert refused.value.__context__ is None, "or it would keep half a client"
    assert dask.config.get("scheduler", None) == before
    with pytest.raises(df.InputError, match="workers must be"):
        df.sweep(df.studies.Study.make(BASE), tmp_path / "out", workers=-1)


def test_large_results_are_written_as_zarr(tmp_path, monkeypatch):
    """The same data, text and all; here a result is large from 100 bytes on."""
    zarr = pytest.importorskip("zarr")
    study = df.studies.Study.make(BASE)
    small = df.sweep(study, tmp_path / "small")
    monkeypatch.setattr("dynafield.studies.store.LARGE", 100)
    df.sweep(study, tmp_path / "large")
    assert not (tmp_path / "large" / "result.nc").exists()
    assert zarr.open_group(tmp_path / "large" / "result.zarr", mode="r")
    with xr.open_zarr(tmp_path / "large" / "result.zarr") as stored:
        xr.testing.assert_equal(stored.load(), small)
        assert stored["phases_grokking_start"].attrs["units"] == stored["alpha"].attrs["units"] == "1"
