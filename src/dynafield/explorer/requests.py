"""What a tab asks of the queues: which function, with which rank, and what compiled code it needs."""

from collections.abc import Callable
from typing import Any

from dynafield.explorer.job_queue import Request
from dynafield.explorer.setting import Setting
from dynafield.explorer.tab import GRACE, Tab

__all__ = ["Requests", "rules"]

PREVIEWS, PINNED, SHARP, KERNEL = 0, 1, 2, 4
"""Ranks of requests to the queue of curves."""


def rules() -> Any:
    """The module that reads texts. It imports the library, which takes a second: only once it is needed."""
    from dynafield.explorer import rules as found

    return found


class Requests:
    """The requests of one tab. Every method takes a callback for the answer and one for a failure."""

    def __init__(self, tab: Tab):
        self.tab, self.queues = tab, tab.queues

    def limits(self, setting: Setting, take: Callable, fail: Callable) -> Request:
        """Fixed point, rate and stages."""
        code = rules().code_of(setting)
        return self.tab.ask(self.queues.quick, "limits", "limits", (setting,), take, fail, code=code)

    def line(self, setting: Setting, axis: str, take: Callable, fail: Callable) -> Request:
        """Fixed points along an axis."""
        code = (axis, *rules().code_of(setting))
        arguments = (setting, axis)
        return self.tab.ask(self.queues.quick, "line", "along", arguments, take, fail, rank=1, code=code)

    def best(self, setting: Setting, take: Callable, fail: Callable) -> Request:
        """The best α or λ."""
        code = rules().code_of(setting)
        return self.tab.ask(self.queues.quick, "best", "best", (setting,), take, fail, rank=1, code=code)

    def kernel(self, setting: Setting, name: str, preview: bool, take: Callable, fail: Callable) -> Request:
        """A two-time kernel of a curve that has been solved."""
        arguments = (setting, name, preview)
        return self.tab.ask(self.queues.curves, "kernel", "kernel", arguments, take, fail, rank=KERNEL)

    def curve(
        self,
        kind: str,
        setting: Setting,
        preview: bool,
        take: Callable,
        fail: Callable,
        progress: Callable | None,
    ) -> Request:
        """A curve: the present one, of kind "curve", or that of a pin."""
        rank = (PREVIEWS if preview else SHARP) + (0 if kind == "curve" else PINNED)
        code = (preview, *rules().code_of(setting))
        grace = GRACE if preview else 0.0
        queue, arguments = self.queues.curves, (setting, preview)
        return self.tab.ask(queue, kind, "curve", arguments, take, fail, rank, code, progress, grace)

    def networks(
        self, kind: str, setting: Setting, take: Callable, fail: Callable, progress: Callable | None
    ) -> Request:
        """Finite networks: the present ones, of kind "networks", or those of a pin."""
        queue = self.queues.networks
        return self.tab.ask(queue, kind, "networks", (setting,), take, fail, progress=progress)
