"""The last stage of training without weight decay: responses, the loss at δ = 2, and single coordinates."""

import dataclasses

import numpy as np
import xarray as xr

from dynafield.dmft.solve import solve
from dynafield.numerics.laplace import contour
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.spectra import JointLaw
from dynafield.problem.task import Task
from dynafield.studies.paper.parts import Problem, facts, labelled, local_rates, minimal, train
from dynafield.studies.paper.setting import SIGMA, SPARSE, TASK, Setting
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.rates import convergence_rate
from dynafield.theory.silverstein import response, shrinkage

__all__ = ["late_responses", "late_times", "linear_end"]

FRESH = 7000
"""Added to the seed: these networks are nobody else's."""
DELTAS = np.array([0.5, 2.0])
NET, LONG, BLOCKS, PATHS = DiagonalNetwork(1.0), 4.0, 30, 1024
"""A network whose responses are followed until γt is so large, in so many blocks, with so many points."""
AGES = np.linspace(0.5, 3.5, 13)
"""Values of γτ at which responses of age τ are looked at."""
LATE = np.linspace(30.0, 300.0, 28)
"""The same where only theory goes."""
WEIGHTS = np.array([0.0, 1.0])
"""Coordinates whose own responses are computed."""
SIZES = (200, 400)
"""Dimensions of networks whose responses are compared."""
SCALES, REACH = np.array([0.5, 1.0]), 5.0
"""Values of α at which the loss at δ = 2 is followed, and γt up to which."""
TRAINED, SIZE, RUNS = DiagonalNetwork(0.5), 80, 10
"""Networks that are trained to late times: small, for their slowest mode to be alone soon."""
TIMES = np.array([7.0, 10.0])
"""Values of γt between which their weights are looked at."""
LINEAR = np.array([300.0, 320.0])
"""The same where the linear flow at the end goes on."""
CLOSE = 1e-9
"""How well they are trained: their weights are still 1e-6 or so from the end."""
LARGE = 0.5
"""Weights beyond this are large ones."""
NODES, WIDEST = 161, 9.0
"""Nodes of Gaussian averages, and standard deviations they reach."""


def slopes_of(problem: Problem) -> JointLaw:
    """The distribution of κ = √(w² + α⁴) in the limit of training, on nodes, as variances of the features of
    a linear model."""
    task, net = problem
    law, place = fixed_point(task, net).law(), np.linspace(-WIDEST, WIDEST, NODES)
    weight, kappa = [], []
    for share, mean, width in zip(law.mixture.weight, law.mixture.mean, law.width, strict=True):
        y = mean + width * place if width > 0 else np.array([mean])
        chance = np.exp(-0.5 * place**2) if width > 0 else np.ones(1)
        weight.append(share * chance / np.sum(chance))
        kappa.append(np.sqrt(np.asarray(law.respond(y)) ** 2 + float(net.alpha) ** 4))
    total = np.concatenate(weight)
    return JointLaw(total, 0 * total, 0 * total, np.concatenate(kappa))


def late_responses(
    law: JointLaw, delta: float, gamma: float, tau: np.ndarray, kappa: np.ndarray
) -> tuple[np.ndarray, float]:
    r"""Logarithms of \(R_w - R_w(\infty)\), \(R_f\) and responses of coordinates of slopes κ minus their
    limits, at ages τ, by Laplace transforms around -γ [eq:late_response]; and \(R_w(\infty)\)."""
    path = contour(tau)
    p = path.z - gamma
    memory = response(law, delta, p)  # 1 - R̄_f = 1/(1 + R̄_w) [eq:silverstein]
    u, limit = p / memory, shrinkage(law, delta) if delta < 1 else 0.0
    own = np.asarray(kappa)[:, None, None]
    single = (u * own / (u + own) - limit * own / (limit + own)) / (delta * p)
    transforms = np.concatenate([[(u - limit) / p - 1, 1 - memory], single])  # [eq:late_response]
    return np.log(2 * np.real(np.sum(path.weight * transforms, axis=-1))) - gamma * tau, float(limit)


def responses_at(problem: Problem, ages: np.ndarray) -> tuple[np.ndarray, float]:
    """The same at given γτ for one problem and coordinates with given limits."""
    task, net = problem
    gamma = float(convergence_rate(task, net).gamma)
    kappa = np.sqrt(WEIGHTS**2 + float(net.alpha) ** 4)
    return late_responses(slopes_of(problem), float(task.delta), gamma, ages / gamma, kappa)


def linear_end(X: np.ndarray, kappa: np.ndarray, moved: np.ndarray, t: np.ndarray) -> np.ndarray:
    r"""Errors of w times after they were `moved`, by the linear flow around the limit, each over the decay of
    the slowest mode: \(K^{1/2}e^{-(M-\lambda_{\min})t}K^{-1/2}\), \(M = K^{1/2}X^\top XK^{1/2}/\delta\),
    without directions that the data do not see [eq:local_rate]."""
    n, d = X.shape
    values, modes = np.linalg.eigh((X * np.sqrt(kappa)).T @ (X * np.sqrt(kappa)) * d / n)
    values, modes = values[max(0, d - n) :], modes[:, max(0, d - n) :]
    start = modes.T @ (moved / np.sqrt(kappa))
    return (np.exp(-np.outer(t, values - values[0])) * start) @ modes.T * np.sqrt(kappa)


def theory_of(data: xr.Dataset) -> xr.Dataset:
    """Exact responses late in training, and u(p) on the real axis right of -γ."""
    late, single, lowest = [], [], []
    for delta in DELTAS:
        problem = (Task(float(delta), SIGMA, SPARSE), NET)
        found, _ = responses_at(problem, LATE)
        late.append(found[:2])
        single.append(found[2:])
        lowest.append(float(np.ravel(convergence_rate(*problem).u)[0]))
    data["response_late"] = (("delta", "kernel", "late"), np.array(late))
    data["coordinate_late"] = (("delta", "weight", "late"), np.array(single))
    data["lowest_u"] = ("delta", lowest)
    return data


def responses_of(setting: Setting, data: xr.Dataset) -> xr.Dataset:
    """R_w and R_f at δ = 0.5: by `solve`, by their transforms, and R_w of converged networks."""
    problem = (TASK, NET)
    gamma = float(convergence_rate(*problem).gamma)
    end = LONG / gamma
    edges, before = np.linspace(0.0, end, BLOCKS + 1), end - AGES / gamma
    curves = solve(
        *problem, end, tol=setting.scale.tol, grid=edges, points=PATHS, seed=setting.seed, progress=False
    )
    rows = curves.dense.weights(before)
    data["response"] = ("age", rows @ np.asarray(curves.R_w)[-1])
    data["memory"] = ("age", rows @ np.asarray(curves.R_f)[-1])
    form, limit = responses_at(problem, AGES)
    data["response_form"], data["response_limit"] = ("age", limit + np.exp(form[0])), limit
    limits, above = network_responses(setting, AGES / gamma)
    data["network_limit"] = (("dimension", "run"), limits)
    data["network_response"] = (("dimension", "run", "age"), above)
    return data.assign_coords(dimension=list(SIZES))


def network_responses(setting: Setting, ages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Responses of converged networks, \(\frac1{\delta d}\mathrm{tr}\,K^{1/2}e^{-M\tau}K^{1/2}\), M as
    in `linear_end`: their limits (dimension, run), by directions that data do not see, and what is above."""
    runs = setting.scale.seeds_curves
    limits, above = np.empty((len(SIZES), runs)), np.empty((len(SIZES), runs, len(ages)))
    for row, d in enumerate(SIZES):
        for run in range(runs):
            drawn, w = minimal(setting, (TASK, NET), d, run, "gaussian")
            kappa = np.sqrt(w**2 + float(NET.alpha) ** 4)
            scaled, unseen = drawn.X * np.sqrt(kappa), d - len(drawn.y)
            values, modes = np.linalg.eigh(scaled.T @ scaled / float(TASK.delta))
            share = kappa @ modes**2 / (d * float(TASK.delta))
            limits[row, run] = np.sum(share[:unseen])
            above[row, run] = np.exp(-np.outer(ages, values[unseen:])) @ share[unseen:]
    return limits, above


def losses_of(setting: Setting, data: xr.Dataset) -> xr.Dataset:
    """The training error at δ = 2 without noise, whose limit is zero, by `solve`."""
    task = Task(2.0, 0.0, SPARSE)
    shown, loss, error = np.linspace(0.5, REACH, 19), [], []
    blocks = np.concatenate([[0.0], np.geomspace(0.01, 0.3, 8)[:-1], np.linspace(0.3, REACH, 20)])
    for alpha in SCALES:
        problem = (task, DiagonalNetwork(float(alpha)))
        edges = blocks / float(convergence_rate(*problem).gamma)
        curves = solve(
            *problem, edges[-1], tol=setting.scale.tol, grid=edges, seed=setting.seed, progress=False
        )
        points = curves.at(shown / REACH * edges[-1])
        loss.append(points.train_error)
        error.append(points.train_error_se)
    data = data.assign_coords(alpha=SCALES, loss_time=shown)
    data["loss"], data["loss_se"] = (("alpha", "loss_time"), loss), (("alpha", "loss_time"), error)
    return data


def networks_of(setting: Setting, data: xr.Dataset) -> xr.Dataset:
    """Networks near convergence: loss above its minimum, slowest mode, median slopes of single weights."""
    alpha, size = float(TRAINED.alpha), (len(DELTAS), RUNS)
    above, own, kappas = np.empty((*size, len(TIMES))), np.empty(size), np.empty((*size, 2))
    slopes = np.empty((*size, 2, 2))
    for k, delta in enumerate(DELTAS):
        problem = (Task(float(delta), SIGMA, SPARSE), TRAINED)
        gamma = float(convergence_rate(*problem).gamma)
        trained = train(setting, problem, TIMES / gamma, SIZE, RUNS, "gaussian", weights=True, tol=CLOSE)
        for run in range(RUNS):
            drawn, w = minimal(setting, problem, SIZE, run, "gaussian")
            moved, kappa = np.asarray(trained.weights)[run] - w, np.sqrt(w**2 + alpha**4)
            above[k, run] = np.mean((moved @ drawn.X.T) ** 2, axis=-1)
            own[k, run] = local_rates(drawn.X, w[None], np.array([alpha]))[0] / gamma
            linear = linear_end(drawn.X, kappa, moved[0], (LINEAR - TIMES[0]) / gamma)
            slow = own[k, run] + decay(linear, LINEAR)
            for group, pick in enumerate((np.abs(w) > LARGE, np.abs(w) <= LARGE)):
                slopes[k, run, group] = [np.median(x[pick]) for x in (decay(moved, TIMES), slow)]
                kappas[k, run, group] = np.median(kappa[pick])
    data = data.assign_coords(trained_time=TIMES, flow=["trained", "linear"], size=["large", "small"])
    data["excess"] = (("delta", "network", "trained_time"), above)
    data["own_rate"] = (("delta", "network"), own)
    data["path_slope"] = (("delta", "network", "size", "flow"), slopes)
    data["path_kappa"] = (("delta", "network", "size"), kappas)
    return data


def decay(moved: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The rate at which single weights come nearer between two times, in units of γ for times γt."""
    return -np.log(np.abs(moved[1] / moved[0])) / (times[1] - times[0])


def late_times(setting: Setting) -> xr.Dataset:
    """Rates without weight decay where the paper has formulas and no figure: responses, loss, coordinates."""
    setting = dataclasses.replace(setting, seed=setting.seed + FRESH)
    data = xr.Dataset(coords={"delta": DELTAS, "late": LATE, "weight": WEIGHTS, "age": AGES})
    data = theory_of(data.assign_coords(kernel=["R_w", "R_f"]))
    data = networks_of(setting, losses_of(setting, responses_of(setting, data)))
    meanings = {
        "response": "R_w(T, T - τ) of `solve` late in training, δ = 0.5",
        "memory": "R_f(T, T - τ) of the same",
        "response_form": "R_w(τ) by its Laplace transform at the fixed point",
        "response_limit": "its limit for large τ",
        "network_limit": "the same of converged finite networks",
        "network_response": "R_w(τ) of converged finite networks, minus the limit",
        "response_late": "log of R_w minus its limit, and of R_f, by their Laplace transforms, at γτ",
        "coordinate_late": "log of the response of one coordinate minus its limit, at γτ",
        "lowest_u": "u(p) = p(1 + R̄_w(p)) at p = -γ",
        "loss": "training error of the infinite network, δ = 2, σ = 0, at γt",
        "loss_se": "its estimated error",
        "excess": "training error of networks above their least, at γt",
        "own_rate": "smallest eigenvalue of XKXᵀ/δ of the same networks over γ",
        "path_slope": "median rate of |w - w(∞)| over coordinates of the same networks, over γ",
        "path_kappa": "median of κ over the same coordinates",
    }
    more = dict(lam=0.0, runs=setting.scale.seeds_curves, trained_d=SIZE)
    more |= dict(response_alpha=float(NET.alpha), trained_alpha=float(TRAINED.alpha), large=LARGE)
    more |= dict(linear_from=float(LINEAR[0]), linear_to=float(LINEAR[1]))
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))
