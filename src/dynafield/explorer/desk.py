"""Wishes of all tabs, and the process that carries them out.

Only the newest wish of a kind is kept for every tab: what it replaces is stopped. Urgent wishes go first and
interrupt those that can wait, tabs take turns, and a process that has grown too large or died is replaced.
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

__all__ = ["Desk", "Wish"]


@dataclasses.dataclass(eq=False)
class Wish:
    """Some work for a tab. All callbacks come from threads of the desk."""

    tab: str
    kind: str
    """A newer wish of this kind takes the place of this one."""
    name: str
    """Function of the worker's module."""
    arguments: tuple[Any, ...]
    done: Callable[[Any], Any]
    failed: Callable[[str], Any]
    progress: Callable[[float, str], Any] = lambda share, words: None
    rank: int = 0
    """Smaller ones go first."""
    code: Any = None
    """What compiled code it needs; unknown code may take seconds to compile."""
    wanted: Callable[[], bool] = lambda: True
    """Whether anybody still waits."""
    grace: float = 0.0
    """Seconds within which it may finish although there is a newer wish, so that drags show something."""
    began: float = 0.0
    stopping: bool = False
    late: bool = False


def safely(function: Callable, *arguments: Any) -> None:
    """Tell a tab; one that cannot listen, because it is being closed, must not end the desk's thread."""
    try:
        function(*arguments)
    except Exception:
        logging.getLogger(__name__).exception("a tab could not be told")


class Desk:
    """One process, and the queue before it."""

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
        self.waiting: dict[tuple[str, str], Wish] = {}
        self.running: dict[int, Wish] = {}
        self.known: set[Any] = set()
        self.served: dict[str, int] = {}
        self.numbers = itertools.count(1)
        self.process: subprocess.Popen | None = None
        self.ready = self.closed = False

    def ask(self, wish: Wish) -> None:
        """Take the wish; an older one of its kind from its tab is forgotten."""
        with self.lock:
            for number, one in self.running.items():
                if (one.tab, one.kind) == (wish.tab, wish.kind):
                    one.late = True
                    self.hurry(number)
            self.waiting[wish.tab, wish.kind] = wish
            self.next()

    def forget(self, tab: str, kind: str | None = None) -> None:
        """Nothing (of this kind) is wanted by this tab any more."""
        with self.lock:
            for key in [k for k in self.waiting if k[0] == tab and kind in (None, k[1])]:
                del self.waiting[key]
            for number, wish in self.running.items():
                if wish.tab == tab and kind in (None, wish.kind):
                    self.stop(number)
            if kind is None:
                self.served.pop(tab, None)

    def new_code(self, wish: Wish) -> bool:
        """Whether code has to be compiled for this wish, as far as is known."""
        return wish.code is not None and (wish.name, wish.code) not in self.known

    def ahead(self, wish: Wish) -> int:
        """How many wishes come first."""
        with self.lock:
            order = sorted(self.waiting.values(), key=self.place)
            return len(self.running) + (order.index(wish) if wish in order else 0)

    def start(self) -> None:
        """Start the process, if there is none."""
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
        """End the process and forget everything."""
        with self.lock:
            self.closed = True
            self.waiting.clear()
            if self.process is not None:
                self.process.kill()

    def place(self, wish: Wish) -> tuple[int, int]:
        """Urgency first, then tabs in turn."""
        return wish.rank, self.served.get(wish.tab, 0)

    def next(self) -> None:
        """Hand out work as long as a thread is free; interrupt work that can wait for more urgent work."""
        self.start()
        while self.waiting and not self.closed:
            wish = min(self.waiting.values(), key=self.place)
            if not wish.wanted():
                del self.waiting[wish.tab, wish.kind]
                continue
            compiling = any(self.new_code(one) for one in self.running.values())
            if self.new_code(wish) and compiling and self.threads > 1:  # leave a thread to quick work
                easy = [one for one in self.waiting.values() if not self.new_code(one)]
                if not easy:
                    return
                wish = min(easy, key=self.place)
            if len(self.running) >= self.threads:
                later = [n for n, one in self.running.items() if one.rank > wish.rank and not one.stopping]
                if later:
                    self.stop(later[0], again=True)
                return
            del self.waiting[wish.tab, wish.kind]
            number = next(self.numbers)
            self.served[wish.tab] = number
            wish.began = time.monotonic()
            self.running[number] = wish
            self.send(number, wish.name, *wish.arguments)

    def stop(self, number: int, again: bool = False) -> None:
        """Stop a running wish; `again` puts it back into the queue unless a newer one is there."""
        wish = self.running[number]
        if again and not wish.late:
            self.waiting.setdefault((wish.tab, wish.kind), dataclasses.replace(wish, late=False))
        wish.stopping = True
        self.send(number, None)

    def hurry(self, number: int) -> None:
        """Stop a running wish that a newer one has replaced, once its time of grace is over."""
        wish = self.running[number]
        if wish.late and not wish.stopping and time.monotonic() - wish.began > wish.grace:
            self.stop(number)

    def send(self, *message: Any) -> None:
        """To the process; one that is gone is noticed by its listener."""
        with contextlib.suppress(OSError, ValueError):
            assert self.process is not None
            assert self.process.stdin is not None
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def listen(self, process: subprocess.Popen) -> None:
        """Messages of one process until it ends."""
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

    def told(self, number: int, share: float, words: str) -> None:
        """Progress, for those who still wait."""
        with self.lock:
            wish = self.running.get(number)
            if wish is None or wish.stopping:
                return
            self.hurry(number)
            if not wish.wanted():
                self.stop(number)
            if wish.stopping:
                return
        safely(wish.progress, share, words)

    def finished(self, process: subprocess.Popen, number: int, what: str, value: Any, size: int) -> None:
        """Some work has ended, in one way or another."""
        with self.lock:
            wish = self.running.pop(number)
            if what == "done":
                self.known.add((wish.name, wish.code))
            newer = [*self.waiting.values(), *self.running.values()]
            overtaken = wish.late and not any((one.tab, one.kind) == (wish.tab, wish.kind) for one in newer)
            if size > self.most_bytes and not self.running:
                process.kill()  # its listener starts another
            else:
                self.next()
        if not (wish.stopping or overtaken) and wish.wanted():
            safely(wish.done if what == "done" else wish.failed, value)

    def lost(self, process: subprocess.Popen) -> None:
        """The process has ended: say so to those who waited for it, and start another."""
        process.wait()
        with self.lock:
            broken = [wish for wish in self.running.values() if not wish.stopping]
            self.running.clear()
            self.known.clear()
            self.process = None
            if not self.closed:
                self.next()
        for wish in broken:
            safely(
                wish.failed,
                "the process that computed this ended unexpectedly; change a setting to try again",
            )
