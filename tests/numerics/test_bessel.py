"""Ratios of Bessel functions against SciPy, closed forms and their recurrence."""

import numpy as np
import pytest
from scipy.special import kv

from dynafield.numerics.bessel import bessel_ratio


def test_moderate_orders_are_scipys():
    order, x = np.array([-0.5, -0.2, 0.0, 0.7, 3.0, 40.0]), np.array([0.3, 1.0, 2.0, 5.0, 9.0, 30.0])
    assert bessel_ratio(order, x) == pytest.approx(kv(order + 1, x) / kv(order, x), rel=1e-12)


def test_half_integer_orders_are_explicit():
    x = np.array([1e-5, 0.1, 3.0, 1e4])
    assert bessel_ratio(np.full(4, 0.5), x) == pytest.approx(1 + 1 / x, rel=1e-12)  # K_{3/2}/K_{1/2}


@pytest.mark.parametrize("x", [1e-3, 1.0, 300.0, 1e5])
def test_large_orders_satisfy_the_recurrence_and_their_limit(x):
    """Where the functions overflow; for large orders the ratio lies between two square roots."""
    order = np.array([60.3, 400.0, 5000.25])
    ratio = bessel_ratio(order, np.full(3, x))
    before = bessel_ratio(order - 1, np.full(3, x))
    assert ratio == pytest.approx(2 * order / x + 1 / before, rel=1e-13)
    low, high = ((order + k + np.sqrt((order + k) ** 2 + x**2)) / x for k in (0.0, 0.5))
    assert np.all(ratio >= low * (1 - 1e-14))
    assert np.all(ratio <= high)
