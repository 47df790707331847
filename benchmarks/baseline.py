"""Fixed points and rates as one would write them with SciPy: `quad` inside `brentq`.

The fair baseline of the timings, and the independent reference of the tests. Fair means:
averages over the limit law run along the curve of the network (u, v), so that no equation
is solved inside an integrand; kinks and peaks are given to `quad` as break points; brackets
are tight; scalar mathematics uses `math`. Everything is written from the definitions, in a
parametrization of its own (q = log(u/v)).
"""

import itertools
import math

from scipy.integrate import quad
from scipy.optimize import brentq

ROOT = dict(xtol=1e-14, rtol=1e-13)
QUAD = dict(epsabs=0.0, epsrel=1e-11, limit=400)
REACH = 9.0


def network(alpha, depth, q):
    """w, Φ, κ and dΦ/dq of the pair (u, v) with log(u/v) = q, from the conserved quantity."""
    if depth == 2:
        return alpha**2 * math.sinh(q), q, alpha**2 * math.cosh(q), 1.0
    m = depth - 2
    u = alpha * (0.5 * (1 + math.exp(m * q))) ** (1 / m)
    v = alpha * (0.5 * (1 + math.exp(-m * q))) ** (1 / m)
    w = (u**depth - v**depth) / depth
    kappa = 0.5 * (u ** (2 * depth - 2) + v ** (2 * depth - 2))
    scale = alpha ** (2 - depth)
    return w, 2 * scale / m * math.tanh(0.5 * m * q), kappa, scale / math.cosh(0.5 * m * q) ** 2


def place(alpha, depth, response, y):
    """q with w + R_w Φ = y."""
    top = 1.0
    while sum_at(alpha, depth, response, top) < abs(y):
        top *= 1.5
    q = brentq(lambda q: sum_at(alpha, depth, response, q) - abs(y), 0.0, top, **ROOT)
    return math.copysign(q, y)


def sum_at(alpha, depth, response, q):
    w, dual, _, _ = network(alpha, depth, q)
    return w + response * dual


def average(function, alpha, depth, response, mean, width, marks=()):
    """E[function(w, Φ, κ, y)] for y = w + R_w Φ ~ N(mean, width²), along the curve."""
    if width == 0:
        q = place(alpha, depth, response, mean)
        w, dual, kappa, _ = network(alpha, depth, q)
        return function(w, dual, kappa, mean)

    def integrand(q):
        w, dual, kappa, speed = network(alpha, depth, q)
        y = w + response * dual
        x = (y - mean) / width
        density = math.exp(-0.5 * x * x) / (width * math.sqrt(2 * math.pi))
        return function(w, dual, kappa, y) * density * (kappa + response) * speed

    grid = [mean + x * width for x in (-REACH, -4.5, -1.5, 0.0, 1.5, 4.5, REACH)]
    edges = sorted({place(alpha, depth, response, y) for y in grid})
    edges = sorted({*edges, *(m for m in marks if edges[0] < m < edges[-1])})
    # long flat stretches hide the bend at their end from quad: cut them
    cuts = [edges[0]]
    for a, b in itertools.pairwise(edges):
        pieces = max(1, math.ceil((b - a) / 6.0))
        cuts += [a + (b - a) * (k + 1) / pieces for k in range(pieces)]
    return math.fsum(quad(integrand, a, b, **QUAD)[0] for a, b in itertools.pairwise(cuts))


def over_prior(prior, tau, one):
    """Σ weight · one(mean, std, width) over the components."""
    return math.fsum(
        p * one(m, s, math.hypot(s, tau)) for p, m, s in zip(*prior.mixture(), strict=True) if p > 0
    )


def weight_error(prior, alpha, depth, tau, response):
    """C_w of the interpolating law."""

    def one(m, s, t):
        def square(w, dual, kappa, y):
            noise = (tau / t) ** 2 * (y - m) if t else 0.0
            return (noise - response * dual) ** 2

        return average(square, alpha, depth, response, m, t) + (s * tau / t) ** 2

    return over_prior(prior, tau, one)


def active(prior, alpha, depth, tau, response):
    """E[κ/(κ + R_w)]."""

    def one(m, s, t):
        return average(lambda w, dual, kappa, y: kappa / (kappa + response), alpha, depth, response, m, t)

    return over_prior(prior, tau, one)


def log_noise(balance, delta, sigma, prior):
    """log τ at which the balance vanishes, bracketed from the noise of an untrained network."""
    untrained = 0.5 * math.log((prior.second_moment + sigma**2) / delta)
    low, high = untrained - 1.0, untrained + 0.5
    while balance(low) < 0:
        low -= 2.0
    while balance(high) > 0:
        high += 2.0
    return brentq(balance, low, high, **ROOT)


def interpolating(delta, sigma, prior, alpha, depth=2):
    """(C_w, R_w, τ) of case (iii): brentq for R_w inside brentq for τ."""
    _, _, floor, _ = network(alpha, depth, 0.0)

    def response_at(tau):
        far = max(abs(m) + REACH * math.hypot(s, tau) for _, m, s in zip(*prior.mixture(), strict=True))
        _, _, roof, _ = network(alpha, depth, place(alpha, depth, 0.0, far))
        low, high = (math.log(k * (1 - delta) / delta) for k in (floor, roof))
        return math.exp(
            brentq(
                lambda r: active(prior, alpha, depth, tau, math.exp(r)) - delta, low - 0.1, high + 0.1, **ROOT
            )
        )

    def balance(z):
        tau = math.exp(z)
        return math.log((weight_error(prior, alpha, depth, tau, response_at(tau)) + sigma**2) / delta) - 2 * z

    tau = math.exp(log_noise(balance, delta, sigma, prior))
    response = response_at(tau)
    return weight_error(prior, alpha, depth, tau, response), response, tau


def regularized(delta, sigma, prior, lam):
    """(C_w, χ_w, τ) of case (i): brentq for θ inside brentq for τ."""

    def gaussian(function, kinks):
        cuts = [-REACH, -3.0, 0.0, 3.0, REACH, *(k for k in kinks if -REACH < k < REACH)]
        cuts = sorted(set(cuts))

        def weighted(g):
            return function(g) * math.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)

        return math.fsum(
            quad(weighted, a, b, **QUAD | dict(epsabs=1e-300))[0] for a, b in itertools.pairwise(cuts)
        )

    def passing(tau, theta):
        def one(m, s, t):
            return 0.5 * (
                math.erfc((theta - m) / t / math.sqrt(2)) + math.erfc((theta + m) / t / math.sqrt(2))
            )

        return over_prior(prior, tau, one)

    def error(tau, theta):
        def one(m, s, t):
            def square(g):
                y = m + t * g
                if abs(y) > theta:
                    return ((tau**2 / t) * g - math.copysign(theta, y)) ** 2
                return (m + (s**2 / t) * g) ** 2

            return gaussian(square, ((theta - m) / t, (-theta - m) / t)) + (s * tau / t) ** 2

        return over_prior(prior, tau, one)

    def threshold(tau):
        far = max(abs(m) + REACH * math.hypot(s, tau) for _, m, s in zip(*prior.mixture(), strict=True))
        high = 2 * max(2 * lam, far)
        return brentq(
            lambda theta: theta * (1 - passing(tau, theta) / delta) - lam, lam * (1 - 1e-12), high, **ROOT
        )

    def balance(z):
        tau = math.exp(z)
        return math.log((error(tau, threshold(tau)) + sigma**2) / delta) - 2 * z

    tau = math.exp(log_noise(balance, delta, sigma, prior))
    theta = threshold(tau)
    share = passing(tau, theta) / delta
    return error(tau, theta), share / (1 - share) if share < 0.5 else theta / lam - 1, tau


def rate_below(delta, prior, alpha, depth, response, tau):
    """γ for δ < 1, u > 0."""

    def mean(function):
        return over_prior(
            prior,
            tau,
            lambda m, s, t: average(lambda w, d, k, y: function(k), alpha, depth, response, m, t),
        )

    _, _, floor, _ = network(alpha, depth, 0.0)
    far = max(abs(m) + REACH * math.hypot(s, tau) for _, m, s in zip(*prior.mixture(), strict=True))
    _, _, roof, _ = network(alpha, depth, place(alpha, depth, 0.0, far))
    low, high = (math.log(k * (1 / math.sqrt(delta) - 1)) for k in (floor, roof))

    def closure(x):
        u = math.exp(x)
        return mean(lambda k: (k / (u + k)) ** 2) - delta

    u = math.exp(brentq(closure, low - 0.1, high + 0.1, **ROOT))
    return u**2 / delta * mean(lambda k: k / (u + k) ** 2)


def rate_above(delta, sigma, prior, alpha, depth=2):
    """γ for δ > 1: the largest root, u = -(1-ε) κ(0), found by log ε."""
    tau = sigma / math.sqrt(delta - 1)
    _, _, floor, _ = network(alpha, depth, 0.0)

    def mean(function, eps):
        scales = [math.sqrt(eps) * 10.0**k for k in range(-1, 12) if math.sqrt(eps) * 10.0**k < 3.0]
        marks = [0.0, *scales, *(-s for s in scales)]
        return over_prior(
            prior,
            tau,
            lambda m, s, t: average(lambda w, d, k, y: function(k), alpha, depth, 0.0, m, t, marks),
        )

    def closure(x):
        eps = math.exp(x)
        return mean(lambda k: (k / ((k - floor) + eps * floor)) ** 2, eps) - delta

    eps = math.exp(brentq(closure, -30.0, -0.5 * math.log(delta) + 0.01, **ROOT))
    u = -(1 - eps) * floor
    return u**2 / delta * mean(lambda k: k / ((k - floor) + eps * floor) ** 2, eps)


def fixed_point_and_rate(delta, sigma, prior, alpha, depth=2):
    """What one point of a trade-off curve costs."""
    c_w, response, tau = interpolating(delta, sigma, prior, alpha, depth)
    return c_w, response, rate_below(delta, prior, alpha, depth, response, tau)
