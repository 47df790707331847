"""Finite networks end where the theory says: minimum J interpolation, least squares, lasso."""

import numpy as np
import pytest

import dynafield as df

D, SEEDS = 300, 10


def data(task, seed):
    """Gaussian inputs, and a target with its exact share of each value."""
    rng = np.random.default_rng(seed)
    n = round(task.delta * D)
    x = rng.standard_normal((n, D)) / np.sqrt(D)
    w_star = np.zeros(D)
    w_star[: D // 10] = 1.0
    return x, x @ w_star + task.sigma * rng.standard_normal(n), w_star


def interpolate(x, y, net):
    """w = h(Xᵀν) with Xw = y by damped Newton on the dual; where gradient flow from α ends."""
    nu = np.zeros(len(y))

    def residual(nu):
        return x @ np.asarray(net.mirror(x.T @ nu)) - y

    gap = residual(nu)
    for _ in range(100):
        slope = np.asarray(net.mirror_slope(x.T @ nu))
        step = np.linalg.solve((x * slope) @ x.T, -gap)
        size = 1.0
        while not np.linalg.norm(new := residual(nu + size * step)) < np.linalg.norm(gap):
            size /= 2
            if size < 1e-12:
                return np.asarray(net.mirror(x.T @ nu))
        nu, gap = nu + size * step, new
        if np.linalg.norm(gap) < 1e-12 * np.linalg.norm(y):
            break
    return np.asarray(net.mirror(x.T @ nu))


def soft_thresholding(x, y, lam, delta):
    """The lasso by accelerated proximal gradient on ½|y - Xw|²/δ + λ|w|₁."""
    step = delta / np.linalg.norm(x, 2) ** 2
    w = v = np.zeros(x.shape[1])
    for k in range(600):
        z = v - step * x.T @ (x @ v - y) / delta
        new = np.sign(z) * np.maximum(np.abs(z) - step * lam, 0)
        v, w = new + k / (k + 3) * (new - w), new
    return w


CASES = [
    (df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)),
    (df.Task(0.4, 0.3, df.Bernoulli(0.1)), df.DiagonalNetwork(0.8, depth=5)),
    (df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(1.0, lam=0.1)),
    (df.Task(2.0, 0.3, df.Bernoulli(0.1)), df.DiagonalNetwork(1.0)),
]


@pytest.mark.parametrize(("task", "net"), CASES, ids=["depth 2", "depth 5", "lasso", "least squares"])
def test_endpoint_of_finite_networks(task, net):
    point = df.fixed_point(task, net)
    errors, fits, zeros = [], [], []
    for seed in range(SEEDS):
        x, y, w_star = data(task, seed)
        if point.case == "interpolating":
            w = interpolate(x, y, net)
        elif point.case == "regularized":
            w = soft_thresholding(x, y, net.lam, task.delta)
        else:
            w = np.linalg.lstsq(x, y)[0]
        errors.append(np.mean((w - w_star) ** 2))
        fits.append(np.mean((y - x @ w) ** 2))
        zeros.append(np.mean(w == 0))
    for found, exact in ((errors, point.C_w), (fits, point.train_error), (zeros, point.mass_at_zero)):
        se = np.std(found, ddof=1) / np.sqrt(SEEDS)
        # finite size shifts the mean by O(1/d) of itself; ten seeds make a wide t law, hence 5 se
        assert abs(np.mean(found) - exact) < 5 * se + 3 * exact / D + 1e-12
        assert se < 0.1 * exact + 1e-12  # so that a factor of two could not hide
