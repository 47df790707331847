"""One tab of a browser, between its document and the queues."""

import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from dynafield.explorer.job_queue import JobQueue, Request

__all__ = ["GRACE", "Queues", "Tab"]

GRACE = 0.6
"""Seconds for which a preview may go on after the slider has moved on."""
OFTEN = 0.2
"""Seconds between two reports of progress."""


class Queues(NamedTuple):
    """The three queues of the page: quick formulas, curves, finite networks."""

    quick: JobQueue
    curves: JobQueue
    networks: JobQueue


class Tab:
    """Passes requests to the queues and their answers back.

    Queues answer from threads of their own, but a document may be changed only when it is free: callbacks
    are run then.
    """

    def __init__(self, queues: Queues, document: Any, connected: Callable[[], bool]):
        self.queues, self.document, self.connected = queues, document, connected
        self.name = uuid.uuid4().hex
        self.dropped: dict[str, int] = defaultdict(int)

    def later(self, function: Callable) -> Callable:
        """The function, made to run when the document is free."""

        def call(*arguments: Any) -> None:
            if self.connected():
                self.document.add_next_tick_callback(partial(function, *arguments))

        return call

    def answering(self, function: Callable, kind: str) -> Callable:
        """The same for answers to requests of a kind, unless these are dropped before it runs."""
        dropped = self.dropped[kind]

        def run(*arguments: Any) -> None:
            if self.dropped[kind] == dropped:
                function(*arguments)

        return self.later(run)

    def seldom(self, function: Callable, kind: str) -> Callable:
        """The same for reports of progress, at most a few times a second."""
        told, tell = 0.0, self.answering(function, kind)

        def call(part: float, words: str) -> None:
            nonlocal told
            if time.monotonic() - told > OFTEN:
                told = time.monotonic()
                tell(part, words)

        return call

    def after(self, milliseconds: int, function: Callable, *arguments: Any) -> None:
        """Call the function after some time."""
        self.document.add_timeout_callback(partial(function, *arguments), milliseconds)

    def ask(
        self,
        queue: JobQueue,
        kind: str,
        name: str,
        arguments: tuple[Any, ...],
        done: Callable,
        failed: Callable,
        rank: int = 0,
        code: Any = None,
        progress: Callable | None = None,
        grace: float = GRACE,
    ) -> Request:
        """Make a request to a queue; `done` or `failed` is called with its answer."""
        progressed = self.seldom(progress, kind) if progress is not None else lambda part, words: None
        request = Request(
            self.name,
            kind,
            name,
            arguments,
            self.answering(done, kind),
            self.answering(failed, kind),
            progressed,
            rank,
            code,
            self.connected,
            grace,
        )
        queue.ask(request)
        return request

    def forget(self, kind: str | None = None) -> None:
        """Drop all requests of this tab, or those of one kind; their answers on the way are not told."""
        for one in list(self.dropped) if kind is None else [kind]:
            self.dropped[one] += 1
        for queue in self.queues:
            queue.forget(self.name, kind)
