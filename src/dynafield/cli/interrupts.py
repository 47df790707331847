"""Ctrl-C is answered at once and never lost, though a computation stops only where it can."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["answered_at_once"]

AGAIN = 0.05
"""Seconds after which Ctrl-C is raised again where Python has dropped it."""
STOPPING = "\nstopping as soon as what is being computed or compiled is over …\n"


@contextlib.contextmanager
def answered_at_once() -> Iterator[None]:
    """Tell of Ctrl-C from a thread, while the main one may be inside compiled code for seconds."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    thread = threading.Thread(target=answer, args=(read,), daemon=True)
    thread.start()
    hook = sys.unraisablehook
    sys.unraisablehook = raised_again(hook)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.set_wakeup_fd(before)
        os.close(write)
        thread.join()
        os.close(read)


def answer(read: int) -> None:
    """Write a line for the first Ctrl-C; ends when the pipe is closed."""
    told = False
    while number := os.read(read, 1):
        if number[0] == signal.SIGINT and not told:
            told = True
            sys.stderr.write(STOPPING)
            sys.stderr.flush()


def raised_again(hook: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A hook for exceptions that Python drops, such as Ctrl-C while JAX collects garbage: it comes again."""

    main = threading.main_thread().ident
    assert main is not None  # it has begun

    def dropped(found: Any) -> None:
        if isinstance(found.exc_value, KeyboardInterrupt):
            timer = threading.Timer(AGAIN, signal.pthread_kill, (main, signal.SIGINT))
            timer.daemon = True
            timer.start()
        else:
            hook(found)

    return dropped
