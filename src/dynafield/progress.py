"""Progress of long work: a bar with the time left on a terminal, or calls of a function."""

import sys
import time
from collections.abc import Callable
from typing import Any

from dynafield.errors import InputError

__all__ = ["Progress", "Wanted", "check_wanted"]

Wanted = bool | Callable[[float, str], Any] | None
"""Whether a bar is shown (None: on a terminal), or a function of the fraction done and a text."""

PATIENCE = 2.0
"""Seconds before a bar appears."""


def check_wanted(wanted: Any) -> None:
    """InputError for what asks for no bar, for none, or for a function to be told."""
    if not (wanted is None or isinstance(wanted, bool) or callable(wanted)):
        raise InputError(f"progress must be True, False, None or a function, got {wanted!r}")


class Progress:
    """A progress bar on standard error, or calls of a function with the fraction done.

    An exception that the function raises stops the work; KeyboardInterrupt keeps what is done, as Ctrl-C
    does.
    """

    def __init__(self, what: str, count: float, wanted: Wanted, patience: float | None = None):
        check_wanted(wanted)
        self.patience = PATIENCE if patience is None else patience
        self.what = what
        self.count = count
        self.tell = wanted if callable(wanted) else None
        self.wanted = sys.stderr.isatty() if wanted is None else wanted is True
        self.bar: Any = None
        self.task: Any = None
        self.began = time.monotonic()

    def show(self, done: float, words: str) -> None:
        """Update the bar, which appears after a few seconds, or call the function."""
        if self.tell is not None:
            self.tell(done / self.count, words)
        if not self.wanted or time.monotonic() - self.began < self.patience:
            return
        if self.bar is None:
            self.bar = self.make()
            self.bar.start()
            self.task = self.bar.add_task(self.what, total=self.count, words="")
        self.bar.update(self.task, completed=done, words=words)

    def make(self) -> Any:
        """The bar: fraction done, a text, time taken and time left."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[words]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr, force_terminal=True),
            transient=True,
        )

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
