"""The best number as a tab shows it, without a browser: when the dial moves, when the mark goes."""

import dataclasses

import pytest

from dynafield.explorer.best import Best
from dynafield.explorer.limit_plot import LimitPlot
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


class Shown:
    """What the best number does to a page."""

    def __init__(self):
        self.plot, self.axis, self.said, self.moved = LimitPlot(), "tradeoff", "", []
        self.best = Best(self.say, self.mark, lambda name, text: self.moved.append((name, text)))

    def say(self, text):
        self.said = text

    def mark(self, found, words):
        self.plot.show_best(self.axis, found, words)

    def marked(self):
        return list(self.plot.best.data["x"])


@pytest.fixture
def shown():
    return Shown()


def test_it_is_said_marked_and_the_dial_moves(shown):
    shown.best.take(ASKED, FOUND)
    assert "best α = 0.591, test error 0.228" in shown.said
    assert shown.marked() == [FOUND["gamma"]]
    assert shown.moved == [("alpha", "0.591")]
    for shown.axis, x in (("alpha", [FOUND["value"]]), ("sigma", []), ("lam", [])):
        shown.best.draw()
        assert shown.marked() == x


def test_a_dial_stays_that_was_moved_meanwhile_or_is_there_or_would_go_to_an_end(shown):
    for alpha in (2.0, 0.591):
        present = dataclasses.replace(ASKED, alpha=alpha)
        shown.best.take(present, FOUND | {"setting": present if alpha < 1 else ASKED})
        assert shown.marked() == [FOUND["gamma"]]
    shown.best.take(ASKED, FOUND | {"end": "lower"})
    assert shown.moved == []


def test_no_mark_without_a_rate_or_a_best(shown):
    for missing in ("gamma", "value"):
        shown.best.take(ASKED, {k: v for k, v in FOUND.items() if k != "gamma"} | {missing: None})
        assert shown.marked() == []
    assert "every α is as good" in shown.said


OTHER = {
    "sigma": 0.2,
    "delta": 0.7,
    "prior": "bernoulli:0.2",
    "depth": 3,
    "lam": 0.1,
    "spectrum": "power:1.5",
    "step": 0.1,
}
SAME = {"alpha": 3.0, "t_max": 7.0, "tol": 0.01, "d": 100}


@pytest.mark.parametrize("name", [*OTHER, *SAME])
def test_an_answer_to_another_question_is_not_shown(shown, name):
    present = dataclasses.replace(ASKED, **{name: (OTHER | SAME)[name]})
    assert (present.question() == ASKED.question()) == (name in SAME)
    shown.best.take(present, FOUND)
    assert bool(shown.marked()) == bool(shown.said) == (name in SAME)


def test_the_best_decay_stays_whatever_it_is_now(shown):
    present, shown.axis = dataclasses.replace(ASKED, lam=0.1), "lam"
    shown.best.take(
        present, {"setting": present, "name": "lam", "value": 0.5788, "test_error": 0.1668, "end": ""}
    )
    assert shown.marked() == [0.5788]
    assert present.question() == dataclasses.replace(present, lam=0.4, alpha=3.0).question()
    assert present.question() != ASKED.question()


def test_the_reason_is_said_where_there_is_none(shown):
    shown.best.take(ASKED, FOUND)
    shown.best.fail("delta must not be 1")
    assert "delta must not be 1" in shown.said
    assert shown.marked() == []
