"""The paper's own way to run networks: steps of 0.1, and targets drawn independently."""

import dataclasses

import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.dmft.solve import solve
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.priors import Bernoulli
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientDescent, GradientFlow
from dynafield.studies.paper.parts import END, facts, labelled, train
from dynafield.studies.paper.setting import FULL, SIGMA, SPARSE, TASK, Setting
from dynafield.theory.fixed_points import fixed_point

__all__ = ["as_printed"]

NONZERO = float(SPARSE.components.weight[-1])
"""Fraction of nonzero targets."""
STEP = 0.1
"""Step size η that the paper prints."""
SCALES = np.array([0.5, 1.0, 1.5])
"""Values of α at which steps of that size are stable."""
TIMES = np.unique(np.round(np.geomspace(0.1, 10.0, 21), 1))
"""Multiples of the step at which errors are kept."""
SPREAD_SCALE, SPREAD_TIMES, SPREAD_RUNS = 0.5, np.array([0.2, 0.5, 1.0, 2.0]), 300
"""Network, times and number of runs whose scatter is compared."""
SHARE = 0.02
"""Difference of two fractions of nonzero targets, for the derivative in the fraction."""
ABOVE = np.array([1.7, 1.8, 2.1, 3.0, 10.0, 30.0])
"""Values of α around the bound 1.85 of stability, and those of the figures of large α."""
TRIED = 50
"""Steps in which an instability shows."""
FRESH = 5000
"""Added to the seed: no other experiment trains on these data."""
MEANINGS = {
    "train_error": "training error of networks, steps of 0.1, independent targets",
    "test_error": "test error of the same networks",
    "flow_train_error": "training error by gradient flow on the same data",
    "flow_test_error": "test error by gradient flow on the same data",
    "train_error_theory": "training error of the infinite network in steps",
    "test_error_theory": "test error of the infinite network in steps",
    "train_error_flow_theory": "training error of the infinite network by gradient flow",
    "test_error_flow_theory": "test error of the infinite network by gradient flow",
    "end_test_error": "test error of such networks in the limit of training",
    "end_expected": "test error at the fixed point of gradient flow",
    "shares_test_error": "test error of networks with exact proportions of targets",
    "iid_test_error": "test error of networks with independent targets",
    "iid_share": "fraction of the independent targets that is nonzero",
    "share_slope": "derivative of the test error in that fraction, in theory",
    "growth": "largest factor by which a step raised the training error",
    "stopped": "whether training overflowed",
}


def as_printed(setting: Setting) -> xr.Dataset:
    """`as-printed`: networks trained the paper's way, and the theory of steps and of the flow."""
    fresh = dataclasses.replace(setting, seed=setting.seed + FRESH)
    data = xr.Dataset(coords={"alpha": SCALES, "t": TIMES, "spread_time": SPREAD_TIMES, "above": ABOVE})
    data = data.assign(curves(fresh)).assign(infinite(fresh)).assign(spread(fresh)).assign(stability(fresh))
    end = END if setting.scale is FULL else END / 10
    runs = train(
        fresh, (TASK, DiagonalNetwork(SCALES)), end, setting.scale.d, setting.scale.seeds, "gaussian",
        trainer=GradientDescent(STEP), targets="iid",
    )  # fmt: skip
    data["end_test_error"] = (("alpha", "run"), runs.test_error[..., -1])
    data["end_expected"] = ("alpha", fixed_point(TASK, DiagonalNetwork(SCALES)).test_error)
    more = dict(d=setting.scale.d, runs=setting.scale.seeds, n=runs.n, lam=0.0, step=STEP, end=end)
    more |= dict(spread=SPREAD_RUNS, spread_alpha=SPREAD_SCALE, share=NONZERO)
    more |= dict(curvature=(1 + float(TASK.delta) ** -0.5) ** 2, first=SPARSE.second_moment + SIGMA**2)
    return labelled(data, MEANINGS).assign_attrs(facts(setting, TASK, **more))


def curves(setting: Setting) -> dict[str, tuple]:
    """Errors of networks in steps and by the flow, on the same data with independent targets."""
    size, axes = (setting.scale.d, setting.scale.seeds), ("alpha", "run", "t")
    found = {}
    for name, trainer in (("", GradientDescent(STEP)), ("flow_", GradientFlow())):
        runs = train(
            setting, (TASK, DiagonalNetwork(SCALES)), TIMES, *size, "gaussian", targets="iid", trainer=trainer
        )
        found |= {f"{name}{error}": (axes, getattr(runs, error)) for error in ("train_error", "test_error")}
    return found


def infinite(setting: Setting) -> dict[str, tuple]:
    """Errors of the infinite network in steps and by the flow, with their standard errors."""
    found, tol = {}, min(setting.scale.tol, 1e-3)
    for name, trainer in (("", GradientDescent(STEP)), ("_flow", GradientFlow())):
        points = [
            solve(
                TASK,
                DiagonalNetwork(alpha),
                TIMES[-1],
                tol=tol,
                trainer=trainer,
                seed=setting.seed,
                progress=False,
            ).at(TIMES)
            for alpha in SCALES.tolist()
        ]
        for error in ("train_error", "test_error"):
            for end in ("", "_se"):
                values = np.stack([getattr(point, f"{error}{end}") for point in points])
                found[f"{error}{name}_theory{end}"] = (("alpha", "t"), values)
    return found


def spread(setting: Setting) -> dict[str, tuple]:
    """Test errors of many networks, with exact proportions of targets and with independent targets."""
    problem, axes = (TASK, DiagonalNetwork(SPREAD_SCALE)), ("spread_run", "spread_time")
    size, steps = (setting.scale.d, SPREAD_RUNS), GradientDescent(STEP)
    exact = train(setting, problem, SPREAD_TIMES, *size, "gaussian", trainer=steps)
    other = dataclasses.replace(setting, seed=setting.seed + 1)
    iid = train(other, problem, SPREAD_TIMES, *size, "gaussian", trainer=steps, targets="iid")
    return {
        "shares_test_error": (axes, exact.test_error),
        "iid_test_error": (axes, iid.test_error),
        "iid_share": ("spread_run", np.mean(iid.w_star != 0, axis=-1)),
        "share_slope": ("spread_time", share_slope(setting)),
    }


def share_slope(setting: Setting) -> Float[np.ndarray, " t"]:
    r"""\(\partial_p E\) of the test error, by infinite networks with two fractions [eq:random_shares]."""
    errors = []
    for p in (NONZERO - SHARE / 2, NONZERO + SHARE / 2):
        task = Task(float(TASK.delta), SIGMA, Bernoulli(p))
        curves = solve(
            task, DiagonalNetwork(SPREAD_SCALE), SPREAD_TIMES[-1], tol=1e-3, trainer=GradientDescent(STEP),
            seed=setting.seed, progress=False,
        )  # fmt: skip
        errors.append(curves.at(SPREAD_TIMES).test_error)
    return (errors[1] - errors[0]) / SHARE


def stability(setting: Setting) -> dict[str, tuple]:
    """The largest growth of the training error in one step, and which networks overflow."""
    times = STEP * np.arange(TRIED + 1)
    runs = train(
        setting, (TASK, DiagonalNetwork(ABOVE)), times, setting.scale.d, setting.scale.seeds, "gaussian",
        trainer=GradientDescent(STEP), targets="iid", throw=False,
    )  # fmt: skip
    error = np.asarray(runs.train_error)
    ratio = error[..., 1:] / error[..., :-1]
    axes = ("above", "run")
    return {
        "growth": (axes, np.nanmax(np.where(np.isfinite(ratio), ratio, -np.inf), axis=-1)),
        "stopped": (axes, np.isfinite(runs.stopped_at)),
    }
