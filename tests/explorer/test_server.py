"""The server without a browser: files by link, refusals, ports, and its end."""

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
from typer.testing import CliRunner

import dynafield as df
from dynafield.cli.main import app
from dynafield.errors import InputError
from dynafield.explorer.server import explore

WAIT = 120


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, "-m", "dynafield.cli", "explore", "--port", "0", "--no-browser"]
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
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in children):
        assert time.monotonic() < end
        time.sleep(0.05)
