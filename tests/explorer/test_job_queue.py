"""The queue before a process: newest request only, urgent first, tabs in turn, deaths survived."""

import asyncio
import os
import queue as queues
import signal
import time
from functools import partial

import pytest
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application

from dynafield.explorer import files
from dynafield.explorer.job_queue import ENDED, JobQueue, Request
from dynafield.explorer.tab import Queues
from dynafield.explorer.tab import Tab as Browsing

WAIT = 30
"""Seconds after which a test gives up; nothing here takes more than one or two."""


@pytest.fixture
def queue():
    made = JobQueue("tests.explorer.slow_jobs")
    yield made
    made.close()


class Tab:
    """Collects what is said to it."""

    def __init__(self, queue, name="tab"):
        self.queue, self.name, self.said, self.open = queue, name, queues.Queue(), True

    def ask(self, job, *arguments, kind="work", rank=0, grace=0.0, progress=None):
        request = Request(
            self.name, kind, job, arguments, lambda v: self.said.put(("done", v)),
            lambda v: self.said.put(("failed", v)), progress or (lambda share, words: None), rank,
            wanted=lambda: self.open, grace=grace,
        )  # fmt: skip
        self.queue.ask(request)
        return request

    def hear(self):
        return self.said.get(timeout=WAIT)


def until(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_work_is_done_and_failure_told(queue):
    tab = Tab(queue)
    tab.ask("echo", 3)
    assert tab.hear() == ("done", 3)
    tab.ask("fail")
    assert tab.hear() == ("failed", "ZeroDivisionError: by zero")


def test_only_the_newest_wish_is_carried_out(queue):
    tab = Tab(queue)
    tab.ask("long", 60.0)
    until(lambda: queue.running)
    for k in range(20):
        tab.ask("echo", k)
    assert tab.hear() == ("done", 19)
    assert tab.said.empty()


def in_grace(queue, seconds):
    """A tab that has asked for something new while long work of its own, in its time of grace, goes on."""
    tab = Tab(queue)
    tab.ask("echo", 0)
    tab.hear()
    tab.ask("long", seconds, grace=20.0)
    until(lambda: queue.running)
    tab.ask("echo", 1)
    return tab


def test_a_wish_in_its_time_of_grace_is_finished(queue):
    tab = in_grace(queue, 0.3)
    assert [tab.hear(), tab.hear()] == [("done", "finished"), ("done", 1)]


def test_urgent_work_interrupts_what_can_wait_and_that_is_done_later(queue):
    tab, other = Tab(queue), Tab(queue, "other")
    tab.ask("long", 0.5, rank=2)
    until(lambda: queue.running)
    other.ask("echo", "urgent", rank=0)
    assert other.hear() == ("done", "urgent")
    assert tab.said.empty()
    assert tab.hear() == ("done", "finished")


def test_tabs_take_turns(queue):
    order = []
    tabs = [Tab(queue, f"{k}") for k in range(3)]
    tabs[0].ask("long", 0.4)
    until(lambda: queue.running)
    for round_ in range(2):
        for tab in tabs:
            tab.ask("echo", round_, kind=f"{round_}")
            tab.said.put = lambda said, name=tab.name: order.append((name, said[1]))
    until(lambda: len(order) == 7)
    first = [name for name, said in order if said != "finished"][:2]
    assert set(first) == {"1", "2"}, "the tab that was served last comes last"


def test_work_for_a_closed_tab_stops(queue):
    tab, other = Tab(queue), Tab(queue, "other")
    tab.ask("long", 600.0)
    until(lambda: queue.running)
    tab.open = False
    other.ask("echo", 1)
    assert other.hear() == ("done", 1)
    assert not queue.running
    assert tab.said.empty()


def test_a_process_that_dies_is_replaced_and_its_tab_told(queue):
    tab = Tab(queue)
    tab.ask("who")
    first = tab.hear()[1][0]
    tab.ask("die")
    what, words = tab.hear()
    assert what == "failed"
    assert "ended unexpectedly" in words
    tab.ask("who")
    assert tab.hear()[1][0] != first


def test_a_process_killed_in_the_middle_is_replaced_and_its_tab_told(queue):
    tab, other = Tab(queue), Tab(queue, "other")
    tab.ask("long", 600.0)
    until(lambda: queue.running and queue.ready)
    other.ask("echo", 1)  # waits behind it, and is done by the next process
    os.kill(queue.process.pid, signal.SIGKILL)
    assert tab.hear() == ("failed", ENDED)
    assert other.hear() == ("done", 1)


def test_a_process_that_cannot_start_is_told_and_not_started_for_ever():
    queue = JobQueue("no.such.module")
    try:
        tab = Tab(queue)
        for _ in range(2):
            tab.ask("echo", 1)
            assert tab.hear() == ("failed", ENDED)
            assert queue.process is None
    finally:
        queue.close()


def test_files_are_bounded_and_forgotten(queue, monkeypatch):
    """Of the files that wait, two are allowed here; nothing is left of those that were sent."""
    monkeypatch.setattr(files, "MOST_FILES", 2)
    tab = Tab(queue)

    async def story():
        server = HTTPServer(Application(files.file_handlers(Queues(queue, queue, queue))))
        (listener,) = bind_sockets(0, "127.0.0.1")
        server.add_sockets([listener])
        place = f"http://127.0.0.1:{listener.getsockname()[1]}/curve.nc"
        fetch = partial(AsyncHTTPClient().fetch, place, raise_error=False)
        tab.ask("long", 600.0)
        sent = [asyncio.ensure_future(fetch()) for _ in range(2)]
        while queue.waits("file") < 2:
            await asyncio.sleep(0.01)
        refused = await fetch()
        assert (refused.code, refused.body[:25]) == (503, b"2 files are waited for, a")
        queue.forget(tab.name)
        assert [(one.code, one.body) for one in await asyncio.gather(*sent)] == 2 * [(200, b"a file")]
        server.stop()

    asyncio.run(asyncio.wait_for(story(), WAIT))
    assert queue.served == {}


def test_a_process_that_has_grown_is_replaced():
    queue = JobQueue("tests.explorer.slow_jobs", most_bytes=1e6)
    try:
        tab = Tab(queue)
        seen = set()
        for _ in range(2):
            tab.ask("who")
            seen.add(tab.hear()[1][0])
            until(lambda: queue.process is None or queue.process.pid not in seen)
        assert len(seen) == 2
    finally:
        queue.close()


def test_closing_ends_the_process(queue):
    tab = Tab(queue)
    tab.ask("echo", 1)
    tab.hear()
    process = queue.process
    queue.close()
    assert process.wait(WAIT) != 0


def test_a_tab_that_cannot_be_told_does_not_stop_the_others(queue):
    tab, other = Tab(queue), Tab(queue, "other")
    request = Request("tab", "work", "echo", (1,), lambda value: 1 / 0, lambda text: None)
    queue.ask(request)
    other.ask("echo", 2)
    assert other.hear() == ("done", 2)
    assert tab.said.empty()


def test_an_older_answer_never_follows_a_newer_one():
    queue = JobQueue("tests.explorer.slow_jobs", threads=2)
    try:
        tab = in_grace(queue, 0.5)
        assert tab.hear() == ("done", 1)
        until(lambda: not queue.running)
        assert tab.said.empty()
    finally:
        queue.close()


def test_what_was_told_before_a_stop_is_not_shown_after_it():
    """Progress that waited for the document came after Stop, and the page said for ever that it trains."""

    class Quiet(JobQueue):
        def __init__(self):
            self.asked = None

        def ask(self, request):
            self.asked = request

        def forget(self, tab, kind):
            pass

    class Document(list):
        add_next_tick_callback = list.append

    quiet, document, shown = Quiet(), Document(), []
    tab = Browsing(Queues(quiet, quiet, quiet), document, lambda: True)

    def ask():
        tab.ask(
            quiet, "networks", "networks", (), shown.append, shown.append, progress=lambda *x: shown.append(x)
        )
        return quiet.asked

    first = ask()
    first.progress(0.5, "half")
    first.done("all")
    tab.forget("networks")
    second = ask()
    second.progress(0.2, "again")
    for callback in document:
        callback()
    assert shown == [(0.2, "again")]
