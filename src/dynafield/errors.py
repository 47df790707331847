"""The three kinds of failure a user can meet, and nothing else."""

__all__ = ["FileError", "InputError", "SolveError"]


class InputError(ValueError):
    """Bad input: names the argument, the value given and what is allowed."""


class FileError(ValueError):
    """A file that cannot be read or written: it is missing, damaged, or not one of dynafield."""


class SolveError(RuntimeError):
    """A computation that failed numerically: the message says where, why and what to change."""
