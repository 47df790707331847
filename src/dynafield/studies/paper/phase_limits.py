"""Both phases of rich learning in their limits, α → 0 and α → ∞, on data that networks are trained on too."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.endpoints.descent_limit import descent_limit
from dynafield.endpoints.minimizers import basis_pursuit, minimizer
from dynafield.endpoints.rich_limit import rich_limit
from dynafield.problem.networks import DiagonalNetwork
from dynafield.simulation.data import Data
from dynafield.simulation.simulate import simulate, training_data
from dynafield.studies.paper.parts import facts, labelled
from dynafield.studies.paper.setting import TASK, Setting

__all__ = ["phase_limits"]

FRESH = 1000
"""Added to the seed: data of their own."""
DECAY = 0.2
"""λ of the rich phase, as of large-init."""
SMALL, LARGE = np.array([1e-1, 1e-3, 1e-6]), np.array([1.0, 1.5, 2.5, 3.5])
"""Values of α on the way to both limits; log(1/α) doubles from the second to the third."""
UNITS, BEFORE, AFTER = 8.0, -12.0, 40.0
"""Last time in units of log(1/α); first and last time after 2 log(α)/λ."""
DRAWS, RICH, FEW = 100, 30, 4
"""Data sets of the limit α → 0, of the limit α → ∞, and networks of each large α: each on the first ones."""
EXACT, LOOSE = 1e-8, 1e-6
"""Tolerance of training for large α, whose distance from its limit is exponentially small; and of that limit
where no network is compared with it."""


def phase_limits(setting: Setting) -> xr.Dataset:
    """`phase-limits`: limit equations of descent and of the rich phase, and networks on the same data."""
    d, runs = setting.scale.d_curves, setting.scale.seeds
    drawn = [
        training_data(TASK, d, inputs="gaussian", seed=setting.seed + FRESH, run=run) for run in range(DRAWS)
    ]
    data = xr.Dataset(coords={"small_alpha": SMALL, "large_alpha": LARGE})
    data = data.assign_coords(s=np.linspace(0.0, UNITS, 161), tau=np.linspace(BEFORE, AFTER, 105))
    descend(setting, data, drawn)
    transit(setting, data, drawn)
    meanings = {
        "descent_train_limit": "training error of the limit α → 0 at t = s log(1/α), λ = 0",
        "descent_test_limit": "its test error",
        "descent_train_error": "training error of networks at t = s log(1/α), λ = 0",
        "descent_test_error": "their test error",
        "descent_end": "largest distance of the limit's last weights from the minimizer: λ = 0, λ > 0",
        "rich_train_limit": "training error of the limit α → ∞ at t = 2 log(α)/λ + τ",
        "rich_test_limit": "its test error",
        "rich_train_error": "training error of networks at t = 2 log(α)/λ + τ, if that is not before 0",
        "rich_test_error": "their test error",
        "rich_distance": "distance of networks' weights from the limit at τ = 0, relative",
        "rich_memory": "the same by the linear memory of the start",
    }
    more = dict(d=d, runs=runs, networks=FEW, draws=DRAWS, rich_draws=RICH, rich_lam=DECAY)
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))


def both_errors(one: Data, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Training and test error of rows of weights."""
    test = np.mean((w - one.w_star) ** 2, axis=-1) + one.sigma**2
    return np.mean((w @ one.X.T - one.y) ** 2, axis=-1), test


def descend(setting: Setting, data: xr.Dataset, drawn: list[Data]) -> None:
    """The limit of small α without weight decay, what it converges to with and without, and networks."""
    s, ends, runs = data["s"].values, [], setting.scale.seeds
    found = [both_errors(one, descent_limit(one.X, one.y, 0.0, UNITS).at(s)) for one in drawn]
    for place, name in enumerate(("train", "test")):
        data[f"descent_{name}_limit"] = (("draw", "s"), np.array([pair[place] for pair in found]))
    for one in drawn[:runs]:
        bare, decayed = (descent_limit(one.X, one.y, lam, np.inf).w[-1] for lam in (0.0, DECAY))
        lasso = minimizer(one.X, one.y, DiagonalNetwork(1.0, DECAY)).w
        off = (bare - basis_pursuit(one.X, one.y).w, decayed - lasso)
        ends.append([float(np.max(np.abs(part))) for part in off])
    data["descent_end"] = (("run", "penalty"), np.array(ends))
    trained = [networks(setting, DiagonalNetwork(float(a)), s * np.log(1 / a), runs) for a in SMALL]
    for name in ("train_error", "test_error"):
        values = np.array([getattr(one, name) for one in trained])
        data[f"descent_{name}"] = (("small_alpha", "run", "s"), values)


def transit(setting: Setting, data: xr.Dataset, drawn: list[Data]) -> None:
    """The limit of large α with weight decay, and networks."""
    tau = data["tau"].values
    limits = [
        rich_limit(one.X, one.y, DECAY, tau, 1e-2 * EXACT if k < FEW else LOOSE)
        for k, one in enumerate(drawn[:RICH])
    ]
    found = [both_errors(one, w) for one, w in zip(drawn, limits, strict=False)]
    for place, name in enumerate(("train", "test")):
        data[f"rich_{name}_limit"] = (("rich_draw", "tau"), np.array([pair[place] for pair in found]))
    errors, off = np.full((2, len(LARGE), FEW, len(tau)), np.nan), []
    at_zero = np.array([w[tau == 0][0] for w in limits[:FEW]])
    for k, alpha in enumerate(LARGE):
        t = tau + 2 * np.log(alpha) / DECAY
        runs = networks(setting, DiagonalNetwork(float(alpha), DECAY), t[t >= 0], FEW)
        errors[:, k, :, t >= 0] = np.moveaxis(np.array([runs.train_error, runs.test_error]), -1, 0)
        off.append(np.asarray(runs.weights)[:, tau[t >= 0] == 0][:, 0] - at_zero)
    data["rich_train_error"], data["rich_test_error"] = (
        (("large_alpha", "network", "tau"), values) for values in errors
    )
    distance = np.linalg.norm(off, axis=-1) / np.linalg.norm(at_zero, axis=-1)
    data["rich_distance"] = (("large_alpha", "network"), distance)
    data["rich_memory"] = (("large_alpha", "network"), np.transpose([memory(one) for one in drawn[:FEW]]))


def memory(one: Data) -> np.ndarray:
    r"""What is left at τ = 0 of the distance from the limit at t = 0, for every large α [eq:rich_memory]."""
    left, values, _ = np.linalg.svd(one.X, full_matrices=False)
    part = left.T @ one.y / values  # of the interpolator of least norm
    rates = values**2 / float(TASK.delta) / DECAY
    kept = [np.linalg.norm(np.exp(-rates * (a**2 - 1)) * part) / a**2 for a in LARGE]  # [eq:rich_memory]
    return np.array(kept) / np.linalg.norm(part)


def networks(setting: Setting, net: DiagonalNetwork, t: np.ndarray, runs: int) -> Any:
    """Networks at times t on the first data sets of the limits, tightly for large α."""
    found = simulate(
        TASK, net, float(t[-1]), d=setting.scale.d_curves, runs=runs, t_eval=t, seed=setting.seed + FRESH,
        weights=True, tol=EXACT if float(net.lam) > 0 else None, progress=False,
    )  # fmt: skip
    if not found.complete:
        raise KeyboardInterrupt
    return found
