"""Serves the page on this machine."""

import re
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from dynafield.errors import InputError
from dynafield.explorer.job_queue import JobQueue, Request
from dynafield.explorer.setting import Setting

__all__ = ["explore"]

LOOPBACK = ("127.0.0.1", "localhost")
"""Addresses that only this machine can reach."""
LOCAL = (*LOOPBACK, "[::1]")
"""What a browser on this machine may call it."""
EVERYWHERE = "0.0.0.0"
HOST = r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?"
"""Form of a name that a request may name as its host."""
HTTP = 80
"""The port of addresses that name none."""
JOBS = "dynafield.explorer.jobs"


def open_queues() -> tuple[JobQueue, JobQueue, JobQueue]:
    """The queues of the page; the process of each starts with its first request."""
    return JobQueue(JOBS, threads=3, niceness=4), JobQueue(JOBS, niceness=8), JobQueue(JOBS, niceness=12)


def explore(
    port: int = 5006,
    open_browser: bool = True,
    address: str = LOOPBACK[0],
    said: Any = print,
    host_names: Sequence[str] = (),
) -> None:
    """Serve the page until Ctrl-C; port 0 takes any that is free.

    Requests must name the address and the port, or one of `host_names`, as their host.
    """
    if address not in LOOPBACK:
        said(f"warning: everybody who can reach {address}:{port} will be able to compute on this machine")
    port = free(address, port)
    hosts = hosts_of(address, port, host_names)
    opened = open_queues()
    warm(*opened)
    try:
        serve(opened, port, open_browser, address, said, hosts)
    finally:
        for queue in opened:
            queue.close()


def warm(quick: JobQueue, curves: JobQueue, networks: JobQueue) -> None:
    """Compute what the first tab will ask for, while the libraries of the page are imported."""
    for queue, name, arguments in ((quick, "limits", (Setting(),)), (curves, "curve", (Setting(), True))):
        queue.ask(Request("server", name, name, arguments, lambda found: None, lambda text: None))


def free(address: str, port: int) -> int:
    """The port, or a free one for 0; InputError if it is taken."""
    if ":" in address:
        raise InputError(f"address must be a name or an IPv4 address, got {address!r}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except (OSError, OverflowError) as error:
            raise InputError(f"port must be free on {address}, or 0 for any, got {port}: {error}") from None
        return probe.getsockname()[1]


class Life:
    """Whether a tab is still open: one that was connected and no longer is has been closed."""

    def __init__(self, context: Any):
        self.context = context
        self.begun = False

    def begin(self) -> None:
        """Note that the browser has connected."""
        self.begun = True

    def __call__(self) -> bool:
        return not self.begun or self.context.session.connection_count > 0


def asked(arguments: dict[str, list[bytes]]) -> str:
    """The query of the address that opened a tab."""
    pairs = [(name, value.decode(errors="replace")) for name, values in arguments.items() for value in values]
    return urlencode(pairs)


def hosts_of(address: str, port: int, more: Sequence[str] = ()) -> list[str]:
    """What a request may name as its host: the names of this server with its port, and others as given."""
    for name in more:
        if not re.fullmatch(HOST, name):
            raise InputError(f"host-name must be a name with or without :PORT, got {name!r}")
    names = {address, *(LOCAL if address in (*LOOPBACK, EVERYWHERE) else ())}
    if address == EVERYWHERE:
        names |= {socket.gethostname(), socket.gethostbyname(socket.gethostname())}
    default = names if port == HTTP else set()  # a browser leaves that port out
    return sorted({f"{name}:{port}" for name in names} | default | set(more))


def server_of(tab: Any, address: str, port: int, hosts: Sequence[str], patterns: Any = ()) -> Any:
    """A server of a page, made by `tab` for every tab, that refuses what it should; not yet started."""
    import panel as pn

    from dynafield.explorer.guard import guard, limits

    server: Any = pn.serve(
        {"/": tab},
        port=port,
        address=address,
        show=False,
        start=False,
        title="dynafield explorer",
        websocket_origin=f"{address}:{port}",  # of Bokeh; `guard` looks first, and at more
        extra_patterns=list(patterns),
        admin=False,
        verbose=False,
        **limits(),
    )
    guard(server._tornado, hosts)
    return server


def serve(opened: Any, port: int, open_browser: bool, address: str, said: Any, hosts: Sequence[str]) -> None:
    """Serve the page and its files."""
    import panel as pn

    from dynafield.explorer.files import file_handlers
    from dynafield.explorer.page import Page
    from dynafield.explorer.style import DOCUMENT
    from dynafield.explorer.tab import Queues

    queues = Queues(*opened)
    pn.extension(notifications=False, raw_css=[DOCUMENT], respect_explicit_sizing=True)

    def tab() -> Any:
        document: Any = pn.state.curdoc
        life = Life(document.session_context)
        page = Page(queues, asked(pn.state.session_args), life)
        pn.state.onload(life.begin)
        pn.state.onload(page.begin)
        pn.state.on_session_destroyed(lambda context: page.tab.forget())
        return page.widgets.view

    server = server_of(tab, address, port, hosts, file_handlers(queues))
    place = f"http://{address}:{port}/"
    said(f"dynafield explorer on {place} (Ctrl-C ends it)")
    server.start()
    if open_browser:
        import webbrowser

        server.io_loop.call_later(0.1, webbrowser.open, place)
    server.run_until_shutdown()
