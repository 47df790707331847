"""Learning curves on features of different variances, against closed forms and finite networks."""

import numpy as np
import pytest

import dynafield as df
from dynafield.dmft.discrete.curvature import of_member
from dynafield.dmft.sampling import draw, strata
from dynafield.studies.comparison import Comparison
from dynafield.theory.lazy import lazy_errors

GROUPS = df.data.Spectrum.groups([(0.2, 4.0), (0.8, 0.25)])
POWER = df.data.PowerLaw(1.5, 100.0)
TIMES = np.array([0.5, 2.0, 8.0])


@pytest.mark.parametrize("spectrum", [GROUPS, POWER], ids=["groups", "power"])
def test_ridge_flow_is_the_linear_model(spectrum):
    """Closed form by Silverstein's equation; within three of the error bars, which are below tol."""
    task = df.Task(0.5, 0.3, df.Gaussian(1.0), spectrum=spectrum)
    curves = df.solve(task, df.models.ridge_flow(), 8.0, tol=1e-2)
    train, test = lazy_errors(task, df.DiagonalNetwork(1.0), TIMES)
    seen = curves.at(TIMES)
    assert np.all(np.abs(seen.test_error - test) < 3 * seen.test_error_se + 1e-5)
    assert np.all(np.abs(seen.train_error - train) < 3 * seen.train_error_se + 1e-5)


CASES = {
    "depth 3": (df.DiagonalNetwork(0.5, depth=3), GROUPS, df.GradientFlow()),
    "mini-batches": (df.DiagonalNetwork(0.4), GROUPS, df.SGD(0.1, 0.5)),
    "logistic": (df.models.logistic_flow(0.1), df.data.PowerLaw(1.2, 20.0), df.GradientDescent(0.5)),
}


@pytest.mark.parametrize("name", CASES)
def test_curves_are_those_of_finite_models(name):
    """Eight runs of d = 300: within four standard errors of both, and 1 % for 1/d."""
    net, spectrum, trainer = CASES[name]
    task = df.Task(0.8, 0.3, df.Bernoulli(0.1), spectrum=spectrum)
    end, points = (2.0, 1024) if name == "mini-batches" else (8.0, 512)
    times = TIMES[:-1] if name == "mini-batches" else TIMES
    curves = df.solve(task, net, end, tol=1e-2, trainer=trainer, points=points)
    pair = Comparison(curves, df.simulate(task, net, end, d=300, runs=8, t_eval=times, trainer=trainer))
    for curve in ("train_error", "test_error"):
        gap = np.abs(pair.difference(curve))
        assert np.all(gap < 4 * pair.standard_error(curve) + 0.01 * pair.runs.mean(curve)), curve


def test_points_of_many_variances_keep_weights_and_moments_exactly():
    law = df.Task(0.5, 0.1, df.GaussBernoulli(0.2), spectrum=POWER).law
    parts = strata(law, 1024)
    assert sum(part.weight for part in parts) == pytest.approx(1.0, abs=1e-12)
    assert max(np.ptp(np.log(part.components.variance)) for part in parts) < 2.0
    sample = draw(parts, 8, (0, 1))
    assert np.sum(sample.weight) == pytest.approx(1.0, abs=1e-12)
    assert np.sum(sample.weight * sample.variance * sample.target**2) == pytest.approx(
        float(law.signal), rel=1e-12
    )
    for k, part in enumerate(parts):
        here = sample.part == k
        assert np.sum(sample.weight[here]) == pytest.approx(part.weight, rel=1e-12)
    assert np.sum(sample.weight * sample.variance) == pytest.approx(
        np.sum(law.weight * law.variance), rel=1e-10
    )


def test_ten_thousand_measured_pairs_are_taken():
    rng = np.random.default_rng(0)
    pairs = df.data.Spectrum.empirical(
        rng.uniform(0.2, 2.0, 10_000), rng.standard_normal(10_000) * (rng.random(10_000) < 0.2)
    )
    task = df.Task(0.6, 0.3, spectrum=pairs)
    # their own closed form; bars are far below what a wrong pairing of variances and targets would make
    seen = df.solve(task, df.models.ridge_flow(), 3.0, tol=1e-2).at([3.0])
    train, test = lazy_errors(task, df.DiagonalNetwork(1.0), np.array([3.0]))
    assert np.abs(seen.test_error - test) < 3 * seen.test_error_se + 1e-5
    assert np.abs(seen.train_error - train) < 3 * seen.train_error_se + 1e-5


def test_groups_become_active_in_their_own_time():
    """Beside what fields of t = 0 foresee, which the first group to move changes for the second."""
    task = df.Task(0.6, 0.1, df.Bernoulli(0.1), spectrum=GROUPS)
    found = df.phases(df.solve(task, df.DiagonalNetwork(0.01), 60.0, tol=1e-2, preview=True))
    fast, slow = (found[f"activation_50%_s={s:g}"] for s in (4.0, 0.25))
    assert fast.value == pytest.approx(found.groups[0].time, rel=0.2)
    assert slow.value > 5 * fast.value


def test_a_rare_feature_of_large_variance_is_seen_in_the_curvature():
    """One row in a million with s = 100: its own curvature is 100, that of all others at most 5.8."""
    n, scale = 2000, np.ones(2000)
    scale[7] = 10.0
    weight = np.where(scale > 1, 1e-6, 1.0) / n
    output, by_drive = scale[None, None], -scale[None, None]
    slopes = (output, by_drive, np.zeros((1, 1, n)), None)
    assert of_member(slopes, weight, scale, 0.5, np.zeros((0, n)), 0) == pytest.approx(100.0, rel=0.3)
    slopes = (np.ones((1, 1, n)), -np.ones((1, 1, n)), np.zeros((1, 1, n)), None)
    alike = of_member(slopes, np.full(n, 1 / n), np.ones(n), 0.5, np.zeros((0, n)), 0)
    assert alike == pytest.approx((1 + 0.5**-0.5) ** 2, rel=0.05)
