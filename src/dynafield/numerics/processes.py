"""Several processes for independent work."""

import warnings
from collections.abc import Callable, Generator, Iterable
from typing import Any

__all__ = ["in_processes"]


def in_processes(
    function: Callable[..., Any], arguments: Iterable[tuple], workers: int
) -> Generator[Any, None, None]:
    """Values of `function` as they come, in any order; the processes stay ready for further calls."""
    from joblib import Parallel, delayed

    tasks = (delayed(function)(*given) for given in arguments)
    values: Any = Parallel(n_jobs=workers, return_as="generator_unordered")(tasks)
    try:
        yield from values
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is not waited for is given up on purpose
            values.close()
