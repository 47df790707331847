"""Stand-ins for computations whose length is known."""

import os
import threading
import time


def echo(value, report):
    return value


def long(seconds, report):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        report(0.5, "on the way")
        time.sleep(0.01)
    return "finished"


def fail(report):
    raise ZeroDivisionError("by zero")


def die(report):
    os._exit(3)


def who(report):
    return os.getpid(), threading.active_count()


def curve_file(setting, report):
    return b"a file"
