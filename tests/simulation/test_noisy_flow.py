"""Gradient flow with noise in short steps: order, curvature, and where it is reread from text and files."""

import numpy as np
import pytest

import dynafield as df
from dynafield.problem.text import read_trainer, trainer_facts, trainer_of
from dynafield.problem.trainers import ShortSteps
from dynafield.problem.updates import Update
from dynafield.simulation.langevin import curvature_of_network


def test_short_steps_are_of_second_order():
    """θ' = -θ to t = 1 in steps of two sizes: halved, the error falls by four."""
    errors = []
    for longest in (0.02, 0.01):
        steps = ShortSteps.through(np.array([0.0, 0.4, 1.0]), longest, 0.1)
        rule, theta = Update.of(steps), np.ones(1)
        memory = rule.begun(theta)
        for step in steps.step:
            theta, memory = rule.after(theta, memory, -theta, step, 0.0)
        errors.append(abs(float(theta[0]) - np.exp(-1)))
        assert steps.times(1.0)[-1] == pytest.approx(1.0)
        assert max(steps.step) <= longest * (1 + 1e-9)
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


def test_the_largest_curvature_of_a_network():
    rng = np.random.default_rng(0)
    X, slopes = rng.standard_normal((20, 30)), rng.random(30)
    exact = np.linalg.eigvalsh((slopes[:, None] * X.T) @ (X * slopes))[-1]
    assert curvature_of_network(X, 0.5, slopes, 0.1) == pytest.approx(0.5 * (exact / 0.5 + 0.1), rel=0.05)


def test_temperature_without_a_step_is_that_of_the_flow():
    trainer = read_trainer(None, None, None, temperature=0.1)
    assert trainer == df.GradientFlow(temperature=0.1) == trainer_of(trainer_facts(trainer, 1.0))


def test_stiff_networks_are_followed_in_steps_short_enough():
    """α = 10 has curvature 580, and the first guess of a step blows up; the run ends all the same."""
    task, net = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(10.0)
    trainer = df.GradientFlow(temperature=1e-3)
    runs = df.simulate(task, net, 0.05, d=100, runs=2, t_eval=[0.01, 0.05], trainer=trainer)
    assert np.all(np.isnan(runs.stopped_at))
    assert np.all(runs.mean("train_error")[-1] < 0.02)
