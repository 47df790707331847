"""The best number as a tab shows it, without a browser: when the dial moves, when the mark goes."""

import dataclasses
from types import SimpleNamespace

import pytest

from dynafield.explorer.best import Best
from dynafield.explorer.plots import LimitPlot
from dynafield.explorer.setting import Setting

ASKED = Setting(sigma=0.3)
FOUND = {
    "setting": ASKED,
    "name": "alpha",
    "value": 0.5914843,
    "test_error": 0.228,
    "end": "",
    "gamma": 0.0773,
}


class Page:
    """What the best number needs of a page."""

    def __init__(self):
        self.setting, self.axis = ASKED, "tradeoff"
        self.plots = (None, LimitPlot(), None)
        self.said, self.moved, self.forgotten = "", [], []
        self.widgets = SimpleNamespace(show_best=self.say)
        self.tab = SimpleNamespace(forget=self.forgotten.append)

    def say(self, text):
        self.said = text

    def change(self, name, text):
        self.moved.append((name, text))

    def marked(self):
        return list(self.plots[1].best.data["x"])


@pytest.fixture
def page():
    return Page()


def test_it_is_said_marked_and_the_dial_moves(page):
    best = Best(page)
    best.take(FOUND)
    assert "best α = 0.591, test error 0.228" in page.said
    assert page.marked() == [FOUND["gamma"]]
    assert page.moved == [("alpha", "0.591")]
    for page.axis, x in (("alpha", [FOUND["value"]]), ("sigma", []), ("lam", [])):
        best.draw()
        assert page.marked() == x


def test_a_dial_stays_that_was_moved_meanwhile_or_is_there_or_would_go_to_an_end(page):
    for alpha in (2.0, 0.591):
        page.setting = dataclasses.replace(ASKED, alpha=alpha)
        Best(page).take(FOUND | {"setting": page.setting if alpha < 1 else ASKED})
        assert page.marked() == [FOUND["gamma"]]
    Best(page).take(FOUND | {"end": "lower"})
    assert page.moved == []


def test_no_mark_without_a_rate_or_a_best(page):
    for missing in ("gamma", "value"):
        Best(page).take({k: v for k, v in FOUND.items() if k != "gamma"} | {missing: None})
        assert page.marked() == []
    assert "every α is as good" in page.said


OTHER = {
    "sigma": 0.2,
    "delta": 0.7,
    "prior": "bernoulli:0.2",
    "depth": 3,
    "lam": 0.1,
    "spectrum": "power:1.5",
}
SAME = {"alpha": 3.0, "t_max": 7.0, "step": 0.1, "tol": 0.01, "d": 100}


@pytest.mark.parametrize("name", [*OTHER, *SAME])
def test_it_goes_at_once_with_its_task_and_only_then(page, name):
    best = Best(page)
    best.take(FOUND)
    page.setting = dataclasses.replace(ASKED, **{name: (OTHER | SAME)[name]})
    best.follow(ASKED)
    assert page.marked() == ([] if name in OTHER else [FOUND["gamma"]])
    assert page.forgotten == (["best"] if name in OTHER else [])
    assert bool(page.said) == (name in SAME)
    page.moved.clear()
    best.take(FOUND)  # an answer that was on its way
    assert bool(page.marked()) == (name in SAME)
    assert not (page.moved and name in OTHER)


def test_the_best_decay_stays_whatever_it_is_now(page):
    page.setting, page.axis = dataclasses.replace(ASKED, lam=0.1), "lam"
    best = Best(page)
    best.take({"setting": page.setting, "name": "lam", "value": 0.5788, "test_error": 0.1668, "end": ""})
    old, page.setting = page.setting, dataclasses.replace(ASKED, lam=0.4, alpha=3.0)
    best.follow(old)
    assert page.marked() == [0.5788]
    page.setting = ASKED
    best.follow(old)
    assert page.marked() == []


def test_the_reason_is_said_where_there_is_none(page):
    best = Best(page)
    best.take(FOUND)
    best.fail("delta must not be 1")
    assert "delta must not be 1" in page.said
    assert page.marked() == []
