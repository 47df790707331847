"""How many threads matrix products use."""

from contextlib import AbstractContextManager, nullcontext

from threadpoolctl import threadpool_limits

__all__ = ["fitting_threads"]

SMALL = 10**6
"""Matrices with fewer entries are faster on one thread: waking others costs more than they do."""


def fitting_threads(size: int) -> AbstractContextManager:
    """One thread for products with matrices of fewer than a million entries, else as set by the user."""
    return threadpool_limits(1, user_api="blas") if size < SMALL else nullcontext()
