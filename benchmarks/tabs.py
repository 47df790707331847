"""Many tabs on the page for minutes: is its memory flat, and does every tab get its curves?

`python -m benchmarks.tabs --tabs 50 --minutes 10` starts a server, keeps so many tabs open that move sliders
like users, closes some and opens others, and prints the memory of the server and of its processes. Tabs are
WebSocket connections without a browser, so that a small machine can bear them.
"""

import argparse
import asyncio
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

__all__ = ["SocketTab", "main", "megabytes", "run", "start"]

WAIT = 300.0
"""Seconds after which a tab that hears nothing gives up."""
RESTLESS = 10
"""One user of so many closes tabs and opens others."""


class SocketTab:
    """A tab of the page without a browser: it opens the page, reads its document and changes its fields."""

    def __init__(self, place):
        self.place, self.heard, self.models, self.number, self.told = place, "", {}, 0, asyncio.Event()

    async def open(self, query=""):
        """Open the page as a browser does, up to the moment when it is seen."""
        request = HTTPRequest(f"{self.place}?{query}", request_timeout=WAIT, connect_timeout=WAIT)
        page = (await AsyncHTTPClient(max_clients=1000).fetch(request)).body.decode()
        token = re.search(r'"token": ?"([^"]+)"', page)[1]
        where = f"ws://{urlsplit(self.place).netloc}/ws"
        request = HTTPRequest(where, request_timeout=WAIT, connect_timeout=WAIT)
        self.socket = await websocket_connect(request, subprotocols=["bokeh", token])
        await self.message()  # the server is ready
        await self.send("PULL-DOC-REQ", {})
        _, content = await self.message()
        self.learn(content)
        ready = {"type": "event", "name": "document_ready", "values": {"type": "map", "entries": []}}
        await self.patch({"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": ready})
        self.reading = asyncio.create_task(self.read())
        return self

    def learn(self, value):
        """Note which models have which classes of style."""
        if isinstance(value, dict):
            for name in value.get("attributes", {}).get("css_classes", []):
                self.models[name] = value["id"]
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
            self.learn(one)

    async def message(self):
        """Header and content of the next message; None at the end."""
        parts, wanted = [], 3
        while len(parts) < wanted:
            part = await self.socket.read_message()
            if part is None:
                return None
            parts.append(part)
            if len(parts) == 1:
                wanted += 2 * json.loads(part).get("num_buffers", 0)
        return json.loads(parts[0]), json.loads(parts[2])

    async def read(self):
        """Read what the server says, until the end; keep the texts of the last messages."""
        while (found := await self.message()) is not None:
            header, content = found
            if header["msgtype"] == "PATCH-DOC":
                self.heard = (self.heard + json.dumps(content, ensure_ascii=False))[-400_000:]
                self.told.set()
        self.told.set()

    async def send(self, kind, content, buffers=0):
        """Send a message; so many buffers must follow."""
        self.number += 1
        header = {"msgid": f"{id(self)}-{self.number}", "msgtype": kind, "num_buffers": buffers}
        for part in (header, {}, content):
            await self.socket.write_message(json.dumps(part))

    async def patch(self, event):
        """Send a change of the document."""
        await self.send("PATCH-DOC", {"events": [event]})

    async def change(self, name, value):
        """Give a field a value, as a user does; what was heard before is forgotten."""
        self.heard = ""
        model = {"id": self.models[name]}
        await self.patch({"kind": "ModelChanged", "model": model, "attr": "value", "new": value})

    async def hear(self, words, seconds=WAIT):
        """Wait until the page has said something; how long that took."""
        began = time.monotonic()
        while not re.search(words, self.heard):
            if self.socket.close_code is not None or time.monotonic() - began > seconds:
                raise TimeoutError(f"the page did not say {words!r}; {self.socket.close_reason}")
            self.told.clear()
            try:
                await asyncio.wait_for(self.told.wait(), 1.0)
            except TimeoutError:
                continue
        return time.monotonic() - began

    async def close(self):
        """Close the tab."""
        self.socket.close()
        await asyncio.wait_for(self.reading, WAIT)


def start(*options):
    """A server on a free port, its address, and a list that grows by what it says."""
    command = [sys.executable, "-m", "dynafield.cli", "explore", "--port", "0", "--no-browser", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    place, said = re.search(r"http://\S+/", process.stderr.readline())[0], []
    threading.Thread(
        target=said.extend, args=(process.stderr,), daemon=True
    ).start()  # or it waits when the pipe is full
    return process, place, said


def megabytes(pid):
    """Memory of the server and of its processes together, in MB; of each page its share."""
    table = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, row.split())) for row in table.splitlines()[1:]]
    found = []
    for one in [pid, *(child for child, parent in rows if parent == pid)]:
        try:
            with open(f"/proc/{one}/smaps_rollup") as file:
                found.append(int(re.search(r"Pss: +(\d+) kB", file.read())[1]) / 1e3)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found[0], sum(found[1:])


async def user(tab, rng, end, waits, lost, pause, restless):
    """Move a slider from time to time and wait for the curve; a restless one opens new tabs as well."""
    while time.monotonic() < end:
        for _ in range(rng.randint(3, 8)):
            try:
                await tab.change("field-alpha", f"{rng.uniform(0.3, 0.8):.4f}")
                waits.append(await tab.hear("preview: test error|solved in"))
            except (TimeoutError, WebSocketClosedError) as error:  # its user loads the page again
                lost.append(str(error) or tab.socket.close_reason)
                tab = await SocketTab(tab.place).open()
            await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
            if time.monotonic() > end:
                break
        if restless:
            await tab.close()
            tab = await SocketTab(tab.place).open()
    await tab.close()


async def run(pid, place, tabs, seconds, pause=5.0, every=5.0, tell=print):
    """Memory (server, processes) in MB and curves from the moment when all tabs are open; waits, tabs lost."""
    opened = [await SocketTab(place).open() for _ in range(tabs)]
    began, waits, lost, sizes = time.monotonic(), [], [], []
    users = [
        asyncio.create_task(
            user(tab, random.Random(k), began + seconds, waits, lost, pause, k % RESTLESS == 0)
        )
        for k, tab in enumerate(opened)
    ]
    while not all(one.done() for one in users):
        sizes.append((time.monotonic() - began, *megabytes(pid), len(waits), len(lost)))
        tell("| {:.0f} | {:.0f} | {:.0f} | {} | {} |".format(*sizes[-1]))
        await asyncio.wait(users, timeout=every)
    await asyncio.gather(*users)
    return sizes, waits, lost


def main():
    """Run it and print a table, every row as soon as it is known."""
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tabs", description=__doc__)
    parser.add_argument("--tabs", type=int, default=50, help="tabs open at the same time (50)")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between two moves in a tab (5)")
    options = parser.parse_args()
    process, place, said = start()
    print("| second | server (MB) | processes (MB) | curves | tabs lost |\n|---|---|---|---|---|")
    try:
        seconds = 60 * options.minutes
        sizes, waits, lost = asyncio.run(run(process.pid, place, options.tabs, seconds, options.pause))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    own = [row[1] for row in sizes]
    print(f"server: {own[0]:.0f} MB at first, {max(own):.0f} MB at most, {own[-1]:.0f} MB at the end")
    middle, high = statistics.median(waits), statistics.quantiles(waits, n=10)[-1]
    print(f"{len(waits)} curves; a tab waited {middle:.2f} s (median), {high:.2f} s (ninth decile)")
    print(f"{len(lost)} tabs lost their connection", *lost[:5], sep="\n")
    print(f"the server said {len(said)} lines meanwhile", *said[:5], sep="\n")


if __name__ == "__main__":
    main()
