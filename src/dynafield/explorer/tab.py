"""One tab of a browser: its own turns, its life, and what it asks of the desks."""

import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from dynafield.explorer.desk import Desk, Wish

__all__ = ["GRACE", "Desks", "Tab"]

GRACE = 0.6
"""Seconds that work may go on although the slider has moved."""
OFTEN = 0.2
"""Seconds between two words about progress."""


class Desks(NamedTuple):
    """Fixed points in milliseconds; curves; finite networks."""

    quick: Desk
    curves: Desk
    networks: Desk


class Tab:
    """Between a document, in whose turns alone pictures may change, and the desks, which have threads."""

    def __init__(self, desks: Desks, document: Any, connected: Callable[[], bool]):
        self.desks, self.document, self.connected = desks, document, connected
        self.name = uuid.uuid4().hex

    def later(self, function: Callable) -> Callable:
        """The function, called in the document's own turn."""

        def call(*arguments: Any) -> None:
            if self.connected():
                self.document.add_next_tick_callback(partial(function, *arguments))

        return call

    def seldom(self, function: Callable) -> Callable:
        """The same, a few times a second."""
        told, tell = 0.0, self.later(function)

        def call(share: float, words: str) -> None:
            nonlocal told
            if time.monotonic() - told > OFTEN:
                told = time.monotonic()
                tell(share, words)

        return call

    def after(self, milliseconds: int, function: Callable, *arguments: Any) -> None:
        """Call the function in some time."""
        self.document.add_timeout_callback(partial(function, *arguments), milliseconds)

    def ask(
        self,
        desk: Desk,
        kind: str,
        name: str,
        arguments: tuple[Any, ...],
        done: Callable,
        failed: Callable,
        rank: int = 0,
        code: Any = None,
        progress: Callable | None = None,
        grace: float = GRACE,
    ) -> Wish:
        """Ask a desk; what it answers is shown in this tab's own turn."""
        progressed = self.seldom(progress) if progress is not None else lambda share, words: None
        wish = Wish(
            self.name,
            kind,
            name,
            arguments,
            self.later(done),
            self.later(failed),
            progressed,
            rank,
            code,
            self.connected,
            grace,
        )
        desk.ask(wish)
        return wish

    def forget(self, kind: str | None = None) -> None:
        """Nothing (of this kind) is wanted any more."""
        for desk in self.desks:
            desk.forget(self.name, kind)
