"""Networks trained for statements that no figure shows."""

import numpy as np
import xarray as xr

from dynafield.dmft.solve import solve
from dynafield.numerics.spectra import MarchenkoPastur
from dynafield.problem.models import diagonal_flow
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.priors import Discrete
from dynafield.problem.task import Task
from dynafield.studies.paper.parts import facts, labelled, train
from dynafield.studies.paper.setting import SIGMA, TASK, Setting

__all__ = ["identities"]

LAZY = np.array([0.3, 1.0, 3.0])
"""Values of α²t in the lazy phase."""
RICH = np.array([2.0, 5.0, 10.0])
"""Times at which the scale of the layers is looked at."""
LARGE, MIDDLE, DECAY = 30.0, 3.0, 0.2
RESPONDING, LONG, BLOCKS = DiagonalNetwork(2.0), 3.0, 30
"""A network, a time at which γt = 2, and blocks up to there, for responses."""
PLENTY = Task(delta=40.0, sigma=SIGMA, prior=Discrete([-1.0, 0.0, 1.0], [0.1, 0.8, 0.1]))
"""Data enough for δ to be as good as infinite, with targets of both signs."""


def identities(setting: Setting) -> xr.Dataset:
    """C_w(t, 0) of the lazy phase, the scale of the layers under weight decay, and the limit for large δ."""
    size = (setting.scale.d_curves, setting.scale.seeds_curves)
    data = xr.Dataset(coords={"lazy_time": LAZY, "rich_time": RICH})
    lazy = train(setting, (TASK, DiagonalNetwork(LARGE)), LAZY / LARGE**2, *size, "gaussian", weights=True)
    moved = np.asarray(lazy.weights) - lazy.w_star[:, None, :]
    data["lazy_correlation"] = (("run", "lazy_time"), np.mean(-moved * lazy.w_star[:, None, :], axis=-1))
    law, power = MarchenkoPastur(float(TASK.delta)), TASK.prior.second_moment
    data["lazy_form"] = ("lazy_time", [power * law.average(lambda x, t=t: np.exp(-x * t)) for t in LAZY])
    u, v = layers(setting, size)
    data["layers"] = (("run", "rich_time"), np.mean(u**2 + v**2, axis=-1) / 2)
    for name, scale in (("corrected", MIDDLE**4), ("printed", MIDDLE**2)):
        square = ((u**2 - v**2) / 2) ** 2 + scale * np.exp(-2 * DECAY * RICH)[:, None]
        data[f"layers_{name}"] = (("run", "rich_time"), np.mean(np.sqrt(square), axis=-1))
    data["noise_fitted"] = noise_fitted(setting)
    plenty = train(setting, (PLENTY, DiagonalNetwork(0.5, DECAY)), 200.0, 100, size[1], "gaussian")
    negative = plenty.w_star == -1
    data["negative_end"] = ("run", [np.mean(w[pick]) for w, pick in zip(plenty.w, negative, strict=True)])
    meanings = {
        "lazy_correlation": "C_w(t, 0) of networks in the lazy phase",
        "lazy_form": "ρ² times the average of exp(-xα²t) over the Marchenko–Pastur distribution",
        "layers": "mean of (u² + v²)/2 of networks whose u and v were trained",
        "noise_fitted": "integral of R_f(t, s) over s, at the last time of `solve`",
        "layers_corrected": "mean of √(w² + α⁴exp(-2λt)) of the same networks",
        "layers_printed": "mean of √(w² + α²exp(-2λt)) of the same networks",
        "negative_end": "mean limit of the coordinates with w* = -1 at large δ",
    }
    more = dict(d=size[0], runs=size[1], lazy_alpha=LARGE, rich_alpha=MIDDLE, lam=DECAY, large_delta=40.0)
    more |= dict(response_alpha=float(RESPONDING.alpha), response_time=LONG)
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))


def layers(setting: Setting, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """u and v of networks, trained as such: run, time, feature."""
    flow = diagonal_flow(DiagonalNetwork(MIDDLE, DECAY))
    ends = [train(setting, (TASK, flow), t, *size, "gaussian").theta for t in RICH]
    u, v = np.moveaxis(np.stack(ends, axis=1), -1, 0)
    return u, v


def noise_fitted(setting: Setting) -> float:
    r"""\(\chi_f = \int R_f(t, s)\,ds\) of the infinite network late in training, in blocks short enough for
    R_f."""
    edges = np.linspace(0.0, LONG, BLOCKS + 1)
    curves = solve(TASK, RESPONDING, LONG, tol=1e-2, grid=edges, seed=setting.seed, progress=False)
    s = np.linspace(0.0, LONG, 4001)
    return float(np.trapezoid(curves.dense.weights(s) @ curves.R_f[-1], s))
