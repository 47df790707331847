"""Small α: the search phase, and the time at which each coordinate becomes active."""

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.special import ndtr

from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.simulation.data import Data
from dynafield.simulation.simulate import simulate, training_data
from dynafield.studies.paper.parts import facts, labelled
from dynafield.studies.paper.setting import TASK, Setting
from dynafield.theory.fields import field_law

__all__ = ["first_time", "plateau", "search_phase"]

SEED = 1003
"""Added to the seed: other data sets than those of the learning curves."""
SEARCH = np.array([0.5, 1.0, 2.0])
"""Times of the search phase: of order one."""
SMALL = np.array([1e-2, 1e-3])
"""Values of α of the search phase."""
DECAYS = np.array([0.0, 0.2])
"""Values of λ of the search phase."""
EXACT = 1e-10
"""Training whose errors are far below α²."""
FIELDS = np.linspace(-3.0, 4.0, 701)
"""Fields at which distribution functions are compared."""
SCALES = np.array([1e-2, 1e-4, 1e-8])
"""Values of α of activation times: log(1/α) doubles at each step."""
WEAK = np.array([0.0, 0.02])
"""Values of λ of activation times."""
UNITS = 6.0
"""Activation is followed for this many log(1/α)."""
MOMENTS = 1201
"""Times at which g is known there."""
LEVELS = np.array([0.5, 0.1])
"""Sizes of a weight whose times are taken: that of the rule, and another of order one."""
RULES = ("corrected", "printed")


def search_phase(setting: Setting) -> xr.Dataset:
    """Networks in the search phase, and activation times of all coordinates with those of two rules."""
    data = searching(setting).merge(activations(setting))
    meanings = {
        "search_weights": "W = w/α² of networks in the search phase, at the smallest α",
        "search_target": "w* of the same coordinates",
        "search_grid": "W = exp(-λt) sinh(ht) of the fields h",
        "search_cdf": "P(h ≤ field) for coordinates with w* = 0 and with w* ≠ 0",
        "search_off": "root mean square of W - exp(-λt) sinh(ht), h of the same data, over that of W",
        "search_moved": "E(t)/E(0) - 1 of training and test error in the search phase, over α²",
        "search_moved_form": "the same by the distribution of W",
        "active_time": "first time at which |w| reaches a level, in log(1/α); NaN for never",
        "rule_time": "first time at which |∫g| - λt (corrected) or ∫|g| - λt (printed) is 2 log(1/α)",
        "active_target": "w* of the same coordinates",
    }
    more = dict(
        d=2 * setting.scale.d, runs=setting.scale.seeds, active_d=setting.scale.d_curves, active_units=UNITS
    )
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))


def searching(setting: Setting) -> xr.Dataset:
    """W(t) of networks, its distribution, and the change of both errors, over λ, α and time."""
    d, runs, seed = 2 * setting.scale.d, setting.scale.seeds, setting.seed + SEED
    net = DiagonalNetwork(SMALL, DECAYS[:, None])
    t = np.append(0.0, SEARCH)
    seen = simulate(
        TASK, net, t[-1], d=d, runs=runs, t_eval=t, tol=EXACT, weights=True, seed=seed, progress=False
    )
    axes = ("search_lam", "search_alpha", "search_run", "search_time")
    data = xr.Dataset(coords={"search_lam": DECAYS, "search_alpha": SMALL, "search_time": SEARCH})
    W = seen.weights[:, :, :, 1:] / SMALL[:, None, None, None] ** 2
    data["search_weights"] = ((axes[0], *axes[2:], "search_feature"), W[:, -1])
    data["search_target"] = ((axes[2], "search_feature"), seen.w_star)
    h = np.stack([fields(training_data(TASK, d, seed=seed, run=run)) for run in range(runs)])
    form = grown(h[None, :, None, :], DECAYS[:, None, None, None], SEARCH[:, None])[:, None]
    off = np.mean((W - form) ** 2, axis=-1) / np.mean(form**2, axis=-1)
    data["search_off"] = (axes, np.sqrt(off))
    errors = np.stack([seen.train_error, seen.test_error])
    moved = (errors[..., 1:] / errors[..., :1] - 1) / SMALL[:, None, None] ** 2
    data["search_moved"] = (("error", *axes), moved)
    data["search_moved_form"] = (
        ("error", axes[0], axes[3]),
        np.stack([plateau(TASK, float(lam), SEARCH) for lam in DECAYS], axis=1),
    )
    law = field_law(TASK, DiagonalNetwork(1.0))
    steps = ndtr((FIELDS[:, None] - law.fields.mean) / law.fields.std)
    data["search_grid"] = (
        (axes[0], axes[3], "field"), grown(FIELDS, DECAYS[:, None, None], SEARCH[:, None]),
    )  # fmt: skip
    data["search_cdf"] = (("kind", "field"), [steps @ law.share(kind) for kind in (False, True)])
    return data.assign_coords(field=FIELDS, kind=["false", "true"], error=["train", "test"])


def grown(h: np.ndarray, lam: np.ndarray, t: np.ndarray) -> np.ndarray:
    r"""\(W = e^{-\lambda t}\sinh ht\), the search phase of a coordinate with field h [eq:search_sol]."""
    return np.exp(-lam * t) * np.sinh(h * t)


def fields(drawn: Data) -> np.ndarray:
    r"""\(h = X^\top y/\delta\), the field of each coordinate at the start."""
    return drawn.y @ drawn.X * (drawn.X.shape[1] / len(drawn.y))


def plateau(task: Task, lam: float, t: Float[np.ndarray, " t"]) -> Float[np.ndarray, "error t"]:
    r"""What training and test error lose in the search phase, over their first value and α²
    [eq:search_errors].

    \(-2E[hW]\) and \(-2E[w^*W]\) over \(\rho^2 + \sigma^2\).
    """
    law = field_law(task, DiagonalNetwork(1.0))
    first = law.prior.signal + float(task.sigma) ** 2
    moved = np.zeros((2, len(t)))
    for weight, mean, own, std in zip(
        law.prior.weight, law.prior.mean, law.prior.std, law.fields.std, strict=True
    ):
        wide, plain = mean * np.sinh(mean * t), t * np.cosh(mean * t)
        both = np.stack([wide + std**2 * plain, wide + own**2 * plain])  # h and w* with sinh ht
        moved += weight * np.exp(0.5 * std**2 * t**2 - lam * t) * both
    return -2 * moved / first


def activations(setting: Setting) -> xr.Dataset:
    """Times of every coordinate in units of log(1/α): by its size, and by both rules on its own g."""
    scale = setting.scale
    d, runs, seed = scale.d_curves, scale.seeds // (2 if scale.name == "quick" else 1), setting.seed + SEED
    units = np.log(1 / SCALES)
    t = UNITS * units[-1] * np.linspace(0.0, 1.0, MOMENTS)
    found = np.empty((len(WEAK), len(SCALES), len(LEVELS) + len(RULES), runs, d))
    net = DiagonalNetwork(SCALES, WEAK[:, None])
    seen = simulate(TASK, net, t[-1], d=d, runs=runs, t_eval=t, weights=True, seed=seed, progress=False)
    for run in range(runs):
        drawn = training_data(TASK, d, seed=seed, run=run)
        for i, j in np.ndindex(len(WEAK), len(SCALES)):
            times = coordinate_times(t, seen.weights[i, j, run], drawn, float(WEAK[i]), float(SCALES[j]))
            found[i, j, :, run] = np.where(times <= UNITS * units[j], times / units[j], np.nan)
    axes = ("active_lam", "active_alpha")
    data = xr.Dataset(coords={"active_lam": WEAK, "active_alpha": SCALES, "level": LEVELS})
    data["active_time"] = ((*axes, "level", "active_run", "feature"), found[:, :, : len(LEVELS)])
    data["rule_time"] = ((*axes, "rule", "active_run", "feature"), found[:, :, len(LEVELS) :])
    data["active_target"] = (("active_run", "feature"), seen.w_star)
    return data.assign_coords(rule=list(RULES))


def coordinate_times(t: np.ndarray, w: np.ndarray, drawn: Data, lam: float, alpha: float) -> np.ndarray:
    r"""When each coordinate reaches the levels, and when \(|\int g| - \lambda t\) and
    \(\int|g| - \lambda t\) come to \(2\log(1/\alpha)\) [eq:activation]."""
    g = (w @ drawn.X.T - drawn.y) @ drawn.X * (w.shape[1] / len(drawn.y))
    steps = 0.5 * (g[1:] + g[:-1]) * np.diff(t)[:, None]
    start, decayed = np.zeros((1, w.shape[1])), lam * t[:, None]
    outside = np.abs(np.concatenate([start, np.cumsum(steps, axis=0)])) - decayed
    inside = np.concatenate([start, np.cumsum(np.abs(steps), axis=0)]) - decayed
    needed = 2 * float(np.log(1 / alpha))
    pairs = [(np.abs(w), float(level)) for level in LEVELS] + [(outside, needed), (inside, needed)]
    return np.stack([first_time(t, values, level) for values, level in pairs])


def first_time(
    t: Float[np.ndarray, " t"], values: Float[np.ndarray, "t n"], level: float
) -> Float[np.ndarray, " n"]:
    """The first time at which each column comes up to a level, between its points; NaN for never."""
    above = values >= level
    after = np.maximum(np.argmax(above, axis=0), 1)
    column = np.arange(values.shape[1])
    low, high = values[after - 1, column], values[after, column]
    rise = np.where(high > low, high - low, 1.0)
    time = t[after - 1] + np.clip((level - low) / rise, 0.0, 1.0) * (t[after] - t[after - 1])
    return np.where(np.any(above, axis=0), time, np.nan)
