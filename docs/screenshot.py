"""The photograph of the explorer: `python docs/screenshot.py`, with a Chromium on the path.

It carries a fingerprint of the code that makes up the page's looks, which the tests compare with the code.
"""

import ast
import hashlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dynafield

PICTURE = Path(__file__).parent / "explorer.png"
PINNED = "pin=alpha%3D10%26lam%3D0.2%26d%3D200%26runs%3D10"
VIEW = f"?alpha=1&lam=0.2&axis=lam&{PINNED}"
"""α = 1 beside a pinned curve of grokking with finite networks."""
DRAWN = """() => {
  const models = Bokeh.documents.flatMap((one) => [...one._all_models.values()])
  const sources = models.filter((m) => m.type == 'ColumnDataSource')
  const filled = (...names) => sources.some((m) => names.every((name) => (m.data[name] || []).length > 0))
  return filled('marker') && filled('image') && filled('e', 'label')
}"""
"""Whether the pinned curve, its networks and the heat map are there."""
LOOKS = (
    "controls", "layout", "style", "words", "plot_parts", "curve_plot", "limit_plot", "weight_plot",
    "kernel_plot",
)  # fmt: skip
"""Modules that make up the looks of the page."""


def fingerprint():
    """Of what the page looks like, whatever the comments of its code and their layout."""
    room = Path(dynafield.__file__).parent / "explorer"
    trees = [ast.dump(ast.parse((room / f"{name}.py").read_text(encoding="utf-8"))) for name in LOOKS]
    return hashlib.sha256("".join(trees).encode()).hexdigest()


def photograph(place):
    """The page once everything on it has been computed, as PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(place + VIEW)
        page.wait_for_selector(".status .done", timeout=300_000)
        page.wait_for_function(DRAWN, timeout=300_000)
        page.wait_for_timeout(3_000)  # the browser draws what has come
        content = page.screenshot(full_page=True)
        browser.close()
    return content


if __name__ == "__main__":
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    command = [sys.executable, "-m", "dynafield.cli", "explore", "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        content = photograph(re.search(r"http://\S+/", server.stderr.readline())[0])
    finally:
        server.terminate()
    facts = PngInfo()
    facts.add_text("Source", fingerprint())
    Image.open(io.BytesIO(content)).save(PICTURE, pnginfo=facts)
