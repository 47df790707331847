"""A queue of requests from all tabs, and the process that computes them.

Of every tab and kind of request only the newest is kept; an older one is stopped. Urgent requests go first
and interrupt those that can wait. Tabs take turns. A process that uses too much memory, or has died, is
replaced.
"""

import contextlib
import dataclasses
import itertools
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["JobQueue", "Request"]

ENDED = "the process that computed this ended unexpectedly; change a setting to try again"


@dataclasses.dataclass(eq=False)
class Request:
    """One computation that a tab asks for. Its callbacks are called from threads of the queue."""

    tab: str
    kind: str
    """A newer request of the same tab and kind replaces this one."""
    name: str
    """Name of a function in the worker's module."""
    arguments: tuple[Any, ...]
    done: Callable[[Any], Any]
    failed: Callable[[str], Any]
    progress: Callable[[float, str], Any] = lambda part, words: None
    rank: int = 0
    """Requests with a smaller rank go first."""
    code: Any = None
    """Names the compiled code it needs; code that is new to the process takes seconds to compile."""
    wanted: Callable[[], bool] = lambda: True
    """Whether the tab is still open."""
    grace: float = 0.0
    """Seconds for which it may go on after a newer request, so that something is seen during a drag."""
    began: float = 0.0
    stopping: bool = False
    late: bool = False


def safely(function: Callable, *arguments: Any) -> None:
    """Call a callback of a tab; if it fails, because the tab is being closed, the queue goes on."""
    try:
        function(*arguments)
    except Exception:
        logging.getLogger(__name__).exception("a callback of a tab failed")


class JobQueue:
    """One worker process and the requests that wait for it."""

    def __init__(self, module: str, threads: int = 1, niceness: int = 0, most_bytes: float = 3e9):
        self.command = [
            sys.executable,
            "-m",
            "dynafield.explorer.worker",
            module,
            str(threads),
            str(niceness),
        ]
        self.threads, self.most_bytes = threads, most_bytes
        self.lock = threading.RLock()
        self.waiting: dict[tuple[str, str], Request] = {}
        self.running: dict[int, Request] = {}
        self.known: set[Any] = set()
        self.served: dict[str, int] = {}
        self.numbers = itertools.count(1)
        self.process: subprocess.Popen | None = None
        self.ready = self.closed = False

    def ask(self, request: Request) -> None:
        """Add a request; an older one of the same tab and kind is dropped."""
        with self.lock:
            for number, one in self.running.items():
                if (one.tab, one.kind) == (request.tab, request.kind):
                    one.late = True
                    self.hurry(number)
            self.waiting[request.tab, request.kind] = request
            self.next()

    def forget(self, tab: str, kind: str | None = None) -> None:
        """Drop the requests of a tab, or those of one kind."""
        with self.lock:
            for key in [k for k in self.waiting if k[0] == tab and kind in (None, k[1])]:
                del self.waiting[key]
            for number, request in self.running.items():
                if request.tab == tab and kind in (None, request.kind):
                    self.stop(number)
            if kind is None:
                self.served.pop(tab, None)

    def new_code(self, request: Request) -> bool:
        """Whether the process has not computed anything with the same compiled code before."""
        return request.code is not None and (request.name, request.code) not in self.known

    def waits(self, kind: str) -> int:
        """Number of requests of one kind that wait."""
        with self.lock:
            return sum(request.kind == kind for request in self.waiting.values())

    def ahead(self, request: Request) -> int:
        """Number of requests that go before this one."""
        with self.lock:
            order = sorted(self.waiting.values(), key=self.place)
            return len(self.running) + (order.index(request) if request in order else 0)

    def start(self) -> None:
        """Start the process unless it runs."""
        with self.lock:
            if self.process is None and not self.closed:
                self.ready = False
                self.process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                    env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
                )
                threading.Thread(target=self.listen, args=(self.process,), daemon=True).start()

    def close(self) -> None:
        """End the process and drop all requests."""
        with self.lock:
            self.closed = True
            self.waiting.clear()
            if self.process is not None:
                self.process.kill()

    def place(self, request: Request) -> tuple[int, int]:
        """Order of requests: by rank, then the tab that was served longest ago."""
        return request.rank, self.served.get(request.tab, 0)

    def next(self) -> None:
        """Start requests while a thread is free; interrupt a running one for one of smaller rank."""
        self.start()
        while self.waiting and not self.closed:
            request = min(self.waiting.values(), key=self.place)
            if not request.wanted():
                del self.waiting[request.tab, request.kind]
                continue
            compiling = any(self.new_code(one) for one in self.running.values())
            if self.new_code(request) and compiling and self.threads > 1:  # keep a thread for quick work
                easy = [one for one in self.waiting.values() if not self.new_code(one)]
                if not easy:
                    return
                request = min(easy, key=self.place)
            if len(self.running) >= self.threads:
                later = [n for n, one in self.running.items() if one.rank > request.rank and not one.stopping]
                if later:
                    self.stop(later[0], again=True)
                return
            del self.waiting[request.tab, request.kind]
            number = next(self.numbers)
            self.served[request.tab] = number
            request.began = time.monotonic()
            self.running[number] = request
            self.send(number, request.name, *request.arguments)

    def stop(self, number: int, again: bool = False) -> None:
        """Stop a running request; `again` puts it back into the queue unless a newer one is there."""
        request = self.running[number]
        if again and not request.late:
            self.waiting.setdefault((request.tab, request.kind), dataclasses.replace(request, late=False))
        request.stopping = True
        self.send(number, None)

    def hurry(self, number: int) -> None:
        """Stop a running request that a newer one has replaced, once its `grace` is over."""
        request = self.running[number]
        if request.late and not request.stopping and time.monotonic() - request.began > request.grace:
            self.stop(number)

    def send(self, *message: Any) -> None:
        """Send a message to the process; `listen` notices if it has ended."""
        with contextlib.suppress(OSError, ValueError):
            assert self.process is not None
            assert self.process.stdin is not None
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def listen(self, process: subprocess.Popen) -> None:
        """Read the messages of one process until it ends."""
        assert process.stdout is not None
        while True:
            try:
                number, what, *values = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError):
                self.lost(process)
                return
            if what == "ready":
                self.ready = True
            elif what == "progress":
                self.told(number, *values[0])
            else:
                self.finished(process, number, what, *values)

    def told(self, number: int, part: float, words: str) -> None:
        """Pass progress on to the tab, if it still waits."""
        with self.lock:
            request = self.running.get(number)
            if request is None or request.stopping:
                return
            self.hurry(number)
            if not request.wanted():
                self.stop(number)
            if request.stopping:
                return
        safely(request.progress, part, words)

    def finished(self, process: subprocess.Popen, number: int, what: str, value: Any, size: int) -> None:
        """A request was computed, failed or was stopped: start the next one and tell the tab."""
        with self.lock:
            request = self.running.pop(number)
            if what == "done":
                self.known.add((request.name, request.code))
            newer = [*self.waiting.values(), *self.running.values()]
            overtaken = request.late and not any(
                (one.tab, one.kind) == (request.tab, request.kind) for one in newer
            )
            if size > self.most_bytes and not self.running:
                process.kill()  # its listener starts another
            else:
                self.next()
        if not (request.stopping or overtaken) and request.wanted():
            safely(request.done if what == "done" else request.failed, value)

    def lost(self, process: subprocess.Popen) -> None:
        """The process has ended: tell the tabs that waited for it, and start another.

        One that has ended before it was ready is started again only with the next request: it might end at
        once for ever.
        """
        process.wait()
        with self.lock:
            broken = [request for request in self.running.values() if not request.stopping]
            self.running.clear()
            self.known.clear()
            self.process = None
            if not self.ready:
                broken += self.waiting.values()
                self.waiting.clear()
            elif not self.closed:
                self.next()
        for request in broken:
            safely(request.failed, ENDED)
