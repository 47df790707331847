"""Message passing, through which the paper shows that its fixed points are minimizers."""

import dataclasses

import numpy as np
import scipy.special
import xarray as xr
from jaxtyping import Float

from dynafield.endpoints.evolution import StateEvolution, state_evolution
from dynafield.endpoints.message_passing import amp
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.simulation.simulate import training_data
from dynafield.studies.paper.parts import Problem, facts, labelled, minimal
from dynafield.studies.paper.setting import SIGMA, SPARSE, TASK, Setting
from dynafield.theory.fixed_points import fixed_point

__all__ = ["message_passing"]

CASES: dict[str, Problem] = {
    "case (i)": (TASK, DiagonalNetwork(0.5, 0.1)),
    "case (ii)": (Task(2.0, SIGMA, SPARSE), DiagonalNetwork(0.5)),
    "case (iii)": (TASK, DiagonalNetwork(0.5)),
}
RUNS, LAST_RUNS = 20, 5
"""Data sets on which iterates are followed, and those, of either kind of inputs, on which to the end."""
ITERATES, SHOWN = 12, 3
"""Iterates that are compared with state evolution, and the one whose entries are."""
LONG = 2000
"""Iterations of state evolution after which it stands still."""
PLACES = np.linspace(-1.5, 2.5, 401)
SPIKE = 6.0
"""Eigenvalue of XᵀX/δ that a mean of the inputs brings."""
FRESH = 6000
"""Added to the seed: no other experiment uses these data."""
MEANINGS = {
    "C_w": "mean squared error of the iterates",
    "tau": "noise of the iterates, |r|/√(nδ)",
    "b": "Onsager coefficient of the iterates",
    "C_w_evolution": "the same by state evolution",
    "tau_evolution": "the same by state evolution",
    "b_evolution": "the same by state evolution",
    "entries": "distribution function of the entries of one iterate, all data sets together",
    "entries_evolution": "the same by state evolution",
    "fixed": "fixed point of state evolution: b, τ² and t",
    "mapped": "the same by the fixed point of training",
    "distance": "distance of the last iterate from the minimizer, over its size",
    "damping": "damping factor of the updates, 1 for no damping",
    "converged": "whether the iteration came to rest",
    "shifted_distance": "the distance for inputs with a mean",
    "shifted_damping": "damping factor for inputs with a mean",
    "shifted_converged": "whether it came to rest for inputs with a mean",
}


def message_passing(setting: Setting) -> xr.Dataset:
    """`message-passing`: iterates, state evolution, their fixed points, and the minimizers of the data."""
    fresh = dataclasses.replace(setting, seed=setting.seed + FRESH)
    size = 2 * setting.scale.d
    parts = [one_case(fresh, problem, size) for problem in CASES.values()]
    data = xr.concat(parts, "case").assign_coords(
        case=list(CASES), place=PLACES, quantity=["b", "tau²", "t"], iteration=np.arange(1, ITERATES + 1)
    )
    more = dict(d=size, runs=RUNS, iterate=SHOWN, last_runs=LAST_RUNS)
    return labelled(data, MEANINGS).assign_attrs(facts(setting, TASK, **more))


def one_case(setting: Setting, problem: Problem, d: int) -> xr.Dataset:
    """All numbers of one of the three cases."""
    found = [followed(setting, problem, d, run) for run in range(RUNS)]
    steps, data = state_evolution(*problem, ITERATES), xr.Dataset()
    for name in ("C_w", "tau", "b"):
        data[name] = (("run", "iteration"), np.stack([one[name] for one in found]))
        data[f"{name}_evolution"] = ("iteration", getattr(steps, name))
    w = np.sort(np.concatenate([one["w"] for one in found]))
    data["entries"] = ("place", np.searchsorted(w, PLACES, side="right") / len(w))
    data["entries_evolution"] = ("place", distribution(steps, SHOWN - 1, PLACES))
    data["fixed"], data["mapped"] = (("quantity", values) for values in both_ends(problem))
    for prefix, inputs in (("", "gaussian"), ("shifted_", with_mean)):
        last = [ended(setting, problem, d, run, inputs) for run in range(LAST_RUNS)]
        for name in last[0]:
            data[f"{prefix}{name}"] = ("last_run", [one[name] for one in last])
    return data


def with_mean(rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
    """Gaussian inputs with a mean, which message passing is not made for."""
    return (rng.standard_normal((n, d)) + np.sqrt(SPIKE / d)) / np.sqrt(d)


def followed(setting: Setting, problem: Problem, d: int, run: int) -> dict[str, np.ndarray]:
    """The first iterates on one data set: errors, noise, Onsager coefficients, and the entries of one."""
    drawn = training_data(problem[0], d, inputs="gaussian", seed=setting.seed, run=run)
    first = amp(drawn.X, drawn.y, problem[1], iterations=ITERATES, tol=1e-300, history=True, throw=False)
    assert first.weights is not None
    errors = np.mean((first.weights - drawn.w_star) ** 2, axis=-1)
    return dict(C_w=errors, tau=first.tau, b=first.b, w=first.weights[SHOWN - 1])


def ended(setting: Setting, problem: Problem, d: int, run: int, inputs: object) -> dict[str, float | bool]:
    """The fixed point of the iteration on one data set, damped where needed, and the minimizer."""
    drawn, exact = minimal(setting, problem, d, run, inputs)
    last = amp(drawn.X, drawn.y, problem[1], throw=False)
    off = float(np.linalg.norm(last.w - exact) / np.linalg.norm(exact))
    return dict(distance=off, damping=last.damping, converged=last.converged)


def distribution(steps: StateEvolution, which: int, w: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    r"""\(P(\eta(w^* + \tau G; t) \le w)\) at one iteration of state evolution [eq:state_evolution]."""
    tau, t, alpha = steps.tau[which], steps.t[which], float(steps.net.alpha)
    slope = {
        "regularized": np.where(w >= 0, 1.0, -1.0),  # the largest x of w = 0
        "ridgeless": 0.0,
        "interpolating": np.arcsinh(w / alpha**2),
    }[steps.case]
    weight, mean, std = SPARSE.components
    noise = np.hypot(tau, std)
    return scipy.special.ndtr(((w + t * slope)[:, None] - mean) / noise) @ weight


def both_ends(problem: Problem) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"]]:
    """b, τ² and t at the fixed point of state evolution, and by that of training [eq:map_se_dmft]."""
    (task, net), point = problem, fixed_point(*problem)
    steps, chi = state_evolution(task, net, LONG), float(point.chi_w)
    share = 1.0 if np.isinf(chi) else chi / (1 + chi)
    threshold = (1 + chi) * float(net.lam) if steps.case == "regularized" else float(point.R_w)
    noise = (float(point.C_w) + SIGMA**2) / float(task.delta)
    ends = np.array([steps.b[-1], steps.tau[-1] ** 2, steps.t[-1]])
    return ends, np.array([share, noise, threshold])
