"""The three kinds of failure a user can meet, and nothing else."""

__all__ = ["FileError", "InputError", "SolveError"]


class InputError(ValueError):
    """Bad input: names the argument, the value given and what is allowed."""


class FileError(ValueError):
    """A file that is not ours, or is ours and damaged."""


class SolveError(RuntimeError):
    """A computation that failed numerically: says where, why and what to change."""
