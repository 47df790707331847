"""Every Python example of the documentation runs, page by page, as a reader would type it."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    "CONTRIBUTING.md",
    "docs/tutorial.md",
    "docs/curves.md",
    "docs/steps.md",
    "docs/flows.md",
    "docs/phases.md",
    "docs/sweeps.md",
    "docs/paper.md",
    "docs/finite.md",
    "docs/howto.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S)
    assert blocks, page
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    plt.close("all")


def test_readme_claims_match_the_numbers(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert re.match(r"\[0\.0806\d* 0\.060\d*\]\ninterpolating 0\.0618", printed)
    assert " 0.3105" in printed
    assert "\n0.0525" in printed
    assert "\n0.0608" in printed
    assert " 0.0011" in printed
    plt.close("all")


def test_documentation_builds_without_warnings(tmp_path):
    import subprocess
    import sys

    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(ROOT / "docs"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "theory.html").read_text()
    scripts = re.findall(r'<script[^>]*src="([^"]+)"', page)
    assert any("mathjax" in s.lower() for s in scripts)
    assert not any(s.startswith("http") for s in scripts), "mathematics must render offline"
