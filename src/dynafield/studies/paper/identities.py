"""Networks trained for statements that no figure shows."""

import numpy as np
import xarray as xr

from dynafield.numerics.spectra import MarchenkoPastur
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
PLENTY = Task(delta=40.0, sigma=SIGMA, prior=Discrete([-1.0, 0.0, 1.0], [0.1, 0.8, 0.1]))
"""Data enough for δ to be as good as infinite, with targets of both signs."""


def identities(setting: Setting) -> xr.Dataset:
    """C_w(t, 0) of the lazy phase, the scale of the layers under weight decay, and the end for large δ."""
    size = (setting.scale.d_curves, setting.scale.seeds_curves)
    data = xr.Dataset(coords={"lazy_time": LAZY, "rich_time": RICH})
    lazy = train(setting, (TASK, DiagonalNetwork(LARGE)), LAZY / LARGE**2, *size, "gaussian", weights=True)
    moved = np.asarray(lazy.weights) - lazy.w_star[:, None, :]
    data["lazy_correlation"] = (("run", "lazy_time"), np.mean(-moved * lazy.w_star[:, None, :], axis=-1))
    law, power = MarchenkoPastur(float(TASK.delta)), TASK.prior.second_moment
    data["lazy_form"] = ("lazy_time", [power * law.average(lambda x, t=t: np.exp(-x * t)) for t in LAZY])
    rich = train(setting, (TASK, DiagonalNetwork(MIDDLE, DECAY)), RICH, *size, "gaussian", weights=True)
    layers = (np.asarray(rich.loss) - 0.5 * np.asarray(rich.train_error)) / DECAY
    data["layers"] = (("run", "rich_time"), layers)
    for name, scale in (("corrected", MIDDLE**4), ("printed", MIDDLE**2)):
        square = np.asarray(rich.weights) ** 2 + scale * np.exp(-2 * DECAY * RICH)[:, None]
        data[f"layers_{name}"] = (("run", "rich_time"), np.mean(np.sqrt(square), axis=-1))
    plenty = train(setting, (PLENTY, DiagonalNetwork(0.5, DECAY)), 200.0, 100, size[1], "gaussian")
    negative = plenty.w_star == -1
    data["negative_end"] = ("run", [np.mean(w[pick]) for w, pick in zip(plenty.w, negative, strict=True)])
    meanings = {
        "lazy_correlation": "C_w(t, 0) of networks in the lazy phase",
        "lazy_form": "ρ² times the average of exp(-xα²t) over the Marchenko–Pastur law",
        "layers": "mean of (u² + v²)/2 of networks, from their losses",
        "layers_corrected": "mean of √(w² + α⁴exp(-2λt)) of the same networks",
        "layers_printed": "mean of √(w² + α²exp(-2λt)) of the same networks",
        "negative_end": "mean end of the coordinates with w* = -1 at large δ",
    }
    more = dict(d=size[0], runs=size[1], lazy_alpha=LARGE, rich_alpha=MIDDLE, lam=DECAY, large_delta=40.0)
    return labelled(data, meanings).assign_attrs(facts(setting, TASK, **more))
