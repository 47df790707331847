"""Rates of convergence: theory over α, loss against time, and the spectrum behind them."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.numerics.spectra import MarchenkoPastur
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.simulation.simulate import training_data
from dynafield.studies.paper.endpoints import interpolated
from dynafield.studies.paper.parts import Problem, facts, labelled, learning, local_rates, minimal, unfitted
from dynafield.studies.paper.setting import GENES, SIGMA, SPARSE, TASK, Setting, gene_inputs, genes
from dynafield.theory.lazy import lazy_errors
from dynafield.theory.rates import convergence_rate

__all__ = ["rates", "rates_real", "rates_theory", "universality"]

ABOVE = Task(delta=2.0, sigma=SIGMA, prior=SPARSE)
ALPHAS = {0.5: (0.1, 0.2, 0.4, 0.8), 2.0: (0.3, 0.5, 0.8, 1.2)}
LONGEST = 150.0
REACH = 8.0
"""Curves are followed until γt is this large, or for the longest time."""
TIMES = 121
RELATIVE = 0.1
"""Relative tolerance of training errors, which fall by many decades."""
PANCAN = 801
"""Samples of the cohort that the paper whitens."""
LATE = np.geomspace(10.0, 300.0, 31)
"""Values of γt at which the power of t beside exp(-2γt) is read off the lazy phase."""


def rates_theory(setting: Setting) -> xr.Dataset:
    """`rates-theory`: γ against α for δ = 2 and 0.5, with both derivatives."""
    alpha, delta = np.geomspace(1e-3, 1e1, 201), np.array([2.0, 0.5])
    task = Task(delta=delta[:, None], sigma=SIGMA, prior=SPARSE)
    rate = convergence_rate(task, DiagonalNetwork(alpha))
    data = xr.Dataset(coords={"delta": delta, "alpha": alpha})
    meanings = {
        "gamma": "rate γ",
        "large_alpha": "limit α²(1 - δ^(-1/2))² for α → ∞",
        "dgamma_dalpha": "dγ/dα in total",
        "dgamma_dalpha_fixed_law": "dγ/dα at fixed distribution of w, as printed",
    }
    for name in meanings:
        data[name] = (("delta", "alpha"), getattr(rate, name))
    return labelled(data, meanings).assign_attrs(facts(setting, task, sigma=SIGMA, lam=0.0))


def curves_of(task: Task) -> tuple[list[Problem], list[np.ndarray], np.ndarray]:
    """Problems, times and rates of the curves shown for one δ."""
    alphas = np.array(ALPHAS[float(task.delta)])
    gamma = convergence_rate(task, DiagonalNetwork(alphas)).gamma
    problems = [(task, DiagonalNetwork(float(alpha))) for alpha in alphas]
    return problems, [np.linspace(0.0, min(LONGEST, REACH / g), TIMES) for g in gamma], gamma


def followed(setting: Setting, task: Task, inputs: Any, d: int, infinite: bool) -> xr.Dataset:
    """Training errors of several α at one δ, and their rates in theory."""
    problems, times, gamma = curves_of(task)
    size = (d, setting.scale.seeds_curves)
    relative = RELATIVE if float(task.delta) < 1 else None
    data = learning(setting, problems, times, size, inputs, rtol=relative, infinite=infinite)
    data["gamma"] = ("curve", gamma, {"long_name": "rate γ in theory"})
    drawn = [training_data(task, d, inputs=inputs, seed=setting.seed, run=run) for run in range(size[1])]
    ends = [unfitted(one.X, one.y) for one in drawn]  # zero, but for rounding, for δ < 1
    data["limit"] = (("curve", "run"), np.tile(ends, (len(problems), 1)))
    above = max(0.0, 1 - 1 / float(task.delta))
    data["limit_theory"] = ("curve", np.full(len(problems), above * float(task.sigma) ** 2))
    return labelled(
        data, {"limit": "least training error of the same data", "limit_theory": "σ²(1 - 1/δ) or 0"}
    )


def grown(setting: Setting, task: Task) -> np.ndarray:
    """Rates at the minimizers of finite data, over α, dimension and run."""
    alphas = np.array(ALPHAS[float(task.delta)])
    found = np.empty((len(alphas), len(setting.scale.dimensions), setting.scale.seeds))
    for k, d in enumerate(setting.scale.dimensions):
        for run in range(setting.scale.seeds):
            drawn, w = minimal(setting, (task, DiagonalNetwork(alphas)), d, run, "gaussian")
            found[:, k, run] = local_rates(drawn.X, w, alphas)
    return found


def rates(setting: Setting) -> xr.Dataset:
    """`rates-gaussian` and `rates-detail`: loss against time for δ = 0.5 and 2."""
    tasks = (TASK, ABOVE)
    parts = [followed(setting, task, "gaussian", setting.scale.d, True) for task in tasks]
    data = xr.concat(parts, "curve", combine_attrs="drop_conflicts")
    data["local_rate"] = (
        ("curve", "dimension", "run_of_rate"),
        np.concatenate([grown(setting, task) for task in tasks]),
        {"long_name": "λ_min(XKXᵀ)/δ at the minimizer of finite data"},
    )
    data = data.assign_coords(dimension=list(setting.scale.dimensions), late=LATE)
    left, _ = lazy_errors(TASK, DiagonalNetwork(1.0), LATE / MarchenkoPastur(float(TASK.delta)).lower)
    data["late_loss"] = ("late", np.log(left) + 2 * LATE)
    data["late_loss"].attrs["long_name"] = "log of training error times exp(2γt), in the lazy phase"
    return data.assign_attrs(facts(setting, TASK, lam=0.0))


def rates_real(setting: Setting) -> xr.Dataset:
    """`rates-real`: the same on gene expression, with its spectrum and the rates that follow from it."""
    inputs, d = gene_inputs(setting.data), GENES[1]
    data = followed(setting, TASK, inputs, d, False)
    alphas = np.array(ALPHAS[0.5])
    for prefix, law in (("", inputs), ("gaussian_", "gaussian")):
        local, spectra = [], []
        for run in range(setting.scale.seeds_curves):
            drawn, w = minimal(setting, (TASK, DiagonalNetwork(alphas)), d, run, law)
            local.append(local_rates(drawn.X, w, alphas))
            spectra.append(np.linalg.eigvalsh(drawn.X @ drawn.X.T) / float(TASK.delta))
        data[f"{prefix}local_rate"] = (("curve", "run"), np.transpose(local))
        data[f"{prefix}eigenvalues"] = (("run", "sample"), np.array(spectra))
    bulk, cohort = MarchenkoPastur(float(TASK.delta)), len(genes(setting.data)[0])
    place = np.linspace(0.5 * bulk.lower, 1.05 * bulk.upper, 801)
    data = data.assign_coords(eigenvalue=place)
    data["marchenko_pastur"] = ("eigenvalue", bulk.density(place) / float(TASK.delta))
    data["corner"] = ("eigenvalue", corner_density(place, GENES[0], GENES[1], cohort))
    data = data.assign_coords(cohort=[cohort, PANCAN])
    data["corner_edge"] = ("cohort", [corner_edges(*GENES, whole)[0] for whole in (cohort, PANCAN)])
    data["independent_edge"] = bulk.lower
    data["centred_error"] = ("run", [centred(setting, run) for run in range(setting.scale.seeds_curves)])
    meanings = {
        "local_rate": "λ_min(XKXᵀ)/δ at the minimizer",
        "eigenvalues": "eigenvalues of XXᵀ/δ",
        "gaussian_eigenvalues": "the same of Gaussian inputs of that size",
        "gaussian_local_rate": "the same of Gaussian inputs of that size",
        "corner": "density of eigenvalues for a corner of an orthogonal matrix as large as the cohort",
        "corner_edge": "its smallest eigenvalue, for our cohort and for the paper's",
        "independent_edge": "the smallest eigenvalue of independent inputs in the limit",
        "marchenko_pastur": "density of eigenvalues of XXᵀ/δ in the limit",
        "centred_error": "least training error if columns are centred over the chosen samples",
    }
    more = dict(provenance=genes(setting.data)[1], lam=0.0)
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))


def corner_density(x: np.ndarray, n: int, d: int, whole: int) -> np.ndarray:
    r"""Density of eigenvalues of \(XX^\top/\delta\) where X is an n × d corner of an orthogonal matrix.

    Whitened features of fewer samples than features are such a matrix, of the size of the cohort, times the
    root of it: a law of Jacobi type [eq:jacobi].
    """
    a = n / whole
    y = x * a  # eigenvalues of the corner itself
    low, high = (a * edge for edge in corner_edges(n, d, whole))
    inside = np.clip((y - low) * (high - y), 0.0, None)
    return np.where(inside > 0, np.sqrt(inside) / (2 * np.pi * y * np.maximum(1 - y, 1e-12)), 0.0)


def corner_edges(n: int, d: int, whole: int) -> tuple[float, float]:
    """Smallest and largest of those eigenvalues."""
    a, b = n / whole, d / whole
    low, high = (((a * (1 - b)) ** 0.5 + sign * (b * (1 - a)) ** 0.5) ** 2 / a for sign in (-1, 1))
    return low, high


def centred(setting: Setting, run: int) -> float:
    """What is left of the labels by the best fit, if the chosen samples have columns of mean zero."""
    data = training_data(TASK, GENES[1], inputs=gene_inputs(setting.data), seed=setting.seed, run=run)
    X = data.X - data.X.mean(axis=0)
    y = X @ data.w_star + (data.y - data.X @ data.w_star)
    return unfitted(X, y)


def universality(setting: Setting) -> xr.Dataset:
    """`universality`: random signs as inputs, fixed points and rates."""
    ends = interpolated(setting, "binary", setting.scale.d)
    curves = followed(setting, TASK, "binary", setting.scale.d, False)
    names = ("alpha", "train_error", "test_error", "delta", "lam", "gamma", "limit", "limit_theory")
    curves = curves.rename({name: f"curve_{name}" for name in names}).rename(run="run_of_curve")
    return ends.merge(curves).assign_attrs(
        facts(
            setting,
            TASK,
            lam=0.0,
            d=setting.scale.d,
            runs=setting.scale.seeds,
            curve_runs=setting.scale.seeds_curves,
        )
    )
