"""Figures show what they claim: the lines carry the numbers, the axes their names."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dynafield as df
from dynafield.figures import paper as drawings
from dynafield.studies import paper as studies

NET = df.DiagonalNetwork


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_errors_along_an_axis():
    point = df.fixed_point(
        df.Task(np.geomspace(0.1, 10, 8), 0.1, df.Bernoulli(0.1)), NET(0.1, np.array([[0.0], [0.1]]))
    )
    ax = point.plot()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), point.test_error[0])
    assert ax.get_xlabel() == "samples per dimension δ = n/d"
    assert ax.get_xscale() == "log"
    assert legend(ax) == ["test, λ = 0", "train, λ = 0", "test, λ = 0.1", "train, λ = 0.1"]


def test_law_with_its_arrow(sparse):
    point = df.fixed_point(sparse, NET(0.5, 0.1))
    ax = point.plot()
    assert legend(ax) == ["density of w(∞)", f"point mass {point.mass_at_zero:.3g} at 0"]
    w, density = ax.lines[0].get_data()
    np.testing.assert_array_equal(density, point.density(w))
    assert [a.xy[0] for a in ax.texts] == [0.0]


def test_law_of_point_masses_only():
    ax = df.fixed_point(df.Task(2.0, 0.0, df.Discrete([-1, 2], [0.2, 0.8])), NET(0.5)).plot()
    assert ax.lines[0].get_xydata().tolist() == [[-1.0, 0.2], [2.0, 0.8]]


def test_rates_theory():
    rate = studies.rates_theory()
    ax = drawings.draw_rates_theory(rate).axes[0]
    assert legend(ax) == ["γ, δ = 2", "large-α limit, δ = 2", "γ, δ = 0.5", "large-α limit, δ = 0.5"]
    gamma, lazy = ax.lines[0].get_ydata(), ax.lines[1].get_ydata()
    assert gamma[-1] == pytest.approx(lazy[-1], rel=1e-4)
    np.testing.assert_allclose(lazy, rate.net.alpha**2 * (1 - 2**-0.5) ** 2)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_fixed_points():
    point = studies.fixed_points()
    ax = drawings.draw_fixed_points(point).axes[0]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), point.test_error)
    ridge = ax.lines[1].get_ydata()[0]
    assert point.test_error[-1] == pytest.approx(ridge, rel=1e-5)
    assert np.all(np.diff(point.test_error) > 0)


def test_single_rates(sparse):
    ax = df.convergence_rate(sparse, NET(0.5)).plot()
    assert ax.get_yscale() == "log"
    ax = df.convergence_rate(sparse, NET(0.5, 0.1)).plot()
    assert "λ: fastest decay to zero" in legend(ax)


def test_tradeoff_and_given_axes(sparse):
    _, ax = plt.subplots()
    both = df.tradeoff(sparse, np.geomspace(0.1, 10, 5))
    assert both.plot(ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), both.gamma)


def test_tradeoff_of_several_tasks_is_several_curves():
    task = df.Task(np.array([[0.3], [0.5]]), 0.1, df.Bernoulli(0.1))
    both = df.tradeoff(task, np.geomspace(0.1, 10, 5))
    ax = both.plot()
    assert [line.get_xdata().tolist() for line in ax.lines] == both.gamma.tolist()
    assert [text.get_text() for text in ax.texts] == ["δ = 0.3", "δ = 0.5"]


def test_what_cannot_be_drawn_says_so():
    cube = df.fixed_point(
        df.Task(np.full((2, 1, 1), 2.0), np.full((2, 1), 0.1), df.Gaussian()), NET(np.ones(2))
    )
    with pytest.raises(ValueError, match="one or two parameter axes, got 3"):
        cube.plot()
    tied = df.fixed_point(df.Task(np.array([2.0, 3.0]), np.array([0.1, 0.2]), df.Gaussian()), NET(1.0))
    with pytest.raises(ValueError, match="one parameter only"):
        tied.plot()
