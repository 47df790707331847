"""The last stage of training, against closed forms."""

import numpy as np
import pytest
import scipy.linalg

from dynafield.numerics.spectra import MarchenkoPastur
from dynafield.problem.spectra import JointLaw
from dynafield.studies.paper.late_times import late_responses, linear_end


@pytest.mark.parametrize("delta", [0.5, 2.0])
def test_responses_of_one_slope_are_marchenko_pastur_averages(delta):
    law, one = MarchenkoPastur(delta), np.ones(1)
    tau = np.array([1.0, 5.0, 200.0]) / law.lower
    found, limit = late_responses(JointLaw(one, 0 * one, 0 * one, one), delta, law.lower, tau, one)
    x, weight = law.nodes()
    decay = weight * np.exp(-np.outer(tau, x - law.lower))
    tight = dict(rtol=1e-9, atol=1e-9)  # logarithms
    np.testing.assert_allclose(found[0] + law.lower * tau, np.log(decay.sum(axis=1) / delta), **tight)
    np.testing.assert_allclose(found[1] + law.lower * tau, np.log(decay @ x / delta), **tight)
    np.testing.assert_allclose(found[2], found[0], **tight)
    assert limit == pytest.approx(law.atom / delta, rel=1e-12)


def test_a_wide_law_of_slopes_obeys_the_equations_of_the_paper():
    """The transform of R_f from R_w: R_w = R_f + ∫ R_w(τ - s) R_f(s) ds, by quadrature."""
    law = JointLaw(np.array([0.7, 0.3]), np.zeros(2), np.zeros(2), np.array([1.0, 3.0]))
    tau, edge = np.linspace(1e-9, 2.0, 801), 0.05  # left of 0 and right of the edge: any line will do
    found, limit = late_responses(law, 0.5, edge, tau, np.array([1.0, 3.0]))
    R_w, R_f = limit + np.exp(found[0]), np.exp(found[1])
    memory = np.trapezoid(R_w[::-1] * R_f, tau)
    assert R_w[-1] == pytest.approx(R_f[-1] + memory, rel=1e-5)
    ends = limit * law.variance / (limit + law.variance) / 0.5
    mean = law.weight @ (np.exp(found[2:]) + ends[:, None])
    np.testing.assert_allclose(mean[1:], R_w[1:], rtol=1e-9)  # at τ = 1e-9 transforms lose digits


@pytest.mark.parametrize("n", [6, 14])
def test_the_linear_flow_is_a_matrix_exponential(n):
    rng = np.random.default_rng(3)
    X, kappa, t = rng.standard_normal((n, 10)), rng.uniform(0.5, 2.0, 10), np.array([0.3, 1.0])
    flow = kappa[:, None] * X.T @ X * 10 / n
    slowest = np.sort(np.linalg.eigvals(flow).real)[max(0, 10 - n)]
    start = kappa * (X.T @ rng.standard_normal(n))
    expected = [scipy.linalg.expm(-flow * s) @ start * np.exp(slowest * s) for s in t]
    np.testing.assert_allclose(linear_end(X, kappa, start, t), expected, rtol=1e-9, atol=1e-9)
