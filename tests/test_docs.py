"""Every Python example of the documentation runs, page by page, as a reader would type it."""

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    "CONTRIBUTING.md",
    "docs/tutorial.md",
    "docs/curves.md",
    "docs/steps.md",
    "docs/flows.md",
    "docs/spectra.md",
    "docs/phases.md",
    "docs/sweeps.md",
    "docs/paper.md",
    "docs/finite.md",
    "docs/own_data.md",
    "docs/best_training.md",
    "docs/howto.md",
    "docs/explanation.md",
    "docs/accuracy.md",
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


def test_command_line_page_knows_every_command_and_option():
    from typer.main import get_command

    from dynafield.cli.main import app

    text = (ROOT / "docs" / "command_line.md").read_text()
    group: Any = get_command(app)
    parts = {part.splitlines()[0].strip(): part for part in text.split("\n## ")}
    common = parts["Options of several commands"]
    for name, command in group.commands.items():
        assert f"[`{name}`](#{name})" in text, name
        assert f"$ dynafield {name}" in parts[name], f"no example of {name}"
        rows = [row for row in common.splitlines() if row.startswith("| `--")]
        for option in (flag for parameter in command.params for flag in declared(parameter)):
            described = option_named(option, parts[name]) or any(option_named(option, row) for row in rows)
            assert described, f"{name} {option}"
    known = {flag for c in group.commands.values() for p in c.params for flag in declared(p)}
    known |= {"--help", "--version"}
    told = set(re.findall(r"(?<![\w-])--[A-Za-z][\w-]*", text))
    assert told <= known, f"the page tells of options that are not there: {told - known}"


def declared(parameter):
    """The flags of an option; an argument has none."""
    return [flag for flag in (*parameter.opts, *parameter.secondary_opts) if flag.startswith("--")]


def option_named(option, text):
    """Whether an option stands in a text, and not only as the beginning of another."""
    return re.search(rf"{re.escape(option)}(?![\w-])", text) is not None


@pytest.mark.parametrize("pictures", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_documentation_builds_without_warnings(tmp_path, pictures):
    """Without pictures of the gallery, whose scripts have their own test; the slow one as `make docs`."""
    import subprocess
    import sys

    chosen = ["-D", f"gallery_pictures={int(pictures)}"]
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        *chosen,
        "-b",
        "html",
        str(ROOT / "docs"),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "theory.html").read_text()
    scripts = re.findall(r'<script[^>]*src="([^"]+)"', page)
    assert any("mathjax" in s.lower() for s in scripts)
    assert not any(s.startswith("http") for s in scripts), "mathematics must render offline"
    assert (tmp_path / "searchindex.js").stat().st_size > 10_000
    assert (tmp_path / "_images" / "grokking.png").is_file() == pictures
