"""Clusters that run the batches of a sweep."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from dynafield.errors import InputError
from dynafield.problem.checks import integer

__all__ = ["need_dask", "slurm_cluster"]

PACKAGES = {"scheduler": "distributed", "slurm": "dask_jobqueue"}
"""Packages that the options of a sweep need."""


def need_dask(option: str) -> None:
    """InputError unless the package that an option needs is installed."""
    if find_spec(PACKAGES[option]) is None:
        raise InputError(f"{option} needs Dask: pip install 'dynafield[cluster]'")


@contextmanager
def slurm_cluster(jobs: int | None) -> Iterator[Any]:
    """A Dask cluster of SLURM jobs, as configured for dask-jobqueue; None for no jobs."""
    if jobs is None:
        yield None
        return
    jobs = integer("slurm", jobs, 1)
    need_dask("slurm")
    from dask_jobqueue.slurm import SLURMCluster

    try:
        cluster = SLURMCluster()
    except ValueError as error:
        raise InputError(
            f"slurm needs cores and memory in the configuration of dask-jobqueue: {error}"
        ) from None
    with cluster:
        cluster.scale(jobs=jobs)
        yield cluster
