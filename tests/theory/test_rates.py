"""Rates: closed forms, limits, jumps, derivatives, the distribution of path rates, finite networks."""

from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynafield as df
from dynafield.numerics.roots import ORDERS
from dynafield.theory.rate_equations import Slopes, below
from dynafield.theory.speeds import ROUNDED

NET = df.DiagonalNetwork


def slow(depth):
    """Each depth compiles anew; the deeper ones wait for make test-all."""
    return pytest.param(depth, marks=pytest.mark.slow)


@pytest.mark.parametrize("delta", [0.3, 2.5])
@pytest.mark.parametrize("depth", [2, 3, slow(5)])
def test_one_slope_for_all_gives_the_marchenko_pastur_edge(delta, depth):
    """Without signal and noise κ = α^(2L-2) everywhere: γ = κ (1 - δ^-1/2)²."""
    rate = df.convergence_rate(df.Task(delta, 0.0, df.Bernoulli(0.0)), NET(0.7, depth=depth))
    edge = 0.7 ** (2 * depth - 2) * (1 - delta**-0.5) ** 2
    assert rate.gamma == pytest.approx(edge, rel=1e-12, abs=0)
    assert rate.large_alpha == pytest.approx(edge, rel=1e-12)
    assert pytest.approx(np.sqrt(delta), rel=1e-12) == rate.A


@pytest.mark.parametrize("delta", [0.5, 2.0])
@pytest.mark.parametrize("depth", [2, slow(4)])
def test_large_scale_limit(delta, depth):
    rate = df.convergence_rate(df.Task(delta, 0.3, df.Bernoulli(0.1)), NET(30.0, depth=depth))
    assert rate.gamma == pytest.approx(rate.large_alpha, rel=1e-5)  # corrections of order w²/α⁴ ~ 1e-6


def test_defining_equations_hold(sparse):
    """γ = (A - δ)u/δ with E[(κ/(u+κ))²] = δ, by sampling the limit law."""
    rate, point = df.convergence_rate(sparse, NET(0.5)), df.fixed_point(sparse, NET(0.5))
    w, _ = point.sample(400_000, seed=2)
    kappa = np.sqrt(w**2 + 0.5**4)
    for values, exact in (((kappa / (rate.u + kappa)) ** 2, 0.5), (kappa / (rate.u + kappa), rate.A)):
        assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(len(w))
    assert rate.gamma == pytest.approx((rate.A - 0.5) * rate.u / 0.5, rel=1e-12)


@pytest.mark.slow
def test_the_jump_at_no_noise():
    """w* = 1, α = .1, δ = 2: .0858 without noise, .00495 with any."""
    task = df.Task(2.0, np.array([0.0, 1e-3, 0.01, 0.15]), df.Bernoulli(1.0))
    gamma = df.convergence_rate(task, NET(0.1)).gamma
    kappa = np.sqrt(1 + 1e-4)
    assert gamma[0] == pytest.approx(kappa * (1 - 2**-0.5) ** 2, rel=1e-12)
    # pinched: γ = κ₀ (1 - E[κ/(κ-κ₀)]/δ), and with little noise the mean is that at w = 1
    assert gamma[1] == pytest.approx(0.01 * (1 - kappa / (kappa - 0.01) / 2), rel=1e-6)
    assert gamma[3] == pytest.approx(0.00495, abs=5e-6)
    assert np.all(np.diff(gamma[1:]) < 0)


@pytest.mark.slow
def test_rates_are_continuous_across_the_pinch():
    """As σ grows the smallest slopes come into reach: no step where the formula changes."""
    sigma = np.geomspace(0.05, 0.4, 400)
    gamma = df.convergence_rate(df.Task(2.0, sigma, df.Bernoulli(1.0)), NET(0.5)).gamma
    bends = np.abs(np.diff(gamma, 2))
    assert np.all(bends < 20 * np.median(bends) + 1e-9)


@pytest.mark.slow
def test_small_scale_limits():
    still = df.Discrete([1.0, 2.0], [0.5, 0.5])
    limit = df.convergence_rate(df.Task(2.0, 0.0, still), NET(1.0)).small_alpha
    small = df.convergence_rate(df.Task(2.0, 0.0, still), NET(1e-5)).gamma
    assert limit > 0
    assert small == pytest.approx(limit, rel=1e-12)
    deep = df.convergence_rate(df.Task(2.0, 0.0, still), NET(1e-2, depth=3))
    assert deep.gamma == pytest.approx(deep.small_alpha, rel=1e-6)
    for task in (df.Task(2.0, 0.1, still), df.Task(0.5, 0.0, still), df.Task(2.0, 0.0, df.Bernoulli(0.5))):
        gammas = df.convergence_rate(task, NET(np.array([1e-2, 1e-3, 1e-4])))
        assert np.all(gammas.small_alpha == 0)
        assert np.all(np.diff(gammas.gamma) < 0)


def gamma(delta, sigma, alpha, depth=2):
    return df.convergence_rate(df.Task(delta, sigma, df.Bernoulli(0.1)), NET(alpha, depth=depth)).gamma


def test_derivatives_in_alpha(sparse):
    """The errata's numbers: partial 0.15850 (the paper's formula), total 0.16233."""
    rate = df.convergence_rate(sparse, NET(0.5))
    assert rate.dgamma_dalpha_fixed_law == pytest.approx(0.15850, abs=5e-6)
    assert rate.dgamma_dalpha == pytest.approx(0.16233, abs=5e-6)
    by_alpha = jax.grad(gamma, (0, 1, 2))(0.5, 0.1, 0.5)[2]  # all three: a program that other tests take
    assert float(by_alpha) == pytest.approx(rate.dgamma_dalpha, rel=1e-10)
    w, _ = df.fixed_point(sparse, NET(0.5)).sample(400_000, seed=1)
    kappa = np.sqrt(w**2 + 0.5**4)
    paper = 2 * 0.5**3 * rate.u**2 / 0.5 / (kappa * (rate.u + kappa) ** 2)
    assert abs(paper.mean() - rate.dgamma_dalpha_fixed_law) < 4 * paper.std() / np.sqrt(len(w))


@pytest.mark.parametrize("where", [(0.5, 0.1, 0.5), (2.0, 0.1, 0.5), (0.2, 0.5, 0.02)], ids=str)
@pytest.mark.parametrize("depth", [2, slow(3)])
def test_gradients_agree_with_finite_differences(where, depth):
    for i, slope in enumerate(jax.grad(gamma, (0, 1, 2))(*where, depth)):
        step = 1e-4 * where[i]
        ahead, behind = (gamma(*(np.array(where) + sign * step * np.eye(3)[i]), depth) for sign in (1, -1))
        assert float(slope) == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("delta", [0.5, 2.0])
@pytest.mark.parametrize("name", ["u", "A"])
def test_gradients_of_u_and_A(delta, name):
    def value(*where):
        return getattr(
            df.convergence_rate(df.Task(where[0], where[1], df.Bernoulli(0.1)), NET(where[2])), name
        )

    where = np.array([delta, 0.1, 0.5])
    for i, slope in enumerate(jax.grad(value, (0, 1, 2))(*map(float, where))):
        ahead, behind = (value(*(where + sign * 1e-5 * np.eye(3)[i])) for sign in (1, -1))
        assert float(slope) == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)


def test_gradients_without_noise():
    by_delta, _, by_alpha = jax.grad(gamma, (0, 1, 2))(2.0, 0.0, 0.5)
    assert float(by_delta) == pytest.approx(
        (gamma(2.0 + 1e-5, 0.0, 0.5) - gamma(2.0 - 1e-5, 0.0, 0.5)) / 2e-5, rel=1e-6
    )
    assert float(by_alpha) == pytest.approx(
        (gamma(2.0, 0.0, 0.5 + 1e-5) - gamma(2.0, 0.0, 0.5 - 1e-5)) / 2e-5, rel=1e-6
    )


def test_slope_at_fixed_law_is_resolved():
    """Found by review: 64 nodes miss its peak at w = 0; 30-digit quadrature gives 3.8171952e-06."""
    rate = df.convergence_rate(df.Task(0.98403639815, 0.02730481992, df.Bernoulli(0.1)), NET(0.00100830508))
    assert rate.dgamma_dalpha_fixed_law == pytest.approx(3.8171952e-06, rel=2e-8, abs=0)


def test_pinched_gradient():
    task = df.Task(2.0, 0.01, df.Bernoulli(1.0))
    rate = df.convergence_rate(task, NET(0.1))
    step = 1e-5
    ahead, behind = (df.convergence_rate(task, NET(0.1 + s * step)).gamma for s in (1, -1))
    assert rate.dgamma_dalpha == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


@pytest.mark.slow
def test_rate_increases_with_alpha():
    for delta in (0.5, 2.0):
        rate = df.convergence_rate(df.Task(delta, 0.1, df.Bernoulli(0.1)), NET(np.geomspace(1e-4, 10, 40)))
        assert np.all(np.diff(rate.gamma) > 0)
        assert np.all(rate.dgamma_dalpha > 0)
        assert np.all(rate.dgamma_dalpha_fixed_law > 0)


@pytest.mark.parametrize("delta", [0.5, 2.0])
def test_rate_is_the_smallest_nonzero_eigenvalue_of_the_linearized_flow(delta):
    """κ^½ (XᵀX/δ) κ^½ with κ drawn from the limit law: its edge is γ, up to d^(-2/3)."""
    task, net = df.Task(delta, 0.3, df.Bernoulli(0.1)), NET(0.5)
    edge = df.convergence_rate(task, net).gamma
    d = 400
    edges = []
    for seed in range(4):
        w, _ = df.fixed_point(task, net).sample(d, seed=seed)
        root = (w**2 + 0.5**4) ** 0.25
        x = np.random.default_rng(seed).standard_normal((round(delta * d), d)) / np.sqrt(d)
        singular = np.linalg.svd(x * root, compute_uv=False)
        edges.append(singular[min(d, round(delta * d)) - 1] ** 2 / delta)
    se = np.std(edges, ddof=1) / 2
    # the edge of a finite matrix sits inside by about d^(-2/3) = 1.8 % of the spectrum's width
    assert abs(np.mean(edges) / edge - 1) < 4 * se / edge + 3 * d ** (-2 / 3)


def test_decay_makes_a_law_of_rates(sparse):
    net = NET(0.5, 0.1)
    rate = df.convergence_rate(sparse, net)
    assert (rate.exponential, rate.gamma) == (False, 0.0)
    paths = rate.paths()
    rates, at_zero = paths.sample(200_000, seed=4)
    assert rates[at_zero].max() <= 0.1
    assert abs(at_zero.mean() - paths.fraction_at_zero) < 4 * np.sqrt(0.25 / 200_000)
    for r in (0.001, 0.05, 0.1, 0.3):
        p = paths.cdf(r)
        assert abs((rates <= r).mean() - p) < 4 * np.sqrt(p * (1 - p) / 200_000)
    grid = np.linspace(0, 0.099, 20_001)
    assert np.trapezoid(paths.density(grid), grid) == pytest.approx(paths.cdf(0.099), rel=1e-7)
    point = df.fixed_point(sparse, net)
    w, _ = point.sample(200_000, seed=4)
    active = np.abs(w[w != 0]) / (1 + point.chi_w)  # local relaxation rates of active paths
    p = (paths.cdf(0.3) - paths.cdf(0.1)) / (1 - paths.fraction_at_zero)
    assert abs(((active > 0.1) & (active <= 0.3)).mean() - p) < 4 * np.sqrt(p * (1 - p) / len(active))


def test_path_rates_need_decay(sparse):
    with pytest.raises(ValueError, match="lam must be > 0 for a distribution of path rates"):
        df.convergence_rate(sparse, NET(0.5)).paths()


def test_tradeoff_is_both_results_in_one(sparse):
    alphas = np.geomspace(1e-2, 3, 9)
    both = df.tradeoff(sparse, alphas)
    np.testing.assert_array_equal(both.test_error, df.fixed_point(sparse, NET(alphas)).test_error)
    np.testing.assert_array_equal(both.gamma, df.convergence_rate(sparse, NET(alphas)).gamma)
    assert np.all(np.diff(both.gamma) > 0)
    assert np.all(np.diff(both.test_error) > 0)


@pytest.mark.slow
def test_small_scale_of_order_one_in_ten_thousand_at_large_delta():
    """The smallest slopes are 1e-12 of the rest and still decide γ; against adaptive quadrature."""
    from benchmarks import baseline

    prior = df.Bernoulli(0.1)
    exact = baseline.rate_above(20.0, 0.5, prior, 1e-6)
    assert df.convergence_rate(df.Task(20.0, 0.5, prior), NET(1e-6)).gamma == pytest.approx(
        exact, rel=1e-8, abs=0
    )


def slopes_of_two_groups(distance):
    """Exact weights that fall off from 1 and from e^distance, logarithms of slopes; δ is the second group."""
    places = np.linspace(0.0, distance, 120)
    parts = [3 * int(1e30 * np.exp(-1.4 * x)) + 2 * int(1e30 * np.exp(-(distance - x))) for x in places]
    weights = [Decimal(part) / sum(parts) for part in parts]
    return weights, places, sum(weights[60:])


def rate_in_sixty_digits(weights, places, delta):
    """γ by bisection of log u."""
    slopes = [Decimal(x).exp() for x in places]

    def mean(u, power):
        return sum(p * (k / (u + k)) ** power for p, k in zip(weights, slopes, strict=True))

    low, high = Decimal(0), Decimal(places[-1])
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle.exp(), 2) > delta else (low, middle)
    u = low.exp()
    return float((mean(u, 1) - delta) * u / delta)


@pytest.mark.parametrize(("distance", "fine"), [(4, True), (16, True), (28, True), (44, False), (60, False)])
def test_a_rate_is_refused_where_rounding_decides_it(distance, fine):
    """Between two groups of slopes far apart nearly every u solves the equation, and γ loses its digits."""
    with localcontext() as context:
        context.prec = 60
        weights, places, delta = slopes_of_two_groups(distance)
        exact = rate_in_sixty_digits(weights, places, delta)
    given = jnp.asarray([float(weight) for weight in weights])
    slopes = Slopes(given, jnp.zeros(120), jnp.asarray(places), jnp.zeros(()))
    rate = below(jnp.asarray(float(delta)), slopes, ORDERS)[0]
    error = abs(float(rate.gamma) / exact - 1)
    assert error < rate.rounding
    assert (rate.rounding < ROUNDED) == fine
