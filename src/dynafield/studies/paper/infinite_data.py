"""δ → ∞: one equation for each coordinate, its closed forms, and networks with many data."""

import numpy as np
import xarray as xr

from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.priors import Discrete
from dynafield.problem.task import Task
from dynafield.simulation.simulate import simulate
from dynafield.studies.paper.parts import facts, labelled
from dynafield.studies.paper.search_phase import first_time
from dynafield.studies.paper.setting import SIGMA, Setting
from dynafield.theory.closed_forms import descent, lazy, search
from dynafield.theory.infinite_data import infinite_data_paths

__all__ = ["infinite_data", "uncorrelated"]

SEED = 2005
"""Added to the seed: other data sets than those of other experiments."""
SIDES = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
"""Targets of networks with many data."""
PRIOR = Discrete(SIDES.tolist(), [0.1, 0.1, 0.6, 0.1, 0.1])
MANY = np.array([20.0, 320.0])
"""Values of δ on the way to infinity."""
DECAY = 0.1
ENDS, TIMES = np.array([1e-3, 10.0]), np.linspace(0.0, 120.0, 481)
"""α of networks with many data, small and large, and their times."""
LAZY, EARLY = np.linspace(0.0, 5.0, 26), np.linspace(0.0, 3.0, 16)
"""α²t of the lazy phase, and times of the search phase."""
HUGE, TINY = np.array([10.0, 30.0, 100.0]), np.array([1e-1, 1e-2, 1e-3])
"""Values of α on the way to both limits."""
LATEST = 2.0
"""Descent is followed for this many times the activation time of the smaller target."""
CHOSEN = np.array([1.0, 0.5])
"""Targets of closed forms."""
APPROACH = np.array([1.0, 0.2, 0.15, 0.05])
"""Targets whose rate of convergence is measured: Δ > 2λ, two of Δ < 2λ, and an inactive one, for λ = 0.1."""
WINDOW = np.array([6.0, 9.0])
"""Between these numbers of decay times the rate of approach is taken."""
WAITS = np.array([1e-2, 1e-4, 1e-8])
"""Values of α of activation times: log(1/α) doubles at each step."""
GROKKING = np.array([3.0, 10.0, 30.0, 100.0])
EXACT = 1e-10


def infinite_data(setting: Setting) -> xr.Dataset:
    """Networks with many data, closed forms of each phase, activation, and rates of convergence."""
    data = xr.merge([many_data(setting), closed_forms(), waiting(), approach()])
    meanings = {
        "path_distance": "root mean square distance of networks' paths from those of δ → ∞",
        "speed": "(2 log(1/α) + log 2Δ) / time to half of Δ, of networks with many data",
        "form_off": "largest distance of networks without correlations from a closed form",
        "half_time": "time at which |w| = Δ/2 for δ → ∞",
        "grokking_time": "time at which w is half-way from w* to w* - λ for δ → ∞, w* = 1",
        "approach_rate": "rate of |w - w(∞)| of networks without correlations, late",
    }
    more = dict(
        d=setting.scale.d // 4,
        runs=setting.scale.seeds,
        lam=DECAY,
        small_alpha=float(ENDS[0]),
        large_alpha=float(ENDS[1]),
    )
    return labelled(data, meanings).assign_attrs(facts(setting, many(MANY[-1]), **more))


def many(delta: float) -> Task:
    """The task with so many data."""
    return Task(delta=float(delta), sigma=SIGMA, prior=PRIOR)


def many_data(setting: Setting) -> xr.Dataset:
    """Distance of networks from the paths of δ → ∞, small α and large; speeds at the largest δ."""
    d, runs, net = setting.scale.d // 4, setting.scale.seeds, DiagonalNetwork(ENDS, DECAY)
    distance, speed = np.empty((len(ENDS), len(MANY), runs)), np.empty((len(CHOSEN), runs))
    forms = [infinite_data_paths(SIDES, DiagonalNetwork(float(alpha), DECAY), TIMES) for alpha in ENDS]
    for j, delta in enumerate(MANY):
        seen = simulate(
            many(delta), net, TIMES[-1], d=d, runs=runs, t_eval=TIMES, weights=True,
            seed=setting.seed + SEED, progress=False,
        )  # fmt: skip
        which = np.argmin(np.abs(seen.w_star[..., None] - SIDES), axis=-1)
        for k, form in enumerate(forms):
            off = seen.weights[k] - np.moveaxis(form[which], -1, 1)
            distance[k, j] = np.sqrt(np.mean(off**2, axis=(1, 2)))
        if delta == MANY[-1]:
            pairs = zip(seen.weights[0], seen.w_star, strict=True)
            speed = np.transpose([speeds(w, target) for w, target in pairs])
    data = xr.Dataset(coords={"many": MANY, "side": ["small", "large"], "chosen": CHOSEN})
    data["path_distance"] = (("side", "many", "run"), distance)
    data["speed"] = (("chosen", "run"), speed)
    return data


def speeds(w: np.ndarray, target: np.ndarray) -> list[float]:
    r"""Means of \((2\log(1/\alpha) + \log 2\Delta)/t\), t the time to half of Δ, for each size of target.

    That is \(|h| - \lambda\) while the field h stays [eq:descent_path].
    """
    found = []
    for size in CHOSEN:
        gap = float(size) - DECAY
        time = first_time(TIMES, np.abs(w[:, np.abs(target) == size]), 0.5 * gap)
        found.append(float(np.mean((2 * np.log(1 / ENDS[0]) + np.log(2 * gap)) / time)))
    return found


def uncorrelated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    r"""Inputs with \(X^\top X = \delta\), as infinitely many data have: then \(g = w - w^*\)."""
    return np.linalg.qr(rng.standard_normal((n, d)))[0] * np.sqrt(n / d)


def decoupled(targets: np.ndarray, net: DiagonalNetwork, t: np.ndarray) -> np.ndarray:
    """Weights over time of a network trained on these targets, with inputs without correlations."""
    task = Task(delta=2.0, sigma=0.0, prior=PRIOR)
    seen = simulate(
        task, net, float(t[-1]), d=len(targets), runs=1, t_eval=t, tol=EXACT, inputs=uncorrelated,
        targets=targets, weights=True, progress=False,
    )  # fmt: skip
    return np.asarray(seen.weights[0])


def closed_forms() -> xr.Dataset:
    """Networks without correlations against the forms of each phase, on the way to both limits of α."""
    off, targets = np.empty((3, len(TINY))), np.concatenate([CHOSEN, -CHOSEN])
    for j, (large, small) in enumerate(zip(HUGE, TINY, strict=True)):
        slow = DiagonalNetwork(float(small), DECAY)
        late = LATEST * 2 * np.log(1 / small) / (CHOSEN.min() - DECAY)
        for k, (form, net, t, unit) in enumerate(
            (
                (lazy, DiagonalNetwork(float(large), DECAY), LAZY / large**2, 1.0),
                (search, slow, EARLY, small**2),
                (descent, slow, np.linspace(0.0, late, 201), 1.0),
            )
        ):
            expected = form(targets, net, t[:, None])
            off[k, j] = np.max(np.abs(decoupled(targets, net, t) - expected)) / unit
    data = xr.Dataset(coords={"form": ["lazy", "search", "descent"], "large": HUGE, "small": TINY})
    data["form_off"] = (("form", "step"), off)
    return data


def waiting() -> xr.Dataset:
    """Activation and grokking times of the equation for δ → ∞."""
    data = xr.Dataset(
        coords={"chosen": CHOSEN, "wait": WAITS, "wait_lam": [0.0, DECAY], "grokking": GROKKING}
    )
    half = np.empty((2, len(WAITS), len(CHOSEN)))
    for i, lam in enumerate((0.0, DECAY)):
        for j, alpha in enumerate(WAITS):
            for k, target in enumerate(CHOSEN):
                gap = float(target) - lam
                t = np.linspace(0.0, 3 * np.log(1 / alpha) / gap, 4001)
                path = infinite_data_paths([target], DiagonalNetwork(float(alpha), lam), t)
                half[i, j, k] = first_time(t, path.T, 0.5 * gap)[0]
    data["half_time"] = (("wait_lam", "wait", "chosen"), half)
    steps = []
    for alpha in GROKKING:
        middle = 2 * float(np.log(alpha)) / DECAY
        t = np.append(0.0, np.linspace(0.3 * middle, middle + 50.0, 4001))
        path = infinite_data_paths([1.0], DiagonalNetwork(float(alpha), DECAY), t)
        late = t > 0
        steps.append(first_time(t[late], -path.T[late], 0.5 * DECAY - 1.0)[0])
    data["grokking_time"] = ("grokking", steps)
    return data


def approach() -> xr.Dataset:
    """Rates at which coordinates approach their limits at large α, by networks without correlations."""
    gap, start = APPROACH - DECAY, 2 * np.log(ENDS[1]) / DECAY
    expected = np.where(gap > 0, np.minimum(gap, 2 * DECAY), -gap)
    windows = start + WINDOW / expected[:, None]
    t = np.unique(np.append(0.0, windows))
    w = decoupled(APPROACH, DiagonalNetwork(float(ENDS[1]), DECAY), t)
    rate = np.empty(len(APPROACH))
    for k in range(len(APPROACH)):
        left = np.abs(w[np.searchsorted(t, windows[k]), k] - max(float(gap[k]), 0.0))
        rate[k] = np.log(left[0] / left[1]) / (windows[k, 1] - windows[k, 0])
    data = xr.Dataset(coords={"target": APPROACH})
    data["approach_rate"] = ("target", rate)
    return data
