"""The infinite network over finite ones: one picture, one table, one number for their distance."""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from dynafield.dmft.solve import solve
from dynafield.errors import InputError
from dynafield.problem.model import Model
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow
from dynafield.progress import Wanted
from dynafield.records import files
from dynafield.simulation.runs import RunsRecord
from dynafield.simulation.simulate import simulate

__all__ = ["Comparison", "compare"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Learning curves of theory and of finite networks for the same task and network."""

    curves: Any
    runs: Any

    title: ClassVar[str] = "theory over finite networks"

    @property
    def t(self) -> np.ndarray:
        """Times of the finite networks."""
        return np.asarray(self.runs.t)

    def difference(self, name: str = "test_error") -> np.ndarray:
        """Mean of the finite networks minus theory at their times."""
        return self.runs.mean(name) - getattr(self.curves.at(self.t), name)

    def standard_error(self, name: str = "test_error") -> np.ndarray:
        """Standard error of that difference: of the runs and of the theory together."""
        return np.hypot(self.runs.standard_error(name), getattr(self.curves.at(self.t), f"{name}_se"))

    def worst(self, name: str = "test_error") -> float:
        """Largest distance in standard errors, over times at which there is any spread; NaN for one run."""
        error = self.standard_error(name)
        spread = error > 1e-12 * np.max(self.runs.mean(name))
        ratios = np.abs(self.difference(name))[spread] / error[spread]
        return float(np.max(ratios)) if ratios.size else float("nan")

    def table(self) -> dict[str, np.ndarray]:
        """Times, both errors in theory and in finite networks, and their standard errors."""
        points = self.curves.at(self.t)
        result = {"t": self.t}
        for name in ("train_error", "test_error"):
            result[f"{name}_theory"] = getattr(points, name)
            result[f"{name}_theory_se"] = getattr(points, f"{name}_se")
            result[f"{name}_finite"] = self.runs.mean(name)
            result[f"{name}_finite_se"] = self.runs.standard_error(name)
        return result

    def plot(self, ax: Any = None) -> Any:
        """Lines for theory with its error, points for finite networks with theirs."""
        from dynafield.figures.comparison import draw_comparison

        return draw_comparison(self.curves, self.runs, ax)

    def to_xarray(self) -> xr.Dataset:
        """The table as a labelled data set over the parameters and times."""
        finite = self.runs.to_xarray()
        data = xr.Dataset(coords={"time": finite["time"]})
        dims = finite["train_error"].dims
        dims = tuple(d for d in dims if d != "run")
        for name, values in self.table().items():
            if name != "t":
                data[name] = (dims, values)
        places = {k: v for k, v in finite.coords.items() if set(v.dims) <= set(dims)}
        return data.assign_coords(places).assign_attrs(finite.attrs)

    def save(self, path: str | Path) -> Path:
        """Write the table to a netCDF file, for any reader of xarray."""
        return files.write(self.to_xarray(), "Comparison", path)

    def __repr__(self) -> str:
        worst = {name: self.worst(name) for name in ("train_error", "test_error")}
        size = f"{self.runs.seeds} runs" + (f", n={self.runs.n}, d={self.runs.d}" if self.runs.d else "")
        lines = [f"{name}: at most {value:.2g} standard errors apart" for name, value in worst.items()]
        return "\n  ".join([f"Comparison: {self.title}, {size}", *lines])


def compare(
    task: Task,
    net: Model,
    t_max: Any,
    d: int = 500,
    seeds: int = 10,
    tol: float = 1e-3,
    t_eval: Any = None,
    seed: int = 0,
    workers: int = 1,
    progress: Wanted = None,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
    runs: Any = None,
) -> Comparison:
    """Solve the infinite network and train `seeds` finite ones of dimension `d`, both by `trainer`.

    They differ by fluctuations, of which the standard errors speak, and by a bias of order 1/d. With `runs`,
    which another program may have made (`Runs.of`), no network is trained here.
    """
    if runs is None:
        runs = simulate(
            task, net, t_max, d=d, seeds=seeds, t_eval=t_eval, trainer=trainer, seed=seed, workers=workers,
            progress=progress,
        )  # fmt: skip
    if not isinstance(runs, RunsRecord):
        raise InputError(f"runs must be Runs, as simulate or Runs.of makes them, got {type(runs).__name__}")
    if not runs.complete:
        raise KeyboardInterrupt
    if np.max(runs.t) > float(t_max) * (1 + 1e-9):
        raise InputError(f"runs must end at t_max = {float(t_max):g} or before, got {np.max(runs.t):g}")
    curves = solve(task, net, t_max, tol=tol, trainer=trainer, seed=seed, progress=progress)
    return Comparison(curves, runs)
