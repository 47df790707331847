"""Features of different variances: closed results against finite data, quadrature and other methods."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

import dynafield as df
from dynafield.theory.lazy import lazy_errors, lazy_limit, lazy_size
from dynafield.theory.silverstein import half_time, learnt

GROUPS = df.data.Spectrum.groups([(0.2, 4.0), (0.8, 0.25)])
POWER = df.data.PowerLaw(1.2, 50.0)
T = np.array([0.0, 0.5, 3.0, 30.0])


@pytest.mark.parametrize("delta", [0.5, 1.0, 2.0])
def test_one_variance_gives_marchenko_pastur_averages(delta):
    """Two methods: inverse Laplace transforms err by 1e-12 of the largest values."""
    one = df.Task(delta, 0.3, df.Gaussian(1.0), spectrum=df.data.Spectrum.groups([(1.0, 1.0)]))
    a, b = (
        df.theory.lazy_curves(task, df.DiagonalNetwork(1.3), T)
        for task in (one, one.__class__(delta, 0.3, df.Gaussian(1.0)))
    )
    for name in ("C_w", "C_f", "R_w", "R_f"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), abs=3e-11), name


@pytest.mark.parametrize(
    "spectrum", [GROUPS, df.data.PowerLaw(1.5, 50.0, source=0.5)], ids=["groups", "power"]
)
def test_lazy_curves_of_exact_matrices(spectrum):
    """d = 700, means over targets and label noise in closed form: the scatter of X is left, and 1/d."""
    d, delta, sigma = 700, 0.5, 0.3
    task = df.Task(delta, sigma, df.Gaussian(1.0), spectrum=spectrum)
    train, test = lazy_errors(task, df.DiagonalNetwork(1.0), T)
    rng, n = np.random.default_rng(0), round(delta * d)
    if isinstance(spectrum, df.data.PowerLaw):
        s, size = spectrum.at(1 + (spectrum.cutoff - 1) * (np.arange(d) + 0.5) / d)
    else:
        s, size = spectrum.variances(d), np.ones(d)
    seen = []
    for _ in range(2):
        X = rng.standard_normal((n, d)) * np.sqrt(s / d)
        values, vectors = np.linalg.eigh(X.T @ X / delta)
        values = np.maximum(values, 0.0)
        metric, targets = (vectors.T * s) @ vectors, (vectors.T * size**2) @ vectors
        for t in T:
            left = np.exp(-values * t)
            gain = np.where(values > 1e-12, -np.expm1(-values * t) / np.maximum(values, 1e-12), t)
            bias = np.sum(np.outer(left, left) * metric * targets) / d
            noise = sigma**2 * np.sum(gain**2 * values * np.diag(metric)) / d / delta
            seen.append(bias + noise + sigma**2)
    seen = np.reshape(seen, (2, len(T)))
    scatter = np.abs(seen[0] - seen[1])
    assert test == pytest.approx(np.mean(seen, axis=0), abs=float(4 * np.max(scatter) + 2e-3))
    assert train[0] == pytest.approx(task.signal + sigma**2, rel=1e-10)


def test_training_errors_of_a_linear_model_are_averages_over_its_spectral_measure():
    """Another way: densities on the axis, where κ is a root of a cubic; 4,000 points leave 1e-3."""
    task, delta, t = df.Task(0.6, 0.3, df.Gaussian(1.0), spectrum=GROUPS), 0.6, 1.5
    (p, q), (a, b) = GROUPS.shares, GROUPS.values
    x = np.linspace(1e-3, 25.0, 4001)
    z, one = -x, np.ones(len(x))
    # (aκ+z)(bκ+z)(κ-1) + κ(pa(bκ+z) + qb(aκ+z))/δ by powers of κ; its roots are those of the companion matrix
    square, linear, constant = a * b * one, (a + b) * z, z**2
    whole = np.stack([square, linear - square, constant - linear, -constant], axis=-1)
    whole[:, 1] += (p + q) * a * b / delta
    whole[:, 2] += (p * a + q * b) * z / delta
    companion = np.zeros((len(x), 3, 3))
    companion[:, 0] = -whole[:, 1:] / whole[:, :1]
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    roots = np.linalg.eigvals(companion)
    kappa = np.take_along_axis(roots, np.argmax(roots.imag, axis=1)[:, None], axis=1)[:, 0]
    kappa = np.where(kappa.imag > 1e-9, kappa, 0.0)
    along = np.abs(np.imag(sum(w * s * kappa / (z + s * kappa) for w, s in ((p, a), (q, b))))) / np.pi
    noise = np.abs(np.imag(kappa / z)) / np.pi
    found = np.trapezoid(np.exp(-2 * x * t) * (along + 0.09 * noise), x)
    assert lazy_errors(task, df.DiagonalNetwork(1.0), np.array([t]))[0][0] == pytest.approx(found, rel=2e-3)


@pytest.mark.parametrize("spectrum", [GROUPS, POWER], ids=["groups", "power"])
@pytest.mark.parametrize("delta", [0.6, 1.8])
def test_the_lazy_limit_is_the_last_of_its_curve(spectrum, delta):
    task = df.Task(delta, 0.3, df.Bernoulli(0.1), spectrum=spectrum)
    assert lazy_errors(task, df.DiagonalNetwork(1.0), np.array([1e7]))[1][0] == pytest.approx(
        lazy_limit(task), rel=1e-6
    )
    data = df.data.training_data(task, d=600)
    w = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    assert lazy_size(task) == pytest.approx(np.sqrt(np.mean(w**2)), rel=0.1)


def test_groups_are_learnt_in_their_own_time():
    """The share of a target that is learnt: all of it with many data, 1 - e^(-st) with infinitely many."""
    law = df.Task(1e6, 0.0, df.Gaussian(1.0), spectrum=GROUPS).law
    assert learnt(law, 1e6, 4.0, 0.3) == pytest.approx(-np.expm1(-1.2), rel=1e-5)
    assert half_time(law, 1e6, 4.0) == pytest.approx(np.log(2) / 4, rel=1e-5)
    found = df.phases(df.Task(0.6, 0.1, df.Bernoulli(0.1), spectrum=GROUPS), df.DiagonalNetwork(10.0, 0.2))
    fast, slow = found.groups
    assert (fast.variance, slow.variance) == (4.0, 0.25)
    assert 5 < slow.time / fast.time < 40
    assert "features of variance 0.25" in repr(found)
    small = df.phases(df.Task(0.6, 0.1, df.Bernoulli(0.1), spectrum=GROUPS), df.DiagonalNetwork(0.01))
    assert small.groups[0].time < small.groups[1].time / 10


NETS = {
    "lasso": (0.6, df.DiagonalNetwork(0.3, 0.05), df.data.PowerLaw(1.2, 20.0, source=0.6)),
    "depth 3": (0.6, df.DiagonalNetwork(0.4, depth=3), df.data.PowerLaw(1.2, 20.0, source=0.6)),
    "least squares": (1.8, df.DiagonalNetwork(0.5), GROUPS),
}


@pytest.mark.parametrize("name", NETS)
def test_fixed_points_and_rates_are_those_of_finite_networks(name):
    """d = 400, five data sets; four standard errors and 1/d, and d^(-2/3) for edges of spectra.

    Depth 2 is compared with message passing in `tests/endpoints/test_spectra.py`.
    """
    delta, net, spectrum = NETS[name]
    task = df.Task(delta, 0.3, df.GaussBernoulli(0.2), spectrum=spectrum)
    errors, rates, tops = [], [], []
    for run in range(5):
        data = df.data.training_data(task, d=400, run=run)
        w = df.endpoints.minimizer(data.X, data.y, net).w
        errors.append(np.mean(data.variance * (w - data.w_star) ** 2) + 0.09)
        kappa = np.abs(w) if net.lam > 0 else np.asarray(net.slope_of_weight(w))
        values = np.linalg.svd(data.X * np.sqrt(kappa), compute_uv=False) ** 2 / delta
        rates.append(values[-1])
        tops.append(values[0])
    point, rate = df.fixed_point(task, net), df.convergence_rate(task, net)
    error = np.std(errors, ddof=1) / np.sqrt(5)
    assert point.test_error == pytest.approx(np.mean(errors), abs=4 * error + 0.01 * point.test_error)
    assert rate.largest(400) == pytest.approx(
        np.mean(tops), rel=4 * np.std(tops, ddof=1) / np.mean(tops) / np.sqrt(5) + 0.15
    )
    if net.lam == 0:
        assert rate.gamma == pytest.approx(np.mean(rates), rel=0.12)


def lasso_by_quadrature(law, prior, delta, sigma, lam, tau, theta):
    """Residuals of both equations of the lasso, by adaptive quadrature over ranks and closed forms over G."""
    first, power = law.at(np.ones(1)), law.source - 1 + 1 / law.exponent

    def at(rank):
        s, size = first[0][0] * rank**-law.exponent, first[1][0] * rank ** (-0.5 * law.exponent * power)
        noise, cut = tau / np.sqrt(s), theta / s
        active, error = 0.0, 0.0
        for p, m in zip(prior.weight, prior.mean * size, strict=True):
            a, b = (cut - m) / noise, (cut + m) / noise
            up, down = ndtr(-a), ndtr(-b)
            pdf = [np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) for x in (a, b)]
            active += p * (up + down)
            error += (
                p
                * s
                * (
                    (noise**2 + cut**2) * (up + down)
                    + noise**2 * (a * pdf[0] + b * pdf[1])
                    - 2 * cut * noise * (pdf[0] + pdf[1])
                    + m**2 * (1 - up - down)
                )
            )
        return active, error

    parts = [
        quad(lambda r, i=i: at(r)[i], 1, law.cutoff, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for i in (0, 1)
    ]
    active, error = (part / (law.cutoff - 1) for part in parts)
    return error + sigma**2 - delta * tau**2, 1 - active / delta - lam / theta


def check_random_law(seed, atoms=3):
    rng = np.random.default_rng(seed)
    law = df.data.PowerLaw(rng.uniform(0.8, 2.0), rng.uniform(10, 300), source=rng.uniform(0.3, 1.5))
    prior = df.Discrete(rng.normal(size=atoms), rng.dirichlet(np.ones(atoms)))
    delta, sigma, lam = rng.uniform(0.3, 2.0), rng.uniform(0.1, 0.5), rng.uniform(0.02, 0.3)
    found = df.fixed_point(df.Task(delta, sigma, prior, spectrum=law), df.DiagonalNetwork(1.0, lam))
    left = lasso_by_quadrature(law, prior.components, delta, sigma, lam, found.tau, found.threshold)
    assert np.max(np.abs(left)) < 1e-8, seed


def test_random_joint_laws_solve_the_equations_to_1e_8():
    """Two atoms, as many as other tests have: so they run the same programs."""
    for seed in range(8):
        check_random_law(seed, atoms=2)


@pytest.mark.slow
def test_more_random_joint_laws():
    for seed in range(20, 220):
        check_random_law(seed)


def test_many_pairs_are_those_few_that_they_repeat():
    """Many begin with fewer nodes, and at the smaller α take more; variances differ, or are joined."""
    variances, targets = np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, -0.7])
    repeated = np.tile(variances, 100) * (1 + 1e-13 * (np.arange(300) - 149.5))
    few = df.data.Spectrum.empirical(variances, targets)
    many = df.data.Spectrum.empirical(repeated, np.tile(targets, 100))
    net = df.DiagonalNetwork(np.array([0.5, 1e-4]))
    ends = [df.fixed_point(df.Task(0.5, 0.1, spectrum=spectrum), net) for spectrum in (few, many)]
    assert [len(end[0].law().mixture.weight) for end in ends] == [3, 300]
    for name in ("test_error", "R_w"):
        assert getattr(ends[1], name) == pytest.approx(getattr(ends[0], name), rel=1e-10), name


def test_units():
    """s → cs with α, λ, σ, w* as they are is t → t/c, and λ → λ/c, σ → σ/√c elsewhere."""
    base = df.Task(0.6, 0.3, df.Bernoulli(0.1), spectrum=GROUPS)
    scaled = df.Task(
        0.6, 0.3 * 2.0, df.Bernoulli(0.1), spectrum=df.data.Spectrum.groups([(0.2, 16.0), (0.8, 1.0)])
    )
    for lam in (0.0, 0.05):
        a = df.fixed_point(base, df.DiagonalNetwork(0.3, lam)).test_error
        b = df.fixed_point(scaled, df.DiagonalNetwork(0.3, 4.0 * lam)).test_error
        assert b == pytest.approx(4.0 * a, rel=1e-9)
    a, b = (df.convergence_rate(task, df.DiagonalNetwork(0.3)).gamma for task in (base, scaled))
    assert b == pytest.approx(4.0 * a, rel=1e-9)
    a = lazy_errors(base, df.DiagonalNetwork(1.0), 4.0 * T)[1]
    b = lazy_errors(scaled, df.DiagonalNetwork(1.0), T)[1]
    assert b == pytest.approx(4.0 * a, rel=1e-9)


def test_rates_of_large_alpha_are_those_of_the_linear_model():
    """Corrections are of order w²/α⁴."""
    for delta in (0.5, 2.0):
        task = df.Task(delta, 0.3, df.Bernoulli(0.1), spectrum=POWER)
        rate = df.convergence_rate(task, df.DiagonalNetwork(30.0, depth=3))
        assert rate.gamma == pytest.approx(rate.large_alpha, rel=1e-8)


def panels(levels=48, nodes=12):
    """Gauss panels on [0, 1], each half as long as the next one: good at 0 on all scales."""
    x, weight = np.polynomial.legendre.leggauss(nodes)
    edges = np.concatenate([[0.0], 2.0 ** -np.arange(levels, -1, -1.0)])
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1 + x)).ravel(), (half * weight).ravel()


def rate_without_signal(law, delta, sigma, alpha):
    """γ at depth 2 for δ > 1 and w* = 0, by panels: w ~ N(0, σ²/((δ-1)s)), κ = (w² + α⁴)^½."""
    place, weight = panels()
    away = np.log(law.cutoff) * place
    share = weight * np.log(law.cutoff) * np.exp(-away) * law.cutoff / (law.cutoff - 1)
    above = np.expm1(law.exponent * away)  # s over the smallest one, less one
    lowest = law.mean / np.sum(share * (1 + above))
    w = 9.0 * place * (sigma / np.sqrt((delta - 1) * lowest * (1 + above)))[:, None]
    mass = share[:, None] * 9.0 * weight * np.exp(-0.5 * (9.0 * place) ** 2) * np.sqrt(2 / np.pi)
    steep = np.expm1(0.5 * np.log1p((w / alpha**2) ** 2))
    gap = (above[:, None] + steep * (1 + above[:, None])).ravel()  # slopes over the smallest one, less one

    def pull(log_distance):
        return np.expm1(log_distance) / -(gap + np.exp(log_distance))

    def rise(log_distance):
        value = pull(log_distance)
        return np.log(np.sum(mass.ravel() * value * (2 + value)) / (delta - 1))

    log_distance = brentq(rise, -34.0, -1e-6, xtol=1e-13)
    smallest = -np.expm1(log_distance) * alpha**2 * lowest
    return smallest * (1 - np.sum(mass.ravel() * pull(log_distance)) / (delta - 1)) * (delta - 1) / delta


@pytest.mark.parametrize(
    ("law", "delta", "alpha"),
    [(df.data.PowerLaw(1.5), 1.8, 0.02), (df.data.PowerLaw(3.0, 1e4), 5.0, 2.0), (POWER, 1.05, 0.5)],
    ids=["close to the edge", "steep", "close to the threshold"],
)
def test_rates_at_the_edge_of_a_spectrum_by_other_quadrature(law, delta, alpha):
    """Found wrong in the sixth digit: the smallest slopes lie at the edge of the variances. In α as well."""
    task = df.Task(delta, 0.3, df.Bernoulli(0.0), spectrum=law)
    rate = df.convergence_rate(task, df.DiagonalNetwork(alpha))
    assert rate.gamma == pytest.approx(rate_without_signal(law, delta, 0.3, alpha), rel=1e-11)
    step = 1e-4 * alpha
    up, down = (rate_without_signal(law, delta, 0.3, alpha + sign * step) for sign in (1, -1))
    slope = (up - down) / (2 * step)
    assert rate.dgamma_dalpha == pytest.approx(slope, rel=1e-6)  # differences are of second order
