"""The plane of initial scale and weight decay: the stage of training at one time, and its errors."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from dynafield.deprecation import old_calls
from dynafield.dmft.solve import solve
from dynafield.problem.checks import one_real, real_list, seed_of
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.progress import Progress, Wanted
from dynafield.records.record import Record, quantity
from dynafield.theory.phases import predicted

__all__ = ["RegimeMap", "regime_map"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class RegimeMap(Record):
    """Stage and errors at one time over α and λ, as `regime_map` returns them.

    Attributes
    ----------
    task, net
        The problem; `net` has α along the first axis and λ along the second.
    stage : array of str (m, l)
        Stage of training at `t_max`.
    test_error, test_error_se : array (m, l)
        Test error at `t_max`, and its estimated error.
    train_error : array (m, l)
        Training error at `t_max`.
    t_max, tol, seed
        Arguments of `regime_map`.
    """

    title: ClassVar[str] = "stages of training"

    stage: Any = quantity("stage of training at t_max")
    test_error: Any = quantity("test error at t_max")
    test_error_se: Any = quantity("its estimated error", False)
    train_error: Any = quantity("training error at t_max")
    t_max: float = 0.0
    tol: float = 1e-2
    seed: int = 0

    def facts(self) -> dict[str, Any]:
        """Time, tolerance and seed."""
        return {"t_max": self.t_max, "tol": self.tol, "seed": self.seed}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        kinds = {"t_max": float, "tol": float, "seed": int}
        return {name: kind(data.attrs[name]) for name, kind in kinds.items()}


@old_calls()
def regime_map(
    task: Task,
    alphas: Any,
    lams: Any,
    *,
    t_max: float = 100.0,
    depth: int = 2,
    tol: float = 1e-2,
    seed: int = 0,
    progress: Wanted = None,
) -> RegimeMap:
    """Stages and errors at one time over the plane of α and λ; all λ of one α are solved together.

    Parameters
    ----------
    task : Task
        One δ, one σ, and the prior.
    alphas : array (m,)
        Initial scales α > 0.
    lams : array (l,)
        Weight decays λ ≥ 0.
    t_max : float, default 100
        The time, in the units of gradient flow.
    depth : int, default 2
        Number of layers.
    tol : float, default 1e-2
        Tolerance of `solve`.
    seed : int, default 0
        Seed of `solve`.
    progress : bool or callable, optional
        As in `solve`.

    Returns
    -------
    RegimeMap
        Arrays (m, l) over α and λ.
    """
    scales = real_list("alphas", alphas, lambda x: x > 0, "numbers > 0")
    decays = real_list("lams", lams, lambda x: x >= 0, "numbers ≥ 0")
    end = one_real("t_max", t_max, lambda x: x > 0, "one number > 0")
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    seed = seed_of("seed", seed)
    plane = DiagonalNetwork(scales[:, None], decays, depth)
    stages = [
        [predicted(task, DiagonalNetwork(a, b, plane.depth)).at(end).name for b in decays] for a in scales
    ]
    rows: dict[str, list[Any]] = {name: [] for name in ("test_error", "test_error_se", "train_error")}
    with Progress("solving", float(len(scales)), progress) as bar:
        for k, alpha in enumerate(scales):
            bar.show(float(k), f"α = {alpha:.3g}")
            net = DiagonalNetwork(alpha, decays, plane.depth)
            found = solve(task, net, end, tol=tol, seed=seed, progress=False)
            for name, values in rows.items():
                values.append(np.asarray(getattr(found, name))[:, -1])
    errors = {name: np.stack(values) for name, values in rows.items()}
    return RegimeMap(task, plane, stage=np.array(stages), t_max=end, tol=tol, seed=seed, **errors)
