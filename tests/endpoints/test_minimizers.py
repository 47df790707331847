"""Endpoints of given data: conditions of the minimum, other solvers, the end of training."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import dynafield as df

NET = df.DiagonalNetwork


def data_of(n, d, seed=0, sigma=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    w_star = rng.permutation(np.repeat([1.0, 0.0], [d // 10, d - d // 10]))
    return X, X @ w_star + sigma * rng.standard_normal(n), w_star


def mirror_of(w, alpha, depth):
    """Φ(w) from the definition of the network, by bisection in log(u/v): u^L - v^L = L w."""
    if depth == 2:
        return np.arcsinh(w / alpha**2)
    m = depth - 2
    low, high = np.zeros_like(w), np.full_like(w, 200.0)
    for _ in range(200):
        q = 0.5 * (low + high)
        u, v = (alpha * (0.5 * (1 + np.exp(sign * m * q / depth))) ** (1 / m) for sign in (1, -1))
        bigger = (u**depth - v**depth) / depth > np.abs(w)
        low, high = np.where(bigger, low, q), np.where(bigger, q, high)
    u = alpha * (0.5 * (1 + np.exp(m * q / depth))) ** (1 / m)
    return np.sign(w) * 2 / m * (alpha**-m - u**-m)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 0.5, 1e3])
def test_depth_two_interpolation_is_stationary_to_the_last_digits(alpha):
    X, y, _ = data_of(60, 120)
    found = df.endpoints.minimizer(X, y, NET(alpha))
    assert found.case == "interpolating"
    assert found.residual < 1e-14
    assert found.gap < 1e-13
    dual = mirror_of(found.w, alpha, 2)
    outside = dual - X.T @ np.linalg.lstsq(X.T, dual)[0]
    # asinh(w/α²) of rounded weights: relative rounding of w where it is flat
    assert np.linalg.norm(outside) < 1e-10 * np.linalg.norm(dual)
    assert np.linalg.norm(X @ found.w - y) < 1e-13 * np.linalg.norm(y)


@pytest.mark.parametrize(("alpha", "depth"), [(0.5, 3), (1e-2, 3), (1e-4, 3), (0.3, 5), (1e-2, 5), (0.1, 10)])
def test_deep_interpolation_is_stationary(alpha, depth):
    X, y, _ = data_of(60, 120)
    found = df.endpoints.minimizer(X, y, NET(alpha, depth=depth))
    assert found.residual < 1e-13
    assert found.gap < 3e-14
    dual = mirror_of(found.w, alpha, depth)
    outside = dual - X.T @ np.linalg.lstsq(X.T, dual)[0]
    assert np.linalg.norm(outside) < 1e-12 * np.linalg.norm(dual)


@pytest.mark.parametrize(("n", "d"), [(60, 120), (120, 60)])
@pytest.mark.parametrize("lam", [1e-6, 1e-3, 0.1, 1.0])
def test_lasso_conditions_and_gap(n, d, lam):
    X, y, _ = data_of(n, d)
    found = df.endpoints.minimizer(X, y, NET(1.0, lam))
    pull = X.T @ (y - X @ found.w) * d / n
    active = found.w != 0
    assert np.max(np.abs(pull[active] - lam * np.sign(found.w[active])), initial=0) < 1e-8 * lam
    assert np.max(np.abs(pull[~active]), initial=0) <= lam * (1 + 1e-8)
    assert 0 <= found.gap + 1e-12 < 1e-8
    assert found.residual < 1e-8


def test_lasso_is_scikit_learns_where_that_converges():
    X, y, _ = data_of(100, 150)
    w = Lasso(alpha=0.2 / 150, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y).coef_
    np.testing.assert_allclose(df.endpoints.minimizer(X, y, NET(1.0, 0.2)).w, w, atol=1e-9)


def test_a_path_of_penalties_is_its_single_problems():
    X, y, _ = data_of(60, 120)
    lams = np.array([0.3, 1e-3, 0.05])
    path = df.endpoints.minimizer(X, y, NET(1.0, lams))
    assert path.w.shape == (3, 120)
    for lam, w in zip(lams, path.w, strict=True):
        np.testing.assert_allclose(w, df.endpoints.minimizer(X, y, NET(1.0, lam)).w, atol=1e-10)
    assert np.all(df.endpoints.minimizer(X, y, NET(1.0, 1e3)).w == 0)


@pytest.mark.parametrize("share", [0.1, 1e-2, 1e-4])
def test_lasso_with_equal_and_opposite_columns_satisfies_its_conditions(share):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = (2.0 * rng.integers(0, 2, (6, 60)) - 1.0) / np.sqrt(60)  # at most 32 differ
        y = X[:, :3] @ [1.0, -1.0, 2.0] + 0.1 * rng.standard_normal(6)
        largest = np.max(np.abs(X.T @ y)) * 10
        assert df.endpoints.minimizer(X, y, NET(1.0, share * largest)).residual < 1e-8


def test_least_squares():
    X, y, _ = data_of(120, 60)
    found = df.endpoints.minimizer(X, y, NET(0.3))
    assert found.case == "ridgeless"
    np.testing.assert_allclose(found.w, np.linalg.lstsq(X, y)[0], rtol=1e-9, atol=1e-12)


def test_interpolation_runs_from_least_norm_to_basis_pursuit():
    """α → ∞ is the pseudo-inverse; α → 0 the least 1-norm: n weights, the others like α^L."""
    X, y, _ = data_of(40, 80)
    np.testing.assert_allclose(df.endpoints.minimizer(X, y, NET(1e3)).w, np.linalg.pinv(X) @ y, atol=1e-9)
    pursuit = df.endpoints.basis_pursuit(X, y)
    assert pursuit.residual < 1e-13
    assert pursuit.gap < 1e-8
    one, half = (
        np.linalg.norm(df.endpoints.minimizer(X, y, NET(a, depth=3)).w - pursuit.w) for a in (1e-4, 5e-5)
    )
    assert one < 1e-5
    assert one / half == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize(
    ("n", "net", "end"),
    [(20, NET(0.5), 1e3), (20, NET(0.5, depth=3), 2e3), (60, NET(0.5), 4e3), (20, NET(2.0, 0.3), 1e5)],
)
def test_training_ends_at_the_minimizer(n, net, end):
    X = data_of(n, 40, seed=2)[0]
    task = df.Task(n / 40, 0.1, df.Bernoulli(0.1))
    runs = df.simulate(
        task,
        net,
        end,
        inputs=X,
        runs=1,
        t_eval=[0.0, end],
        residuals=True,
        weights=True,
        tol=1e-8,
    )
    labels = X @ runs.weights[0, 0] - runs.residuals[0, 0]
    limit = df.endpoints.minimizer(X, labels, net).w
    # with λ > 0 the end is approached like a power of t: 1e-6 needs t = 1e5
    assert np.linalg.norm(runs.w[0] - limit) < 1e-6 * np.linalg.norm(limit)


@pytest.mark.parametrize("delta", [0.5, 2.0])
@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_finite_minimizers_have_the_errors_of_the_theory(delta, lam):
    """Mean of 10 data sets at d = 400 within 4 standard errors."""
    task, net = df.Task(delta, 0.1, df.Bernoulli(0.1)), NET(0.3, lam)
    errors = []
    for seed in range(10):
        X, y, w_star = data_of(round(400 * delta), 400, seed=100 + seed)
        errors.append(np.mean((df.endpoints.minimizer(X, y, net).w - w_star) ** 2))
    theory = df.fixed_point(task, net).C_w
    assert abs(np.mean(errors) - theory) < 4 * np.std(errors, ddof=1) / np.sqrt(10)


X, Y, _ = data_of(10, 20)
BAD = [
    (lambda: df.endpoints.minimizer(X, Y[:-1], NET(1.0)), "y must have one entry for each of the 10 rows"),
    (lambda: df.endpoints.minimizer(X * np.nan, Y, NET(1.0)), "X must be finite"),
    (lambda: df.endpoints.minimizer(X, Y * np.inf, NET(1.0)), "y must be"),
    (lambda: df.endpoints.minimizer(X[:1], Y[:1], NET(1.0)), "n ≥ 2 rows, got 1"),
    (lambda: df.endpoints.minimizer(X[:, :0], Y, NET(1.0)), "matrix with rows and columns"),
    (
        lambda: df.endpoints.minimizer(np.vstack([X, X[:1]]), np.append(Y, 0.0), NET(1.0)),
        "full rank 11, got rank 10: interpolation",
    ),
    (
        lambda: df.endpoints.minimizer(np.hstack([X.T, X.T[:, :1]]), np.ones(20), NET(1.0)),
        "rank 11, got rank 10: least squares",
    ),
    (lambda: df.endpoints.minimizer(X, Y, NET(1.0, 0.1, 3)), "lam must be 0 at depth 3"),
    (
        lambda: df.endpoints.minimizer(X, Y, NET(1.0, np.array([0.0, 0.1]))),
        "lam must be 0 for all or > 0 for all",
    ),
    (
        lambda: df.endpoints.minimizer(X, Y, df.models.TruncatedDiagonalNetwork(1.0)),
        "net must be a DiagonalNetwork",
    ),
    (lambda: df.endpoints.basis_pursuit(X.T, np.ones(20)), "at most as many rows as columns"),
    (lambda: df.endpoints.basis_pursuit("X", Y), "X must be a real matrix"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_data_are_refused(call, message):
    with pytest.raises(df.InputError, match=message):
        call()


def test_a_minimizer_prints_itself():
    assert "interpolating" in repr(df.endpoints.minimizer(X, Y, NET(1.0)))
    assert "20 of 20 not zero" in df.endpoints.minimizer(X, Y, NET(1.0))._repr_html_()
