"""A progress bar with the time left, for work that takes longer than a moment, on a terminal only."""

import sys
import time
from typing import Any

__all__ = ["Progress"]

PATIENCE = 2.0
"""Seconds before a bar appears."""


class Progress:
    """How much of some work is done, on standard error."""

    def __init__(self, what: str, count: float, wanted: bool | None):
        self.what = what
        self.count = count
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.bar: Any = None
        self.task: Any = None
        self.began = time.monotonic()

    def show(self, done: float, words: str) -> None:
        """Bring the bar up to date; make one once there has been some waiting."""
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
