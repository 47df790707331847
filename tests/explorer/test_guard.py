"""What the server refuses: foreign hosts and pages, what is too long, more tabs, tabs that do not read."""

import asyncio
import contextlib
import http.client
import re
import subprocess
import sys
import time

import pytest
from benchmarks.tabs import SocketTab
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError, websocket_connect

from dynafield.errors import InputError
from dynafield.explorer import guard
from dynafield.explorer.server import hosts_of
from dynafield.explorer.setting import MOST_PINS, Setting, View

WAIT = 120
"""Seconds after which a test gives up."""
SMALL = """
import panel as pn
from dynafield.explorer import guard, server

def tab():
    field, text = pn.widgets.TextInput(css_classes=["field"]), pn.pane.HTML("")
    field.param.watch(lambda event: setattr(text, "object", f"heard {event.new} " + 10**5 * "."), "value")
    return pn.Column(field, text)

guard.PATIENCE, guard.LINGER, guard.MOST_TABS = 2.0, 0.2, 3
port = server.free("127.0.0.1", 0)
hosts = server.hosts_of("127.0.0.1", port, ["lab.test"])
one = server.server_of(tab, "127.0.0.1", port, hosts)
print(f"http://127.0.0.1:{port}/", flush=True)
one.start()
one.run_until_shutdown()
"""
"""A small page, served like the explorer's but with little patience, so that tests need not wait."""


@pytest.fixture(scope="module")
def server():
    process = subprocess.Popen([sys.executable, "-c", SMALL], stdout=subprocess.PIPE, text=True)
    yield process.pid, re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
    process.kill()
    process.wait()


def port_of(server):
    return int(server[1].rsplit(":", 1)[1].strip("/"))


def ask(server, path="/metadata", method="GET", body=None, **headers):
    """Status and text of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=WAIT)
    with contextlib.closing(connection):
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_names_of_this_machine_are_served(server, name):
    host = f"{name}:{port_of(server)}"
    assert ask(server, Host=host, Origin=f"http://{host}")[0] == 200


def test_the_page_itself_is_served_by_every_name(server):
    """Panel by itself fails at an IPv6 address."""
    status, page = ask(server, "/", Host=f"[::1]:{port_of(server)}")
    assert (status, "bokeh" in page) == (200, True)


@pytest.mark.parametrize("host", ["evil.test", "evil.test:{}", "localhost", "127.0.0.1:1", "lab.test:{}", ""])
@pytest.mark.parametrize("path", ["/", "/metadata", "/autoload.js", "/static/js/bokeh.min.js", "/no"])
def test_another_host_gets_nothing(server, host, path):
    status, text = ask(server, path, Host=host.format(port_of(server)))
    assert status == 403
    assert text == "this host is not served here; --host-name allows another name\n"


def test_a_host_that_was_allowed_is_served(server):
    assert ask(server, Host="lab.test", Origin="https://lab.test")[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.test", "null", "http://localhost:1", "file://", "http://127.0.0.1"]
)
def test_another_page_gets_nothing(server, origin):
    for path in ("/", "/autoload.js", "/ws"):
        assert ask(server, path, Origin=origin) == (403, "another page may not use this server\n")


@pytest.mark.parametrize(
    ("site", "mode", "place", "status"),
    [
        ("cross-site", "no-cors", "image", 403),
        ("same-site", "no-cors", "script", 403),
        ("cross-site", "navigate", "iframe", 403),
        ("cross-site", "navigate", "document", 200),
        ("same-origin", "no-cors", "script", 200),
        ("none", "navigate", "document", 200),
    ],
)
def test_another_page_may_link_here_but_include_nothing(server, site, mode, place, status):
    given = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": place}
    assert ask(server, **given)[0] == status


def connect(server, **headers):
    """A WebSocket that is refused has no connection; the status of the answer."""

    async def attempt():
        where = server[1].replace("http", "ws") + "ws"
        try:
            one = await websocket_connect(HTTPRequest(where, headers=headers), subprotocols=["bokeh", "no"])
        except HTTPClientError as error:
            return error.code
        one.close()
        return 101

    return asyncio.run(attempt())


def test_a_socket_of_another_page_is_refused(server):
    own = f"localhost:{port_of(server)}"
    assert connect(server, Origin=f"http://{own}", Host=own) == 101
    sixth = f"[::1]:{port_of(server)}"
    assert connect(server, Origin=f"http://{sixth}", Host=sixth) == 101
    assert connect(server, Origin="http://evil.test") == 403
    assert connect(server, Host="evil.test") == 403
    assert connect(server, Origin=f"http://evil.test:{port_of(server)}", Host=own) == 403


def test_what_is_too_long_is_refused_in_words(server):
    status, text = ask(server, "/?prior=" + guard.LONGEST_LINK * "1")
    assert (status, text) == (414, f"an address may have at most {guard.LONGEST_LINK} characters\n")
    assert ask(server, "/", "POST", b"x" * 10_000) == (413, "a request must have no body\n")
    assert ask(server, "/metadata", "GET", b"x") == (413, "a request must have no body\n")


def test_the_longest_link_of_the_page_is_not_too_long():
    """Every pin with a text of the greatest length, in which many characters have to be quoted."""
    prior = "discrete:" + ",".join(f"-{k + 1}.5@0.025" for k in range(40))[:390]
    one = Setting(
        alpha=0.1234567890123456, prior=prior.rsplit(",", 1)[0], spectrum="power:1.234567890123456,7"
    )
    view = View(one, MOST_PINS * (one,), "tradeoff", 0.123456789, "linear", "R_f")
    assert len(one.prior) > 350
    assert len(view.query()) < guard.LONGEST_LINK / 1.2


async def too_long(tab, whole):
    """Send a message that is too long, in one piece or in many that belong together; how it ends."""
    with contextlib.suppress(WebSocketClosedError, StreamClosedError):  # it is closed while we write
        if whole:
            await tab.send("PATCH-DOC", {"events": ["x" * (guard.MOST_BYTES + 1)]})
        else:
            await tab.send("PATCH-DOC", {"events": []}, 10**6)
            for _ in range(2 * guard.MOST_BYTES // 50_000):
                await tab.socket.write_message('{"id": "a"}')
                await tab.socket.write_message(b"x" * 50_000, binary=True)
    await asyncio.wait_for(tab.reading, WAIT)
    return tab.socket.close_code, tab.socket.close_reason


async def opened(server):
    """A tab, as soon as those that were closed are forgotten."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            return await SocketTab(server[1]).open()
        except HTTPClientError as error:
            if error.code != 503:
                raise
            await asyncio.sleep(0.2)
    raise TimeoutError


def test_tabs_that_misbehave_are_closed_and_others_served(server):
    async def story():
        long, parts, deaf = [await opened(server) for _ in range(3)]
        with pytest.raises(HTTPClientError, match="503"):  # one more than this server allows
            await SocketTab(server[1]).open()
        refused = (1009, f"a message may have at most {guard.MOST_BYTES} bytes")
        assert await too_long(long, True) == refused
        assert await too_long(parts, False) == refused
        deaf.reading.cancel()  # nothing more is read, nor are pings answered
        for k in range(50):
            await deaf.change("field", f"{k}")
        good = await opened(server)
        await good.change("field", "me")
        await good.hear("heard me")
        others = [await opened(server) for _ in range(2)]  # so the deaf one is forgotten as well
        for tab in (good, *others):
            await tab.close()

    asyncio.run(story())


def test_host_names_are_checked():
    assert hosts_of("127.0.0.1", 80, ["a.b"]) == sorted(
        ["127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80", "[::1]", "[::1]:80", "a.b"]
    )
    with pytest.raises(InputError, match="host-name must be a name"):
        hosts_of("127.0.0.1", 5006, ["http://a.b/"])
