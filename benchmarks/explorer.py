"""The page: how soon it is there, how soon numbers and curves follow a slider, alone and among twenty tabs."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

__all__ = ["section"]

STARTS = 5

WATCH = """() => {
  const find = (root, where) => {
    const direct = root.querySelector(where)
    if (direct) return direct
    for (const inner of root.querySelectorAll('*')) {
      const found = inner.shadowRoot && find(inner.shadowRoot, where)
      if (found) return found
    }
    return null
  }
  const inside = (node) => node.nodeType == 3 ? node.data : node.tagName == 'STYLE' ? '' :
    [...(node.shadowRoot ? node.shadowRoot.childNodes : []), ...node.childNodes].map(inside).join(' ')
  const parts = Object.fromEntries(['.rows', '.status', '.limit-note'].map((where) => [where, find(document, where)]))
  window.said = (where) => inside(parts[where])
  const dial = [...Bokeh.documents[0]._all_models.values()].find((m) => [...(m.css_classes || [])].includes('slider-alpha'))
  window.follow = (alpha) => new Promise((done) => {
    const read = () => {
      const text = window.said('.rows')
      return [/t . ∞ +([-.e0-9]+)/, /test error at T +([-.e0-9]+)/].map((p) => (p.exec(text) || [])[1])
    }
    const before = read(), began = performance.now(), times = {}
    dial.value = alpha
    const look = () => {
      const now = performance.now() - began, seen = read()
      if (!times.numbers && seen[0] != before[0]) times.numbers = now
      if (!times.preview && seen[1] != before[1]) times.preview = now
      if ((times.numbers && times.preview) || now > 30000) done(times)
      else setTimeout(look, 4)
    }
    look()
  })
}"""
"""Moves the slider of α in the browser and looks when the numbers and the curve have followed."""


def start(browser):
    """The server, its address, its first tab, and the seconds until that was delivered and was seen."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "dynafield.cli", "explore", "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    place = re.search(r"http://\S+/", process.stderr.readline())[0]
    page = browser.new_page()
    page.goto(place, wait_until="commit")
    delivered = time.perf_counter() - began
    page.wait_for_selector(".preset select", timeout=300_000)
    return process, place, page, (delivered, time.perf_counter() - began)


def end(process):
    """End a server."""
    os.kill(process.pid, signal.SIGTERM)
    process.wait()


def memory(process):
    """Gigabytes of the server and of its workers."""
    table = subprocess.run(["ps", "-eo", "pid,ppid,rss"], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, row.split())) for row in table.splitlines()[1:]]
    own = {process.pid} | {pid for pid, parent, _ in rows if parent == process.pid}
    return sum(size for pid, _, size in rows if pid in own) / 1e6


def ready(page):
    """Wait for a sharp curve; make the page measurable."""
    page.wait_for_selector(".preset select", timeout=300_000)
    page.evaluate(WATCH)
    done = "/solved/.test(window.said('.status')) && /rate/.test(window.said('.rows'))"
    done += " && !/computing/.test(window.said('.limit-note'))"
    page.wait_for_function(
        done, timeout=300_000, polling=200
    )  # not by frames, which a hidden tab has none of


def moves(page, count, rng):
    """Milliseconds until numbers and preview have followed a jump of α, once at rest each time."""
    found = []
    for _ in range(count):
        found.append(page.evaluate("(a) => window.follow(a)", float(rng.uniform(0.35, 0.75))))
        page.wait_for_timeout(200)
    return np.array([[one.get("numbers", np.nan), one.get("preview", np.nan)] for one in found])


def section():
    """The section of the page of benchmarks."""
    from playwright.sync_api import sync_playwright

    rng = np.random.default_rng(0)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        browser.new_page()
        starts = []
        for _ in range(STARTS):
            process, place, page, times = start(browser)
            starts.append(times)
            page.close()
            end(process)
            time.sleep(3)  # its processes end as well
        delivered, seen = np.median(starts, axis=0)
        process, place, page, _ = start(browser)
        pages = [page]
        try:
            ready(pages[0])
            alone, before = moves(pages[0], 20, rng), memory(process)
            for _ in range(19):
                pages.append(browser.new_page())
                pages[-1].goto(place)
            for page in pages:
                ready(page)
            for k, page in enumerate(pages[1:]):  # all of them want a sharp curve at the same time
                page.evaluate("(a) => { window.follow(a) }", 0.4 + 0.015 * k)
            among, after = moves(pages[0], 20, rng), memory(process)
        finally:
            end(process)
    rows = []
    for name, found, size in (("alone", alone, before), ("among twenty, all busy", among, after)):
        middle, high = np.nanmedian(found, axis=0), np.nanquantile(found, 0.9, axis=0)
        cells = [f"{a:.0f} ms ({b:.0f})" for a, b in zip(middle, high, strict=True)]
        rows.append(f"| {name} | {cells[0]} | {cells[1]} | {size:.2g} GB |")
    return f"""## Explorer

`python -m benchmarks.run explorer`, in headless Chromium on the same machine. From the start of `dynafield
explore` to the first page delivered {delivered:.1f} s, to its controls seen {seen:.1f} s (medians of {STARTS}; the aim
was 3 s: what remains are imports of Panel and Bokeh and the work of the browser, on the same two cores). From a move
of the slider of α (δ = ½, λ = 0, T = 100) to the new fixed point in the table and to the preview of the
curve, median of 20 and (ninth decile); memory of server and processes:

| tab | fixed point, rate, phases | preview | memory |
|---|---|---|---|
{chr(10).join(rows)}

The aims were 100 ms for the numbers and 500 ms for the preview.
"""
