"""The mirror map: against its definition by (u, v), round trips, precision."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

import dynafield as df

DEPTHS = [2, 3, 4, 7, 20]


def by_definition(alpha, depth, dual):
    """h and h' in 60 digits from U, V as the training equations define them."""
    with mp.workdps(60):
        a, phi = mp.mpf(alpha), mp.mpf(dual)
        if depth == 2:
            return a**2 * mp.sinh(phi), a**2 * mp.cosh(phi)
        q, m = a ** (2 - depth), mp.mpf(depth - 2)
        U, V = (q - m * phi / 2) ** (-1 / m), (q + m * phi / 2) ** (-1 / m)
        return (U**depth - V**depth) / depth, (U ** (2 * depth - 2) + V ** (2 * depth - 2)) / 2


@pytest.mark.parametrize("depth", DEPTHS)
def test_map_and_slope_match_their_definition(depth):
    alpha = 0.7
    end = 6.0 if depth == 2 else 2 * alpha ** (2 - depth) / (depth - 2)
    net = df.DiagonalNetwork(alpha, depth=depth)
    for fraction in (-0.9, -0.3, 1e-9, 0.5, 0.99):
        dual = fraction * end
        w, slope = by_definition(alpha, depth, dual)
        # Φ is given in double precision: its rounding is amplified by 1/(1 - fraction)
        assert float(net.mirror(dual)) == pytest.approx(float(w), rel=2e-13)
        assert float(net.mirror_slope(dual)) == pytest.approx(float(slope), rel=2e-13)


@pytest.mark.parametrize("depth", DEPTHS)
def test_weights_survive_a_round_trip_by_coordinate(depth):
    net = df.DiagonalNetwork(0.3, depth=depth)
    w = jnp.array([-30.0, -1e-12, 1e-9, 1e-3, 0.1, 1.0, 100.0])
    back = net.curve.weight(net.curve.coordinate_of_weight(w))
    np.testing.assert_allclose(back, w, rtol=4e-15)


@pytest.mark.parametrize("depth", DEPTHS)
def test_inverse_undoes_the_map(depth):
    net = df.DiagonalNetwork(0.8, depth=depth)
    end = 5.0 if depth == 2 else float(2 * 0.8 ** (2 - depth) / (depth - 2))
    dual = jnp.linspace(-0.95, 0.95, 11) * end
    np.testing.assert_allclose(net.mirror_inverse(net.mirror(dual)), dual, rtol=1e-12, atol=1e-14)


def test_slope_of_weight_is_the_closed_form_at_depth_two():
    w = np.array([-3.0, 0.0, 1e-8, 2.0])
    np.testing.assert_allclose(df.DiagonalNetwork(0.1).slope_of_weight(w), np.sqrt(w**2 + 1e-4), rtol=1e-14)


def test_slope_of_weight_keeps_its_digits_where_the_dual_has_none():
    """α = 1e-4, depth 5: at w = 1 the dual coordinate is within 1e-16 of its end."""
    alpha, depth, w = 1e-4, 5, 1.0
    with mp.workdps(60):
        # u from u^L - v^L = Lw with u^(2-L) + v^(2-L) = 2α^(2-L)
        def gap(u):
            v = (2 * mp.mpf(alpha) ** (2 - depth) - u ** (2 - depth)) ** (mp.mpf(1) / (2 - depth))
            return (u**depth - v**depth) / depth - w

        u = mp.findroot(gap, mp.mpf(depth * w) ** (mp.mpf(1) / depth))
        v = (2 * mp.mpf(alpha) ** (2 - depth) - u ** (2 - depth)) ** (mp.mpf(1) / (2 - depth))
        exact = (u ** (2 * depth - 2) + v ** (2 * depth - 2)) / 2
    assert float(df.DiagonalNetwork(alpha, depth=depth).slope_of_weight(w)) == pytest.approx(
        float(exact), rel=1e-14
    )


def test_decay_neither_underflows_nor_overflows():
    """At λt = 800, e^{-λt} is zero and sinh(805) infinite, yet w = α²(e^5 - 0)/2."""
    net = df.DiagonalNetwork(0.5, lam=1.0)
    assert float(net.mirror(805.0, t=800.0)) == pytest.approx(0.125 * np.exp(5.0), rel=1e-12)
    assert float(net.mirror_slope(805.0, t=800.0)) == pytest.approx(0.125 * np.exp(5.0), rel=1e-12)


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_decaying_weight_follows_the_training_equations(depth):
    """Constant g: integrate u', v' and compare with e^{-λLt/2} h(Φ), Φ = -g∫c."""
    alpha, lam, g, t = 0.8, 0.3, -0.4, 1.5
    from scipy.integrate import solve_ivp

    def flow(_, x):
        u, v = x
        return [-(u ** (depth - 1) * g + lam * u) / 2, -(-(v ** (depth - 1)) * g + lam * v) / 2]

    u, v = solve_ivp(flow, (0, t), [alpha, alpha], rtol=1e-12, atol=1e-14).y[:, -1]
    rate = lam * (depth - 2) / 2
    dual = -g * (t if depth == 2 else -np.expm1(-rate * t) / rate)
    w = df.DiagonalNetwork(alpha, lam, depth).mirror(dual, t)
    assert float(w) == pytest.approx((u**depth - v**depth) / depth, rel=1e-10)


@pytest.mark.parametrize("depth", [2, 5])
def test_inverse_is_differentiable_in_weight_and_scale(depth):
    def dual(alpha, w):
        return df.DiagonalNetwork(alpha, depth=depth).mirror_inverse(w)

    for argument in (0, 1):
        step = 1e-5
        moved = [np.array([0.5, 0.3]) + sign * step * np.eye(2)[argument] for sign in (1, -1)]
        slope = (dual(*moved[0]) - dual(*moved[1])) / (2 * step)
        assert float(jax.grad(dual, argument)(0.5, 0.3)) == pytest.approx(float(slope), rel=1e-8)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(alpha=0.0), "alpha must be finite and > 0, got 0"),
        (dict(alpha=-1), "alpha must be finite and > 0, got -1"),
        (dict(alpha=[0.1, np.nan]), "alpha must be finite and > 0, got nan at index 1"),
        (dict(alpha=np.inf), "alpha must be finite and > 0, got inf"),
        (dict(alpha="big"), "alpha must be finite and > 0, got 'big'"),
        (dict(alpha=[]), "alpha must be finite and > 0, got an empty array"),
        (dict(lam=-1e-9), "lam must be finite and ≥ 0"),
        (dict(depth=1), "depth must be an integer ≥ 2, got 1"),
        (dict(depth=2.0), "depth must be an integer ≥ 2, got 2.0"),
        (dict(depth=True), "depth must be an integer ≥ 2, got True"),
        (dict(alpha=1e-6, depth=40), r"alpha\*\*\(2\*depth - 2\) within 1e±300, got alpha=1e-06, depth=40"),
    ],
)
def test_bad_networks_are_refused(change, text):
    with pytest.raises(ValueError, match=text):
        df.DiagonalNetwork(**dict(alpha=0.5, lam=0.0, depth=2) | change)
