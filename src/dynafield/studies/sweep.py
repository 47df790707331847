"""Run a study: what is missing of it, here or on any number of machines."""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

from dynafield.errors import InputError
from dynafield.problem.checks import integer
from dynafield.progress import Progress, Wanted
from dynafield.studies.computations import Computation
from dynafield.studies.points import Point
from dynafield.studies.store import Store
from dynafield.studies.study import Batch, Study

__all__ = ["run_batch", "sweep"]

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""What keeps a worker on its own core."""
RETRIES = 5
"""How often a batch is given to another worker when one dies."""
AHEAD = 4
"""Batches given out per worker thread: enough to keep them busy."""


def run_batch(computation: Computation, points: list[Point], seed: int) -> xr.Dataset:
    """The numbers of one batch; a function of its own, so that workers can be given it."""
    return computation.run(points, seed)


def sweep(
    study: Study | str | Path,
    out: str | Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Wanted = None,
) -> xr.Dataset:
    """Compute what is missing of a study, each finished batch safe in `out`; return all of it, labelled.

    `workers` processes of one thread each share the batches; by default one per core for finite networks,
    and this process with all its cores for theory, where a batch is one computation. 0 does everything
    here. `scheduler` is the address of a Dask scheduler, or a Dask client or cluster, to use instead.
    Run again after an interruption it goes on where it stopped, with the same numbers.
    """
    study = study if isinstance(study, Study) else Study.read(study)
    if workers is not None:
        workers = integer("workers", workers, 0)
    store = Store.open(f"{study.name}.sweep" if out is None else out, study)
    missing = store.missing()
    total = sum(len(batch.points) for batch in store.batches)
    done = total - sum(len(batch.points) for batch in missing)
    with Progress(study.name, float(total), progress) as bar:
        began, count = time.monotonic(), 0
        for batch, data in finished(study, missing, workers, scheduler):
            store.keep(batch, data)
            count += len(batch.points)
            rate = count / (time.monotonic() - began)
            bar.show(float(done + count), f"{done + count} of {total} points, {rate:.3g} per second")
    data = store.collect()
    store.finish(data)
    return data


def finished(
    study: Study, batches: list[Batch], workers: int | None, scheduler: Any
) -> Iterator[tuple[Batch, xr.Dataset]]:
    """Batches as they are done: here, then those that are work for other processes."""
    points = study.points()
    tasks = {
        b: (study.computation(b.computation), [points[k] for k in b.points], study.seed) for b in batches
    }

    def elsewhere(batch: Batch) -> bool:
        return scheduler is not None or (tasks[batch][0].many if workers is None else workers > 0)

    apart = [batch for batch in batches if elsewhere(batch)]
    for batch in batches:
        if batch not in apart:
            yield batch, run_batch(*tasks[batch])
    if apart:
        with client_for(workers or os.cpu_count() or 1, scheduler) as client:
            yield from from_workers(client, {batch: tasks[batch] for batch in apart})


def from_workers(client: Any, tasks: dict[Batch, Any]) -> Iterator[tuple[Batch, xr.Dataset]]:
    """Batches from a Dask cluster, as they come; a few more than there are workers are given out."""
    from distributed import as_completed

    waiting = iter(tasks.items())
    running = as_completed()
    places: dict[str, Batch] = {}

    def give_out() -> None:
        wanted = AHEAD * max(1, sum(client.nthreads().values())) - len(places)  # workers come and go
        for batch, task in itertools.islice(waiting, max(0, wanted)):
            future = client.submit(run_batch, *task, pure=False, retries=RETRIES)
            places[future.key] = batch
            running.add(future)

    give_out()
    for future in running:
        yield places.pop(future.key), future.result()
        give_out()


@contextmanager
def client_for(workers: int, scheduler: Any) -> Iterator[Any]:
    """A Dask client: of the given scheduler, or of processes here."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("workers need Dask: install dynafield[cluster], or take workers=0") from None
    if isinstance(scheduler, Client):
        yield scheduler
        return
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=30)
        except (OSError, ValueError) as error:
            raise InputError(f"scheduler must be the address of a Dask scheduler: {error}") from None
        with client:
            yield client
        return
    from dask import config

    settings = {
        "distributed.scheduler.allowed-failures": RETRIES,
        "distributed.nanny.pre-spawn-environ": ONE_THREAD,
    }
    how: dict[str, Any] = dict(threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    with config.set(settings), LocalCluster(n_workers=workers, **how) as cluster, Client(cluster) as client:
        yield client
