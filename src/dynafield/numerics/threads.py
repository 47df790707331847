"""How many threads there are, and how many of them matrix products use."""

import os
from contextlib import AbstractContextManager, nullcontext

from threadpoolctl import threadpool_limits

__all__ = ["cores", "fitting_threads"]

SMALL = 10**6
"""Matrices with fewer entries are faster on one thread: waking others costs more than they do."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fitting_threads(size: int) -> AbstractContextManager:
    """One thread for products with matrices of fewer than a million entries, else as set by the user."""
    return threadpool_limits(1, user_api="blas") if size < SMALL else nullcontext()
