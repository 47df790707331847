"""Stabilized explicit steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynafield.numerics import chebyshev


def along(rate, y, end, count, stages):
    """y at `end` by so many equal steps."""
    h, coefficients = end / count, chebyshev.stages(stages)
    one = lambda k, y: chebyshev.step(rate, y, k * h, h, coefficients)  # noqa: E731
    return np.asarray(jax.jit(lambda y: jax.lax.fori_loop(0, count, one, y))(y))


@pytest.mark.parametrize("stages", [2, 5, 12])
def test_the_order_is_two(stages):
    """y' = -y² + cos t has no simple form; steps halved divide the error by four."""
    rate = lambda y, t: -(y**2) + jnp.cos(t)  # noqa: E731
    fine = along(rate, jnp.ones(1), 2.0, 512, 5)
    errors = [float(abs(along(rate, jnp.ones(1), 2.0, count, stages) - fine)[0]) for count in (16, 32)]
    assert 3.4 < errors[0] / errors[1] < 4.7


@pytest.mark.parametrize("stiffness", [3.0, 300.0, 30_000.0])
def test_fast_modes_are_stable_with_as_many_stages_as_are_asked_for(stiffness):
    rates = jnp.linspace(0.0, stiffness, 400)
    needed = chebyshev.stages_needed(stiffness)
    assert needed <= 2 + np.sqrt(stiffness / 0.65)
    after = along(lambda y, t: -rates * y, jnp.ones(400), 1.0, 1, needed)
    assert np.max(np.abs(after)) <= 1.0 + 1e-9
    if stiffness > 10:  # fewer stages are not
        after = along(lambda y, t: -rates * y, jnp.ones(400), 1.0, 1, max(2, int(0.8 * needed)))
        assert np.max(np.abs(after)) > 2.0


def test_the_local_error_is_the_difference_to_the_solution():
    """For y' = -y + t, whose solution is t - 1 + 2 e^(-t) from 1."""
    rate = lambda y, t: -y + t  # noqa: E731
    h, y = 0.1, jnp.ones(1)
    after = chebyshev.step(rate, y, 0.0, h, chebyshev.stages(4))
    told = float(chebyshev.local_error(rate, y, after, 0.0, h)[0])
    true = h - 1 + 2 * np.exp(-h) - float(after[0])
    assert abs(told) < 5e-4
    assert 0.2 < abs(told / true) < 20  # of the same order of magnitude, as an estimate is
