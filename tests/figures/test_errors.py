"""Errors over time: nothing is lost at zero, clipped, or drawn as exact where it is not."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dynafield as df
from dynafield.figures.errors import THIN, Band, draw_errors
from dynafield.figures.style import DEPTH, error_scale, headline, wrapped

TASK, NET = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)
TIMES = np.array([0.0, 0.1, 1.0, 10.0, 100.0])
TEST = np.array([0.11, 0.10, 0.04, 0.05, 0.06])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def runs(train, test=TEST, net=NET, **more):
    """Runs with given curves."""
    return df.results.Runs.of(TASK, net, TIMES, train, test, d=100, **more)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_least_test_error_is_marked_on_a_linear_panel():
    ax = runs([0.11, 0.09, 0.02, 0.01, 0.005]).plot()
    left, right = ax.figure.axes
    assert left is ax
    assert (left.get_yscale(), right.get_yscale()) == ("log", "linear")
    assert (left.get_ylabel(), right.get_ylabel()) == ("error", "test error")
    assert legend(right) == ["test", "least: 0.04 at t = 1"]
    assert right.lines[-1].get_xydata().tolist() == [[1.0, 0.04]]
    assert right.get_ylim()[0] == 0.0


def test_no_least_value_is_marked_where_the_error_only_falls():
    falling = runs([0.11, 0.09, 0.02, 0.01, 0.005], [0.11, 0.1, 0.09, 0.08, 0.07]).plot()
    assert legend(falling.figure.axes[1]) == ["test"]


def test_given_axes_have_no_second_panel():
    _, ax = plt.subplots()
    assert runs([0.11, 0.09, 0.02, 0.01, 0.005]).plot(ax) is ax
    assert ax.figure.axes == [ax]
    assert "α = 0.5" in ax.get_title()


def test_a_curve_at_zero_stays_in_sight():
    ax = runs(np.zeros(5)).plot()
    assert ax.get_yscale() == "symlog"
    assert ax.get_ylim()[0] == 0.0
    assert ax.get_yticks()[0] == 0.0
    train = next(line for line in ax.lines if line.get_label() == "train")
    assert np.all(train.get_ydata() == 0)


def test_the_scale_is_linear_only_below_what_is_worth_a_decade():
    _, ax = plt.subplots()
    error_scale(ax, 1e-5, 0.5)
    assert ax.get_yscale() == "log"
    error_scale(ax, 1e-9, 0.5)
    assert DEPTH * 0.5 <= ax.yaxis.get_transform().linthresh == pytest.approx(1e-5)  # the next power of ten


def test_bands_are_those_of_the_runs():
    two = np.stack([TEST, TEST + 0.02])
    ax = runs(np.stack([TEST, TEST]) / 10, two).plot().figure.axes[1]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    mean, deviation = 0.5 * (two[0] + two[1])[1:], np.std([0.0, 0.02], ddof=1)
    assert band.max() == pytest.approx(np.max(mean) + deviation)
    assert band.min() == pytest.approx(np.min(mean) - deviation)


def test_what_is_not_resolved_is_thin():
    record, t = runs(TEST), TIMES[1:]
    train = np.array([0.05, 0.01, 1e-3, 1e-4])
    sure = Band(TEST[1:], np.zeros(4), 0.0, 0.0)
    panels = draw_errors(record, t, sure, Band(train, 0 * train, 5e-3, 0.0), "title", None, "below tol")
    solid, thin = (line for line in panels[0].lines if line.get_linestyle() == "--")
    assert np.isnan(solid.get_ydata()).tolist() == [False, False, True, True]
    np.testing.assert_array_equal(thin.get_ydata()[1:], train[1:])  # from the last value that is resolved
    assert thin.get_linewidth() == THIN["linewidth"] < solid.get_linewidth()
    assert legend(panels[0]) == ["test", "train", "below tol"]


def test_all_curves_of_a_sweep_have_their_numbers():
    one, net = runs(TEST / 5), df.DiagonalNetwork(np.array([0.5, 2.0]))
    curves = {name: np.stack([getattr(one, name)] * 2) for name in ("train_error", "test_error")}
    ax = dataclasses.replace(one, net=net, **curves).plot()
    assert legend(ax) == ["test, α = 0.5", "test, α = 2", "training errors"]
    assert legend(ax.figure.axes[1]) == ["least: 0.04 at t = 1"] * 2
    told = ax.figure.get_suptitle()
    assert "δ = 0.5, σ = 0.1, λ = 0, depth 2, n = 50, d = 100" in told.replace("\n", " ")
    assert "α" not in told


@pytest.mark.parametrize("width", [2.5, 4.0, 7.0])
def test_titles_are_within_the_figure(width):
    figure, ax = plt.subplots(figsize=(width, 3), layout="constrained")
    headline(ax, "infinite network: Bernoulli(p=0.1, value=1.0), " + ", ".join(["δ = 0.5, σ = 0.1"] * 6))
    figure.canvas.draw()
    box, page = ax.title.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 < box.x1 <= page.x1
    assert page.y0 <= box.y0 < box.y1 <= page.y1


def test_titles_are_not_broken_within_an_equation():
    assert wrapped("one two α = 0.5", 9) == "one two\nα = 0.5"
    assert wrapped("a Bernoulli(p=0.1, value=1.0)", 28) == "a\nBernoulli(p=0.1, value=1.0)"
