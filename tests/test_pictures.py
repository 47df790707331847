"""Pictures that take minutes are committed; each must have been drawn by the code that is there now."""

import json
import re
from pathlib import Path
from runpy import run_path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from shown_numbers import farthest, numbers

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = run_path(str(DOCS / "pictures.py"), run_name="pictures")
QUICK = ("picture.png", "tutorial_curve.png")
"""Pictures of a limit and of a curve, that take seconds."""
DRAWN = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
         for name in PICTURES["PICTURES"] if name not in PICTURES["PAPER"]]  # fmt: skip
"""Data of the paper's figures are checked by `reproduce`."""


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_shows_what_the_library_computes(name):
    """To one part in a hundred of the height of its axes, or of its range of colours: a line or two wide."""
    with Image.open(DOCS / name) as picture:
        known = json.loads(picture.text["Numbers"])
    assert any(len(parts) > 0 for parts in known.values())
    assert farthest(PICTURES["PICTURES"][name](), known) < 0.01, f"python docs/pictures.py {name}"


def test_a_picture_of_other_numbers_is_noticed():
    figure, ax = plt.subplots()
    ax.loglog([1.0, 10.0, 100.0], [1.0, 0.1, 0.01])
    known = numbers(figure)
    assert farthest(figure, known) < 1e-6
    ax.lines[0].set_ydata([1.0, 0.11, 0.01])
    assert farthest(figure, known) > 0.015
    ax.plot([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    assert farthest(figure, known) == np.inf


def test_a_map_of_other_numbers_is_noticed():
    def drawn(values, slope=1.0):
        figure, ax = plt.subplots()
        x, y = np.arange(8.0), np.arange(6.0)
        figure.colorbar(ax.pcolormesh(x, y, values, vmin=0, vmax=50, shading="nearest"))
        ax.contour(x, y, x + slope * y[:, None], levels=[3.0, 5.0])
        return figure

    values = np.arange(48.0).reshape(6, 8)
    known = numbers(drawn(values))
    assert [len(known[kind]) for kind in ("lines", "levels", "maps")] == [0, 2, 1]
    assert farthest(drawn(values), known) < 1e-6
    other = values.copy()
    other[2, 3] += 1
    assert farthest(drawn(other), known) == pytest.approx(0.02)
    assert farthest(drawn(values, slope=1.1), known) > 0.02


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
