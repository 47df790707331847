"""A Chromium for the tests of the page, and a server of it."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium():
    """The path of a Chromium on this machine, or a skip that says why."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    for name in NAMES:
        if path := shutil.which(name):
            return path
    pytest.skip(
        f"no Chromium on this machine (looked for {', '.join(NAMES)}): make browser installs Debian's"
    )


@contextlib.contextmanager
def serving(*options):
    """`dynafield explore` on a free port; its address. What it says must hold no error."""
    command = [sys.executable, "-m", "dynafield.cli", "explore", "--port", "0", "--no-browser", *options]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stderr=log, stdout=log, env=dict(os.environ))

        def said():
            log.seek(0)
            return log.read()

        try:
            end, found = time.monotonic() + 120, None
            while (found := re.search(r"http://\S+/", said())) is None:
                assert process.poll() is None, said()
                assert time.monotonic() < end
                time.sleep(0.05)
            yield found[0]
        finally:
            process.terminate()
            process.wait(30)
        assert "dynafield/explorer" not in said(), said()  # no traceback of ours
