"""Roots, Gaussian integrals and adapted averages, each against an independent value."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynafield.numerics.averages import Curve, adapted_nodes, quadrature_error
from dynafield.numerics.gaussian import interval_average, normal_tail, tail_square
from dynafield.numerics.roots import bracketed_newton, newton_correction


@settings(deadline=None, max_examples=50)
@given(st.floats(-3, 3), st.floats(0.01, 30))
def test_root_of_a_stiff_function(where, steepness):
    def f(x, _):
        return jnp.sinh(steepness * (x - where)), steepness * jnp.cosh(steepness * (x - where)), None

    low, high = jnp.array(-5.0), jnp.array(5.0)
    x, _, found = bracketed_newton(f, low, high, jnp.array(4.9))
    assert bool(found)
    assert float(x) == pytest.approx(where, abs=1e-13 * (1 + 1 / steepness))


def test_root_where_newton_alone_runs_away():
    x, _, found = bracketed_newton(
        lambda x, _: (jnp.arctan(x), 1 / (1 + x**2), None), jnp.array(-50.0), jnp.array(70.0), jnp.array(60.0)
    )
    assert bool(found)
    assert abs(float(x)) < 1e-14


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
    np.testing.assert_allclose(jax.jacfwd(root)(2.0), expected, rtol=1e-14)
    np.testing.assert_allclose(jax.jacrev(root)(2.0), expected, rtol=1e-14)


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


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_adapted_average_converges_exponentially(mean):
    """Halving the step squares the error: 32, 64, 128 nodes on the hardest curve of the range."""
    curve, m, t = sharp(0.01), jnp.array([mean]), jnp.array([0.3])

    def active(count):
        nodes = adapted_nodes(curve, m, t, count)
        kappa = 1e-12 * jnp.cosh(nodes.s)
        return float(jnp.sum(nodes.weight * kappa / (kappa + 0.01)))

    exact = active(1200)
    errors = [abs(active(count) / exact - 1) for count in (32, 64, 128)]
    assert 1e-4 < errors[0] < 1e-2  # coarse enough for its square to be seen
    assert errors[1] < errors[0] ** 1.9
    assert errors[2] < 1e-13


def test_estimated_error_bounds_the_true_one():
    curve, m, t = sharp(0.01), jnp.array([0.0]), jnp.array([0.3])
    exact = adapted_nodes(curve, m, t, 1200)

    def values(nodes):
        kappa = 1e-12 * jnp.cosh(nodes.s)
        return kappa / (kappa + 0.01)

    true = jnp.sum(exact.weight * values(exact))
    for count in (40, 50, 64):
        nodes = adapted_nodes(curve, m, t, count)
        error = abs(float(jnp.sum(nodes.weight * values(nodes)) / true) - 1)
        assert error < 30 * float(quadrature_error(nodes.weight, [values(nodes)]))


def test_no_width_is_one_point():
    nodes = adapted_nodes(sharp(0.01), jnp.array([1.0]), jnp.array([0.0]), 64)
    assert float(jnp.ptp(nodes.s)) < 1e-13
    assert float(jnp.sum(nodes.weight)) == pytest.approx(1, abs=1e-13)
    assert float(sharp(0.01).value(nodes.s[0, 0])) == pytest.approx(1, rel=1e-12)


def test_a_pole_near_zero_is_resolved_by_the_core():
    """E[1/(G² + ε²)] has poles at ±iε; exact value √(π/2) e^{ε²/2} erfc(ε/√2)/ε."""
    eps = 1e-6
    identity = Curve(value=lambda s: s, slope=jnp.ones_like, bound=lambda y: y)
    nodes = adapted_nodes(identity, jnp.zeros(1), jnp.ones(1), 256, core=jnp.array(eps))
    value = jnp.sum(nodes.weight / (nodes.s**2 + eps**2))
    exact = np.sqrt(np.pi / 2) / eps * float(mp.exp(eps**2 / 2) * mp.erfc(eps / mp.sqrt(2)))
    assert float(value) == pytest.approx(exact, rel=1e-12)
