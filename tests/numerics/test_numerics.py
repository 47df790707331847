"""Roots, Gaussian integrals and adapted averages, each against an independent value."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynafield.numerics.averages import Curve, adapted_nodes, quadrature_error
from dynafield.numerics.conjugate import solve_shared
from dynafield.numerics.gaussian import interval_average, normal_tail, tail_square
from dynafield.numerics.multistep import BackwardDifferences
from dynafield.numerics.roots import bracketed_newton, newton_correction


@jax.jit
def stiff_root(where, steepness):
    """Compiled once for all of them."""

    def f(x, _):
        return jnp.sinh(steepness * (x - where)), steepness * jnp.cosh(steepness * (x - where)), None

    x, _, found = bracketed_newton(f, jnp.array(-5.0), jnp.array(5.0), jnp.array(4.9))
    return x, found


@settings(deadline=None, max_examples=50)
@given(st.floats(-3, 3), st.floats(0.01, 30))
def test_root_of_a_stiff_function(where, steepness):
    x, found = stiff_root(where, steepness)
    assert bool(found)
    assert float(x) == pytest.approx(where, abs=1e-13 * (1 + 1 / steepness))


def test_root_where_newton_alone_runs_away():
    x, _, found = bracketed_newton(
        lambda x, _: (jnp.arctan(x), 1 / (1 + x**2), None), jnp.array(-50.0), jnp.array(70.0), jnp.array(60.0)
    )
    assert bool(found)
    assert abs(float(x)) < 1e-14


def test_steps_made_of_rounding_errors_end_the_search():
    """Found: where noise kept the last steps from shrinking, the bracket was halved, away from the root."""
    calls = []

    def coarse(x, _):
        calls.append(x)
        return np.exp(np.round(x, 13)) - 2.0, np.exp(x), None

    x, _, found = bracketed_newton(coarse, np.array(-10.0), np.array(4.0), np.array(1.0))
    assert found
    assert x == pytest.approx(np.log(2.0), abs=1e-13)  # what the function knows of x
    assert len(calls) < 9  # eleven else


def test_a_function_without_numbers_is_not_found():
    nan = jnp.array(jnp.nan)
    _, _, found = bracketed_newton(
        lambda x, _: (nan, nan, None), jnp.array(-1.0), jnp.array(1.0), jnp.array(0.0)
    )
    assert not bool(found)


def test_correction_carries_the_implicit_derivative():
    def root(a):
        x = jnp.array([2.0 ** (1 / 3), 2.0 ** (2 / 3)])
        jacobian = jnp.array([[3 * x[0] ** 2, 0.0], [-2 * x[0], 1.0]])
        return newton_correction(lambda x: (jnp.stack([x[0] ** 3 - a, x[1] - x[0] ** 2]), None), x, jacobian)[
            0
        ]

    expected = [2.0 ** (-2 / 3) / 3, 2 / 3 * 2.0 ** (-1 / 3)]
    np.testing.assert_allclose(jax.jit(jax.jacfwd(root))(2.0), expected, rtol=1e-14)
    np.testing.assert_allclose(jax.jit(jax.jacrev(root))(2.0), expected, rtol=1e-14)
    twice = [-(2.0 ** (-5 / 3)) * 2 / 9, -(2.0 ** (-4 / 3)) * 2 / 9]
    for first, second in ((jax.jacfwd, jax.jacfwd), (jax.jacfwd, jax.jacrev), (jax.jacrev, jax.jacrev)):
        np.testing.assert_allclose(jax.jit(second(first(root)))(2.0), twice, rtol=1e-14)


def test_tail_is_right_far_out():
    for x in (-3.0, 0.5, 8.0, 30.0):
        assert float(normal_tail(jnp.array(x))) == pytest.approx(float(mp.ncdf(-x)), rel=1e-14)


@pytest.mark.parametrize("edge", [-40.0, -3.0, -1e-9, 0.0, 0.7, 5.0, 20.0])
@pytest.mark.parametrize(("q", "shift"), [(1.0, 0.3), (1e-3, 0.5), (2.0, 2.0)])
def test_tail_square_keeps_relative_precision(edge, q, shift):
    """Against mpmath in 40 digits; cancellation at edge 20 is a factor 1e5, so 1e-10."""
    with mp.workdps(40):
        exact = mp.quad(
            lambda g: (q * g - shift) ** 2 * mp.npdf(g), [edge, *[edge + k for k in (0.3, 1, 3, 6, 12, 60)]]
        )
    value = tail_square(*(jnp.array(v) for v in (q, shift, edge, shift - q * edge)))
    assert float(value) == pytest.approx(float(exact), rel=1e-10 if edge > 3 else 1e-12)


@pytest.mark.parametrize(("low", "high"), [(-20.0, 30.0), (-1.0, 2.0), (1.0, 1.0 + 1e-9), (2.0, 40.0)])
def test_interval_average_is_relatively_right(low, high):
    value = interval_average(lambda g: (0.3 + g) ** 2, jnp.array(low), jnp.array(high))
    with mp.workdps(40):
        cuts = [low, *[c for c in (-8, -3, 0, 3, 8) if low < c < high], high]
        exact = mp.quad(lambda g: (mp.mpf("0.3") + g) ** 2 * mp.npdf(g), cuts)
    # the width of [1, 1 + 1e-9] itself carries a rounding of 1e-7
    assert float(value) == pytest.approx(float(exact), rel=1e-13 if high - low > 1e-3 else 2e-7)


def sharp(response, scale=1e-12):
    """y = scale·sinh s + response·s: flat, then exponential."""
    return Curve(
        value=lambda s: scale * jnp.sinh(s) + response * s,
        slope=lambda s: scale * jnp.cosh(s) + response,
        bound=lambda y: jnp.arcsinh(y / scale),
    )


@partial(jax.jit, static_argnums=1)
def active(mean, count):
    """An average over the hardest curve of the range with so many nodes, and its estimated relative error."""
    nodes = adapted_nodes(sharp(0.01), mean[None], jnp.array([0.3]), count)
    kappa = 1e-12 * jnp.cosh(nodes.s)
    values = kappa / (kappa + 0.01)
    return jnp.sum(nodes.weight * values), quadrature_error(nodes.weight, [values])


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_adapted_average_converges_exponentially(mean):
    """Halving the step squares the error: 32, 64, 128 nodes on the hardest curve of the range."""
    mean = jnp.array(mean)
    exact = float(active(mean, 1200)[0])
    errors = [abs(float(active(mean, count)[0]) / exact - 1) for count in (32, 64, 128)]
    assert 1e-4 < errors[0] < 1e-2  # coarse enough for its square to be seen
    assert errors[1] < errors[0] ** 1.9
    assert errors[2] < 1e-13


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_estimated_error_bounds_the_true_one(mean):
    true = active(jnp.array(mean), 1200)[0]
    for count in (32, 64):
        found, estimated = active(jnp.array(mean), count)
        assert abs(float(found / true) - 1) < 30 * float(estimated)


def test_no_width_is_one_point():
    nodes = jax.jit(lambda m: adapted_nodes(sharp(0.01), m, jnp.array([0.0]), 64))(jnp.array([1.0]))
    assert float(jnp.ptp(nodes.s)) < 1e-13
    assert float(jnp.sum(nodes.weight)) == pytest.approx(1, abs=1e-13)
    assert float(sharp(0.01).value(nodes.s[0, 0])) == pytest.approx(1, rel=1e-12)


def test_a_pole_near_zero_is_resolved_by_the_core():
    """E[1/(G² + ε²)] has poles at ±iε; exact value √(π/2) e^{ε²/2} erfc(ε/√2)/ε."""
    eps = 1e-6
    identity = Curve(value=lambda s: s, slope=jnp.ones_like, bound=lambda y: y)
    nodes = jax.jit(lambda m: adapted_nodes(identity, m, jnp.ones(1), 256, core=jnp.array(eps)))(jnp.zeros(1))
    value = jnp.sum(nodes.weight / (nodes.s**2 + eps**2))
    exact = np.sqrt(np.pi / 2) / eps * float(mp.exp(eps**2 / 2) * mp.erfc(eps / mp.sqrt(2)))
    assert float(value) == pytest.approx(exact, rel=1e-12)


def test_shared_systems_are_solved_to_what_was_asked():
    rng = np.random.default_rng(0)
    X, right = rng.standard_normal((30, 50)) / 7, rng.standard_normal((4, 30))
    diagonal = rng.uniform(0, 1, (4, 50)) * np.array([[0.0], [1.0], [30.0], [1e3]])
    systems = zip(diagonal, right, strict=True)
    exact = np.stack([np.linalg.solve(np.eye(30) + (X * s) @ X.T, b) @ X for s, b in systems])
    for close in (1e-3, 1e-8):
        found, solved = solve_shared(X, diagonal, right, np.ones((4, 50)), close)
        error = np.linalg.norm(found - exact, axis=1)
        assert solved.all()
        assert np.all(error < 3 * close)  # an estimate from two updates: within a small factor
    inverse = 1 / np.diagonal(np.eye(30) + (X * 2.0) @ X.T)[None].repeat(4, 0)
    again, _ = solve_shared(X, diagonal, right, np.ones((4, 50)), 1e-8, inverse)
    np.testing.assert_allclose(again, exact, atol=3e-8)


def test_a_system_that_is_not_solved_says_so(monkeypatch):
    monkeypatch.setattr("dynafield.numerics.conjugate.LONGEST", 3)
    X = np.random.default_rng(0).standard_normal((40, 40))
    stiff = np.array([[0.0], [1e6]]) * np.ones((2, 40))
    _, solved = solve_shared(X, stiff, np.ones((2, 40)), np.ones((2, 40)), 1e-10)
    assert solved.tolist() == [True, False]


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_differences_follow_polynomials_exactly_through_changes_of_step(order):
    """A polynomial of degree k is extrapolated, stepped, rescaled and read inside steps without error."""
    poly = np.polynomial.Polynomial(np.linspace(1.0, -0.7, order + 1))
    past = BackwardDifferences(np.zeros((1, 1)), np.zeros((1, 1)), np.array([0.1]))
    values = [poly(2.0 - 0.1 * j) for j in range(order + 1)]
    for j in range(order + 1):  # backward differences at t = 2
        past.table[0, j, 0] = sum((-1) ** i * math.comb(j, i) * values[i] for i in range(j + 1))
    past.t[:], past.order[:] = 2.0, order
    for factor in (0.4, 2.5, 1.0, 3.0):
        t, step = past.t[0], past.step[0]
        x, psi, c, _ = past.predict()
        assert x[0, 0] == pytest.approx(poly(t + step), rel=1e-10)
        assert psi[0, 0] == pytest.approx(c[0] * poly.deriv()(t + step), rel=1e-9)  # no correction is needed
        inside = past.inside(0, np.zeros(1), np.array([t + 0.3 * step, t + step]))
        np.testing.assert_allclose(inside[:, 0], poly([t + 0.3 * step, t + step]), rtol=1e-10)
        past.move(np.zeros((1, 1)), np.ones(1, bool), np.array([factor]), np.array([order]))
        assert past.t[0] == t + step
        assert past.step[0] == pytest.approx(factor * step)
