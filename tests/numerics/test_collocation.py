"""The Radau rule and interpolation; small systems."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynafield.numerics.collocation import lagrange, radau
from dynafield.numerics.small import solve_small


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_the_rule_integrates_polynomials_exactly(stages):
    rule = radau(stages)
    assert rule.nodes[-1] == 1.0
    for power in range(2 * stages - 1):  # at the end of the block: degree 2s - 2
        assert rule.weights[-1] @ rule.nodes**power == pytest.approx(1 / (power + 1), rel=1e-12)
    for power in range(stages):  # at every node: degree s - 1
        values = rule.weights @ rule.nodes**power
        assert values == pytest.approx(rule.nodes ** (power + 1) / (power + 1), rel=1e-11)
    assert rule.weights[-1] @ rule.nodes ** (2 * stages - 1) != pytest.approx(1 / (2 * stages), rel=1e-8)


@pytest.mark.parametrize("stages", [2, 3])
def test_the_rule_is_l_stable(stages):
    weights = radau(stages).weights
    for z in (-1e3, -1e6j, -1e3 + 1e3j):
        grown = np.linalg.solve(np.eye(stages) - z * weights, np.ones(stages))[-1]
        assert abs(grown) < 0.02
    for z in np.linspace(-50, 50, 301) * 1j:
        assert abs(np.linalg.solve(np.eye(stages) - z * weights, np.ones(stages))[-1]) <= 1 + 1e-12


def test_interpolation_reproduces_polynomials():
    nodes = np.array([0.0, 0.15, 0.64, 1.0])
    at = np.linspace(-0.2, 1, 7)
    assert lagrange(nodes, at) @ nodes**3 == pytest.approx(at**3, abs=1e-13)


@pytest.mark.parametrize("size", [3, 6, 9, 14])
def test_small_systems(size):
    """Written out, eliminated row by row, and by a library."""
    rng = np.random.default_rng(1)
    matrices = np.eye(size)[:, :, None] + 0.1 * rng.standard_normal((size, size, 7))
    sides = rng.standard_normal((size, 2, 7))
    found = np.asarray(jax.jit(solve_small)(jnp.asarray(matrices), jnp.asarray(sides)))
    for k in range(7):
        assert found[:, :, k] == pytest.approx(np.linalg.solve(matrices[:, :, k], sides[:, :, k]), abs=1e-10)
