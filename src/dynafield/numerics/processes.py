"""Several processes for independent work."""

import itertools
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from dynafield.errors import SolveError

__all__ = ["in_processes", "in_single_threads"]

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""What keeps a process on its own core."""
AHEAD = 2
"""Tasks given out for each process: enough to keep them busy."""
Key = TypeVar("Key")


def in_processes(
    function: Callable[..., Any], arguments: Iterable[tuple], workers: int
) -> Generator[Any, None, None]:
    """Values of `function` as they come, in any order; the processes stay ready for further calls."""
    from joblib import Parallel, delayed

    tasks = (delayed(function)(*given) for given in arguments)
    pool = Parallel(n_jobs=workers, return_as="generator_unordered", max_nbytes=None)  # no files between them
    values: Any = pool(tasks)
    try:
        yield from values
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is not waited for is given up on purpose
            values.close()


def in_single_threads(
    function: Callable[..., Any], tasks: Mapping[Key, tuple], workers: int, retries: int
) -> Generator[tuple[Key, Any], None, None]:
    """Names of tasks and values of `function` as they come, from processes of one thread each.

    No port is opened. When a process dies, new ones are started and what it had is done again, so many times
    at most.
    """
    left = dict(tasks)
    for _ in range(retries + 1):
        try:
            for key, value in one_pool(function, left, workers):
                del left[key]
                yield key, value
        except BrokenProcessPool:
            continue
        return
    raise SolveError(f"processes died {retries + 1} times; {len(left)} tasks are not done: is memory short?")


def one_pool(
    function: Callable[..., Any], tasks: Mapping[Key, tuple], workers: int
) -> Generator[tuple[Key, Any], None, None]:
    """Names and values while all processes live; all of them are stopped afterwards."""
    from joblib.externals.loky import ProcessPoolExecutor

    pool: Any = ProcessPoolExecutor(min(workers, len(tasks)), env=ONE_THREAD)
    waiting, running = iter(list(tasks.items())), {}
    try:
        while True:
            for key, given in itertools.islice(waiting, max(0, AHEAD * workers - len(running))):
                running[pool.submit(function, *given)] = key
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(kill_workers=True)
