"""The photograph of the explorer: `python docs/screenshot.py`, with a Chromium on the path.

It carries a fingerprint of the code that makes up the page's looks, which the tests compare with the code.
"""

import hashlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dynafield

PICTURE = Path(__file__).parent / "explorer.png"
PINNED = "pin=alpha%3D10%26lam%3D0.2%26d%3D200%26seeds%3D10"
VIEW = f"?alpha=1&lam=0.2&axis=lam&{PINNED}"
"""α = 1 beside a pinned curve of grokking with finite networks."""


def fingerprint():
    """Of what the page looks like."""
    room = Path(dynafield.__file__).parent / "explorer"
    looks = b"".join((room / f"{name}.py").read_bytes() for name in ("controls", "layout", "plots", "words"))
    return hashlib.sha256(looks).hexdigest()


def photograph(place):
    """The page once everything on it has been computed, as PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(place + VIEW)
        page.wait_for_selector(".status .done", timeout=300_000)
        page.wait_for_timeout(60_000)  # pins and networks do not say when they are done
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
