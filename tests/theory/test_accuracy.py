"""Fixed points and rates against printed values, and against adaptive quadrature."""

import warnings

import numpy as np
import pytest
from benchmarks import baseline
from scipy.integrate import IntegrationWarning

import dynafield as df
from tests.theory.problems import random_problem

TABLE = [
    # δ, σ², α, λ, C_w, (χ_w or R_w), γ: ten printed digits, so 1e-8 relative leaves no slack
    (0.5, 0.0, 2.0, 0.0, 0.0499096059, 4.0062089936, 0.6873555247),
    (0.5, 0.0, 0.1, 0.0, 0.0081729951, 0.0371567445, 0.0052615996),
    (0.5, 0.01, 0.5, 0.0, 0.0518006290, 0.3105746535, 0.0525307226),
    (0.5, 0.01, 0.01, 0.0, 0.0324737784, 0.0275813160, 0.0021029800),
    (0.5, 0.01, 1.0, 0.1, 0.0191640524, 1.8004895758, 0.0),
    (2.0, 0.01, 1.0, 0.5, 0.0296863591, 0.0527032049, 0.0),
    (2.0, 0.01, 1.0, 0.0, 0.01, 1.0, 0.0885005244),
    (2.0, 0.01, 0.1, 0.0, 0.01, 1.0, 0.0025948804),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_reference_table(row):
    delta, noise, alpha, lam, c_w, second, gamma = row
    task, net = df.Task(delta, np.sqrt(noise), df.Bernoulli(0.1)), df.DiagonalNetwork(alpha, lam)
    point, rate = df.fixed_point(task, net), df.convergence_rate(task, net)
    half = 5.1e-11  # the last printed digit
    assert point.C_w == pytest.approx(c_w, abs=half)
    assert (point.R_w if point.case == "interpolating" else point.chi_w) == pytest.approx(second, abs=half)
    assert rate.gamma == pytest.approx(gamma, abs=half)
    assert rate.exponential == (lam == 0)


def eight_digits(exact):
    """Relative 1e-8: pytest's own absolute 1e-12 would let tiny values pass. XLA makes subnormals zero."""
    return pytest.approx(exact, rel=1e-8, abs=np.finfo(float).tiny)


def check_against_quadrature(seed):
    kind, task, net = random_problem(seed)
    point = df.fixed_point(task, net)
    assert point.case == kind
    args = (task.delta, task.sigma, task.prior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)  # rounding in negligible tails
        if kind == "regularized":
            c_w, chi, tau = baseline.regularized(*args, net.lam)
            assert point.chi_w == eight_digits(chi)
        elif kind == "interpolating":
            c_w, response, tau = baseline.interpolating(*args, net.alpha, net.depth)
            assert point.R_w == eight_digits(response)
            gamma = baseline.rate_below(task.delta, task.prior, net.alpha, net.depth, response, tau)
        else:
            c_w = task.sigma**2 / (task.delta - 1)
            tau = np.sqrt(c_w)
            gamma = baseline.rate_above(*args, net.alpha, net.depth)
    assert point.C_w == eight_digits(c_w)
    assert point.tau == eight_digits(tau)
    if kind != "regularized":
        assert df.convergence_rate(task, net).gamma == eight_digits(gamma)


FEW, ALL = 4, 10
SEEDS = [k if k < FEW else pytest.param(k, marks=pytest.mark.slow) for k in range(ALL)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_problem_against_adaptive_quadrature(seed):
    check_against_quadrature(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 200))
def test_more_random_problems_against_adaptive_quadrature(seed):
    check_against_quadrature(seed)
