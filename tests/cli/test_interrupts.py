"""Ctrl-C on the command line: answered at once, and never lost."""

import contextlib
import gc
import os
import signal
import time

import pytest

from dynafield.cli.interrupts import answered_at_once


@pytest.fixture(autouse=True)
def as_on_a_terminal():
    """Ctrl-C is heard: workers of pytest ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_it_is_answered_while_the_command_is_busy(capfd):
    """Before the exception has come out of the command."""
    told = ""
    with contextlib.suppress(KeyboardInterrupt), answered_at_once():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10.0)
        finally:
            for _ in range(1000):
                told += capfd.readouterr().err
                if told:
                    break
                time.sleep(0.01)
    assert "stopping as soon as" in told


def test_it_comes_again_where_python_drops_it():
    """As in what is called while garbage is collected, where exceptions are ignored."""

    def collecting(phase, _):
        if phase == "start":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)  # the exception is raised here

    def command():
        gc.callbacks.append(collecting)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(collecting)
        time.sleep(10.0)

    with answered_at_once(), pytest.raises(KeyboardInterrupt):
        command()
