"""The answer of one active coordinate to a push: moments, limits, poles, Marchenko and Pastur."""

import numpy as np
import pytest
import scipy.integrate

import dynafield as df
from dynafield.numerics.spectra import MarchenkoPastur
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.spectra import JointLaw
from dynafield.theory.law import LimitLaw
from dynafield.theory.local_response import LocalResponse

TASK, NET = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5, 0.2)


@pytest.fixture(scope="module")
def point():
    return df.fixed_point(TASK, NET)


@pytest.fixture(scope="module")
def local(point):
    return LocalResponse(point.law(), 0.5)


def test_nodes_carry_the_law_of_active_coordinates(local, point):
    size, weight = local.nodes
    assert np.sum(weight) == pytest.approx(1 - point.mass_at_zero, rel=1e-12)
    w = np.linspace(-4.0, 4.0, 80_001)
    square = np.trapezoid(w**2 * point.density(w), w)
    assert np.sum(weight * size**2) == pytest.approx(square, rel=1e-6)


def test_early_response_by_two_moments(local):
    """(DG)ᵢᵢ = |w|, (DGDG)ᵢᵢ = |w|(|w| + E|w|/δ)."""
    size, weight = local.nodes
    w, t = np.array([0.1, 1.0]), np.array([1e-3])
    rise = w + np.sum(weight * size) / 0.5
    expected = 1 - w * t + w * rise * t**2 / 2
    np.testing.assert_allclose(local.relaxation(w, t)[:, 0], expected, atol=2e-9)  # the third term


def test_time_of_relaxation(local, point):
    """u/(p(u+|w|)) → (1+χ_w)/|w| at p = 0, the correction being of order p log p."""
    p = np.array([1e-9 + 0j])
    u = local.u_of(p)
    assert (u / p).real == pytest.approx(1 + point.chi_w, rel=1e-6)


def test_one_size_for_all_is_marchenko_pastur():
    """|w| = 1.5 within 0.05: exp(-1.5xt) over the law of eigenvalues, to second order in the width."""
    one = JointLaw(np.ones(1), np.full(1, 2.0), np.zeros(1), np.ones(1))
    law = LimitLaw("regularized", one, 0.05, 0.5, MirrorMap(0.5, 2))
    t = np.array([0.3, 1.0, 3.0])
    expected = [MarchenkoPastur(2.0).average(lambda x, s=s: np.exp(-1.5 * x * s)) for s in t]
    np.testing.assert_allclose(LocalResponse(law, 2.0).relaxation(np.array([1.5]), t)[0], expected, atol=2e-3)


def test_pole_beyond_all_sizes_is_a_root(local):
    p = local.pole(np.array([4.0]))
    assert abs(p.imag[0]) < 1e-12
    assert -p.real[0] > 4.0
    np.testing.assert_allclose(local.u_of(p.real + 0j), -4.0, rtol=1e-9)


def test_resonance_by_another_quadrature(local):
    x = 0.3
    inner, _ = scipy.integrate.quad(
        lambda y: float(y * local.density(y)), 0, 1.5, weight="cauchy", wvar=x, epsabs=1e-8
    )
    outer, _ = scipy.integrate.quad(lambda y: float(y * local.density(y)) / (y - x), 1.5, 4.0, epsabs=1e-8)
    expected = -x * (1 - (inner + outer - 1j * np.pi * x * local.density(x)) / 0.5)
    np.testing.assert_allclose(local.pole(np.array([x]))[0], expected, rtol=1e-6)
