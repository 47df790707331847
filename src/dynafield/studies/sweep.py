"""Run a study: compute what is missing, here or on any number of machines."""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

from dynafield.deprecation import old_calls
from dynafield.errors import InputError
from dynafield.numerics.processes import in_single_threads
from dynafield.problem.checks import integer
from dynafield.progress import Progress, Wanted
from dynafield.studies.clusters import need_dask
from dynafield.studies.computations import Computation
from dynafield.studies.points import Point
from dynafield.studies.store import Store
from dynafield.studies.study import Batch, Study

__all__ = ["sweep"]

RETRIES = 5
"""How often a batch is given to another worker if one dies."""
AHEAD = 4
"""Batches given out per worker thread: enough to keep them busy."""


def run_batch(computation: Computation, points: list[Point], seed: int) -> xr.Dataset:
    """The numbers of one batch, as a function that can be sent to workers."""
    return computation.run(points, seed)


@old_calls()
def sweep(
    study: Study | str | Path,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Wanted = None,
) -> xr.Dataset:
    """Compute what is missing of a study, and return all of it as a labelled data set.

    Every finished batch is written to the folder `out` at once. Called again after an interruption, the same
    study continues where it stopped, with the same numbers.

    Parameters
    ----------
    study : Study, str or Path
        The study, or its TOML file.
    out : str or Path, optional
        Folder for the results. None: NAME.sweep, with the name of the study.
    workers : int, optional
        Number of processes of one thread each. None: one for each core for finite networks, and this process
        with all its cores for theory, where a batch is one computation. 0: this process for everything.
    scheduler : str, Dask client or cluster, optional
        Address of a Dask scheduler, or a client or cluster, to use instead. None: processes on this machine.
    progress : bool or callable, optional
        As in `solve`.

    Returns
    -------
    xarray.Dataset
        All results over the axes of the study; NaN where something is missing.

    Raises
    ------
    InputError
        If the study has a mistake, or the folder belongs to another study.
    """
    study = study if isinstance(study, Study) else Study.read(study)
    if workers is not None:
        workers = integer("workers", workers, 0)
    if scheduler is not None:
        need_dask("scheduler")
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

    apart = {batch: task for batch, task in tasks.items() if elsewhere(batch)}
    for batch in batches:
        if batch not in apart:
            yield batch, run_batch(*tasks[batch])
    if apart and scheduler is None:
        yield from in_single_threads(run_batch, apart, workers or os.cpu_count() or 1, RETRIES)
    elif apart:
        with client_of(scheduler) as client:
            yield from from_workers(client, apart)


def from_workers(client: Any, tasks: dict[Batch, Any]) -> Iterator[tuple[Batch, xr.Dataset]]:
    """Batches from a Dask cluster, as they come; a few more than there are workers are given out."""
    from distributed import as_completed

    waiting = iter(tasks.items())
    running = as_completed(loop=client.loop)  # the client need not be the default of Dask
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
def client_of(scheduler: Any) -> Iterator[Any]:
    """A Dask client of the given scheduler."""
    from distributed import Client

    if isinstance(scheduler, Client):
        yield scheduler
        return
    client, failed = None, ""
    try:
        # not the default of all that Dask computes: one that failed would stay it, and others wait for ever
        client = Client(scheduler, timeout=30, set_as_default=False)
    except (OSError, ValueError) as error:
        failed = str(error)
    if client is None:  # raised out here: a kept error would keep half a client, which ends a minute late
        raise InputError(f"scheduler must be the address of a Dask scheduler: {failed}")
    with client:
        yield client
