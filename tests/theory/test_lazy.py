"""The lazy phase against its own equations and limits."""

import numpy as np
import pytest

import dynafield as df
from dynafield.theory.lazy import lazy_errors, lazy_kernels


@pytest.mark.parametrize("delta", [0.5, 1.0, 2.0])
def test_closed_forms_satisfy_the_equations(delta):
    """eq:dmft_Rf and eq:dmft_Cf by the trapezoidal rule: its error is of second order in the step."""
    gaps = []
    for count in (101, 201):
        t = np.linspace(0, 2, count)
        C_w, C_f, R_w, R_f = lazy_kernels(delta, 0.3, 1.2, t)
        weight = np.full(count, t[1])
        weight[[0, -1]] /= 2
        last = count - 1
        first = R_f[last, 0] - R_w[last, 0] + np.sum(weight * R_w[last] * R_f[:, 0])
        second = C_f[last, last] - C_w[last, last] - 0.3
        second += np.sum(weight * R_f[last] * (C_w[last] + 0.3)) + np.sum(weight * R_w[last] * C_f[last])
        gaps.append(np.abs([first, second]))
    assert np.all(gaps[1] < 1e-3)
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.2)


def test_limits_in_time():
    task = df.Task(0.5, 0.2, df.Gaussian(1.5))
    curves = df.theory.lazy_curves(task, df.DiagonalNetwork(3.0, depth=3), [0.0, 1e6])
    assert curves.test_error[0] == pytest.approx(1.5**2 + 0.04, rel=1e-12)
    assert curves.train_error[0] == pytest.approx(1.5**2 + 0.04, rel=1e-12)
    assert curves.test_error[1] == pytest.approx(0.5 * 1.5**2 + 0.04 / 0.5, rel=1e-9)  # minimum norm
    assert curves.train_error[1] < 1e-12
    over = df.theory.lazy_curves(df.Task(2.0, 0.2, df.Gaussian(1.5)), df.DiagonalNetwork(3.0), [1e6])
    assert over.train_error[0] == pytest.approx(0.04 / 2, rel=1e-9)


@pytest.mark.parametrize("delta", [0.5, 2.0])
def test_errors_alone_are_those_of_the_curves(delta):
    """One sum over the Marchenko–Pastur law at equal times, two of them in the kernels: equal to rounding."""
    task, net, t = df.Task(delta, 0.3, df.Gaussian(1.2)), df.DiagonalNetwork(2.0), np.array([0.0, 0.1, 3.0])
    curves, (train, test) = df.theory.lazy_curves(task, net, t), lazy_errors(task, net, t)
    np.testing.assert_allclose(train, curves.train_error, rtol=1e-9)
    np.testing.assert_allclose(test, curves.test_error, rtol=1e-9)


def test_many_late_times_are_quick_and_exact():
    """Two-time kernels at 200 times up to 1e6/α²: the last rows against their late-time laws at δ = 1."""
    alpha, task = 10.0, df.Task(1.0, 0.0, df.Gaussian(1.0))
    t = np.geomspace(1e-3, 1e6, 200) / alpha**2
    curves = df.theory.lazy_curves(task, df.DiagonalNetwork(alpha), t)
    late = alpha**2 * (t[-1] + t[-50:])  # near x = 0 the density is x^(-1/2)/π, up to a factor 1 - x/8
    assert curves.C_w[-1, -50:] == pytest.approx(1 / np.sqrt(np.pi * late), rel=0.1 / late[0])
    assert curves.C_f[-1, -50:] == pytest.approx(0.5 / np.sqrt(np.pi * late**3), rel=0.3 / late[0])
    lag = alpha**2 * (t[-1] - t[0])
    assert curves.R_w[-1, 0] == pytest.approx(alpha**2 / np.sqrt(np.pi * lag), rel=0.1 / lag)
    assert np.all(curves.R_w[0, 1:] == 0)
    assert curves.R_w[0, 0] == pytest.approx(alpha**2, rel=1e-12)


def test_files_pictures_and_refusals(tmp_path, sparse):
    curves = df.theory.lazy_curves(sparse, df.DiagonalNetwork(10.0), np.geomspace(1e-4, 1, 20))
    again = df.load(curves.save(tmp_path / "lazy.nc"))
    assert np.array_equal(again.C_f, curves.C_f)
    left, right = curves.plot().figure.axes
    assert (left.get_xlabel(), right.get_ylabel()) == ("training time t", "test error")
    assert np.array_equal(left.lines[0].get_ydata(), curves.test_error)
    assert "lazy phase" in left.figure.get_suptitle()
    with pytest.raises(df.InputError, match="times ≥ 0"):
        df.theory.lazy_curves(sparse, df.DiagonalNetwork(10.0), [-1.0])
    with pytest.raises(df.InputError, match="DiagonalNetwork"):
        df.theory.lazy_curves(sparse, df.models.TruncatedDiagonalNetwork(10.0), [1.0])
