"""What several experiments are made of: learning curves and endpoints, infinite and finite."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from dynafield.dmft.solve import solve
from dynafield.endpoints.minimizers import minimizer
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.simulation.data import Data
from dynafield.simulation.simulate import simulate, training_data
from dynafield.studies.paper.setting import Setting
from dynafield.theory.fixed_points import FixedPoint
from dynafield.theory.phases import predicted

__all__ = [
    "END",
    "Problem",
    "crossing",
    "facts",
    "labelled",
    "law_of",
    "learning",
    "local_rates",
    "minimal",
    "staged",
    "train",
    "unfitted",
]

Problem = tuple[Task, DiagonalNetwork]
END = 1000.0
"""Training time at which the paper reads off fixed points."""


def facts(setting: Setting, task: Task, **more: Any) -> dict[str, Any]:
    """Parameters for captions and files, those that do not vary."""
    fixed = {
        name: float(value)
        for name, value in (("delta", task.delta), ("sigma", task.sigma))
        if not np.ndim(value)
    }
    return fixed | {"prior": str(task.prior), "scale": setting.scale.name, "seed": setting.seed} | more


def labelled(data: xr.Dataset, names: dict[str, str]) -> xr.Dataset:
    """The data set with what its variables mean."""
    for name, meaning in names.items():
        data[name].attrs["long_name"] = meaning
    return data


def train(setting: Setting, problem: Any, t: Any, d: int, seeds: int, inputs: Any, **more: Any) -> Any:
    """Finite networks (or flows) of a task and a model at times t; Ctrl-C ends everything."""
    times = np.atleast_1d(t)
    runs = simulate(
        problem[0], problem[1], float(times[-1]), d=d, runs=seeds, t_eval=times, inputs=inputs,
        seed=setting.seed, progress=False, **more,
    )  # fmt: skip
    if not runs.complete:
        raise KeyboardInterrupt
    return runs


def learning(
    setting: Setting,
    problems: Sequence[Problem],
    times: Sequence[np.ndarray],
    size: tuple[int, int],
    inputs: Any = "gaussian",
    rtol: float | None = None,
    tol: float | None = None,
    infinite: bool = True,
) -> xr.Dataset:
    """Both errors of each problem at its times, of the infinite network and of finite ones; size: d, runs."""
    data, tol = xr.Dataset(), setting.scale.tol if tol is None else tol
    curve, names = ("curve", "time"), ("train_error", "test_error")
    finite = [train(setting, problem, t, *size, inputs) for problem, t in zip(problems, times, strict=True)]
    for name in names:
        data[name] = (("curve", "run", "time"), np.stack([getattr(runs, name) for runs in finite]))
    if infinite:
        points = [
            solve(*problem, float(t[-1]), tol=tol, rtol=rtol, seed=setting.seed, progress=False).at(t)
            for problem, t in zip(problems, times, strict=True)
        ]
        for name in names:
            data[f"{name}_theory"] = (curve, np.stack([getattr(p, name) for p in points]))
            data[f"{name}_theory_se"] = (curve, np.stack([getattr(p, f"{name}_se") for p in points]))
    data = data.assign_coords(
        t=(curve, np.stack(times)),
        delta=("curve", [float(task.delta) for task, _ in problems]),
        alpha=("curve", [float(net.alpha) for _, net in problems]),
        lam=("curve", [float(net.lam) for _, net in problems]),
    )
    return data.assign_attrs(n=finite[0].n, d=finite[0].d, runs=finite[0].count, tol=tol)


def staged(data: xr.Dataset, curve: int, problem: Problem) -> xr.Dataset:
    """The data set with the stages of training of one of its curves."""
    stages = list(predicted(*problem).stages)
    data = data.assign_coords(stage=[stage.name for stage in stages])
    data["stage_start"] = ("stage", [stage.start for stage in stages])
    data["stage_end"] = ("stage", [stage.end for stage in stages])
    alpha = f"{problem[1].alpha:g}"
    meanings = {"stage_start": f"beginning of a stage, α = {alpha}", "stage_end": f"its end, α = {alpha}"}
    return labelled(data, meanings).assign_attrs(staged_curve=curve)


def minimal(setting: Setting, problem: Problem, d: int, run: int, inputs: Any) -> tuple[Data, np.ndarray]:
    """The data of `run` and the limits of its weights, one row for each α or λ of the network."""
    task, net = problem
    data = training_data(task, d, inputs=inputs, seed=setting.seed, run=run)
    return data, minimizer(data.X, data.y, net).w


def local_rates(X: np.ndarray, w: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    r"""Rates of convergence, for rows w: \(\lambda_{min}(XKX^\top)/\delta\) [eq:local_rate].

    For λ = 0 and depth 2 the residuals obey \(\dot r = -XKX^\top r/\delta\) near the end, with \(K =
    \sqrt{w^2 + \alpha^4}\); for n > d the errors of w obey the same with \(K^{1/2}X^\top XK^{1/2}\).
    """
    n, d = X.shape
    found = []
    for row, alpha in zip(w, alphas, strict=True):
        scaled = X * (row**2 + alpha**4) ** 0.25
        gram = scaled @ scaled.T if n < d else scaled.T @ scaled
        found.append(float(np.linalg.eigvalsh(gram)[0]) * d / n)
    return np.array(found)


def unfitted(X: np.ndarray, y: np.ndarray) -> float:
    """The least training error of given data."""
    return float(np.mean((y - X @ np.linalg.lstsq(X, y)[0]) ** 2))


def crossing(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """The last x at which y goes through a level, between its points; NaN if it never does."""
    places = np.flatnonzero((y[:-1] - level) * (y[1:] - level) <= 0)
    if not len(places):
        return float("nan")
    k = places[-1]
    return float(x[k] + (level - y[k]) / (y[k + 1] - y[k]) * (x[k + 1] - x[k]))


def law_of(point: FixedPoint, w: np.ndarray) -> xr.Dataset:
    """Density, distribution function and mass at zero of one coordinate at the fixed point."""
    law = point.law()
    grid = np.linspace(float(np.min(w)) - 0.2, float(np.max(w)) + 0.2, 801)
    data = xr.Dataset(coords={"w": grid})
    data["density"] = ("w", law.density(grid))
    data["cdf"] = ("w", law.cdf(grid))
    data["mass_at_zero"] = float(law.mass_at_zero)
    return labelled(data, {"density": "density of w(∞)", "cdf": "P(w(∞) ≤ w)", "mass_at_zero": "P(w(∞) = 0)"})
