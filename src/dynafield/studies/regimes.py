"""The plane of initial scale and weight decay: which stage training has come to, and how good it is there."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from dynafield.dmft.solve import solve
from dynafield.problem.checks import integer, one_real, real_vector
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.task import Task
from dynafield.progress import Progress, Wanted
from dynafield.records.record import Record, quantity
from dynafield.theory.phases import predicted

__all__ = ["RegimeMap", "regime_map"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class RegimeMap(Record):
    """Stage and errors at one time over α (first axis) and λ (second)."""

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
        """The fields behind `facts`."""
        kinds = {"t_max": float, "tol": float, "seed": int}
        return {name: kind(data.attrs[name]) for name, kind in kinds.items()}

    def plot(self, ax: Any = None) -> Any:
        """The plane coloured by stage, with contours of the test error."""
        from dynafield.figures.phases import draw_regimes

        return draw_regimes(self, ax)


def regime_map(
    task: Task,
    alphas: Any,
    lams: Any,
    t_max: float = 100.0,
    depth: int = 2,
    tol: float = 1e-2,
    seed: int = 0,
    progress: Wanted = None,
) -> RegimeMap:
    """Stages and errors at time `t_max` over the plane of α and λ; all λ of one α are solved together."""
    scales = np.array(real_vector("alphas", np.atleast_1d(alphas), lambda x: x > 0, "numbers > 0"))
    decays = np.array(real_vector("lams", np.atleast_1d(lams), lambda x: x >= 0, "numbers ≥ 0"))
    end = one_real("t_max", t_max, lambda x: x > 0, "one number > 0")
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    seed = integer("seed", seed, 0)
    plane = DiagonalNetwork(scales[:, None], decays[None, :], depth)
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
