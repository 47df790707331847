"""Curves, networks and pictures as files for the browser, made in memory from the query of a link."""

import asyncio
import uuid
from typing import Any

from tornado.web import RequestHandler

from dynafield.errors import InputError
from dynafield.explorer.job_queue import Request
from dynafield.explorer.rules import read_view

__all__ = ["file_handlers"]

KINDS = {"curve.nc": "application/x-netcdf", "runs.nc": "application/x-netcdf", "picture.png": "image/png"}


MOST_FILES = 50
"""Files at most that wait to be made."""


class FileHandler(RequestHandler):
    """Computes the file that a link describes; stops if the browser closes the connection."""

    def initialize(self, queues: Any) -> None:
        """Keep the queues to ask."""
        self.queues, self.tab = queues, uuid.uuid4().hex

    def on_connection_close(self) -> None:
        """Drop the requests of a connection that was closed."""
        self.on_finish()

    def on_finish(self) -> None:
        """Forget this connection."""
        for queue in self.queues:
            queue.forget(self.tab)

    async def get(self, name: str) -> None:
        """Send the file, or the reason why there is none."""
        try:
            view = read_view(self.request.query)
            if name == "runs.nc" and view.setting.d is None:
                raise InputError("a link to runs.nc must set d, the dimension of the networks")
        except InputError as error:
            return self.refuse(400, str(error))
        queue, job, argument = {
            "curve.nc": (self.queues.curves, "curve_file", view.setting),
            "runs.nc": (self.queues.networks, "runs_file", view.setting),
            "picture.png": (self.queues.curves, "picture", view),
        }[name]
        if queue.waits("file") >= MOST_FILES:
            return self.refuse(503, f"{MOST_FILES} files are waited for, and no more can be: try again later")
        loop, answer = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

        def tell(good: bool, value: Any) -> None:
            loop.call_soon_threadsafe(lambda: answer.done() or answer.set_result((good, value)))

        queue.ask(
            Request(
                self.tab, "file", job, (argument,), lambda v: tell(True, v), lambda v: tell(False, v), rank=1
            )
        )
        good, value = await answer
        if not good:
            return self.refuse(422, value)
        self.set_header("Content-Type", KINDS[name])
        self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.finish(value)

    def refuse(self, status: int, text: str) -> None:
        """Send a reason as plain text."""
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish(text)


def file_handlers(queues: Any) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """The addresses of files."""
    names = "|".join(name.replace(".", r"\.") for name in KINDS)
    return [(f"/({names})", FileHandler, {"queues": queues})]
