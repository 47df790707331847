"""Every Python example of the documentation runs, page by page, as a reader would type it.

Checks of what an example finds stand after it in a comment, `<!-- test … -->`, which runs here and which no
reader sees.
"""

import re
from pathlib import Path
from runpy import run_path
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
    "docs/early_stopping.md",
    "docs/logistic.md",
    "docs/own_csv.md",
    "docs/sweeps.md",
    "docs/paper.md",
    "docs/finite.md",
    "docs/own_data.md",
    "docs/best_training.md",
    "docs/howto.md",
    "docs/explanation.md",
    "docs/accuracy.md",
    "docs/method.md",
]
RECIPES = ["docs/howto.md"]
"""Pages whose sections each run alone."""


def examples(text):
    """Code that runs, in its order: what is shown, and the checks that are not."""
    found = re.findall(r"^(?:```python\n(.*?)^```|<!-- test\n(.*?)^-->)$", text, flags=re.S | re.M)
    return [shown or hidden for shown, hidden in found]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    assert "```python\n" in text, page
    for part in re.split(r"^## ", text, flags=re.M) if page in RECIPES else [text]:
        names = {"__name__": "__main__"}
        for block in examples(part):
            exec(compile(block, page, "exec"), names)
    plt.close("all")


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CONTRIBUTING.md"])
def test_checks_run_out_of_sight(page):
    """No assert is shown, and every comment on a page is a check that runs."""
    text = (ROOT / page).read_text()
    shown = re.findall(r"^```python\n(.*?)^```$", text, flags=re.S | re.M)
    hidden = [block for block in examples(text) if block not in shown]
    assert not any(re.search(r"^\s*assert\b", block, flags=re.M) for block in shown)
    assert len(hidden) == text.count("<!--")
    assert all("assert " in block for block in hidden)


def test_every_page_is_in_the_index_and_begins_with_words():
    """A page has one title, a paragraph before anything else, and a place in the index."""
    index = (ROOT / "docs" / "index.md").read_text()
    listed = [
        line for part in re.findall(r"```{toctree}\n(.*?)```", index, flags=re.S) for line in part.split()
    ]
    pages = sorted((ROOT / "docs").glob("*.md"))
    assert len(pages) > 20
    for page in pages:
        title, blank, first = page.read_text().split("\n")[:3]
        assert title.startswith("# "), page.name
        assert not blank, page.name
        assert re.match(r"[\w`\[*$]", first), f"{page.name} begins with {first!r}"
        assert page.stem == "index" or page.stem in listed, f"{page.name} is not in the index"


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


def test_notation_names_what_there_is():
    """Every name in the table stands in the file beside it."""
    source, rows = ROOT / "src" / "dynafield", 0
    text = (ROOT / "docs" / "notation.md").read_text()
    for line in re.findall(r"^\|.*", text, flags=re.M)[2:]:
        cells = re.split(r"(?<!\\)\|", line.strip("|"))
        *_, names, files = (re.findall(r"`([^`]+)`", cell) for cell in cells)
        assert files, line
        code = "".join((source / file).read_text() for file in files)
        for name in names:
            last = name.split("(")[0].split(".")[-1].split()[-1]
            assert re.search(rf"\b{re.escape(last)}\b", code), (name, files)
        rows += 1
    assert rows > 80


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
    """The flags of an option; an argument has none, and an old name that is hidden needs no words."""
    if getattr(parameter, "hidden", False):
        return []
    return [flag for flag in (*parameter.opts, *parameter.secondary_opts) if flag.startswith("--")]


def option_named(option, text):
    """Whether an option stands in a text, and not only as the beginning of another."""
    return re.search(rf"{re.escape(option)}(?![\w-])", text) is not None


def test_tables_of_the_paper_are_those_of_the_library():
    """Corrections are those of the library; counts in headings and in sentences are those of the rows."""
    tables = run_path(str(ROOT / "docs" / "paper_tables.py"), run_name="tables")
    page = (ROOT / "docs" / "paper.md").read_text()
    assert tables["rewritten"](page, tables["corrections"]()) == page, "python docs/paper_tables.py"
    for heading in (tables["HOLD"], tables["FAIL"], tables["CORRECT"]):
        count, rows = re.search(rf"^{heading} \((\d+)\)\n\n\|.*\n\|---.*\n((?:\|.*\n)+)", page, re.M).groups()
        assert int(count) == rows.count("\n"), heading
        if heading == tables["FAIL"]:
            weights = [row.split(" | ")[0].strip("| ") for row in rows.splitlines()]
            said = re.search(
                r"(\d+) lead to another\s+conclusion, (\d+) have .*, and (\d+) are misprints", page
            )
            counts = [weights.count(one) for one in ("conclusion changes", "wrong value", "misprint")]
            assert counts == [int(number) for number in said.groups()]


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
    assert '"learn' in (tmp_path / "searchindex.js").read_text(), "the search knows the words of the pages"
    assert (tmp_path / "_images" / "grokking.png").is_file() == pictures
