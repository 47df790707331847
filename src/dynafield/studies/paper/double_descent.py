"""The peak of the test error at δ = 1."""

import dataclasses

import numpy as np
import xarray as xr

from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.studies.paper.parts import facts, labelled, minimal
from dynafield.studies.paper.setting import SIGMA, SPARSE, TASK, Setting
from dynafield.theory.fixed_points import fixed_point

__all__ = ["double_descent"]

DELTAS = np.array([0.6, 0.8, 0.9, 1.1, 1.2, 1.4])
"""Values of δ on both sides of the peak."""
NEAR = np.array([1e-1, 1e-2, 1e-3])
"""Distances of δ from 1 on the way to the limit."""
SCALE, SCALES, DECAY = 1.0, np.array([0.1, 1.0]), 0.1
"""α of networks, values of α in theory, and the weight decay that removes the peak."""
SIZE = (300, 20)
"""Dimension and number of data sets: next to δ = 1 smaller ones err more than the limit by percents."""
FRESH = 8000
"""Added to the seed: no other experiment uses these data."""
KINDS = {"plain": (SIGMA, 0.0), "noiseless": (0.0, 0.0), "decay": (SIGMA, DECAY)}
"""Label noise and weight decay of the three kinds of problems."""
MEANINGS = {
    "test_error": "test error in the limit of training on finite data",
    "test_error_expected": "test error at the fixed point",
    "below": "(1 - δ)/σ² times the test error at the fixed point, δ < 1",
    "above": "(δ - 1)/σ² times the test error at the fixed point, δ > 1",
}


def double_descent(setting: Setting) -> xr.Dataset:
    """`double-descent`: errors in the limit of training over δ: noise, no noise, weight decay."""
    fresh, (d, runs) = dataclasses.replace(setting, seed=setting.seed + FRESH), SIZE
    data = xr.Dataset(coords={"kind": list(KINDS), "delta": DELTAS, "alpha": SCALES, "near": NEAR})
    errors = np.empty((len(KINDS), len(DELTAS), runs))
    expected = np.empty((len(KINDS), len(DELTAS)))
    for i, (sigma, lam) in enumerate(KINDS.values()):
        for k, delta in enumerate(DELTAS.tolist()):
            problem = (Task(delta, sigma, SPARSE), DiagonalNetwork(SCALE, lam))
            expected[i, k] = fixed_point(*problem).test_error
            for run in range(runs):
                drawn, w = minimal(fresh, problem, d, run, "gaussian")
                errors[i, k, run] = np.mean((w - drawn.w_star) ** 2) + sigma**2
    data["test_error"] = (("kind", "delta", "run"), errors)
    data["test_error_expected"] = (("kind", "delta"), expected)
    for name, side in (("below", -1.0), ("above", 1.0)):
        point = fixed_point(Task(1 + side * NEAR, SIGMA, SPARSE), DiagonalNetwork(SCALES[:, None]))
        data[name] = (("alpha", "near"), point.test_error * NEAR / SIGMA**2)  # [eq:double_descent]
    more = dict(d=d, runs=runs, network_alpha=SCALE, decay=DECAY)
    return labelled(data, MEANINGS).assign_attrs(facts(setting, TASK, **more))
