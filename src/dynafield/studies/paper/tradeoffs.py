"""How α decides the limit of training without weight decay, and its rate."""

import numpy as np
import xarray as xr

from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.priors import Discrete
from dynafield.problem.task import Task
from dynafield.studies.paper.parts import facts, labelled, local_rates, minimal
from dynafield.studies.paper.setting import SPARSE, TASK, Setting
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.rates import convergence_rate

__all__ = ["generalization", "rate_limits"]

NOISES = np.array([0.1, 0.3])
"""Little label noise, as elsewhere in the paper, and more."""
SCALES = np.array([0.02, 0.1, 0.58, 3.0])
"""Values of α of networks: .58 is next to the best one with more noise."""
SIZE = (400, 40)
"""Dimension and number of networks: the least error is flat, and differences of one percent are judged."""
LARGE, SMALL = np.array([3.0, 10.0, 30.0, 100.0]), np.array([1e-1, 1e-2, 1e-3, 1e-4])
"""Values of α on the way to both limits of γ."""
DENSE = Task(delta=2.0, sigma=0.0, prior=Discrete([-1.0, 1.0], [0.5, 0.5]))
"""No noise, more data than dimensions, no target zero."""


def generalization(setting: Setting) -> xr.Dataset:
    """`generalization`: error in the limit of training and rate over α, for little and for more noise."""
    fine, (d, runs) = np.geomspace(1e-2, 10.0, 121), SIZE
    axes, finite = ("sigma", "fine_alpha"), ("sigma", "alpha", "run")
    data = xr.Dataset(coords={"sigma": NOISES, "fine_alpha": fine, "alpha": SCALES})
    for end, scales, names in (("theory", fine, axes), ("expected", SCALES, finite[:2])):
        task, net = Task(float(TASK.delta), NOISES[:, None], SPARSE), DiagonalNetwork(scales)
        data[f"test_error_{end}"] = (names, fixed_point(task, net).test_error)
        data[f"gamma_{end}"] = (names, convergence_rate(task, net).gamma)
    errors, rates = np.empty((2, len(NOISES), len(SCALES), runs))
    for row, sigma in enumerate(NOISES):
        problem = (Task(float(TASK.delta), float(sigma), SPARSE), DiagonalNetwork(SCALES))
        for run in range(runs):
            drawn, w = minimal(setting, problem, d, run, "gaussian")
            errors[row, :, run] = np.mean((w - drawn.w_star) ** 2, axis=-1) + sigma**2
            rates[row, :, run] = local_rates(drawn.X, w, SCALES)
    data["test_error"], data["local_rate"] = (finite, errors), (finite, rates)
    meanings = {
        "test_error": "test error of networks in the limit of training",
        "local_rate": "λ_min(XKXᵀ)/δ of the same networks",
        "test_error_theory": "test error at the fixed point",
        "gamma_theory": "rate of convergence γ",
        "test_error_expected": "test error at the fixed point, for the networks' α",
        "gamma_expected": "rate of convergence γ, for the networks' α",
    }
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, d=d, runs=runs, lam=0.0))


def rate_limits(setting: Setting) -> xr.Dataset:
    """γ on the way to α → ∞ and α → 0; where it does not vanish, spectra of finite data too."""
    delta = np.array([0.5, 2.0])
    data = xr.Dataset(coords={"delta": delta, "large_alpha": LARGE, "small_alpha": SMALL})
    tasks = Task(delta[:, None], float(TASK.sigma), SPARSE)
    large = convergence_rate(tasks, DiagonalNetwork(LARGE))
    data["large_ratio"] = (("delta", "large_alpha"), large.gamma / np.asarray(large.large_alpha))
    small = convergence_rate(tasks, DiagonalNetwork(SMALL))
    data["small_gamma"] = (("delta", "small_alpha"), small.gamma)
    dense = convergence_rate(DENSE, DiagonalNetwork(SMALL))
    data["dense_gamma"] = ("small_alpha", dense.gamma)
    data["dense_limit"] = float(np.ravel(dense.small_alpha)[0])
    d, runs = setting.scale.dimensions[-1], setting.scale.seeds
    found = []
    for run in range(runs):
        drawn, w = minimal(setting, (DENSE, DiagonalNetwork(SMALL)), d, run, "gaussian")
        found.append(local_rates(drawn.X, w, SMALL))
    data["dense_local_rate"] = (("small_alpha", "run"), np.transpose(found))
    meanings = {
        "large_ratio": "γ over its limit α²(1 - δ^(-1/2))² for large α",
        "small_gamma": "γ for small α",
        "dense_gamma": "γ for small α, σ = 0, δ = 2, targets ±1",
        "dense_limit": "its limit α → 0",
        "dense_local_rate": "λ_min(XKXᵀ)/δ of finite data of that kind",
    }
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, d=d, runs=runs, lam=0.0))
