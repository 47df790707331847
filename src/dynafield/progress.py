"""How far long work is: a bar with the time left on a terminal, or a function that is told."""

import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "Wanted"]

Wanted = bool | Callable[[float, str], Any] | None
"""A bar or none (None: on a terminal), or a function of the share done and words about it."""

PATIENCE = 2.0
"""Seconds before a bar appears."""


class Progress:
    """How much of some work is done, on standard error or told to a function.

    What that function raises ends the work: KeyboardInterrupt as Ctrl-C would, keeping what is done.
    """

    def __init__(self, what: str, count: float, wanted: Wanted):
        self.what = what
        self.count = count
        self.tell = wanted if callable(wanted) else None
        self.wanted = sys.stderr.isatty() if wanted is None else wanted is True
        self.bar: Any = None
        self.task: Any = None
        self.began = time.monotonic()

    def show(self, done: float, words: str) -> None:
        """Bring the bar up to date; make one once there has been some waiting."""
        if self.tell is not None:
            self.tell(done / self.count, words)
        if not self.wanted or time.monotonic() - self.began < PATIENCE:
            return
        if self.bar is None:
            self.bar = self.make()
            self.bar.start()
            self.task = self.bar.add_task(self.what, total=self.count, words="")
        self.bar.update(self.task, completed=done, words=words)

    def make(self) -> Any:
        """The bar: share done, words, time taken and left."""
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
