"""Interpolation between nodes, and what it says about its own error."""

import numpy as np
import pytest

from dynafield.numerics.collocation import radau
from dynafield.numerics.dense import Dense


@pytest.mark.parametrize("rate", [0.3, 1.0, 3.0, 8.0])
def test_the_error_between_nodes_is_told(rate):
    """Exponentials that hardly move in a block, and some that do nothing but in the end of it."""
    edges = np.array([0.0, 1.0])
    dense = Dense(np.concatenate([[0.0], radau(3).nodes]), edges)
    t = np.linspace(0.01, 0.99, 50)
    value = 1 - 0.1 * np.exp(rate * (dense.t - 1))
    found = value @ dense.weights(t).T
    error, told = np.abs(found - 1 + 0.1 * np.exp(rate * (t - 1))), dense.uncertainty(value, t)
    assert np.all(error < 3 * told)
    assert np.max(told) < 30 * np.max(error)
    assert dense.uncertainty(value, dense.t) == pytest.approx(0, abs=1e-15)


def test_a_jump_at_the_start_is_no_error_after_it():
    dense = Dense(np.concatenate([[0.0], radau(3).nodes]), np.array([0.0, 1.0]))
    value = np.where(dense.t > 0, 0.2 + 0.1 * dense.t, 0.5)
    t = np.array([0.0, 0.1, 0.5])
    assert value @ dense.weights(t, True).T == pytest.approx([0.5, 0.21, 0.25])
    assert dense.uncertainty(value, t, True) == pytest.approx(0, abs=1e-12)
    assert np.max(dense.uncertainty(value, t)) > 0.05
