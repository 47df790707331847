"""Sobol points and the normals made of them."""

import numpy as np
import pytest

from dynafield.numerics.normals import SMALL, normals_of, sobol, whitened


@pytest.mark.parametrize("points", [64, SMALL // 2])
def test_points_are_the_same_each_time_whatever_is_done_to_them(points):
    first = sobol(3, points, (1, 2))
    kept = first.copy()
    first[0] *= 0.5
    np.testing.assert_array_equal(sobol(3, points, (1, 2)), kept)
    assert not np.array_equal(sobol(3, points, (1, 3)), kept)


def test_points_fill_the_cube_evenly():
    uniform = sobol(5, 256, 0)
    assert uniform.shape == (5, 256)
    np.testing.assert_array_equal(np.sort(np.floor(256 * uniform), axis=1), np.tile(np.arange(256), (5, 1)))


def test_whitened_normals_have_exact_moments():
    normals = whitened(normals_of(sobol(4, 128, 0)))
    np.testing.assert_allclose(normals.mean(axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(normals @ normals.T / 128, np.eye(4), atol=1e-13)
