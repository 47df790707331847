"""The stages of training: curves for large and small α, with little weight decay, and in between."""

import numpy as np
import xarray as xr

from dynafield.problem.networks import DiagonalNetwork
from dynafield.simulation.simulate import training_data
from dynafield.studies.paper.parts import crossing, facts, labelled, learning, staged, train
from dynafield.studies.paper.setting import TASK, Setting
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.lazy import lazy_errors, lazy_limit

__all__ = ["dynamics", "large_init", "small_decay", "small_init"]

DECAY = 0.2
"""λ of large-init."""
WEAK = 0.1
"""λ of dynamics: the training error ceases to be monotone near α = 0.3."""
SCALES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 10.0)
DECAYS = (0.0, 0.1, 0.03, 0.01)
FINE = 3e-3
"""Tolerance of large-init at most: the step of the test error is gentle, and its time is asked for."""
RELATIVE = 0.3
"""Relative tolerance where training errors fall by many decades and rise again."""
COARSE = 3e-3
"""Tolerance of small-init at least: few coordinates move first, and 1e-3 needs 10⁵ paths for them."""
AFTER = 20.0
"""Large α is followed until 2 log(α)/λ plus this many 1/λ."""
UNITS = 25.0
"""Small α is followed for this many log(1/α)."""
MANY, FEW = 1000, 5
"""Dimension and number of the networks whose coordinates are followed."""
ACTIVE = 0.5
"""Size from which a coordinate is active."""


def dynamics(setting: Setting) -> xr.Dataset:
    """`dynamics`: training error for α from 0.01 to 10."""
    alphas = np.array(SCALES)
    problems = [(TASK, DiagonalNetwork(float(a), WEAK)) for a in alphas]
    t = [np.append(0.0, np.geomspace(min(1e-2, 1e-2 / a**2), 150.0, 119)) for a in alphas]
    size = (setting.scale.d_curves, setting.scale.seeds_curves)
    data = learning(setting, problems, t, size, rtol=RELATIVE)
    return data.assign_attrs(facts(setting, TASK, lam=WEAK))


def large_times(alpha: float) -> np.ndarray:
    """Times on a log scale from the lazy phase on, and evenly through grokking."""
    middle = 2 * np.log(alpha) / DECAY
    end = middle + AFTER / DECAY
    return np.unique(
        np.concatenate(
            [
                [0.0],
                np.geomspace(0.02 / alpha**2, end, 89),
                np.linspace(0.3 * middle, middle + 10 / DECAY, 69),
            ]
        )
    )


def large_init(setting: Setting) -> xr.Dataset:
    """`large-init` and all that is drawn of it: lazy phase, plateau, grokking, rich phase."""
    alphas = setting.scale.large
    problems = [(TASK, DiagonalNetwork(a, DECAY)) for a in alphas]
    times = [large_times(a) for a in alphas]
    size = (setting.scale.d_curves, setting.scale.seeds_curves)
    data = learning(setting, problems, times, size, rtol=RELATIVE, tol=min(FINE, setting.scale.tol))
    data = staged(data, 1, problems[1])
    lazy_time = np.geomspace(0.02, 1e3, 200)
    train_error, test_error = lazy_errors(TASK, DiagonalNetwork(1.0), lazy_time)
    data = data.assign_coords(lazy_time=lazy_time)
    data["lazy_train_error"] = ("lazy_time", train_error)
    data["lazy_test_error"] = ("lazy_time", test_error)
    data["lazy_at"] = (
        ("curve", "time", "error"),
        np.stack(
            [
                np.stack(lazy_errors(task, net, t), axis=-1)
                for (task, net), t in zip(problems, times, strict=True)
            ]
        ),
    )
    data["plateau"] = lazy_limit(TASK)
    data["end"] = float(fixed_point(TASK, DiagonalNetwork(1.0, DECAY)).test_error)
    level = 0.5 * (float(data["plateau"]) + float(data["end"]))
    data["half_way"] = ("curve", [
        crossing(t, curve, level) for t, curve in zip(times, data["test_error_theory"].values, strict=True)
    ])  # fmt: skip
    meanings = {
        "lazy_train_error": "training error of the lazy phase at α²t = lazy_time",
        "lazy_test_error": "test error of the lazy phase at α²t = lazy_time",
        "lazy_at": "both at the times of the curves, train before test",
        "plateau": "test error in the limit of the lazy phase",
        "end": "test error in the limit of training",
        "half_way": "time at which the test error is half-way between the two",
    }
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, lam=DECAY))


def small_init(setting: Setting) -> xr.Dataset:
    """`small-init` and all that is drawn of it, and which coordinates have become active."""
    alphas = setting.scale.small
    problems = [(TASK, DiagonalNetwork(a)) for a in alphas]
    times = [np.log(1 / a) * np.append(0.0, np.geomspace(0.05, UNITS, 119)) for a in alphas]
    size = (setting.scale.d_curves, setting.scale.seeds_curves)
    data = learning(setting, problems, times, size, tol=max(COARSE, setting.scale.tol))
    data = staged(data, 2, problems[2])
    counts = activated(setting, DiagonalNetwork(0.001))
    data["active"] = (("run_of_rule", "rule", "coordinate"), counts)
    data = data.assign_coords(rule=["truth", "corrected", "printed"])
    data["active"].attrs["long_name"] = "whether a false coordinate is active by t = 150, α = 0.001"
    return data.assign_attrs(facts(setting, TASK, lam=0.0))


def activated(setting: Setting, net: DiagonalNetwork) -> np.ndarray:
    r"""Of every false coordinate by t = 150: whether \(|w| ≥ ½\), and what two rules say, over runs.

    The rules are evaluated on \(g = X^\top(Xw - y)/\delta\), integrated over time: the corrected one is
    \(|\int g| = 2\log(1/\alpha)\), the printed one \(\int|g| = 2\log(1/\alpha)\).
    """
    t, delta = np.linspace(0.0, 150.0, 1201), float(TASK.delta)
    runs = train(setting, (TASK, net), t, MANY, FEW, "gaussian", weights=True)
    level, found = 2 * np.log(1 / net.alpha), []
    for run in range(FEW):
        drawn, w = (
            training_data(TASK, MANY, inputs="gaussian", seed=setting.seed, run=run),
            np.asarray(runs.weights)[run],
        )
        g = (w @ drawn.X.T - drawn.y) @ drawn.X / delta
        steps = 0.5 * (g[1:] + g[:-1]) * np.diff(t)[:, None]
        reached = (
            np.any(np.abs(w) >= ACTIVE, axis=0),
            np.any(np.abs(np.cumsum(steps, axis=0)) >= level, axis=0),
            np.sum(np.abs(steps), axis=0) >= level,
        )
        found.append([rule[drawn.w_star == 0] for rule in reached])
    return np.array(found)


def small_decay(setting: Setting) -> xr.Dataset:
    """`small-decay`: curves with a little weight decay beside one without."""
    problems = [(TASK, DiagonalNetwork(0.5, lam)) for lam in DECAYS]
    t = np.append(0.0, np.geomspace(0.1, 1000.0, 119))
    size = (setting.scale.d_curves, setting.scale.seeds_curves)
    data = learning(setting, problems, [t] * len(problems), size)
    return data.assign_attrs(facts(setting, TASK, alpha=0.5))
