"""The queue before a process: newest wish only, urgent first, tabs in turn, deaths survived."""

import queue
import time

import pytest

from dynafield.explorer.desk import Desk, Wish

WAIT = 30
"""Seconds after which a test gives up; nothing here takes more than one or two."""


@pytest.fixture
def desk():
    made = Desk("tests.explorer.slow_jobs")
    yield made
    made.close()


class Tab:
    """Collects what is said to it."""

    def __init__(self, desk, name="tab"):
        self.desk, self.name, self.said, self.open = desk, name, queue.Queue(), True

    def ask(self, job, *arguments, kind="work", rank=0, grace=0.0, progress=None):
        wish = Wish(
            self.name, kind, job, arguments, lambda v: self.said.put(("done", v)),
            lambda v: self.said.put(("failed", v)), progress or (lambda share, words: None), rank,
            wanted=lambda: self.open, grace=grace,
        )  # fmt: skip
        self.desk.ask(wish)
        return wish

    def hear(self):
        return self.said.get(timeout=WAIT)


def until(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_work_is_done_and_failure_told(desk):
    tab = Tab(desk)
    tab.ask("echo", 3)
    assert tab.hear() == ("done", 3)
    tab.ask("fail")
    assert tab.hear() == ("failed", "ZeroDivisionError: by zero")


def test_only_the_newest_wish_is_carried_out(desk):
    tab = Tab(desk)
    tab.ask("long", 60.0)
    until(lambda: desk.running)
    for k in range(20):
        tab.ask("echo", k)
    assert tab.hear() == ("done", 19)
    assert tab.said.empty()


def in_grace(desk, seconds):
    """A tab that has asked for something new while long work of its own, in its time of grace, goes on."""
    tab = Tab(desk)
    tab.ask("echo", 0)
    tab.hear()
    tab.ask("long", seconds, grace=20.0)
    until(lambda: desk.running)
    tab.ask("echo", 1)
    return tab


def test_a_wish_in_its_time_of_grace_is_finished(desk):
    tab = in_grace(desk, 0.3)
    assert [tab.hear(), tab.hear()] == [("done", "finished"), ("done", 1)]


def test_urgent_work_interrupts_what_can_wait_and_that_is_done_later(desk):
    tab, other = Tab(desk), Tab(desk, "other")
    tab.ask("long", 0.5, rank=2)
    until(lambda: desk.running)
    other.ask("echo", "urgent", rank=0)
    assert other.hear() == ("done", "urgent")
    assert tab.said.empty()
    assert tab.hear() == ("done", "finished")


def test_tabs_take_turns(desk):
    order = []
    tabs = [Tab(desk, f"{k}") for k in range(3)]
    tabs[0].ask("long", 0.4)
    until(lambda: desk.running)
    for round_ in range(2):
        for tab in tabs:
            tab.ask("echo", round_, kind=f"{round_}")
            tab.said.put = lambda said, name=tab.name: order.append((name, said[1]))
    until(lambda: len(order) == 7)
    first = [name for name, said in order if said != "finished"][:2]
    assert set(first) == {"1", "2"}, "the tab that was served last comes last"


def test_work_for_a_closed_tab_stops(desk):
    tab, other = Tab(desk), Tab(desk, "other")
    tab.ask("long", 600.0)
    until(lambda: desk.running)
    tab.open = False
    other.ask("echo", 1)
    assert other.hear() == ("done", 1)
    assert not desk.running
    assert tab.said.empty()


def test_a_process_that_dies_is_replaced_and_its_tab_told(desk):
    tab = Tab(desk)
    tab.ask("who")
    first = tab.hear()[1][0]
    tab.ask("die")
    what, words = tab.hear()
    assert what == "failed"
    assert "ended unexpectedly" in words
    tab.ask("who")
    assert tab.hear()[1][0] != first


def test_a_process_that_has_grown_is_replaced():
    desk = Desk("tests.explorer.slow_jobs", most_bytes=1e6)
    try:
        tab = Tab(desk)
        seen = set()
        for _ in range(2):
            tab.ask("who")
            seen.add(tab.hear()[1][0])
            until(lambda: desk.process is None or desk.process.pid not in seen)
        assert len(seen) == 2
    finally:
        desk.close()


def test_closing_ends_the_process(desk):
    tab = Tab(desk)
    tab.ask("echo", 1)
    tab.hear()
    process = desk.process
    desk.close()
    assert process.wait(WAIT) != 0


def test_a_tab_that_cannot_be_told_does_not_stop_the_others(desk):
    tab, other = Tab(desk), Tab(desk, "other")
    wish = Wish("tab", "work", "echo", (1,), lambda value: 1 / 0, lambda text: None)
    desk.ask(wish)
    other.ask("echo", 2)
    assert other.hear() == ("done", 2)
    assert tab.said.empty()


def test_an_older_answer_never_follows_a_newer_one():
    desk = Desk("tests.explorer.slow_jobs", threads=2)
    try:
        tab = in_grace(desk, 0.5)
        assert tab.hear() == ("done", 1)
        until(lambda: not desk.running)
        assert tab.said.empty()
    finally:
        desk.close()
