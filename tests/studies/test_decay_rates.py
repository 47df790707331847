"""Modes at the end of training under weight decay, against the flow itself."""

import numpy as np
import scipy.integrate

import dynafield as df
from dynafield.studies.paper.decay_rates import gradient, grouped, modes

TASK, NET = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5, 0.2)


def test_a_pushed_coordinate_relaxes_as_its_modes_say():
    """dw/dt = -|w|g - λw from the minimizer, one coordinate pushed by 1e-5: nonlinear terms are of that
    order."""
    drawn = df.data.training_data(TASK, 40, seed=7)
    w = df.endpoints.minimizer(drawn.X, drawn.y, NET).w
    size, values, shares = modes(drawn, w)
    which, t = np.flatnonzero(w), np.array([1.0, 5.0, 20.0])
    for k in (0, len(which) - 1):
        start = w + 1e-5 * np.eye(40)[which[k]]
        end = scipy.integrate.solve_ivp(
            lambda _, x: -np.abs(x) * gradient(drawn, x) - 0.2 * x, (0, 20), start, t_eval=t,
            rtol=1e-10, atol=1e-14, method="LSODA",
        )  # fmt: skip
        seen = (end.y[which[k]] - w[which[k]]) / 1e-5
        np.testing.assert_allclose(seen, np.exp(-np.outer(t, values)) @ shares[k], atol=1e-3)
        np.testing.assert_allclose(values @ shares[k], size[k] * np.sum(drawn.X[:, which[k]] ** 2) / 0.5)


def test_groups_are_means_by_size():
    size, values = np.array([0.01, 0.03, 0.3, 2.0]), np.arange(12.0).reshape(4, 3)
    found = grouped(size, values)
    np.testing.assert_array_equal(found[0], [1.5, 2.5, 3.5])
    assert np.all(np.isnan(found[1]))
    np.testing.assert_array_equal(found[2:], values[2:])
