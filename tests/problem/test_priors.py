"""Priors: moments, averages, samples, refusals, and one written outside the package."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynafield as df

PRIORS = [
    (df.Bernoulli(0.1), 0.1),
    (df.Bernoulli(0.25, value=-2.0), 1.0),
    (df.Discrete([-1, 0, 2], [0.2, 0.5, 0.3]), 1.4),
    (df.Gaussian(1.5), 2.25),
    (df.GaussBernoulli(0.2, 3.0), 1.8),
    (df.Empirical([1.0, 1.0, 2.0, 0.0]), 1.5),
    (df.data.GaussianMixture([0.5, 0.5], [1.0, -1.0], [0.0, 2.0]), 3.0),
]


@pytest.mark.parametrize(("prior", "rho2"), PRIORS, ids=lambda p: type(p).__name__)
def test_second_moment_average_and_sample_agree(prior, rho2):
    assert prior.second_moment == pytest.approx(rho2, rel=1e-14)
    assert prior.average(np.square) == pytest.approx(rho2, rel=1e-12)
    draws = prior.sample(200_000, seed=3)
    se = draws.std() / np.sqrt(len(draws)), (draws**2).std() / np.sqrt(len(draws))
    assert abs(draws.mean() - prior.average(lambda w: w)) < 4 * se[0]
    assert abs(np.mean(draws**2) - rho2) < 4 * se[1]


def test_samples_repeat_with_their_seed():
    prior = df.GaussBernoulli(0.2)
    assert np.array_equal(prior.sample(10, seed=1), prior.sample(10, seed=1))
    assert not np.array_equal(prior.sample(10, seed=1), prior.sample(10, seed=2))


def test_repeated_values_are_merged():
    assert len(df.Empirical([1, 2, 1, 1]).mixture().weight) == 2


@settings(deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20))
def test_any_list_of_numbers_is_a_law(values):
    weight, mean, std = df.Empirical(values).mixture()
    assert weight.sum() == pytest.approx(1)
    assert np.all(std == 0)
    assert np.sum(weight * mean) == pytest.approx(np.mean(values), abs=1e-12)


class Laplace(df.data.Prior):
    """Double-exponential entries: Gaussians whose width has a Rayleigh law."""

    scale: float

    def mixture(self) -> df.data.Components:
        x, w = np.polynomial.legendre.leggauss(80)
        r = 4.5 * (x + 1)
        weight = 4.5 * w * r * np.exp(-(r**2) / 2)
        return df.data.Components(weight / weight.sum(), np.zeros_like(r), self.scale * r)


def test_a_prior_of_the_users_own():
    """Lasso fixed point under a Laplace prior, against quadrature over the Laplace density itself."""
    from scipy.integrate import quad
    from scipy.stats import norm

    task, lam, delta, sigma = df.Task(0.7, 0.3, Laplace(0.5)), 0.2, 0.7, 0.3
    point = df.fixed_point(task, df.DiagonalNetwork(1.0, lam))
    assert task.prior.second_moment == pytest.approx(2 * 0.5**2, rel=1e-12)

    def over_density(function):
        return (
            2
            * sum(
                quad(lambda w: function(w) * np.exp(-w / 0.5), a, b, epsrel=1e-12)[0]
                for a, b in [(0, 1), (1, 4), (4, 20)]
            )
            / 1.0
        )

    tau, theta = point.tau, point.threshold
    active = over_density(lambda w: norm.sf((theta - w) / tau) + norm.sf((theta + w) / tau))
    assert 1 - active / delta == pytest.approx(lam / theta, rel=1e-9)

    def square(w):
        def error(g):
            y = w + tau * g
            return (np.sign(y) * max(abs(y) - theta, 0) - w) ** 2 * norm.pdf(g)

        cuts = sorted({-9.0, 9.0, *np.clip([(theta - w) / tau, (-theta - w) / tau], -9, 9)})
        return sum(quad(error, a, b, epsrel=1e-10)[0] for a, b in itertools.pairwise(cuts))

    assert over_density(square) == pytest.approx(point.C_w, rel=1e-8)
    assert point.test_error == pytest.approx(point.C_w + sigma**2)


@pytest.mark.parametrize(
    ("weight", "mean", "std", "text"),
    [
        ([0.5, 0.6], [0.0, 1.0], [0.0, 0.0], "weights must be .* sum of 1.1"),
        ([1.5, -0.5], [0.0, 1.0], [0.0, 0.0], "weights must be probabilities ≥ 0"),
        ([1.0], [np.nan], [0.0], "means must be .* got nan"),
        ([1.0], [0.0], [-1.0], "stds must be"),
        ([0.5, 0.5], [0.0, 1.0], [0.0], "stds must have one entry for each of 2 means"),
    ],
)
def test_a_users_mixture_that_is_no_law_is_refused(weight, mean, std, text):
    class Wrong(df.data.Prior):
        def mixture(self):
            return df.data.Components(np.array(weight), np.array(mean), np.array(std))

    with pytest.raises(ValueError, match="prior Wrong must have a mixture that is a distribution: " + text):
        df.Task(0.5, 0.1, Wrong())


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: df.Bernoulli(1.5), r"p must be a probability in \[0, 1\], got 1.5"),
        (lambda: df.Bernoulli(-0.1), "p must be a probability"),
        (lambda: df.Bernoulli(0.1, np.inf), "value must be a finite number, got inf"),
        (lambda: df.Bernoulli([0.1, 0.2]), "p must be a probability .*array of shape"),
        (lambda: df.Discrete([0, 1], [0.5, 0.6]), "probs must be .* sum of 1.1"),
        (lambda: df.Discrete([0, 1], [1.5, -0.5]), "probs must be probabilities ≥ 0"),
        (lambda: df.Discrete([0, 1], [1.0]), "probs must have one entry for each of 2 values, got 1"),
        (lambda: df.Discrete([], []), "values must be .* got an empty array"),
        (lambda: df.Discrete([[0, 1]], [1]), "values must be .* got shape"),
        (lambda: df.Gaussian(0), "std must be a number > 0, got 0"),
        (lambda: df.Gaussian(np.nan), "std must be a number > 0, got nan"),
        (lambda: df.GaussBernoulli(0.1, -1), "std must be a number > 0, got -1"),
        (lambda: df.Empirical([]), "values must be"),
        (lambda: df.Empirical([1, np.nan]), "values must be .* got nan at index 1"),
        (lambda: df.data.GaussianMixture([1.0], [0.0], [-1.0]), "stds must be"),
        (lambda: df.data.GaussianMixture([1.0], [0.0], [1.0, 2.0]), "stds must have one entry"),
        (lambda: df.Task(0.5, 0.1, 0.1), "prior must be a Prior"),
        (lambda: df.Task(0.0, 0.1, df.Gaussian()), "delta must be finite and > 0, got 0"),
        (lambda: df.Task(0.5, -0.1, df.Gaussian()), "sigma must be finite and ≥ 0, got -0.1"),
    ],
)
def test_bad_priors_and_tasks_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()
