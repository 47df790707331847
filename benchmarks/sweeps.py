"""Studies: points in batches against one by one, one and two workers, and what store and scheduler cost."""

import dataclasses
import tempfile
import time
from pathlib import Path

import numpy as np

import dynafield as df
from dynafield.studies.computations import Computation, Part
from dynafield.studies.store import Store
from dynafield.studies.sweep import client_of, from_workers

__all__ = ["section"]

TASK = {"delta": 0.5, "sigma": 0.1, "prior": "bernoulli:0.1"}


@dataclasses.dataclass(frozen=True)
class Wait(Computation):
    """A point that takes one second and no processor."""

    name = "wait"

    def parts(self):
        """Nothing but a zero."""
        return {"nothing": Part("zero")}

    def compute(self, points, seed):
        """Wait."""
        time.sleep(1.0 * len(points))
        return {"nothing": np.zeros(len(points))}


def seconds(study, workers=0):
    """Time of a whole study in a fresh folder."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        df.sweep(study, Path(folder) / "out", workers=workers, progress=False)
        return time.perf_counter() - began


def theory(computation, count, batch, settings):
    """Seconds per point, in batches and one by one; compiled before."""
    alphas = np.geomspace(0.05, 5, count).tolist()
    found = []
    for size in (batch, 1):
        content = {"task": TASK, "network": {"alpha": alphas}, "batch": size, computation: settings}
        first = content | {"network": {"alpha": alphas[:size]}}
        seconds(df.studies.Study.make(first))
        found.append(seconds(df.studies.Study.make(content)) / count)
    return found


def simulation():
    """Seconds of 24 points, d = 400, here and with one and two workers, start of the workers included."""
    content = {
        "task": TASK | {"delta": np.linspace(0.3, 1.4, 24).tolist()},
        "network": {"alpha": 0.5},
        "simulate": {"t_max": 50.0, "d": 400, "runs": 6, "t_eval": [50.0]},
    }
    study = df.studies.Study.make(content)
    return [seconds(study, workers) for workers in (0, 1, 2)]


def store():
    """Seconds per batch to write and to find again, for curves of 16 points."""
    study = df.studies.Study.make(
        {"task": TASK, "network": {"alpha": "0.1:1:320:log"}, "solve": {"t_max": 10.0, "tol": 0.1}}
    )
    one = study.computations[0]
    empty = one.labelled({k: np.repeat(v, 16, axis=0) for k, v in one.nothing().items()}, [""] * 16)
    with tempfile.TemporaryDirectory() as folder:
        kept = Store.open(folder, study)
        began = time.perf_counter()
        for batch in kept.batches:
            kept.keep(batch, empty)
        written = time.perf_counter()
        assert kept.missing() == []
        return (written - began) / len(kept.batches), (time.perf_counter() - written) / len(kept.batches)


def scheduling(points=16):
    """Seconds of points of one second each on two workers of Dask, beyond those that two must take."""
    from distributed import LocalCluster

    study = df.studies.Study.make(
        {"task": TASK, "network": {"alpha": np.geomspace(0.1, 1, points).tolist()}, "phases": {}}
    )
    tasks = {batch: (Wait(), [study.points()[batch.points[0]]], 0) for batch in cut(study)}
    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with workers, client_of(workers) as client:
        began = time.perf_counter()
        assert len(list(from_workers(client, tasks))) == points
        return (time.perf_counter() - began) / (points / 2) - 1


def cut(study):
    """One batch per point."""
    return dataclasses.replace(study, batch=1).batches()


def section():
    """The table."""
    fixed, rates = theory("fixed_point", 200, 200, {}), theory("convergence_rate", 200, 200, {})
    solved = theory("solve", 24, 8, {"t_max": 20.0, "tol": 1e-2})
    here, one, two = simulation()
    writing, finding = store()
    overhead = scheduling()
    rows = [
        ("`fixed_point`, 200 points", fixed),
        ("`convergence_rate`, 200 points", rates),
        ("`solve` to t = 20, tol = 1e-2, 24 points in batches of 8", solved),
    ]
    lines = [
        f"| {name} | {1e3 * many:.1f} ms | {1e3 * single:.1f} ms | {single / many:.1f} |"
        for name, (many, single) in rows
    ]
    return f"""## Sweeps

`python -m benchmarks.run sweeps`. Time per point of `sweep`, files included, everything compiled before, theory in this process:

| | in batches | one by one | ratio |
|---|---|---|---|
{chr(10).join(lines)}

24 simulations (d = 400, six runs each, t = 50): {here:.1f} s in this process, {one:.1f} s with one worker, {two:.1f} s with two, start of
the workers included. A batch of 16 curves is written in {1e3 * writing:.0f} ms and checked in {1e3 * finding:.0f} ms. Points that wait for one
second each, on two workers: {100 * overhead:.1f} % above the least possible.
"""
