"""Clusters that hand out machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dynafield.errors import InputError
from dynafield.problem.checks import integer

__all__ = ["slurm_cluster"]


@contextmanager
def slurm_cluster(jobs: int | None) -> Iterator[Any]:
    """A Dask cluster of SLURM jobs, as configured for dask-jobqueue; None for no jobs."""
    if jobs is None:
        yield None
        return
    jobs = integer("slurm", jobs, 1)
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise InputError("slurm needs dask-jobqueue: install dynafield[cluster]") from None
    try:
        cluster = SLURMCluster()
    except ValueError as error:
        raise InputError(
            f"slurm needs cores and memory in the configuration of dask-jobqueue: {error}"
        ) from None
    with cluster:
        cluster.scale(jobs=jobs)
        yield cluster
