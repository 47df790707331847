"""Progress of long work: a bar with the time left on a terminal, or calls of a function."""

import datetime
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
WIDTH = 16
"""Columns of the bar itself: texts and times beside it stay within 80."""


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
        self.stage = ""

    def show(self, done: float, words: str) -> None:
        """Update the bar, which appears after a few seconds, or call the function."""
        if self.tell is not None:
            self.tell(done / self.count, words)
        self.draw(done, self.count, words)

    def show_stage(self, stage: str, part: float, words: str, done: float) -> None:
        """The same for work whose later stages are not known yet: the bar and its time left are of this one.

        A function is told `done`, a fraction of all that is the work so far.
        """
        if self.tell is not None:
            self.tell(done, f"{stage}: {words}")
        if self.bar is not None and stage != self.stage:
            self.bar.reset(self.task, description=f"{self.what}, {stage}", total=1.0)
        self.stage = stage
        self.draw(part, 1.0, words)

    def draw(self, done: float, count: float, words: str) -> None:
        """Update the bar on the terminal, if one is wanted."""
        if not self.wanted or time.monotonic() - self.began < self.patience:
            return
        if self.bar is None:
            self.bar = self.make()
            self.bar.start()
            what = f"{self.what}, {self.stage}" if self.stage else self.what
            self.task = self.bar.add_task(what, total=count, words="")
        self.bar.update(self.task, completed=done, words=words)

    def make(self) -> Any:
        """The bar: fraction done, a text, time taken so far and time left, within 80 columns."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
        from rich.text import Text

        began = self.began

        class TimeTaken(ProgressColumn):
            """Time since the work began, in this and in earlier stages."""

            def render(self, task: Any) -> Text:
                return Text(str(datetime.timedelta(seconds=int(time.monotonic() - began))))

        return Progress(
            TextColumn("{task.description}"),
            BarColumn(WIDTH),
            TextColumn("{task.fields[words]}"),
            TimeTaken(),
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
