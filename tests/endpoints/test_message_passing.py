"""Message passing beside its state evolution, its fixed points and the minimizer."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynafield as df
from dynafield.endpoints.denoisers import MirrorProx
from dynafield.problem.mirror import MirrorMap
from tests.endpoints.test_minimizers import data_of

NET = df.DiagonalNetwork
CASES = [
    (0.5, NET(0.5, 0.1)),
    (2.0, NET(0.5)),
    (0.5, NET(0.5)),
    (0.5, NET(0.5, depth=3)),
]


def task(delta):
    return df.Task(delta, 0.1, df.Bernoulli(0.1))


IDS = ["lasso", "ridgeless", "interpolating", "depth 3"]


@pytest.mark.parametrize(("delta", "net"), CASES, ids=IDS)
def test_state_evolution_ends_at_the_fixed_point(delta, net):
    """[eq:map_se_dmft]: two programs that share only their averages agree to rounding."""
    task = df.Task(delta, 0.1, df.Bernoulli(0.1))
    evolution, point = df.endpoints.state_evolution(task, net), df.fixed_point(task, net)
    assert evolution.case == point.case
    assert evolution.C_w[-1] == pytest.approx(point.C_w, rel=1e-9)
    assert evolution.tau[-1] == pytest.approx(point.tau, rel=1e-9)
    share = 1.0 if np.isinf(point.chi_w) else point.chi_w / (1 + point.chi_w)
    assert evolution.b[-1] == pytest.approx(share, rel=1e-9)
    if net.lam > 0:
        assert evolution.t[-1] == pytest.approx((1 + point.chi_w) * net.lam, rel=1e-9)
    elif delta < 1:
        assert evolution.t[-1] == pytest.approx(point.R_w, rel=1e-9)


@pytest.mark.parametrize(("delta", "net"), CASES, ids=IDS)
def test_message_passing_follows_state_evolution(delta, net):
    """Errors and noise of the first 8 iterates, mean of 12 data sets, within 4 standard errors."""
    evolution = df.endpoints.state_evolution(task(delta), net)
    errors, noise = [], []
    for seed in range(12):
        X, y, w_star = data_of(round(delta * 500), 500, seed=400 + seed)
        passed = df.endpoints.amp(X, y, net, iterations=8, history=True, throw=False)
        errors.append(np.mean((passed.weights - w_star) ** 2, axis=1))
        noise.append(passed.tau)
    for found, expected in ((errors, evolution.C_w[:8]), (noise, evolution.tau[:8])):
        spread = np.std(found, axis=0, ddof=1) / np.sqrt(12)
        assert np.all(np.abs(np.mean(found, axis=0) - expected) < 4 * spread)
        assert np.all(spread < 0.15 * expected)  # sharp enough to mean something


@pytest.mark.parametrize(("delta", "net"), CASES, ids=IDS)
def test_message_passing_ends_at_the_minimizer(delta, net):
    X, y, _ = data_of(round(delta * 300), 300)
    passed, limit = df.endpoints.amp(X, y, net), df.endpoints.minimizer(X, y, net).w
    assert passed.converged
    assert np.linalg.norm(passed.w - limit) < 1e-8 * np.linalg.norm(limit)


@pytest.mark.slow
def test_the_gap_to_state_evolution_shrinks_with_dimension():
    """Typical deviation of the tenth error over 8 data sets: falls by half or more from d = 250 to 4000."""
    net = NET(0.5)
    expected = df.endpoints.state_evolution(df.Task(0.5, 0.1, df.Bernoulli(0.1)), net, 10).C_w[-1]
    gaps = []
    for d in (250, 4000):
        deviations = []
        for seed in range(8):
            X, y, w_star = data_of(d // 2, d, seed=300 + seed)
            passed = df.endpoints.amp(X, y, net, iterations=10, throw=False)
            deviations.append(np.mean((passed.w - w_star) ** 2) - expected)
        gaps.append(np.sqrt(np.mean(np.square(deviations))))
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.parametrize(("alpha", "depth"), [(1e-3, 2), (0.5, 2), (30.0, 2), (0.01, 3), (0.4, 6)])
def test_the_proximal_map_solves_its_equation(alpha, depth):
    mirror = MirrorMap(alpha, depth)
    x = np.concatenate([np.linspace(-3, 3, 41), [1e-12, -1e-7]])
    for t in (1e-6, 0.1, 20.0):
        w, slope = MirrorProx(mirror).respond(x, t)
        dual = np.asarray(mirror.dual(mirror.coordinate_of_weight(jnp.asarray(w))))
        np.testing.assert_allclose(w + t * dual, x, rtol=1e-9, atol=1e-15)
        step = 1e-6 * (1 + np.abs(x))
        numeric = (
            MirrorProx(mirror).respond(x + step, t)[0] - MirrorProx(mirror).respond(x - step, t)[0]
        ) / (2 * step)
        # differences of a curve that may bend within the step: 1e-3 of the largest slope
        smooth = np.abs(x) > 0.1
        np.testing.assert_allclose(slope[smooth], numeric[smooth], atol=1e-3)


def test_damping_has_the_same_fixed_point():
    X, y, _ = data_of(200, 400)
    plain, damped = (df.endpoints.amp(X, y, NET(0.5, 0.1), damping=share) for share in (1.0, 0.5))
    np.testing.assert_allclose(damped.w, plain.w, atol=1e-8)
    assert "damping" in repr(damped)


def test_what_does_not_converge_says_so():
    X, y, _ = data_of(50, 100)
    with pytest.raises(df.SolveError, match="did not converge in 3 iterations"):
        df.endpoints.amp(X, y, NET(0.5, 0.1), iterations=3)
    assert not df.endpoints.amp(X, y, NET(0.5, 0.1), iterations=3, throw=False).converged


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: df.endpoints.amp(np.ones((3, 4)), np.ones(2), NET(1.0)), "y must have one entry"),
        (lambda: df.endpoints.amp(np.ones((3, 4)), np.ones(3), NET([1.0, 2.0])), "alpha must be one number"),
        (lambda: df.endpoints.amp(np.ones((3, 4)), np.ones(3), NET(1.0, 0.1, 3)), "lam must be 0 at depth 3"),
        (lambda: df.endpoints.amp(np.ones((3, 4)), np.ones(3), NET(1.0), damping=0.0), "damping must be"),
        (lambda: df.endpoints.state_evolution(task(np.array([0.5, 0.6])), NET(1.0)), "delta must be one"),
        (lambda: df.endpoints.state_evolution(task(1.0), NET(1.0)), "delta must not be 1"),
        (lambda: df.endpoints.state_evolution(task(0.5), NET(1.0), 0), "iterations must be"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, message):
    with pytest.raises(df.InputError, match=message):
        call()
