"""The server without a browser: files by link, refusals, ports, and its end."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from benchmarks.tabs import SocketTab, megabytes
from typer.testing import CliRunner

import dynafield as df
from dynafield.cli.main import app
from dynafield.errors import InputError
from dynafield.explorer.server import JOBS, explore

WAIT = 120
HASTY = """
from dynafield.cli.main import run
from dynafield.explorer import guard

guard.LINGER = 0.3
run()
"""
"""The command, but closed tabs are forgotten soon."""


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, "-c", HASTY, "explore", "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    place = re.search(r"http://127\.0\.0\.1:\d+/", process.stderr.readline())[0]
    yield process, place
    process.kill()


def get(address):
    try:
        with urllib.request.urlopen(address, timeout=WAIT) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_files_by_link(server, tmp_path):
    place = server[1]
    status, content = get(place + "curve.nc?t_max=5&tol=0.05&alpha=0.7")
    assert status == 200
    (tmp_path / "curve.nc").write_bytes(content)
    curves = df.load(tmp_path / "curve.nc")
    assert (float(curves.net.alpha), float(curves.t[-1])) == (0.7, 5.0)


@pytest.mark.parametrize(
    ("link", "status", "words"),
    [
        ("curve.nc?alpha=-1", 400, "alpha must be"),
        ("curve.nc?prior=empirical:/etc/passwd", 400, "prior must be bernoulli"),
        ("runs.nc?alpha=1", 400, "must set d"),
        ("picture.png?what=1", 400, "got 'what'"),
        ("curve.nc?lam=0.1&depth=3&t_max=1e6&step=2500", 422, "blew up"),
        ("../../etc/passwd", 404, ""),
        ("curve.py", 404, ""),
    ],
)
def test_links_to_files_are_refused_in_words(server, link, status, words):
    found, content = get(server[1] + link)
    assert found == status, content
    assert words in content.decode()


FIRST_PAGE = """
import sys
import panel as pn
from bokeh.document import Document
from panel.io.state import set_curdoc
from dynafield.explorer.job_queue import JobQueue
from dynafield.explorer.page import Page
from dynafield.explorer.tab import Queues

document = Document()
with set_curdoc(document):
    page = Page(Queues(*(JobQueue("none") for _ in range(3))), QUERY, lambda: True)
    page.widgets.view.server_doc(document)
assert "error at rest" in str(document.to_json())
print("jax" in sys.modules)
"""


@pytest.mark.parametrize(("query", "needed"), [("", "False"), ("alpha=2", "True")])
def test_the_first_page_does_not_wait_for_jax(query, needed):
    code = FIRST_PAGE.replace("QUERY", repr(query))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == needed, done.stderr


def test_only_this_machine_is_served_unless_asked(server):
    port = int(server[1].rsplit(":", 1)[1].strip("/"))
    with socket.socket() as other:
        other.bind(("127.0.0.2", port))  # free, since the server has only 127.0.0.1


def test_a_taken_port_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port must be free on 127.0.0.1, or 0 for any, got {port}"):
            explore(port, open_browser=False)


def test_another_address_is_warned_about():
    said = []
    with pytest.raises(InputError, match="IPv4"):
        explore(0, open_browser=False, address="::1", said=said.append)
    assert "everybody who can reach" in said[0]


def test_without_panel_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["explore"])
    assert isinstance(done.exception, InputError)
    assert "pip install 'dynafield[explorer]'" in str(done.exception)


def test_another_host_or_page_gets_no_file(server):
    for headers in ({"Host": "evil.test"}, {"Origin": "http://evil.test"}):
        status, words = get(urllib.request.Request(server[1] + "curve.nc?alpha=-1", headers=headers))
        assert (status, b"alpha" in words) == (403, False)


def worker_of_curves(pid):
    """The process that computes curves for a server."""
    table = subprocess.run(
        ["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [row.split() for row in table.splitlines()[1:]]
    (found,) = [int(row[0]) for row in rows if int(row[1]) == pid and row[-3:] == [JOBS, "1", "8"]]
    return found


def test_a_process_killed_in_the_middle_is_told_and_replaced(server):
    async def story():
        tab = await SocketTab(server[1]).open("tol=0.05&t_max=5")
        await tab.hear("solved in")
        await tab.change("field-t_max", "1000000")
        await tab.hear("computing to full accuracy")
        os.kill(worker_of_curves(server[0].pid), signal.SIGKILL)
        await tab.hear("ended unexpectedly")
        await tab.change("field-t_max", "6")
        await tab.hear("solved in")
        await tab.close()

    asyncio.run(story())


def test_tabs_that_move_sliders_come_and_go_leave_no_memory(server):
    """A small form of `python -m benchmarks.tabs`."""

    async def story(count):
        for k in range(count):
            tab = await SocketTab(server[1]).open("tol=0.05&t_max=5")
            await tab.change("field-t_max", f"{6 + k}")
            await tab.hear("preview: test error|solved in")
            await tab.close()
        return megabytes(server[0].pid)[0]

    before = asyncio.run(story(2))
    after, end = asyncio.run(story(3)), time.monotonic() + 30
    while after - before > 9.0 and time.monotonic() < end:  # the last tabs may not be forgotten yet
        time.sleep(0.5)
        after = megabytes(server[0].pid)[0]
    assert after - before < 9.0, "MB: a tab has 6, and three of them would stay"


def alive(process):
    """Processes whose parent is this one."""
    table = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout
    return [int(pid) for pid, parent in map(str.split, table.splitlines()[1:]) if int(parent) == process.pid]


def test_an_interrupt_ends_everything(server):
    process, _ = server
    children = alive(process)
    assert children, "the process of curves is there"
    process.send_signal(signal.SIGINT)
    assert process.wait(30) in (0, 130)
    assert "connection was closed" not in process.stderr.read(), "closed tabs are no news"
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in children):
        assert time.monotonic() < end
        time.sleep(0.05)
