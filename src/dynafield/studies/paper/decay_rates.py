"""Late times under weight decay: loss, rates of single coordinates, and their responses."""

import dataclasses
import itertools

import numpy as np
import xarray as xr

from dynafield.dmft.solve import solve
from dynafield.endpoints.minimizers import minimizer
from dynafield.problem.networks import DiagonalNetwork
from dynafield.simulation.data import Data
from dynafield.simulation.simulate import training_data
from dynafield.studies.paper.parts import facts, labelled, minimal, train
from dynafield.studies.paper.setting import TASK, Setting
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.local_response import LocalResponse
from dynafield.theory.rates import convergence_rate

__all__ = ["decay_rates"]

OWN = 2500
"""Added to the seed: data sets of its own."""
NET = DiagonalNetwork(0.5, 0.2)
DELTA, LAM = float(TASK.delta), 0.2
TIMES = 5.0 * 2.0 ** np.arange(7)
"""Of the loss of networks; the infinite one is followed through the first EARLY of them."""
EARLY = 4
SIZE = (400, 20)
"""Dimension and number of networks that are trained."""
RUNS, LARGEST = 60, 800
"""Data sets at whose minimizers rates are looked at, and their largest dimension."""
GRID = np.linspace(0.002, 1.5, 750)
"""Rates at which distribution functions are compared."""
GROUPS = np.array([0.0, 0.05, 0.2, 0.5, np.inf])
"""Sizes |w| between which the responses of active coordinates are averaged."""
DELAYS = np.array([1.0, 4.0, 16.0])
"""Times after a perturbation."""
SIZES = np.array([1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0])
"""Values of |w| at which the pole is computed."""
INSIDE = (0.2, 0.9)
"""Sizes |w| among many others of that size."""
ALONE = 3.0
"""Target of a coordinate whose limit is far from all others."""


def decay_rates(setting: Setting) -> xr.Dataset:
    """`decay-rates`: loss, distributions of rates at minimizers, poles of the local response, for λ > 0."""
    own = dataclasses.replace(setting, seed=setting.seed + OWN)
    point = fixed_point(TASK, NET)
    local = LocalResponse(point.law(), DELTA)
    data = xr.merge([losses(own, local), rates_at_the_end(own, local), poles(own, local)])
    data["chi_w"] = float(point.chi_w)
    data["slowest_density"] = float(convergence_rate(TASK, NET).paths().density(0.0))
    meanings = {
        "gap": "loss of networks minus its least value on the same data",
        "gap_theory": "loss of the infinite network minus its limit",
        "gap_error": "estimated error of it",
        "slope": "rate at which coordinates of networks approach their limits, between times doubled",
        "local_rate": "λ - |g| of those with limit zero, |w|/(1+χ_w) of the others",
        "ends_at_zero": "whether their limit is zero",
        "slowest": "slowest rate at the minimizer of finite data",
        "slowest_density": "density of the path rates at rate 0",
        "rate": "λ - |g| or |w|/(1+χ) of all coordinates at minimizers, 1+χ measured",
        "zero": "whether these coordinates are zero",
        "relaxation": "mean of |w| times the integral of the response, over active coordinates",
        "cdf_zero": "P(w = 0, λ - |g| ≤ rate)",
        "cdf_active": "P(w ≠ 0, |w|/(1+χ_w) ≤ rate)",
        "left": "response of an active coordinate to a perturbation, mean over those of about one size",
        "left_theory": "the same by theory, for coordinates of the same sizes",
        "share": "largest weight of one mode in a perturbed active coordinate, |w| among many others",
        "pole_rate": "minus the real part of the root of p + |w|(1 - R_f(p))",
        "pole_width": "size of its imaginary part",
        "alone_mode": "eigenvalue of the mode of a coordinate whose |w| is far from all others",
        "alone_share": "weight of that mode in a perturbation of it",
        "alone_pole": "its pole by theory",
        "alone_size": "its |w|",
        "chi_w": "integrated response χ_w",
    }
    more = dict(alpha=float(NET.alpha), lam=LAM, d=SIZE[0], runs=SIZE[1], end_runs=RUNS, alone=ALONE)
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))


def losses(setting: Setting, local: LocalResponse) -> xr.Dataset:
    """The loss above its limit, infinite and finite, and the slopes of single coordinates of networks."""
    point = fixed_point(TASK, NET)
    size, weight = local.nodes
    end = float(point.train_error) / 2 + LAM * float(np.sum(size * weight))
    early = TIMES[:EARLY]
    curve = solve(TASK, NET, float(early[-1]), tol=setting.scale.tol, seed=setting.seed, progress=False)
    seen = curve.at(early)
    runs = train(setting, (TASK, NET), TIMES, *SIZE, "gaussian", weights=True)
    gaps, slopes, locals_, zeros = [], [], [], []
    for run in range(SIZE[1]):
        drawn, w = minimal(setting, (TASK, NET), SIZE[0], run, "gaussian")
        least = np.mean((drawn.X @ w - drawn.y) ** 2) / 2 + LAM * np.mean(np.abs(w))
        gaps.append(runs.loss[run] - least)
        late = np.log(np.abs(runs.weights[run][-3:] - w))
        slopes.append(-np.diff(late, axis=0) / np.diff(TIMES[-3:])[:, None])
        zeros.append(w == 0)
        local_rate = np.abs(w) / (1 + float(point.chi_w))
        locals_.append(np.where(w == 0, LAM - np.abs(gradient(drawn, w)), local_rate))
    data = xr.Dataset(coords={"time": TIMES, "early": early, "window": TIMES[-3:-1]})
    data["gap"] = (("run", "time"), np.array(gaps))
    data["gap_theory"] = ("early", seen.loss - end)
    data["gap_error"] = ("early", seen.train_error_se / 2)
    data["slope"] = (("run", "window", "feature"), np.array(slopes))
    data["local_rate"] = (("run", "feature"), np.array(locals_))
    data["ends_at_zero"] = (("run", "feature"), np.array(zeros))
    return data


def gradient(drawn: Data, w: np.ndarray) -> np.ndarray:
    r"""\(g = X^\top(Xw - y)/\delta\) of given data."""
    return drawn.X.T @ (drawn.X @ w - drawn.y) * (drawn.X.shape[1] / len(drawn.y))


def modes(drawn: Data, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Sizes |w| of the active coordinates, and the modes of training near its limit [eq:local_response].

    \(\Delta\dot w = -|w|\,X^\top X\Delta w/\delta\): eigenvalues, and weights of each mode in a
    perturbation of each coordinate (coordinate, mode).
    """
    size = np.abs(w[w != 0])
    scaled = drawn.X[:, w != 0] * np.sqrt(size * (drawn.X.shape[1] / len(drawn.y)))
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    return size, values, vectors**2


def rates_at_the_end(setting: Setting, local: LocalResponse) -> xr.Dataset:
    """Rates at the minimizers of finite data, and the responses of active coordinates."""
    dimensions = [d for d in setting.scale.dimensions if d <= LARGEST]
    slowest, share = np.empty((2, len(dimensions), RUNS))
    rate, zero, relaxation = np.empty((RUNS, dimensions[-1])), np.empty((RUNS, dimensions[-1]), bool), []
    left = np.empty((2, len(GROUPS) - 1, len(DELAYS), RUNS))
    for k, d in enumerate(dimensions):
        for run in range(RUNS):
            drawn, w = minimal(setting, (TASK, NET), d, run, "gaussian")
            size, values, shares = modes(drawn, w)
            inactive = LAM - np.abs(gradient(drawn, w)[w == 0])
            slowest[k, run] = min(float(np.min(inactive)), values[0])
            inside = (size > INSIDE[0]) & (size < INSIDE[1])
            share[k, run] = np.mean(np.max(shares[inside], axis=1))
            if d == dimensions[-1]:
                zero[run] = w == 0
                rate[run, w == 0], rate[run, w != 0] = inactive, size
                relaxation.append(np.mean(size * (shares @ (1 / values))))
                seen = shares @ np.exp(-np.outer(values, DELAYS))
                for part, of_all in enumerate((seen, local.relaxation(size, DELAYS))):
                    left[part, :, :, run] = grouped(size, of_all)
    data = xr.Dataset(coords={"dimension": dimensions, "rate_at": GRID, "delay": DELAYS})
    data["slowest"] = (("dimension", "run_of_end"), slowest)
    data["share"] = (("dimension", "run_of_end"), share)
    data["relaxation"] = ("run_of_end", relaxation)
    measured = np.exp(np.mean(np.log(relaxation)))
    data["rate"] = (("run_of_end", "coordinate"), np.where(zero, rate, rate / measured))
    data["zero"] = (("run_of_end", "coordinate"), zero)
    data["left"] = (("group", "delay", "run_of_end"), left[0])
    data["left_theory"] = (("group", "delay", "run_of_end"), left[1])
    paths, law = convergence_rate(TASK, NET).paths(), local.law
    size = GRID * (1 + paths.chi_w)
    active = law.cdf(size) - law.cdf(-size) - law.mass_at_zero
    data["cdf_zero"], data["cdf_active"] = ("rate_at", paths.cdf(GRID) - active), ("rate_at", active)
    return data.assign_coords(group_from=("group", GROUPS[:-1]))


def grouped(size: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of rows over coordinates of about one size |w|; NaN where there is none."""
    kept = [values[(size >= low) & (size < high)] for low, high in itertools.pairwise(GROUPS)]
    return np.array([np.mean(one, axis=0) if len(one) else np.full(len(DELAYS), np.nan) for one in kept])


def poles(setting: Setting, local: LocalResponse) -> xr.Dataset:
    """The root for several |w|; and for a coordinate whose |w| is far from all others, the mode it makes.

    Its column of X is scaled to its mean square, which spares the largest fluctuation of that mode.
    """
    data = xr.Dataset(coords={"size": SIZES})
    root, d = local.pole(SIZES), SIZE[0]
    data["pole_rate"], data["pole_width"] = ("size", -np.real(root)), ("size", np.abs(np.imag(root)))
    found = []
    for run in range(RUNS):
        drawn = training_data(TASK, d, inputs="gaussian", seed=setting.seed + OWN, run=run)
        noise = drawn.y - drawn.X @ drawn.w_star
        drawn.X[:, 0] *= np.sqrt(DELTA / np.sum(drawn.X[:, 0] ** 2))
        drawn.w_star[0] = ALONE
        drawn = drawn._replace(y=drawn.X @ drawn.w_star + noise)
        w = minimizer(drawn.X, drawn.y, NET).w
        _, values, shares = modes(drawn, w)
        best = int(np.argmax(shares[0]))
        found.append((values[best], shares[0, best], abs(float(w[0]))))
    mode, share, size = np.transpose(found)
    data["alone_mode"], data["alone_size"] = ("run_of_end", mode), ("run_of_end", size)
    data["alone_share"] = ("run_of_end", share)
    data["alone_pole"] = ("run_of_end", -np.real(local.pole(size)))
    return data
