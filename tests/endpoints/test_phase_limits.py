"""Limits of training on given data, α → 0 and α → ∞: closed forms, conditions, networks of extreme α."""

import numpy as np
import pytest

import dynafield as df
from dynafield.endpoints.descent_limit import descent_limit
from dynafield.endpoints.rich_limit import rich_limit

TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
DRAWN = df.data.training_data(TASK, 60, seed=3)


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_orthogonal_inputs_jump_when_each_target_has_waited(lam):
    """X = 1: g = w - y, so a coordinate jumps to its soft threshold at s = 2/(|y| - λ)."""
    y = np.array([2.0, -1.0, 0.5, 0.2, -0.7])
    found = descent_limit(np.eye(5), y, lam, np.inf)
    order = np.argsort(-np.abs(y))
    grows = order[np.abs(y[order]) > lam]
    np.testing.assert_allclose(found.s[1:], 2 / (np.abs(y[grows]) - lam), rtol=1e-13)
    end = np.sign(y) * np.maximum(np.abs(y) - lam, 0.0)
    np.testing.assert_allclose(found.w[-1], end, atol=1e-14)
    for k in range(len(grows)):
        assert np.count_nonzero(found.w[k]) == k


def test_equal_targets_jump_together():
    found = descent_limit(np.eye(3), np.ones(3), 0.0, np.inf)
    np.testing.assert_allclose(found.s, [0.0, 2.0, 2.0, 2.0], rtol=1e-14)
    np.testing.assert_allclose(found.at(np.array([1.9, 2.1])), [np.zeros(3), np.ones(3)], atol=1e-14)


@pytest.mark.parametrize("lam", [0.0, 0.2])
def test_the_descent_keeps_its_conditions_and_ends_at_the_minimum(lam):
    X, y = DRAWN.X, DRAWN.y
    found = descent_limit(X, y, lam, np.inf)
    g = (found.w @ X.T - y) @ X / 0.5
    moved = np.cumsum(g[:-1] * np.diff(found.s)[:, None], axis=0)
    edge = 2 + lam * found.s[1:, None]
    assert np.max(np.abs(moved) - edge) < 1e-9
    active = found.w[1:] != 0
    np.testing.assert_allclose(moved[active], (-np.sign(found.w[1:]) * edge)[active], rtol=1e-9)
    np.testing.assert_allclose(g[1:][active], -lam * np.sign(found.w[1:][active]), atol=1e-10)
    if lam == 0:
        assert np.any(active[:-1] & ~active[1:]), "these data have coordinates that become inactive again"
    end = (
        df.endpoints.minimizer(X, y, df.DiagonalNetwork(1.0, lam)).w
        if lam
        else df.endpoints.basis_pursuit(X, y).w
    )
    np.testing.assert_allclose(found.w[-1], end, atol=1e-11)


def test_networks_of_small_scale_follow_the_descent():
    """Distance of training errors from the limit: divided by about two when log(1/α) doubles."""
    s = np.linspace(0.0, 6.0, 121)
    limit = descent_limit(DRAWN.X, DRAWN.y, 0.2, 6.0).at(s)
    expected = np.mean((limit @ DRAWN.X.T - DRAWN.y) ** 2, axis=-1)
    apart = []
    for alpha in (1e-4, 1e-8):
        t = s * np.log(1 / alpha)
        net = df.DiagonalNetwork(alpha, 0.2)
        runs = df.simulate(TASK, net, t[-1], d=60, runs=1, seed=3, t_eval=t, progress=False)
        apart.append(np.mean(np.abs(runs.train_error[0] - expected)) / expected[0])
    assert apart[-1] < 0.015
    assert 0.4 < apart[1] / apart[0] < 0.7  # a half; a square root would make it 0.71


def test_the_rich_limit_is_the_flow_of_large_scale():
    """α = 6: what it remembers of its start is below 1e-12, and both are to their tolerances."""
    tau = np.array([-10.0, -5.0, 0.0, 10.0, 30.0])
    found = rich_limit(DRAWN.X, DRAWN.y, 0.2, tau)
    t = tau + 2 * np.log(6.0) / 0.2
    runs = df.simulate(
        TASK, df.DiagonalNetwork(6.0, 0.2), t[-1], d=60, runs=1, seed=3, t_eval=t, weights=True,
        tol=1e-9, progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(found, runs.weights[0], atol=1e-7)


def test_the_rich_limit_starts_as_interpolator_of_its_scale():
    """At early τ it is the interpolator of least J at α = exp(-λτ/2), up to order λ exp(λτ)."""
    off = []
    for tau in (-24.0, -20.0):
        (w,) = rich_limit(DRAWN.X, DRAWN.y, 0.2, np.array([tau]))
        still = df.endpoints.minimizer(DRAWN.X, DRAWN.y, df.DiagonalNetwork(float(np.exp(-0.1 * tau)))).w
        off.append(np.linalg.norm(w - still) / np.linalg.norm(still))
    assert off[1] / off[0] == pytest.approx(np.exp(0.8), rel=0.03)
