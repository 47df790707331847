"""What the server refuses before anything is computed: foreign hosts and pages, what is too long, too many.

A web page that somebody else wrote runs in the same browser. It can send requests to this machine, and a
name of its own can be made to point here. Every request must therefore name a host that is served (`Host`),
and must not come from another page (`Origin`, `Sec-Fetch-Site`); only a link that is followed may.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from panel.io.server import WSHandler
from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher, Rule
from tornado.web import RequestHandler, stream_request_body

__all__ = ["LONGEST_LINK", "MOST_BYTES", "guard", "limits"]

LONGEST_LINK = 16_384
"""Characters of an address at most; a view with all pins and the longest texts has fewer."""
LONGEST_HEADERS = 1_048_576
"""Bytes of the headers of a request, the address included, beyond which there is not even an answer."""
MOST_BYTES = 1_048_576
"""Bytes of a message of a tab at most, with everything that belongs to it."""
MOST_TABS = 200
"""Tabs at most, together."""
PATIENCE = 30.0
"""Seconds after which a tab that does not answer is closed."""
LINGER = 15.0
"""Seconds for which the state of a tab is kept when its connection has gone."""
NEW_TABS = ("/", "/autoload.js")
"""Paths whose requests open a tab."""
SOCKET = "/ws"
"""Path of the connection of a tab."""


@stream_request_body
class Refusal(RequestHandler):
    """Answers with a status and a reason, and with nothing else."""

    def initialize(self, status: int, words: str) -> None:
        """Keep what to say."""
        self.status, self.words = status, words

    def prepare(self) -> None:
        """Answer, whatever the method."""
        self.set_status(self.status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Connection", "close")
        self.finish(self.words)

    def data_received(self, chunk: bytes) -> None:
        """Read over what comes behind the headers."""

    def _log(self) -> None:
        """Write nothing, so that nobody can fill a disk."""


class Refused(Matcher):
    """Matches the requests that are refused."""

    def __init__(self, hosts: Iterable[str], contexts: Iterable[Any]):
        self.hosts, self.contexts = frozenset(host.lower() for host in hosts), tuple(contexts)
        self.origins = origins_of(self.hosts)

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """Status and words for a request that is refused; None for others."""
        for status, words in self.reasons(request):
            return {"target_kwargs": {"status": status, "words": words + "\n"}}
        if request.host.startswith("["):
            request.host = "localhost"  # Panel cannot read IPv6 addresses
        return None

    def reasons(self, request: HTTPServerRequest) -> Iterator[tuple[int, str]]:
        """Why a request is refused, if it is."""
        headers = request.headers
        if [host.lower() not in self.hosts for host in headers.get_list("Host")] != [False]:
            yield 403, "this host is not served here; --host-name allows another name"
        if any(origin.lower() not in self.origins for origin in headers.get_list("Origin")):
            yield 403, "another page may not use this server"
        if not came_from_here(headers):
            yield 403, "another page may link here, but not include what is here"
        if len(request.uri or "") > LONGEST_LINK:
            yield 414, f"an address may have at most {LONGEST_LINK} characters"
        if headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in headers:
            yield 413, "a request must have no body"
        tabs = sum(len(list(context.sessions)) for context in self.contexts)
        if (tabs >= MOST_TABS and request.path in NEW_TABS) or (tabs > MOST_TABS and request.path == SOCKET):
            yield 503, f"{MOST_TABS} tabs are open, and no more can be: close some, and wait a minute"


def origins_of(hosts: Iterable[str]) -> frozenset[str]:
    """Origins of the pages that are served; https is that of a server in front."""
    return frozenset(f"{scheme}://{host}".lower() for scheme in ("http", "https") for host in hosts)


def came_from_here(headers: Any) -> bool:
    """Whether a browser says that its own page, its user or a followed link made the request."""
    if headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return True
    return (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) == ("navigate", "document")


class Socket(WSHandler):
    """The connection of a tab, of which a message may hold only so many bytes.

    A message comes in parts. Tornado bounds each and cuts the connection; here their sum is bounded, and the
    reason is told.
    """

    held = 0

    def initialize(
        self, application_context: Any, bokeh_websocket_path: str, origins: frozenset[str] = frozenset()
    ) -> None:
        """Keep the origins of pages that may connect."""
        super().initialize(application_context, bokeh_websocket_path)
        self.origins = origins

    def check_origin(self, origin: str) -> bool:
        """Whether a page may connect; Bokeh's own check knows no IPv6 addresses."""
        return origin.lower() in self.origins

    async def on_message(self, fragment: str | bytes) -> None:
        """Take a part of a message, or close the connection."""
        self.held += len(fragment)
        if self.held > MOST_BYTES:
            self.close(1009, f"a message may have at most {MOST_BYTES} bytes")
            return
        await super().on_message(fragment)
        receiver: Any = self.receiver
        if receiver is not None and receiver._current_consumer == receiver._HEADER:  # it is complete
            self.held = 0


def limits() -> dict[str, Any]:
    """Limits that Bokeh and Tornado keep, as arguments of the server."""
    return {
        "websocket_max_message_size": 2 * MOST_BYTES,  # cut off; up to there it is closed in words
        "websocket_ping_interval": PATIENCE,
        "websocket_ping_timeout": PATIENCE,
        "unused_session_lifetime_milliseconds": round(1000 * LINGER),
        "check_unused_sessions_milliseconds": round(1000 * LINGER),
        "http_server_kwargs": {
            "max_header_size": LONGEST_HEADERS,
            "max_body_size": MOST_BYTES,
            "max_buffer_size": 4 * MOST_BYTES,
            "idle_connection_timeout": 2 * PATIENCE,
        },
    }


def guard(application: Any, hosts: Iterable[str]) -> None:
    """Let a Bokeh application refuse what it should; its routes stay as they are for everything else."""
    # a line for each message to a tab that is just being closed: there may be hundreds
    logging.getLogger("bokeh.server.views.ws").setLevel(logging.ERROR)
    contexts = application.applications
    socket = {
        "application_context": contexts["/"],
        "bokeh_websocket_path": SOCKET,
        "origins": origins_of(hosts),
    }
    refused = Rule(Refused(hosts, contexts.values()), Refusal)
    application.add_handlers(".*", [refused, (SOCKET, Socket, socket)])
