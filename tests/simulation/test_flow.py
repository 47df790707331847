"""Gradient flow against an independent integrator, exact solutions and the theory."""

import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import dynafield as df
from dynafield.simulation.data import reduce_rows
from dynafield.simulation.flow import HOPELESS, MOST_STEPS, PACE, hopeless, integrate

NET, CUT = df.DiagonalNetwork, df.models.TruncatedDiagonalNetwork
SIGNED = df.Discrete([-1.0, 0.0, 1.0], [0.1, 0.7, 0.2])
CASES = [
    (0.5, NET(0.5), 50.0),
    (0.5, NET(1e-3), 100.0),
    (0.5, NET(10.0, 0.1), 100.0),
    (2.0, NET(5.0, 0.5), 30.0),
    (0.5, NET(0.8, 0.05, 3), 40.0),
    (1.5, NET(2.0, 0.1, 4), 20.0),
    (0.5, NET(0.1, 0.0, 3), 200.0),
    (0.5, CUT(0.5, 0.0, 2, M=0.5), 40.0),
    (0.5, CUT(0.7, 0.02, 3, M=0.3), 40.0),
]


def data_of(delta, d=20, seed=3):
    rng = np.random.default_rng(seed)
    n = round(delta * d)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    w_star = rng.permutation(np.repeat([-1.0, 0.0, 1.0], [2, d - 6, 4]))
    return X, X @ w_star + 0.1 * rng.standard_normal(n)


def radau(X, y, u, v, net, t):
    """The flow of (u, v) themselves, from the definition, by SciPy."""
    (n, d), L = X.shape, net.depth

    def weights(u, v):
        return (net.truncation(u**L)[0] - net.truncation(v**L)[0]) / L

    def slope(_, x):
        u, v = x[:d], x[d:]
        g = X.T @ (X @ weights(u, v) - y) * d / n
        u_cut, v_cut = net.truncation(u**L)[1], net.truncation(v**L)[1]
        return -0.5 * np.concatenate(
            [net.lam * u + u ** (L - 1) * g * u_cut, net.lam * v - v ** (L - 1) * g * v_cut]
        )

    square = X.T @ X * d / n

    def bend(_, x):  # of use to the integrator, which solves for its steps with it: it changes no result
        u, v = x[:d], x[d:]
        g = X.T @ (X @ weights(u, v) - y) * d / n
        (_, u_cut, u_bend), (_, v_cut, v_bend) = net.truncation(u**L), net.truncation(v**L)
        a, b = u ** (L - 1) * u_cut, v ** (L - 1) * v_cut
        own = [
            net.lam + sign * g * ((L - 1) * z ** (L - 2) * cut + L * z ** (2 * L - 2) * bent)
            for sign, z, cut, bent in ((1, u, u_cut, u_bend), (-1, v, v_cut, v_bend))
        ]
        both = np.concatenate([a, -b])
        return -0.5 * (np.diag(np.concatenate(own)) + np.outer(both, both) * np.tile(square, (2, 2)))

    start = np.concatenate([u, v])
    done = solve_ivp(slope, (0, t[-1]), start, method="Radau", t_eval=t, jac=bend, rtol=1e-9, atol=1e-13)
    return weights(done.y[:d].T, done.y[d:].T)


def flow(X, y, u, v, net, t, tol=1e-6, forms=(True, False)):
    """Weights at all times, by rows as they are given and made orthogonal."""
    out = np.empty((len(forms), len(t), X.shape[1]))

    for form, orthogonal in enumerate(forms):

        def keep(_, which, w, squares, form=form):
            out[form, which] = w

        reduced = reduce_rows(X, y, orthogonal)
        failed = integrate(
            net,
            np.array([net.lam]),
            u[None],
            v[None],
            reduced,
            len(X) / X.shape[1],
            tol,
            t,
            keep,
            lambda share: None,
        )
        assert not failed
    return out


def gap(w, reference):
    return np.max(np.linalg.norm(w - reference, axis=-1) / np.linalg.norm(reference, axis=-1))


@pytest.mark.parametrize(("delta", "net", "end"), CASES, ids=lambda x: str(getattr(x, "alpha", x)))
def test_the_flow_is_that_of_u_and_v(delta, net, end):
    """To the tolerance asked for: 1e-6, and a few times that where deep networks jump."""
    X, y = data_of(delta)
    t = np.geomspace(1e-4 * end, end, 25)
    start = np.full(X.shape[1], net.alpha)
    reference = radau(X, y, start, start, net, t)
    assert gap(flow(X, y, start, start, net, t), reference) < (1.5e-6 if net.depth == 2 else 6e-6)


def test_a_smaller_tolerance_is_met_in_proportion():
    X, y = data_of(0.5)
    net, t = NET(0.05), np.geomspace(0.01, 100, 20)
    start = np.full(20, 0.05)
    exact = flow(X, y, start, start, net, t, 1e-10, [True])
    errors = [gap(flow(X, y, start, start, net, t, tol, [True]), exact) for tol in (1e-3, 1e-5, 1e-7)]
    for error, tol in zip(errors, (1e-3, 1e-5, 1e-7), strict=True):
        assert 0.01 * tol < error < 3 * tol


@pytest.mark.parametrize("depth", [2, 3])
def test_layers_of_any_sign_and_zero(depth):
    X, y = data_of(0.5)
    rng = np.random.default_rng(0)
    u, v = rng.normal(0.3, 0.5, 20), rng.normal(0.3, 0.5, 20)
    u[:3], v[2:5] = 0.0, 0.0
    t = np.geomspace(1e-2, 30, 10)
    reference = radau(X, y, u, v, NET(1.0, 0.02, depth), t)
    assert gap(flow(X, y, u, v, NET(1.0, 0.02, depth), t), reference) < 2e-6


def test_lazy_training_is_linear_regression():
    """For α → ∞ the weights follow w' = -α² XᵀX(w - ŵ)/δ: an exact solution, up to 1/α⁴."""
    X, y = data_of(0.5)
    alpha = 300.0
    t = np.geomspace(0.01, 50, 15) / alpha**2
    start = np.full(20, alpha)
    values, vectors = scipy.linalg.eigh(X @ X.T / 0.5)
    modes = -np.expm1(-(alpha**2) * t[:, None] * values) / values
    exact = (modes * (vectors.T @ y)) @ vectors.T @ X / 0.5
    assert gap(flow(X, y, start, start, NET(alpha), t), exact) < 2e-6


def test_truncation_is_silent_inside_and_felt_outside(sparse):
    plain = df.simulate(sparse, NET(0.3), 20.0, d=40, runs=2)
    wide = df.simulate(sparse, CUT(0.3, M=5.0), 20.0, d=40, runs=2)
    tight = df.simulate(sparse, CUT(0.3, M=0.5), 20.0, d=40, runs=2)
    assert np.array_equal(plain.w, wide.w)
    assert np.max(np.abs(plain.w)) > 0.6
    assert np.max(np.abs(tight.w)) < 0.5 * 1.5
    assert np.max(np.abs(tight.w - plain.w)) > 0.1


@pytest.mark.parametrize(
    ("net", "end"),
    [
        (NET(0.5), 300.0),
        pytest.param(NET(0.7, 0.0, 3), 300.0, marks=pytest.mark.slow),
        pytest.param(NET(3.0, 0.2), 300.0, marks=pytest.mark.slow),
    ],
)
def test_training_ends_where_the_theory_says(sparse, net, end):
    """Test error at d = 400 within 4 standard errors of 12 runs (a chance of 1e-4, at a fixed seed)."""
    theory = df.fixed_point(sparse, net)
    runs = df.simulate(sparse, net, end, d=400, runs=12, seed=5, t_eval=[end], tol=1e-4)
    error = runs.mean("test_error")[-1] - theory.test_error
    assert abs(error) < 4 * runs.standard_error("test_error")[-1]
    assert runs.standard_error("test_error")[-1] < 0.07 * theory.test_error


def test_the_loss_falls_at_the_predicted_rate(sparse):
    """Slope of log E_train between t = 60 and 120 is -2γ, up to a power of t, t^(-3) at most."""
    net = NET(0.5)
    gamma = df.convergence_rate(sparse, net).gamma
    runs = df.simulate(sparse, net, 120.0, d=400, runs=6, t_eval=[60.0, 120.0])
    slope = np.diff(np.log(runs.mean("train_error")))[0] / 60.0
    assert -2 * gamma - 3 * np.log(2) / 60 * 1.2 < slope < -2 * gamma * 0.9


def test_a_sweep_is_its_single_runs(sparse):
    """Networks trained together do not see each other: each agrees with its own run to the tolerance."""
    alphas, lams = np.array([0.05, 1.0, 8.0]), np.array([[0.0], [0.1]])
    t = [1.0, 10.0]
    sweep = df.simulate(sparse, NET(alphas, lams), 10.0, d=40, runs=2, t_eval=t, weights=True)
    assert sweep.test_error.shape == (2, 3, 2, 2)
    for i, lam in enumerate([0.0, 0.1]):
        for j, alpha in enumerate(alphas):
            one = df.simulate(sparse, NET(alpha, lam), 10.0, d=40, runs=2, t_eval=t, weights=True)
            assert gap(sweep.weights[i, j], one.weights) < 2e-6


def test_a_network_is_given_up_when_the_end_is_out_of_reach():
    """From t = 1 to 2 in the last steps, the limit on all steps, and ten times that, reach t = 502."""
    before, now = np.ones(2), np.array([2.0, 1.5])
    most = 2.0 + HOPELESS * MOST_STEPS / PACE
    assert hopeless(before, now, most).tolist() == [False, True]
    assert hopeless(before, now, 1.001 * most).tolist() == [True, True]
