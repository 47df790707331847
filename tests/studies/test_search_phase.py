"""Pieces of the experiments on small α and on many data, against closed forms."""

import numpy as np
import pytest

import dynafield as df
from dynafield.simulation.data import Data
from dynafield.studies.paper import infinite_data, search_phase


def test_first_times_lie_between_points():
    t = np.array([0.0, 1.0, 2.0, 4.0])
    values = np.array(
        [[0.0, 3.0, 0.0, 0.0], [1.0, 0.0, 0.0, 4.0], [0.0, 0.0, 1.0, 0.0], [3.0, 5.0, 1.0, 5.0]]
    )
    found = search_phase.first_time(t, values, 2.0)
    np.testing.assert_allclose(found, [2 + 2 * 2 / 3, 0.0, np.nan, 0.5])


@pytest.mark.parametrize("prior", [df.Bernoulli(0.1), df.Gaussian(0.7), df.GaussBernoulli(0.3)])
def test_the_plateau_is_that_of_the_fields(prior):
    """E[hW] and E[w*W] by a rule over (w*, z), which knows no closed form."""
    task, lam, t = df.Task(0.7, 0.4, prior), 0.3, np.array([0.2, 1.5])
    x, weight = np.polynomial.hermite_e.hermegauss(60)
    weight = weight / np.sum(weight)
    first = prior.second_moment + 0.16
    expected = np.zeros((2, 2))
    for share, mean, std in zip(*prior.components, strict=True):
        target = mean + std * x[:, None]
        h = target + np.sqrt(first / 0.7) * x
        rule = share * np.outer(weight, weight)
        for k, time in enumerate(t):
            W = np.exp(-lam * time) * np.sinh(h * time)
            expected[:, k] += np.sum(rule * h * W), np.sum(rule * target * W)
    np.testing.assert_allclose(search_phase.plateau(task, lam, t), -2 * expected / first, rtol=1e-9)


def test_uncorrelated_inputs_leave_every_coordinate_to_itself():
    X = infinite_data.uncorrelated(np.random.default_rng(0), 30, 10)
    np.testing.assert_allclose(X.T @ X / 3, np.eye(10), atol=1e-12)
    targets, net, t = np.array([1.0, -0.3, 0.05]), df.DiagonalNetwork(0.2, 0.1), np.array([0.0, 3.0, 30.0])
    expected = df.theory.infinite_data_paths(targets, net, t)
    np.testing.assert_allclose(infinite_data.decoupled(targets, net, t), expected.T, rtol=1e-7, atol=1e-10)


def test_activation_at_a_constant_field_is_in_closed_form():
    """One coordinate that stays far from its target: |h| - λ times t is 2 log(1/α) at |w| = ½."""
    alpha, lam, h = 1e-3, 0.1, 0.8
    t = np.linspace(0.0, 25.0, 501)
    w = alpha**2 * np.exp(-lam * t) * np.sinh(h * t)
    still = Data(np.array([[1e-9]]), np.array([1e9 * h]), np.ones(1), 0.0, np.ones(1))  # g = -h whatever w is
    times = search_phase.coordinate_times(t, w[:, None], still, lam, alpha)[:, 0]
    expected = 2 * np.log(1 / alpha) / (h - lam)
    np.testing.assert_allclose(times[2:], expected, rtol=1e-6)
    np.testing.assert_allclose(times[0], expected, rtol=1e-4)  # linear between points 0.05 apart
    np.testing.assert_allclose(times[1], expected - np.log(5) / (h - lam), rtol=1e-4)
