"""A process that computes for the page, so that the page itself never waits.

It reads (number, function, arguments) from standard input and writes (number, what, value) to standard
output, where `what` is "progress", "done", "failed" or "stopped"; (number, None) stops a computation. It
ends when its input ends, so that it does not outlive the server.
"""

import importlib
import os
import pickle
import resource
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from dynafield.compiled import keep_compiled_code
from dynafield.errors import InputError, SolveError

__all__ = ["memory"]


class Stopped(Exception):  # noqa: N818 - not an error
    """Raised inside a computation that is no longer wanted."""


def memory() -> int:
    """Bytes that this process holds."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Worker:
    """Computes functions of one module, in one or several threads."""

    def __init__(self, module: str, threads: int, source: BinaryIO, sink: BinaryIO):
        self.functions = importlib.import_module(module)
        self.threads = ThreadPoolExecutor(threads)
        self.source, self.sink = source, sink
        self.lock = threading.Lock()
        self.stops: dict[int, threading.Event] = {}

    def send(self, *message: Any) -> None:
        """Send a message to the server."""
        with self.lock:
            pickle.dump(message, self.sink)
            self.sink.flush()

    def serve(self) -> None:
        """Read requests until the input ends."""
        self.send(0, "ready", memory())
        while True:
            try:
                number, name, *arguments = pickle.load(self.source)
            except (EOFError, OSError):
                os._exit(0)  # what still runs is not wanted any more
            if name is None:
                if number in self.stops:
                    self.stops[number].set()
            else:
                self.stops[number] = threading.Event()
                self.threads.submit(self.run, number, getattr(self.functions, name), arguments)

    def run(self, number: int, function: Callable, arguments: list[Any]) -> None:
        """Compute one request and send its outcome."""
        stop = self.stops[number]

        def report(part: float, words: str) -> None:
            if stop.is_set():
                raise Stopped
            self.send(number, "progress", (part, words))

        try:
            report(0.0, "")
            outcome = ("done", function(*arguments, report=report))
        except Stopped:
            outcome = ("stopped", None)
        except (InputError, SolveError) as error:
            outcome = ("failed", str(error))
        except Exception as error:
            outcome = ("failed", f"{type(error).__name__}: {error}")
        del self.stops[number]
        self.send(number, *outcome, memory())


def main() -> None:
    """`python -m dynafield.explorer.worker MODULE THREADS NICENESS`."""
    module, threads, niceness = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.nice(niceness)
    keep_compiled_code()  # before JAX is imported
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not come between the messages
    Worker(module, threads, sys.stdin.buffer, sink).serve()


if __name__ == "__main__":
    main()
