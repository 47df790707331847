"""Notebooks made from pages: `python docs/notebooks.py`, or `make notebooks`.

A page's Python blocks become code cells, the text between them becomes text cells. The tests run the pages,
and check that the notebooks hold the same code. Outputs are not stored.
"""

import hashlib
import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "notebooks"
PAGES = {"tutorial": "tutorial", "your_own_model": "flows", "your_own_data": "own_data"}
"""Notebooks, and the pages that they are made from."""
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"][
    "Repository"
]
OWNER_AND_NAME = REPOSITORY.removeprefix("https://github.com/")
INSTALL = """try:
    import dynafield
except ImportError:  # a fresh machine: install it first
    %pip install --quiet dynafield"""


def address(notebook: str) -> str:
    """Where a notebook opens in the browser, on a machine that is lent for it."""
    return f"https://colab.research.google.com/github/{OWNER_AND_NAME}/blob/main/notebooks/{notebook}.ipynb"


def badge(notebook: str, picture: str) -> str:
    """A picture that leads there."""
    return f"[![open as a notebook]({picture})]({address(notebook)})"


def blocks(text: str) -> list[tuple[str, str]]:
    """Pieces of a page: ("code", Python) and ("markdown", text), a new one at every section.

    Checks that a page hides in comments are left out.
    """
    text, found = re.sub(r"^<!-- test\n.*?^-->\n+", "", text, flags=re.S | re.M), []
    for k, part in enumerate(re.split(r"^```python\n(.*?)^```\n?", text, flags=re.S | re.M)):
        pieces = [part] if k % 2 else re.split(r"^(?=## )", part, flags=re.M)
        found += [("code" if k % 2 else "markdown", piece.strip("\n")) for piece in pieces if piece.strip()]
    return found


def absolute(text: str) -> str:
    """Text whose links and pictures lead to the repository."""
    text = re.sub(r"\n*^\[!\[open as a notebook\].*$", "", text, flags=re.M)
    text = re.sub(r"(!\[[^]]*\])\(([\w/.]+)\)", rf"\1({REPOSITORY}/raw/main/docs/\2)", text)
    return re.sub(r"\]\((\w+\.md(?:#[\w-]+)?)\)", rf"]({REPOSITORY}/blob/main/docs/\1)", text)


def cell(kind: str, source: str, number: int) -> dict:
    """One cell, without outputs."""
    name = hashlib.sha256(f"{number} {source}".encode()).hexdigest()[:12]
    common = {"cell_type": kind, "id": name, "metadata": {}, "source": source.splitlines(keepends=True)}
    return common | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def notebook(name: str) -> str:
    """The text of a notebook."""
    page = (ROOT / "docs" / f"{PAGES[name]}.md").read_text(encoding="utf-8")
    own = [(kind, source if kind == "code" else absolute(source)) for kind, source in blocks(page)]
    opening = badge(name, f"{REPOSITORY}/raw/main/docs/_static/notebook.svg")
    pieces = [own[0], ("markdown", opening), ("code", INSTALL), *own[1:]]
    cells = [cell(kind, source, k) for k, (kind, source) in enumerate(pieces)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    facts = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": cells, "metadata": facts, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        (FOLDER / f"{name}.ipynb").write_text(notebook(name), encoding="utf-8")
        print(FOLDER / f"{name}.ipynb")
