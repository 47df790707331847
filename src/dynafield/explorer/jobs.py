"""What the page's processes compute: plain numbers from a setting. `report` is called with the progress."""

import dataclasses
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from dynafield.dmft.solve import solve
from dynafield.errors import InputError, SolveError
from dynafield.explorer.rules import network_of, task_of, trainer_of
from dynafield.explorer.scope import no_limit, no_rate, no_stages
from dynafield.explorer.setting import Setting, View
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.problem.trainers import Steps
from dynafield.studies import optimization
from dynafield.studies.phases import phases
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.rates import convergence_rate
from dynafield.theory.tradeoffs import tradeoff

__all__ = ["along", "best", "curve", "curve_file", "kernel", "limits", "networks", "picture", "runs_file"]

Report = Callable[[float, str], Any]
PREVIEW = 0.05
"""Error in time allowed in a preview, in units of E_test(0)."""
MEMORY = 2.0
"""Gigabytes for a curve."""
TIMES = 240
"""Points of a drawn curve."""
MOMENTS = 60
"""Times at which the distribution of the weights is kept."""
BINS = 90
"""Bins of a histogram."""
PIXELS = 96
"""Rows and columns of a heat map."""
POINTS = 32
"""Fixed points along an axis; an even number, so that δ = 1, which has no ridgeless limit, is not met."""
RANGES = {**optimization.RANGES, "delta": (0.1, 10.0), "sigma": (1e-2, 2.0)}
"""Ends of the axes; best numbers are looked for where the axes of α and λ run."""
EQUAL = 1e-6
"""Values on an axis that differ relatively by less than this are the same."""
KEPT = 24
"""Results kept for files and pictures."""
kept: OrderedDict[Any, Any] = OrderedDict()
"""Results by what they were made from, the oldest first."""


def remember(key: Any, make: Callable[[], Any]) -> Any:
    """A result that was made before, or made now; the oldest are forgotten."""
    if key not in kept:
        kept[key] = make()
        while len(kept) > KEPT:
            kept.popitem(last=False)
    kept.move_to_end(key)
    return kept[key]


def bins(setting: Setting) -> np.ndarray:
    """Edges of the histogram: the targets and the noise that a weight may pick up."""
    task = task_of(setting)
    _, mean, std, variance = task.law
    noise = np.sqrt((task.signal + setting.sigma**2) / setting.delta / variance)
    reach = 2.5 * min(float(np.max(noise)), 2.0)
    low, high = float(np.min(mean - 3 * std)), float(np.max(mean + 3 * std))
    width = (max(high, 0.0) - min(low, 0.0) + reach) / BINS
    first = np.floor((min(low, 0.0) - reach / 2) / width) - 0.5  # zero in the middle of a bin
    return width * (first + np.arange(BINS + 2))


def attempt(function: Callable, *arguments: Any) -> tuple[Any, str]:
    """A result, or why there is none."""
    try:
        return function(*arguments), ""
    except (InputError, SolveError) as error:
        return None, str(error)


def speed(task: Task, net: DiagonalNetwork) -> tuple[dict[str, float], str]:
    """The rate γ by its name, if training is exponential, and why no rate is known, if none is."""
    rate, trouble = attempt(convergence_rate, task, net)
    return {} if rate is None or not rate.exponential else {"gamma": float(rate.gamma)}, trouble


def limits(setting: Setting, report: Report) -> dict[str, Any]:
    """Fixed point, rate and stages, each if its formula holds for the trainer; otherwise the reason."""
    task, net = task_of(setting), network_of(setting)
    reasons = [no_limit(setting), no_rate(setting), no_stages(setting)]
    point, stages, rate = None, None, {}
    if not reasons[0]:
        point, reasons[0] = attempt(fixed_point, task, net)
    if not reasons[1]:
        rate, reasons[1] = speed(task, net)
    if not reasons[2]:
        stages, reasons[2] = attempt(phases, task, net)
    found: dict[str, Any] = {"setting": setting, "edges": bins(setting), "stages": [], "troubles": [], **rate}
    if point is not None:
        mass = np.diff(point.cdf(found["edges"]))
        numbers = {name: float(getattr(point, name)) for name in ("test_error", "train_error")}
        found |= {"case": str(point.case), "mass": mass, "zero": 0.0, **numbers}
        if point.case == "regularized":
            found["zero"] = float(point.mass_at_zero)
    if stages is not None:
        found["stages"] = [tuple(stage) for stage in stages]
    found["troubles"] = list(dict.fromkeys(text for text in reasons if text))
    return found


def along(setting: Setting, axis: str, report: Report) -> dict[str, Any]:
    """Test errors at fixed points along an axis; over γ as α varies for the trade-off.

    Only where the formula holds for the trainer; the reason is returned as `note`, or raised if it holds
    nowhere.
    """
    task, net = task_of(setting), network_of(setting)
    if axis == "tradeoff":
        if no_rate(setting):
            raise InputError(no_rate(setting))
        line = tradeoff(task, scales(net.depth), depth=net.depth)
        return {
            "setting": setting,
            "axis": axis,
            "x": np.asarray(line.gamma),
            "y": np.asarray(line.test_error),
            "note": "",
        }
    x = np.geomspace(*RANGES[axis], POINTS)
    reasons = [no_limit(dataclasses.replace(setting, **{axis: float(value)})) for value in x]
    if all(reasons):
        raise InputError(reasons[0])
    given = {"delta": task.delta, "sigma": task.sigma, "alpha": net.alpha, "lam": net.lam} | {axis: x}
    moved = task.at(given["delta"], given["sigma"])
    point = fixed_point(moved, DiagonalNetwork(given["alpha"], given["lam"], net.depth))
    y = np.where([not reason for reason in reasons], np.asarray(point.test_error, float), np.nan)
    note = next((reason for reason in reasons if reason), "")
    return {"setting": setting, "axis": axis, "x": x, "y": y, "note": note}


def scales(depth: int) -> np.ndarray:
    """Values of α along the trade-off; rates of deep networks with smaller ones are next to zero."""
    return np.geomspace(*(RANGES["alpha"] if depth == 2 else (0.1, 10.0)), POINTS)


def best(setting: Setting, report: Report) -> dict[str, Any]:
    """The best value of the decisive number, None if all are equally good, and its rate on the trade-off."""
    task, net, name = task_of(setting), network_of(setting), setting.decisive
    if no_limit(setting):
        raise InputError(no_limit(setting))
    fixed_point(task, net)  # where there is no formula, this says so with the numbers of the setting
    optimum = optimization.optimize(task, net, name, progress=report)
    found = {"setting": setting, "name": name, "value": None, "test_error": float(optimum.value), "end": ""}
    if optimum.boundary[0] == "any":
        return found
    found |= {"value": float(optimum.best[name]), "end": str(optimum.boundary[0])}
    shown = scales(net.depth)
    if name == "alpha" and shown[0] * (1 - EQUAL) <= found["value"] <= shown[-1] * (1 + EQUAL):
        found |= speed(task, optimum.network())[0]
    return found


def solved(setting: Setting, preview: bool, report: Report) -> Any:
    """The curve at preview accuracy or at the setting's own."""
    tol = max(PREVIEW, setting.tol) if preview else setting.tol
    return remember(
        (setting.alone, preview),
        lambda: solve(
            task_of(setting),
            network_of(setting),
            setting.t_max,
            tol=tol,
            trainer=trainer_of(setting),
            memory_gb=MEMORY,
            progress=report,
            preview=preview,
        ),
    )


def curve(setting: Setting, preview: bool, report: Report) -> dict[str, Any]:
    """Both errors with error bars, the best time to stop, and histograms of the weights."""
    began = time.perf_counter()
    curves = solved(setting, preview, report)
    nodes = np.asarray(curves.t)
    first = max(min(nodes[1], 1e-3 * nodes[-1]), 1e-6 * nodes[-1])
    trainer = trainer_of(setting)
    t = trainer.times(nodes[-1])[1:] if isinstance(trainer, Steps) else np.geomspace(first, nodes[-1], TIMES)
    t[-1] = nodes[-1]
    points = curves.at(t)
    names = ("test_error", "test_error_se", "train_error", "train_error_se")
    found: dict[str, Any] = {name: np.asarray(getattr(points, name)) for name in names}
    least = int(np.argmin(found["test_error"]))
    seen = least + 1 < len(t)
    best = (float(t[least]), float(found["test_error"][least]), float(found["test_error_se"][least]), seen)
    if setting.step is None:
        measured = {one.name: one for one in phases(curves).measured}
        stop, value = measured["best_stop"], measured["best_test_error"]
        best = (stop.value, value.value, value.high - value.value, bool(stop.high < nodes[-1]))
    moments = t if len(t) <= MOMENTS else t[np.linspace(0, len(t) - 1, MOMENTS).astype(int)]
    edges = bins(setting)
    histograms = []
    for moment in moments:
        law = curves.law(float(moment))
        histograms.append(np.histogram(law.w, edges, weights=law.weight)[0])
    seconds = time.perf_counter() - began
    return found | {
        "setting": setting,
        "t": t,
        "preview": preview,
        "best": best,
        "moments": moments,
        "histograms": np.array(histograms),
        "edges": edges,
        "seconds": seconds,
        "replicas": int(curves.replicas),
        "points": int(curves.points),
        "nodes": len(nodes),
    }


def kernel(setting: Setting, name: str, preview: bool, report: Report) -> dict[str, Any]:
    """A two-time kernel on times that are even on a logarithmic axis; of C also the correlation.

    Rows are the time t, columns s. A response jumps at s = t and may decay faster than the solver's times
    lie, so it is shown at the nearest of these times (`nodes`) without interpolation, and NaN for s > t.
    """
    if name == "R_w" and setting.batch_fraction is not None:
        raise InputError("the response of weights is not computed for training with mini-batches")
    curves = solved(setting, preview, report)
    times = np.asarray(curves.t)
    t = np.geomspace(max(times[1], 1e-3 * times[-1]), times[-1], PIXELS)
    values = np.asarray(getattr(curves, name))
    found = {"setting": setting, "name": name, "preview": preview, "t": t}
    if name.startswith("R"):
        near = np.argmin(np.abs(np.log(t[:, None] / times[None, 1:])), axis=1) + 1
        value = np.where(near[None, :] > near[:, None], np.nan, values[np.ix_(near, near)])
        return found | {"nodes": times[near], "value": value}
    nodes = np.minimum(t, times[-1])
    if setting.step is not None:
        nodes = setting.step * np.maximum(np.round(nodes / setting.step), 1)
    rule = curves.dense.weights(nodes)
    value = rule @ values @ rule.T
    size = np.sqrt(np.maximum(np.diag(value), 1e-300))
    return found | {
        "nodes": nodes,
        "value": value,
        "correlation": np.clip(value / size / size[:, None], -1, 1),
    }


def trained(setting: Setting, report: Report) -> Any:
    """Its finite networks."""
    from dynafield.simulation.simulate import simulate  # seconds that the other processes need not wait for

    return remember(
        setting,
        lambda: simulate(
            task_of(setting),
            network_of(setting),
            setting.t_max,
            d=setting.d,
            runs=setting.runs,
            trainer=trainer_of(setting),
            progress=report,
        ),
    )


def networks(setting: Setting, report: Report) -> dict[str, Any]:
    """Mean and standard deviation of both errors over finite networks."""
    runs = trained(setting, report)
    found = {f"{name}_sd": runs.standard_deviation(name) for name in ("test_error", "train_error")}
    found |= {name: runs.mean(name) for name in ("test_error", "train_error")}
    return found | {"setting": setting, "t": np.asarray(runs.t), "runs": runs.count, "n": runs.n}


def runs_file(setting: Setting, report: Report) -> bytes:
    """Its finite networks as netCDF."""
    return trained(setting, report).content()


def curve_file(setting: Setting, report: Report) -> bytes:
    """Its curve as netCDF."""
    return solved(setting, False, report).content()


def picture(view: View, report: Report) -> bytes:
    """The picture that the Python script of this view makes, as PNG."""
    import io

    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    setting = view.setting
    curves = solved(setting, False, report)
    ax = curves.phases().plot() if setting.step is None else curves.plot()
    try:
        if setting.d is not None:
            trained(setting, report).plot(ax)
        for pin in view.pins:
            pinned = solved(pin, False, report)
            ax.plot(pinned.t[1:], pinned.test_error[1:], label=f"pinned: {pin.label(setting)}")
            if pin.d is not None:
                trained(pin, report).plot(ax)
        ax.legend()
        file = io.BytesIO()
        ax.figure.savefig(file, format="png", dpi=160)
        return file.getvalue()
    finally:
        plt.close(ax.figure)
