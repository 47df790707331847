"""Marchenko–Pastur averages against moments, an explicit transform and SciPy's quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad

from dynafield.numerics.spectra import MarchenkoPastur


@pytest.mark.parametrize("delta", [0.05, 0.5, 0.999, 1.0, 1.001, 2.0, 50.0])
def test_moments(delta):
    law = MarchenkoPastur(delta)
    for power, exact in ((0, 1.0), (1, 1.0), (2, 1 + 1 / delta), (3, 1 + 3 / delta + 1 / delta**2)):
        assert law.average(lambda x, k=power: x**k) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("delta", [0.2, 1.0, 3.0])
def test_stieltjes_transform(delta):
    z, ratio = -0.3, 1 / delta
    law = MarchenkoPastur(delta)
    root = np.sqrt((z - law.lower) * (z - law.upper))
    exact = (1 - ratio - z - root) / (2 * ratio * z)  # E[1/(x - z)]
    assert law.average(lambda x: 1 / (x - z)) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("delta", [0.5, 1.0, 2.0])
def test_sharp_functions(delta):
    law, t = MarchenkoPastur(delta), 1e4

    def density(y):  # with x = lower + y², smooth at the lower edge also for delta = 1
        x = law.lower + y**2
        return 2 * y**2 * delta * np.sqrt(max(law.upper - x, 0)) / (2 * np.pi * x) * np.exp(-(y**2) * t)

    exact = quad(density, 0, 0.1, epsabs=0, epsrel=1e-12, limit=500)[0] * np.exp(-law.lower * t)
    exact += law.atom
    assert law.average(lambda x: np.exp(-x * t)) == pytest.approx(exact, rel=1e-9)


def test_a_peak_between_the_nodes_is_found():
    law, t = MarchenkoPastur(1.0), 1e8  # near zero the density is x^(-1/2)/π
    assert law.average(lambda x: np.exp(-x * t)) == pytest.approx(1 / np.sqrt(np.pi * t), rel=1e-6)
