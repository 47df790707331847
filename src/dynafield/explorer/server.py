"""Serves the page on this machine."""

import socket
from typing import Any
from urllib.parse import urlencode

from dynafield.errors import InputError
from dynafield.explorer.job_queue import JobQueue, Request
from dynafield.explorer.setting import Setting

__all__ = ["explore"]

LOOPBACK = ("127.0.0.1", "localhost")
EVERYWHERE = "0.0.0.0"
JOBS = "dynafield.explorer.jobs"


def open_queues() -> tuple[JobQueue, JobQueue, JobQueue]:
    """The queues of the page; the process of each starts with its first request."""
    return JobQueue(JOBS, threads=3, niceness=4), JobQueue(JOBS, niceness=8), JobQueue(JOBS, niceness=12)


def explore(
    port: int = 5006, open_browser: bool = True, address: str = LOOPBACK[0], said: Any = print
) -> None:
    """Serve the page until Ctrl-C; port 0 takes any that is free."""
    if address not in LOOPBACK:
        said(f"warning: everybody who can reach {address}:{port} will be able to compute on this machine")
    port = free(address, port)
    opened = open_queues()
    warm(*opened)
    try:
        serve(opened, port, open_browser, address, said)
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


def serve(opened: Any, port: int, open_browser: bool, address: str, said: Any) -> None:
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

    names = {address, *(LOOPBACK if address in (*LOOPBACK, EVERYWHERE) else ())}
    if address == EVERYWHERE:
        names |= {socket.gethostname(), socket.gethostbyname(socket.gethostname())}
    origins = [f"{name}:{port}" for name in sorted(names)]
    server: Any = pn.serve(
        {"/": tab},
        port=port,
        address=address,
        show=False,
        start=False,
        title="dynafield explorer",
        websocket_origin=origins,
        extra_patterns=file_handlers(queues),
        admin=False,
        verbose=False,
    )
    place = f"http://{address}:{port}/"
    said(f"dynafield explorer on {place} (Ctrl-C ends it)")
    server.start()
    if open_browser:
        import webbrowser

        server.io_loop.call_later(0.1, webbrowser.open, place)
    server.run_until_shutdown()
