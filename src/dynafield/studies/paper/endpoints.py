"""The limit of training: the three cases, binary inputs and real data."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.studies.paper.parts import END, facts, labelled, law_of, local_rates, minimal, train
from dynafield.studies.paper.setting import GENES, SIGMA, SPARSE, TASK, Setting, gene_inputs, genes
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.lazy import lazy_limit
from dynafield.theory.rates import convergence_rate

__all__ = ["fixed_points", "interpolated", "regularized", "ridgeless"]

FINE = 121
"""Values at which theory is drawn."""
SETTLED = 4.0
"""γt from which a run counts as converged: its residuals have shrunk by e⁻⁴ or more since γt = 0."""
SHOWN = {"interpolating": 0.1, "regularized": 1.0, "ridgeless": 2.0}
"""α or δ at which the distribution of the coordinates is shown."""
DECAY = 0.1
"""λ of case (i)."""
MEANINGS = {
    "test_error": "test error of finite networks at t = 1000",
    "train_error": "training error of finite networks at t = 1000",
    "minimizer_test_error": "test error of the minimizer on the same data",
    "test_error_theory": "test error at the fixed point",
    "train_error_theory": "training error at the fixed point",
    "weights": "coordinates of w at t = 1000",
    "minimizer_weights": "coordinates of the minimizer on the same data",
}


def interpolated(setting: Setting, inputs: Any, d: int) -> xr.Dataset:
    """Case (iii) over α: finite networks at t = 1000 and the interpolators of least J of the same data."""
    scale, alpha = setting.scale, np.geomspace(0.01, 10, setting.scale.points)
    shown = int(np.argmin(np.abs(np.log(alpha / SHOWN["interpolating"]))))
    problem = (TASK, DiagonalNetwork(alpha))
    runs = train(setting, problem, END, d, scale.seeds, inputs)
    ends, rates = [], []
    for run in range(scale.seeds):
        drawn, w = minimal(setting, problem, d, run, inputs)
        ends.append(w)
        rates.append(local_rates(drawn.X, w, alpha))
    w = np.stack(ends, axis=1)
    data = xr.Dataset(coords={"alpha": alpha, "shown_alpha": alpha[shown]})
    axes = ("alpha", "run")
    for name in ("train_error", "test_error"):
        data[name] = (axes, getattr(runs, name)[..., -1])
    data["minimizer_test_error"] = (axes, np.mean((w - runs.w_star) ** 2, axis=-1) + SIGMA**2)
    data["weights"] = (("run", "feature"), runs.w[shown])
    data["minimizer_weights"] = (("run", "feature"), w[shown])
    data["local_rate"] = (axes, np.transpose(rates))
    given = {name: MEANINGS[name] for name in MEANINGS if name in data}
    return labelled(data, given | {"local_rate": "λ_min(XKXᵀ)/δ at the minimizer"}).assign_attrs(
        n=runs.n, d=d, runs=scale.seeds
    )


def fixed_points(setting: Setting) -> xr.Dataset:
    """`fixed-points` and case (iii): theory over α, Gaussian inputs, real data."""
    data = interpolated(setting, "gaussian", setting.scale.d)
    real = interpolated(setting, gene_inputs(setting.data), GENES[1])
    for name in ("test_error", "train_error", "minimizer_test_error"):
        data[f"real_{name}"] = (real[name].dims, real[name].values, real[name].attrs)
    data["real_settled"] = ("alpha", real["local_rate"].mean("run").values * END >= SETTLED)
    fine = np.geomspace(0.01, 10, FINE)
    point = fixed_point(TASK, DiagonalNetwork(fine))
    here = fixed_point(TASK, DiagonalNetwork(data["alpha"].values))
    rate = convergence_rate(TASK, DiagonalNetwork(data["alpha"].values))
    data = data.assign_coords(fine_alpha=fine)
    for name in ("test_error", "train_error"):
        data[f"{name}_theory"] = ("fine_alpha", getattr(point, name))
        data[f"{name}_expected"] = ("alpha", getattr(here, name))
    data["gamma"] = ("alpha", rate.gamma)
    data["settled"] = ("alpha", rate.gamma * END >= SETTLED)
    chosen = fixed_point(TASK, DiagonalNetwork(float(data["shown_alpha"])))
    data = data.merge(law_of(chosen, data["minimizer_weights"].values))
    data["minimum_norm"] = lazy_limit(TASK)
    meanings = {
        "gamma": "rate of convergence in theory",
        "settled": f"whether γt ≥ {SETTLED:g} at the last time",
        "real_settled": "the same of real data, by the mean rate of their own spectra",
        "minimum_norm": "limit α → ∞ of the test error",
    }
    given = {name: MEANINGS[name] for name in ("test_error_theory", "train_error_theory")}
    more = dict(
        provenance=genes(setting.data)[1], real_n=GENES[0], real_d=GENES[1], lam=0.0, t=END,
        settled_from=SETTLED, first=SPARSE.second_moment + SIGMA**2, shown_alpha=float(data["shown_alpha"]),
    )  # fmt: skip
    return labelled(data, given | meanings).assign_attrs(facts(setting, TASK, **more))


def over_delta(setting: Setting, deltas: np.ndarray, net: DiagonalNetwork, case: str) -> xr.Dataset:
    """Cases (i) and (ii): errors over δ, the train-test gap, the distribution of coordinates at one δ."""
    scale = setting.scale
    runs = [
        train(setting, (Task(float(delta), SIGMA, SPARSE), net), END, scale.d, scale.seeds, "gaussian")
        for delta in deltas
    ]
    fine = np.geomspace(deltas[0], deltas[-1], FINE)
    point = fixed_point(Task(fine, SIGMA, SPARSE), net)
    here = fixed_point(Task(deltas, SIGMA, SPARSE), net)
    shown = Task(SHOWN[case], SIGMA, SPARSE)
    law = train(setting, (shown, net), END, scale.d, scale.seeds, "gaussian")
    ends = [minimal(setting, (shown, net), scale.d, run, "gaussian")[1] for run in range(scale.seeds)]
    data = xr.Dataset(coords={"delta": deltas, "fine_delta": fine})
    for name in ("train_error", "test_error"):
        data[name] = (("delta", "run"), np.stack([getattr(one, name)[:, -1] for one in runs]))
        data[f"{name}_theory"] = ("fine_delta", getattr(point, name))
        data[f"{name}_expected"] = ("delta", getattr(here, name))
    data["chi_w"] = ("delta", here.chi_w, {"long_name": "integrated response χ_w"})
    data["weights"] = (("run", "feature"), law.w)
    data["minimizer_weights"] = (("run", "feature"), np.stack(ends))
    chosen = fixed_point(shown, net)
    data = data.merge(law_of(chosen, data["minimizer_weights"].values))
    data["threshold"] = float(chosen.threshold)
    labelled(data, {name: text for name, text in MEANINGS.items() if name in data})
    more = dict(
        shown_delta=shown.delta, alpha=net.alpha, lam=net.lam, t=END, d=scale.d, runs=scale.seeds, sigma=SIGMA
    )
    return data.assign_attrs(facts(setting, Task(deltas, SIGMA, SPARSE), **more))


def regularized(setting: Setting) -> xr.Dataset:
    """`fixed-point-regularized`: case (i), λ > 0."""
    deltas = np.geomspace(0.25, 4, setting.scale.points)
    return over_delta(setting, deltas, DiagonalNetwork(0.5, DECAY), "regularized")


def ridgeless(setting: Setting) -> xr.Dataset:
    """`fixed-point-ridgeless`: case (ii), λ = 0 and δ > 1, up to the peak at δ → 1."""
    deltas = 1 + np.geomspace(0.1, 3, setting.scale.points)
    return over_delta(setting, deltas, DiagonalNetwork(1.0), "ridgeless")
