"""Figures show what they claim: the lines carry the numbers, the axes their names."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import dynafield as df
from dynafield.figures.style import COLOURS

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
    assert ax.get_xlabel() == r"samples per dimension $\delta = n/d$"
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


# how eyes without the cones for medium or long waves see linear light (Viénot, Brettel and Mollon 1999)
TO_LMS = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
WITHOUT = {
    "protan": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "deutan": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}


@pytest.mark.parametrize("eyes", WITHOUT)
def test_colours_are_told_apart_without_red_or_green(eyes):
    """Distances of 0.14 and more in RGB; a palette with red and green of one lightness has less than 0.1."""

    def seen(colours):
        linear = np.array([mpl.colors.to_rgb(c) for c in colours]) ** 2.2
        turned = linear @ TO_LMS.T @ WITHOUT[eyes].T @ np.linalg.inv(TO_LMS).T
        return np.clip(turned, 0, 1) ** (1 / 2.2)

    def least(colours):
        light = seen(colours)
        return min(np.linalg.norm(a - b) for k, a in enumerate(light) for b in light[:k])

    assert least(COLOURS) > 0.14
    assert least(("#0b6e99", "#d1495b", "#edae49", "#3a7d44", "#6a4c93", "#555555")) < 0.1


@pytest.mark.parametrize("error", [None, np.full((2, 3), 0.01)])
def test_grokking_has_a_band_where_its_file_has_error_bars(sparse, error, tmp_path):
    """Files of before have none."""
    curves, one = np.array([[0.07, 0.05, 0.04], [0.07, 0.06, 0.04]]), np.ones(2)
    found = df.results.Grokking(
        sparse, NET(np.array([3.0, 10.0]), 0.2), half_time=one, half_time_se=one, shift=one,
        plateau=0.07, end=0.03, offset=np.array([-1.0, 0.0, 1.0]), test_error=curves, test_error_se=error,
    )  # fmt: skip
    ax = df.load(found.save(tmp_path / "grokking.nc")).plot()
    assert len(ax.collections) == (0 if error is None else 2)
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curves[1])
    assert ax.get_ylim()[0] == 0.0
    assert "λ = 0.2, depth 2" in ax.get_title().replace("\n", " ")
