"""Noise in training: Langevin steps and fresh label noise, closed forms, finite models, refusals."""

import functools

import numpy as np
import pytest

import dynafield as df
from dynafield.dmft.discrete.langevin import left_over
from dynafield.dmft.estimates import Estimate, Parts, forgotten
from dynafield.numerics.spectra import MarchenkoPastur
from dynafield.studies.comparison import Comparison

TASK = df.Task(0.5, 0.3, df.Bernoulli(0.1))


def ridge_in_closed_form(trainer, lam, count):
    """Test error of ridge regression after k steps: every mode of the data by itself.

    Its mean relaxes with 1 - ηh, h = x + λ; temperature T adds 2Tη Σ (1 - ηh)^(2j), which ends at T/h for
    small steps, the Gaussian posterior; label noise of variance s adds s x η²/δ Σ (1 - ηh)^(2j).
    """
    eta, heat, labels = trainer.step, trainer.temperature, trainer.label_noise**2
    k = np.arange(count + 1)[:, None]

    def modes(x):
        h = x + lam
        shrunk = (1 - eta * h) ** k
        sums = (1 - shrunk**2) / (1 - (1 - eta * h) ** 2)
        mean = ((1 - shrunk) * x / h - 1) ** 2 * 0.1
        noise = 0.09 / 0.5 * x * ((1 - shrunk) / h) ** 2
        return mean + noise + (2 * heat * eta + labels * x * eta**2 / 0.5) * sums

    return MarchenkoPastur(0.5).average(modes) + 0.09


@pytest.mark.parametrize("noise", [dict(label_noise=0.6), dict(temperature=0.05, label_noise=0.6)], ids=str)
def test_ridge_regression_with_noise_in_closed_form(noise):
    trainer = df.GradientDescent(0.2, **noise)
    curves = df.solve(TASK, df.models.ridge_flow(0.3), 4.0, tol=4e-2, trainer=trainer, points=1024)
    wanted = ridge_in_closed_form(trainer, 0.3, 20)
    unit = np.maximum(wanted, wanted[0])  # what tol bounds the error of the curve in
    assert np.all(np.abs(curves.test_error - wanted) < 4e-2 * unit)
    assert curves.test_error_se.max() < 4e-2 * max(0.19, wanted.max())


def test_noisy_flow_of_ridge_regression_ends_at_the_posterior():
    """Every mode has its closed form, and at temperature T ends at a Gaussian of variance T/(x + λ)."""
    lam, heat, end = 1.0, 0.1, 4.0
    trainer = df.GradientFlow(temperature=heat)
    curves = df.solve(TASK, df.models.ridge_flow(lam), end, tol=5e-2, trainer=trainer, points=2048)
    t = np.asarray(curves.t)[:, None]

    def cold(x):
        shrunk = np.exp(-(x + lam) * t)
        mean = ((1 - shrunk) * x / (x + lam) - 1) ** 2 * 0.1
        return mean + 0.09 / 0.5 * x * ((1 - shrunk) / (x + lam)) ** 2

    spectrum = MarchenkoPastur(0.5)
    without = spectrum.average(cold) + 0.09
    wanted = without + heat * spectrum.average(lambda x: (1 - np.exp(-2 * (x + lam) * t)) / (x + lam))
    assert np.all(np.abs(curves.test_error - wanted) < 5e-2 * np.maximum(wanted, wanted[0]))
    assert curves.status == "finished"
    posterior = heat * spectrum.average(lambda x: 1 / (x + lam))
    left = np.exp(-2 * lam * end) * posterior  # what the slowest mode may still have before it
    assert abs(curves.test_error[-1] - without[-1] - posterior) < 3 * curves.test_error_se[-1] + left
    assert np.all(np.abs(curves.at([0.55, 3.6]).test_error - np.interp([0.55, 3.6], t[:, 0], wanted)) < 0.01)


EVERYTHING = dict(momentum=0.5, batch_fraction=0.5, temperature=0.01, label_noise=0.5)


NETWORK, LOGISTIC = df.DiagonalNetwork(0.5, 0.05), df.models.logistic_flow(0.2)
FINITE = {  # the last are previews, thus of the first number of short steps alone
    "network": (NETWORK, df.GradientDescent(0.25, **EVERYTHING), 512, False),
    "logistic": (LOGISTIC, df.GradientDescent(0.25, temperature=0.02, label_noise=0.7), 512, False),
    "network in a noisy flow": (NETWORK, df.GradientFlow(temperature=0.02), 1024, True),
    "logistic in a noisy flow": (LOGISTIC, df.GradientFlow(temperature=0.02), 1024, True),
}


@functools.cache
def compared(name):
    """Theory and finite models of one kind of noise."""
    net, trainer, points, preview = FINITE[name]
    curves = df.solve(TASK, net, 2.0, tol=4e-2, trainer=trainer, points=points, preview=preview)
    runs = df.simulate(TASK, net, 2.0, d=400, runs=8, t_eval=[0.25, 1.0, 2.0], trainer=trainer)
    return Comparison(curves, runs)


@pytest.mark.parametrize("name", FINITE)
def test_finite_models_agree(name):
    both = compared(name)
    for curve in ("train_error", "test_error"):
        allowed = 4 * both.standard_error(curve) + 1 / 400  # fluctuations, and a bias of order 1/d
        assert np.all(np.abs(both.difference(curve)) < allowed)


def test_many_steps_with_batches_have_white_normals():
    """At 150 steps of α = .2, δ = .6 networks of d = 1600 have test error .0368 ± .0009 (6 runs).

    Where normals of steps were correlated it was .0284; more than so few points are refused.
    """
    task, net, trainer = df.Task(0.6, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.2), df.SGD(0.3, 0.2)
    curves = df.solve(task, net, 45.0, tol=2e-2, trainer=trainer, preview=True)
    assert curves.test_error[-1] == pytest.approx(0.0369, abs=2e-2 * 0.11)
    with pytest.raises(df.InputError, match="points must be at least 4096 for 150 steps"):
        df.solve(task, net, 45.0, trainer=trainer, points=2048)


def test_no_noise_gives_the_same_digits():
    silent = df.GradientDescent(0.25, temperature=0.0, label_noise=0.0)
    found = [
        df.solve(TASK, df.DiagonalNetwork(0.5), 2.0, tol=2e-2, trainer=one).test_error
        for one in (silent, df.GradientDescent(0.25))
    ]
    assert np.array_equal(*found)


def test_files_and_refusals(tmp_path):
    curves = compared("network").curves
    assert df.load(curves.save(tmp_path / "hot.nc")).trainer == df.GradientDescent(0.25, **EVERYTHING)
    assert "temperature=0.01" in repr(curves)
    with pytest.raises(df.InputError, match="R_w is not made for training that is random"):
        _ = curves.R_w
    with pytest.raises(df.InputError, match="C_f is not kept between steps"):
        _ = curves.C_f
    assert curves.C_w.shape == (9, 9)
    with pytest.raises(df.InputError, match="grid must be None for gradient flow with a temperature"):
        df.solve(TASK, df.DiagonalNetwork(0.5), 1.0, grid=[0, 1.0], trainer=df.GradientFlow(temperature=0.1))
    with pytest.raises(df.InputError, match="temperature must be one finite number ≥ 0"):
        df.GradientFlow(temperature=-1.0)
    for bad in (dict(temperature=-1.0), dict(label_noise=np.inf)):
        with pytest.raises(df.InputError, match="must be one finite number ≥ 0"):
            df.GradientDescent(0.1, **bad)


def test_what_halved_steps_tell_of_the_error():
    """Errors h² and (h/2)² of two curves: the smaller one is what is said to be left."""
    old, new = (
        Estimate({"test_error": 1 + c * t}, {"test_error": Parts(np.zeros(len(t)))})
        for c, t in ((4e-2, np.linspace(0, 1, 5)), (1e-2, np.linspace(0, 1, 9)))
    )
    assert left_over(old, new, "test_error")[::2] == pytest.approx(1e-2 * np.linspace(0, 1, 5))


def test_forgotten_noise_is_part_of_the_error_bar():
    left = np.array([[0.0, 0.0, 0.1], [0.0, 0.0, 0.2]])
    curves = {"train_error": np.array([1.0, 0.5, 0.1]), "test_error": np.array([1.0, 0.9, 0.8])}
    assert forgotten(left, np.ones(2, int), curves, "train_error") == pytest.approx([0, 0.05, 0.02])
    assert forgotten(left, np.ones(2, int), curves, "test_error") == pytest.approx([0, 0.05, 0.05])
