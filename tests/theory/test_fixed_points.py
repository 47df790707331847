"""Fixed points: closed forms, limits, laws, batches, gradients, refusals."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynafield as df
from dynafield.theory import kernels

NET = df.DiagonalNetwork


def test_ridgeless_is_explicit():
    point = df.fixed_point(df.Task(4.0, 0.3, df.Gaussian(2.0)), NET(0.2, depth=5))
    assert (point.case, point.C_w, point.chi_w) == ("ridgeless", pytest.approx(0.03), pytest.approx(1 / 3))
    assert point.train_error == pytest.approx(0.75 * 0.09)
    assert point.test_error == pytest.approx(0.12)


def test_no_noise_and_enough_data_recover_the_target():
    point = df.fixed_point(df.Task(1.5, 0.0, df.Bernoulli(0.3)), NET(0.2))
    assert (point.C_w, point.test_error, point.train_error) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("prior", [df.Bernoulli(0.1), df.Gaussian(0.5), df.GaussBernoulli(0.2, 2.0)])
def test_large_scale_is_the_minimum_norm_solution(prior):
    """C_w = (1-δ)ρ² + σ²δ/(1-δ), approached like α^-4 (so α = 1000 leaves 1e-12)."""
    delta, sigma = 0.4, 0.3
    point = df.fixed_point(df.Task(delta, sigma, prior), NET(1e3))
    exact = (1 - delta) * prior.second_moment + sigma**2 * delta / (1 - delta)
    assert point.C_w == pytest.approx(exact, rel=1e-11)
    assert point.R_w == pytest.approx(1e6 * (1 - delta) / delta, rel=1e-11)


def test_strong_decay_kills_every_weight():
    point = df.fixed_point(df.Task(0.5, 0.1, df.Bernoulli(0.1)), NET(1.0, 50.0))
    assert point.C_w == pytest.approx(0.1, rel=1e-14)
    assert point.chi_w == pytest.approx(0, abs=1e-14)
    assert point.mass_at_zero == pytest.approx(1, abs=1e-14)


def test_weak_decay_with_enough_data_is_least_squares():
    """λ → 0 at δ > 1 tends to the ridgeless end, linearly in λ."""
    task = df.Task(2.0, 0.5, df.Gaussian(1.0))
    gaps = [df.fixed_point(task, NET(1.0, lam)).C_w - 0.25 for lam in (1e-4, 1e-5)]
    assert gaps[1] / gaps[0] == pytest.approx(0.1, rel=1e-3)


@pytest.mark.slow
def test_weak_decay_meets_small_scale():
    """δ < 1: λ → 0 of the lasso and α → 0 of interpolation are both basis pursuit."""
    task = df.Task(0.5, 0.1, df.Bernoulli(0.1))
    lasso = df.fixed_point(task, NET(1.0, 1e-6)).C_w
    gaps = np.array([df.fixed_point(task, NET(alpha)).C_w - lasso for alpha in (1e-35, 1e-140)])
    # the approach is logarithmic, in 1/log(1/α): a factor 4, and log log corrections
    assert abs(gaps[0]) < 0.003 * lasso
    assert gaps[1] / gaps[0] == pytest.approx(0.25, abs=0.08)


@pytest.mark.parametrize("side", [-1, 1])
def test_the_double_descent_peak(side):
    """Near δ = 1 the minimum-norm error is σ²/|1-δ| to leading order, on both sides."""
    delta = 1 + side * 1e-3
    point = df.fixed_point(df.Task(delta, 0.5, df.Gaussian(1.0)), NET(100.0))
    exact = 0.25 * delta / (1 - delta) + (1 - delta) if side < 0 else 0.25 / (delta - 1)
    assert point.C_w == pytest.approx(exact, rel=1e-7)  # α^-4 = 1e-8 from the limit, times 10


@pytest.mark.parametrize("sigma", [0.0, 0.5])
@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_no_signal(sigma, lam):
    """w* = 0: nothing to learn; with no noise either, the network stays where it is."""
    point = df.fixed_point(df.Task(0.5, sigma, df.Bernoulli(0.0)), NET(0.7, lam))
    assert (point.C_w == 0.0) == (sigma == 0.0)
    if sigma == 0:
        assert point.test_error == 0.0
        assert df.convergence_rate(df.Task(0.5, sigma, df.Bernoulli(0.0)), NET(0.7)).gamma == pytest.approx(
            0.49 * (1 - 2**0.5) ** 2, rel=1e-12
        )


def test_deeper_is_sparser_here():
    """Noiseless and sparse: the error falls with depth. An ordering only; numbers are checked elsewhere.

    Every depth is a program: these are the ones that other tests take.
    """
    task = df.Task(0.5, 0.0, df.Bernoulli(0.1))
    errors = [df.fixed_point(task, NET(0.3, depth=depth)).C_w for depth in (2, 3)]
    assert errors[0] > errors[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "depth"), [(1e-6, 26), (1e-2, 70), (1e-70, 3), (0.5, 100), (1e-140, 2)])
def test_the_whole_double_range_of_scale_and_depth(alpha, depth):
    """α^(2L-2) from 1e-20 to 1e-300: all tend to basis pursuit, deep ones without logarithms."""
    task = df.Task(0.5, 0.1, df.Bernoulli(0.1))
    pursuit = 2 * df.fixed_point(task, NET(1.0, 1e-6)).C_w - df.fixed_point(task, NET(1.0, 2e-6)).C_w
    point = df.fixed_point(task, NET(alpha, depth=depth))
    assert point.C_w == pytest.approx(pursuit, rel=1e-9 if depth > 2 else 1e-3)
    with pytest.raises(df.SolveError, match="the convergence rate was not found"):  # too few slopes around u
        df.convergence_rate(task, NET(alpha, depth=depth))


@pytest.mark.parametrize(
    ("alpha", "depth"),
    [
        (1e70, 3),
        pytest.param(1e3, 50, marks=pytest.mark.slow),
        pytest.param(3.0, 200, marks=pytest.mark.slow),
    ],
)
def test_huge_slopes_are_ridge_regression(alpha, depth):
    task = df.Task(0.5, 0.1, df.Bernoulli(0.1))
    net = NET(alpha, depth=depth)
    assert df.fixed_point(task, net).C_w == pytest.approx(0.05 + 0.01, rel=1e-12)
    rate = df.convergence_rate(task, net)
    assert rate.gamma == pytest.approx(rate.large_alpha, rel=1e-12)


LAWS = [
    (df.Task(0.5, 0.1, df.Bernoulli(0.1)), NET(0.5, 0.1)),
    (df.Task(2.0, 0.3, df.GaussBernoulli(0.3)), NET(0.5)),
    (df.Task(0.5, 0.1, df.Discrete([-1, 2], [0.4, 0.6])), NET(0.3)),
    pytest.param(df.Task(0.4, 0.2, df.Gaussian(1.0)), NET(0.6, depth=4), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("task", "net"), LAWS, ids=["lasso", "ridgeless", "deep 2", "deep 4"])
def test_the_law_is_one_law(task, net):
    """Samples, density, distribution function and C_w all describe the same law."""
    point = df.fixed_point(task, net)
    n = 200_000
    w, w_star = point.sample(n, seed=5)
    square = (w - w_star) ** 2
    assert abs(square.mean() - point.C_w) < 4 * square.std() / np.sqrt(n)
    places = np.quantile(w, [0.05, 0.3, 0.7, 0.9, 0.99])
    fractions = (w[:, None] <= places).mean(0)
    bound = 4 * np.sqrt(fractions * (1 - fractions) / n) + 1 / n
    assert np.all(np.abs(point.cdf(places) - fractions) < bound)
    x = np.linspace(-12, 12, 240_002)  # even count: the atom's edge at 0 falls between nodes
    total = np.trapezoid(point.density(x), x) + sum(point.law().atoms.values())
    assert total == pytest.approx(1, abs=2e-6)  # trapezoid across the jump at 0: step × jump / 2
    slope = (point.cdf(0.4 + 1e-5) - point.cdf(0.4 - 1e-5)) / 2e-5
    assert slope == pytest.approx(point.density(0.4), rel=1e-7)


def test_the_atom_at_zero_is_exact():
    task, net = LAWS[0]
    point = df.fixed_point(task, net)
    active = task.delta * point.chi_w / (1 + point.chi_w)  # eq:fix_case1 says so
    assert point.mass_at_zero == pytest.approx(1 - active, rel=1e-13)
    assert point.cdf(0.0) - point.cdf(-1e-14) == pytest.approx(point.mass_at_zero, rel=1e-12)
    w, _ = point.sample(50_000, seed=1)
    assert abs((w == 0).mean() - point.mass_at_zero) < 4 * np.sqrt(0.25 / 50_000)


def test_point_masses_without_noise():
    law = df.fixed_point(df.Task(2.0, 0.0, df.Discrete([-1, 0, 2], [0.2, 0.5, 0.3])), NET(0.3)).law()
    assert law.atoms == {-1.0: 0.2, 0.0: 0.5, 2.0: 0.3}
    assert law.density(0.5) == 0
    assert law.cdf(np.array([-1.1, -1.0, 0.0, 3.0])).tolist() == pytest.approx([0, 0.2, 0.7, 1.0])


def test_arrays_broadcast_and_cases_mix():
    task = df.Task(np.array([0.5, 2.0, 0.3]), 0.1, df.Bernoulli(0.1))
    net = NET(np.array([[0.1], [1.0]]), np.array([0.0, 0.0, 0.2]))
    many = df.fixed_point(task, net)
    assert many.test_error.shape == many.case.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one = df.fixed_point(
            df.Task(float(task.delta[j]), 0.1, task.prior), NET(float(net.alpha[i, 0]), float(net.lam[j]))
        )
        assert many.case[i, j] == one.case
        assert many.test_error[i, j] == pytest.approx(one.test_error, rel=1e-12)
    w, w_star = many.sample(7, seed=0)
    assert w.shape == w_star.shape == (2, 3, 7)
    assert many.density(np.zeros(4)).shape == (2, 3, 4)


@pytest.mark.slow
def test_a_large_empirical_prior_fits_in_memory():
    """2,000 atoms at the quantiles of a Gaussian: they miss its tails, an error of order 1/n."""
    from scipy.stats import norm

    atoms = norm.ppf((np.arange(2000) + 0.5) / 2000)
    task = df.Task(np.array([0.4, 0.5, 0.6]), 0.3, df.Empirical(atoms / atoms.std()))
    exact = df.fixed_point(df.Task(np.array([0.4, 0.5, 0.6]), 0.3, df.Gaussian(1.0)), NET(0.5))
    np.testing.assert_allclose(df.fixed_point(task, NET(0.5)).C_w, exact.C_w, rtol=5e-4)


POINTS = [(0.5, 0.1, 0.5, 0.0), (2.0, 0.1, 0.5, 0.0), (0.5, 0.1, 0.5, 0.1), (0.3, 0.7, 0.01, 0.0)]


@pytest.mark.parametrize("where", POINTS, ids=str)
@pytest.mark.parametrize("prior", [df.Bernoulli(0.1), df.GaussBernoulli(0.2)], ids=["atoms", "gauss"])
def test_gradients_agree_with_finite_differences(where, prior):
    def error(delta, sigma, alpha, lam):
        return df.fixed_point(df.Task(delta, sigma, prior), NET(alpha, lam)).test_error

    exact = jax.grad(error, (0, 1, 2, 3))(*where)
    for i, slope in enumerate(exact):
        if where[i] == 0:  # λ = 0 is the edge of the case
            assert np.isnan(slope)
            continue
        step = 1e-4 * where[i]
        moved = [np.array(where) + sign * step * np.eye(4)[i] for sign in (1, -1)]
        ahead, behind = (error(*map(float, x)) for x in moved)
        assert float(slope) == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-9)


@pytest.mark.slow
def test_gradients_flow_through_batches_jit_and_vmap(sparse):
    def total(alphas):
        return jnp.sum(df.fixed_point(sparse, NET(alphas)).test_error)

    alphas = jnp.array([0.1, 0.5, 2.0])
    one_by_one = [jax.grad(lambda a: df.fixed_point(sparse, NET(a)).test_error)(a) for a in alphas]
    np.testing.assert_allclose(jax.grad(total)(alphas), one_by_one, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.grad(total))(alphas), one_by_one, rtol=1e-11)
    mapped = jax.vmap(lambda a: df.fixed_point(sparse, NET(a)).test_error)(alphas)
    np.testing.assert_allclose(mapped, df.fixed_point(sparse, NET(alphas)).test_error, rtol=1e-11)


ALONG = (0.3, -0.4)


def end(delta, sigma, alpha=1.0, lam=0.0, depth=2):
    return df.fixed_point(df.Task(delta, sigma, df.Bernoulli(0.1)), NET(alpha, lam, depth)).test_error


@cache
def traced():
    """The test error at depth 3 with three derivatives in s, along a line through a problem.

    Nothing is known of the problem, nor of how many derivatives are taken, while JAX compiles: one program.
    """

    def error(s, delta, sigma, alpha, lam):
        return (end(delta + s * ALONG[0], sigma + s * ALONG[1], (1 + 0.2 * s) * alpha, lam, 3),)

    def with_one_more(function):
        def both(s, *problem):
            values, slopes = jax.jvp(lambda s: function(s, *problem), (s,), (1.0,))
            return (*values, slopes[-1])

        return jax.jit(both)

    return with_one_more(with_one_more(with_one_more(jax.jit(error))))


def test_traced_problems_have_their_answer_or_nan(sparse):
    assert np.isnan(traced()(0.0, 1.0, 0.1, 0.5, 0.0)[0])
    known = df.fixed_point(sparse, NET(0.5, depth=3)).test_error
    assert float(traced()(0.0, 0.5, 0.1, 0.5, 0.0)[0]) == pytest.approx(known, rel=1e-12)
    assert float(traced()(0.0, 2.0, 0.1, 0.5, 0.0)[0]) == pytest.approx(0.02, rel=1e-13)


def test_traced_problems_that_would_be_refused_are_nan():
    assert np.isfinite(traced()(0.0, 2.0, 0.1, 0.5, 0.0)[0])
    assert np.isnan(traced()(0.0, 2.0, 0.1, 0.5, 0.1)[0])  # no convex limit problem
    assert np.isnan(traced()(0.0, 2.0, -0.1, 0.5, 0.0)[0])
    assert np.isnan(traced()(0.0, 2.0, 0.1, -0.5, 0.0)[0])


@pytest.mark.parametrize(
    ("prior", "count"),
    [
        (df.GaussBernoulli(0.15, 1.5), 200),
        pytest.param(df.Discrete([1e-3, 1.0], [0.9, 0.1]), 400, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_search_never_fails_in_the_range(prior, count):
    """Found by review: one problem in a few hundred once locked its bracket on nothing."""
    rng = np.random.default_rng(7)
    delta = np.exp(rng.uniform(np.log(0.02), np.log(0.999), count))
    delta[::3] = 1 - 10 ** rng.uniform(-3, -1, len(delta[::3]))
    sigma, alpha = 10 ** rng.uniform(-4, 1, count), 10 ** rng.uniform(-6, 3, count)
    sigma[::7] = 0
    assert np.all(df.tradeoff(df.Task(delta, sigma, prior), alpha).gamma > 0)
    delta, lam = np.exp(rng.uniform(np.log(0.02), np.log(50), count)), 10 ** rng.uniform(-6, 2, count)
    assert np.all(df.fixed_point(df.Task(delta, sigma, prior), NET(1.0, lam)).C_w > 0)


@pytest.mark.parametrize(
    ("prior", "delta", "sigma", "alpha"),
    [
        (df.GaussBernoulli(0.15, 1.5), 0.0975, 0.0415, 1.3e-6),
        (df.Bernoulli(0.01, 30.0), 0.0268989, 0.00228603, 0.000337907),
    ],
)
def test_problems_the_search_once_missed(prior, delta, sigma, alpha):
    assert df.fixed_point(df.Task(delta, sigma, prior), NET(alpha)).C_w > 0


def test_laws_are_picked_by_whole_indices(sparse):
    many = df.fixed_point(sparse, NET(np.array([0.1, 0.5])))
    assert many[1].law().second == many.R_w[1]
    for index in ((), (2,), (-1,), (0, 0)):
        with pytest.raises(ValueError, match="index must be 1 integers within the parameter axes"):
            many[index]
    with pytest.raises(ValueError, match="index must be 1 integers within the parameter axes"):
        many.law()
    with pytest.raises(ValueError, match="index must be 0 integers"):
        df.fixed_point(sparse, NET(0.5))[3]


def test_swapped_arguments_are_named(sparse):
    with pytest.raises(Exception, match="Task"):
        df.fixed_point(NET(0.5), sparse)


def test_new_values_reuse_the_compiled_code(sparse):
    df.fixed_point(sparse, NET(0.5))
    before = kernels.interpolating_points.programs()
    df.fixed_point(df.Task(0.31, 0.22, df.Bernoulli(0.4, 2.0)), NET(0.77))
    df.fixed_point(df.Task(0.62, 0.0, df.Discrete([1.0, -1.0], [0.5, 0.5])), NET(1.3))
    assert kernels.interpolating_points.programs() == before


@settings(deadline=None, max_examples=40)
@given(
    st.floats(0.02, 50).filter(lambda d: abs(d - 1) > 1e-3),
    st.floats(0, 10),
    st.floats(-6, 3),
    st.one_of(st.just(0.0), st.floats(-6, 2).map(lambda x: 10**x)),
    st.sampled_from([df.Bernoulli(0.1), df.Gaussian(1.0)]),
)
def test_every_problem_in_range_has_a_sane_answer(delta, sigma, log_alpha, lam, prior):
    point = df.fixed_point(df.Task(delta, sigma, prior), NET(10**log_alpha, lam))
    assert point.C_w >= 0
    assert point.test_error >= sigma**2
    assert 0 <= point.train_error <= point.test_error * (1 + 1e-12)
    assert point.tau**2 * delta == pytest.approx(point.test_error, rel=1e-10)


@pytest.mark.parametrize(
    ("task", "net", "text"),
    [
        (dict(delta=1.0), {}, "delta must not be 1 when lam is 0"),
        (dict(delta=np.array([0.5, 1.0])), {}, "delta must not be 1 when lam is 0"),
        ({}, dict(depth=3, lam=0.1), "lam must be 0 at depth 3, got 0.1: .* follow the path with solve"),
        (dict(delta=np.ones(2)), dict(alpha=np.ones(3)), r"must broadcast .* delta \(2,\), alpha \(3,\)"),
    ],
)
def test_what_has_no_answer_is_refused_before_any_work(task, net, text, monkeypatch):
    def never(*_):
        raise AssertionError("computed something")

    monkeypatch.setattr("dynafield.theory.points.over_problems", never)
    task = df.Task(**dict(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1)) | task)
    with pytest.raises(ValueError, match=text):
        df.fixed_point(task, NET(**dict(alpha=0.5) | net))


def test_delta_one_with_decay_is_fine():
    assert df.fixed_point(df.Task(1.0, 0.1, df.Bernoulli(0.1)), NET(0.5, 0.1)).C_w > 0


def test_lost_precision_is_an_error_not_a_number(monkeypatch, sparse):
    """With too few nodes allowed, the check of the quadrature speaks up."""
    monkeypatch.setattr("dynafield.theory.points.COUNTS", (64, 256))
    with pytest.raises(
        df.SolveError, match=r"fixed point was not found to 1e-10 at delta=0.5, .*alpha=1e-20"
    ):
        df.fixed_point(sparse, NET(1e-20))


def slope(function):
    """Its derivative, forwards."""
    return lambda s: jax.jvp(function, (s,), (1.0,))[1]


def on_line(function, where, along):
    """A function of several numbers along a line."""
    return lambda s: function(*(x + s * a for x, a in zip(where, along, strict=True)))


def speed(delta, sigma, alpha):
    return df.convergence_rate(df.Task(delta, sigma, df.Bernoulli(0.1)), NET(alpha)).gamma


SECOND = {
    "interpolating": (end, (0.5, 0.3, 0.5)),
    "lasso": (lambda d, s, lam: end(d, s, lam=lam), (0.5, 0.3, 0.05)),
    "rate below": (speed, (0.5, 0.3, 0.5)),
    "rate above": (speed, (2.0, 0.3, 0.5)),
}


H = 2e-3


def difference(values):
    """The derivative at the third of five places that are H apart, to fourth order."""
    return float(8 * (values[3] - values[1]) - (values[4] - values[0])) / (12 * H)


@pytest.mark.parametrize("kind", SECOND)
def test_second_derivatives_agree_with_differences_of_first_ones(kind):
    """One program gives both, at five places; first ones are checked by differences of values."""
    function, where = SECOND[kind]
    first = slope(on_line(function, where, (*ALONG, 0.2 * where[2])))
    slopes, seconds = zip(*(jax.jvp(first, (k * H,), (1.0,)) for k in range(-2, 3)), strict=True)
    assert seconds[2] == pytest.approx(difference(slopes), rel=1e-6)


def test_derivatives_that_would_be_wrong_are_refused_or_nan():
    with pytest.raises(ValueError, match="alpha must not be differentiated three times"):
        jax.grad(jax.grad(jax.grad(lambda alpha: end(0.5, 0.1, alpha))))(0.5)
    places = [traced()(k * H, 0.5, 0.3, 0.5, 0.0) for k in range(-2, 3)]
    errors, slopes, seconds, thirds = zip(*places, strict=True)
    assert slopes[2] == pytest.approx(difference(errors), rel=1e-6)
    assert seconds[2] == pytest.approx(difference(slopes), rel=1e-6)
    assert np.all(np.isnan(thirds))  # a third one cannot be seen inside a jit
