"""The page without a server, opened from a disk in a real browser."""

import re
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from tests.explorer.browser import chromium

DOCS = Path(__file__).parent.parent.parent / "docs"
DEMO = run_path(str(DOCS / "demo.py"), run_name="demo")
SMALL = DEMO["Grid"](
    delta=(0.5,), sigma=(0.1,), lam=(0.0, 0.1), alpha=(0.5, 1.0), times=(0.1, 1.0, 10.0), line=(0.2, 2.0)
)
"""Few problems of one shape; what the real grid adds is more of the same."""


@pytest.fixture(scope="module")
def data():
    return DEMO["compute"](SMALL)


@pytest.fixture(scope="module")
def tab(data, tmp_path_factory):
    path = chromium()
    from playwright.sync_api import sync_playwright

    file = tmp_path_factory.mktemp("demo with a space") / "demo.html"
    file.write_text(DEMO["page"](data), encoding="utf-8")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
        page.goto(file.as_uri())
        yield page
        browser.close()


def number(tab, name):
    return float(re.match(r"[\d.e-]+", tab.text_content(f"#{name}"))[0])


def choose(tab, name, place):
    tab.locator(f"#{name}").fill(str(place))  # a range takes its value by fill, and tells the page


def test_numbers_are_those_of_the_library(data):
    """Against the numbers of the tutorial, which are checked to more digits there."""
    kept = data["problems"]["0-0-0"]
    assert kept["ends"]["test_error"][0] == 0.0618006
    assert kept["ends"]["gamma"][0] == 0.0525307
    assert abs(kept["curves"][0]["test_error"][2] - 0.060119) < SMALL.tol * 0.11
    low, high = kept["line"]["test_error"]
    assert low < kept["ends"]["test_error"][0] < kept["ends"]["test_error"][1] < high  # it grows with α
    assert data["problems"]["0-0-1"]["ends"]["gamma"] == [None, None]
    assert len(data["problems"]) == 2


def test_the_page_shows_them_from_a_file(tab, data):
    choose(tab, "alpha", 0)
    choose(tab, "lam", 0)
    choose(tab, "times", 2)
    curve = data["problems"]["0-0-0"]["curves"][0]
    assert tab.text_content("#times-value") == "10"
    assert number(tab, "test-at") == pytest.approx(curve["test_error"][2], rel=5e-4)
    assert number(tab, "train-at") == pytest.approx(curve["train_error"][2], rel=5e-3)
    assert tab.text_content("#case") == "interpolating"
    assert number(tab, "test-error") == pytest.approx(0.0618006290, rel=5e-6)
    assert number(tab, "gamma") == pytest.approx(0.0525307226, rel=5e-6)
    points = tab.locator("#curve polyline").last.get_attribute("points").split()
    assert len(points) == len(SMALL.times)
    heights = np.array([float(point.split(",")[1]) for point in points])
    assert np.all(np.argsort(-heights) == np.argsort(curve["test_error"]))  # larger errors are higher up
    assert tab.locator("#tradeoff circle").count() == 1
    assert not tab.is_visible("#no-rate")


def test_controls_change_the_page(tab):
    choose(tab, "alpha", 0)
    choose(tab, "lam", 0)
    before = number(tab, "test-error")
    tab.locator("#alpha").press("ArrowRight")
    assert tab.text_content("#alpha-value") == "1"
    assert number(tab, "test-error") > before
    choose(tab, "lam", 1)
    assert tab.text_content("#case") == "regularized"
    assert tab.text_content("#gamma") == "none"
    assert tab.is_visible("#no-rate")
    assert not tab.is_visible("#tradeoff")


def test_nothing_is_fetched_and_nothing_complains(tab):
    assert len(tab.requests) == 1
    assert tab.requests[0].startswith("file://")
    assert tab.complaints == []
