"""Pictures that take minutes are committed; each must have been drawn by the code that is there now."""

import re
from pathlib import Path
from runpy import run_path

import pytest
from PIL import Image

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = run_path(str(DOCS / "pictures.py"), run_name="pictures")


@pytest.mark.parametrize("name", PICTURES["PICTURES"])
def test_a_picture_is_as_new_as_its_code(name):
    with Image.open(DOCS / name) as picture:
        assert picture.text.get("Source") == PICTURES["fingerprint"](name), f"python docs/pictures.py {name}"


def test_the_photograph_is_as_new_as_the_page():
    taken = run_path(str(DOCS / "screenshot.py"), run_name="screenshot")["fingerprint"]()
    with Image.open(DOCS / "explorer.png") as picture:
        assert picture.text.get("Source") == taken, "python docs/screenshot.py"


def test_every_picture_of_the_pages_has_a_maker():
    pages = [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    shown = {Path(n).name for page in pages for n in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())}
    others = {
        "explorer.png",
        "cost.png",
        "notebook.svg",
    }  # a photograph, tested above; by `make bench`; a badge
    assert shown <= set(PICTURES["PICTURES"]) | others
    assert {path.name for path in DOCS.glob("*.png")} <= shown | others
