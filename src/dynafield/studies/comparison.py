"""The infinite network compared with finite ones: a figure, a table, and their largest distance."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from dynafield.deprecation import old_calls
from dynafield.dmft.results.curves import Curves
from dynafield.dmft.results.flow_curves import FlowCurves
from dynafield.dmft.solve import solve
from dynafield.errors import FileError, InputError
from dynafield.problem.checks import is_whole, one_real, shown
from dynafield.problem.model import Model
from dynafield.problem.task import Task
from dynafield.problem.trainers import GradientFlow
from dynafield.progress import Wanted
from dynafield.records.record import Labelled
from dynafield.simulation.flow_runs import FlowRuns
from dynafield.simulation.runs import Runs, RunsRecord
from dynafield.simulation.simulate import simulate

__all__ = ["Comparison", "compare"]

SIDES = ("curves", "runs")
"""What is compared."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Labelled):
    """Learning curves of theory and of finite networks for the same task and network, as `compare` returns
    them.

    Attributes
    ----------
    curves : Curves or FlowCurves
        Theory.
    runs : Runs or FlowRuns
        Finite networks.
    """

    curves: Any
    runs: Any

    title: ClassVar[str] = "theory over finite networks"

    @property
    def t(self) -> np.ndarray:
        """Times of the finite networks."""
        return np.asarray(self.runs.t)

    def difference(self, name: str = "test_error") -> np.ndarray:
        """Mean of the finite networks minus theory, at the times of the runs.

        Parameters
        ----------
        name : str, default "test_error"
            Name of a curve.

        Returns
        -------
        array (…, k)
            Differences, over parameter axes and times.
        """
        return self.runs.mean(name) - getattr(self.curves.at(self.t), name)

    def standard_error(self, name: str = "test_error") -> np.ndarray:
        """Standard error of `difference`, from runs and theory together.

        Parameters
        ----------
        name : str, default "test_error"
            Name of a curve.

        Returns
        -------
        array (…, k)
            Standard errors, over parameter axes and times.
        """
        return np.hypot(self.runs.standard_error(name), getattr(self.curves.at(self.t), f"{name}_se"))

    def worst(self, name: str = "test_error") -> float:
        """Largest difference in standard errors, over times at which the runs differ from each other.

        Parameters
        ----------
        name : str, default "test_error"
            Name of a curve.

        Returns
        -------
        float
            A number of standard errors; NaN for one run.
        """
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

    def to_dataframe(self) -> pd.DataFrame:
        """The table, a row for each problem and time."""
        data = self.table_data()
        frame = data.to_dataframe(dim_order=[str(axis) for axis in data["test_error_theory"].dims])
        kept = [name for name in frame.columns if name not in data.dims]
        return frame[kept].reset_index()

    def table_data(self) -> xr.Dataset:
        """The table as a labelled data set over the parameters and times."""
        finite = self.runs.to_xarray()
        data = xr.Dataset(coords={"time": finite["time"]})
        dims = tuple(axis for axis in finite["train_error"].dims if axis != "run")
        for name, values in self.table().items():
            if name != "t":
                data[name] = (dims, values)
        return data.assign_coords({k: v for k, v in finite.coords.items() if set(v.dims) <= set(dims)})

    def to_xarray(self) -> xr.Dataset:
        """The table, with everything of both sides, under names that begin with curves_ and runs_."""
        data = self.table_data()
        for side in SIDES:
            record = getattr(self, side)
            whole = record.to_xarray().reset_coords()
            names = {str(name) for name in (*whole.variables, *whole.dims)}
            whole = whole.rename({name: f"{side}_{name}" for name in names})
            data = data.merge(whole.reset_coords())
            facts = {f"{side}_{name}": value for name, value in whole.attrs.items()}
            data = data.assign_attrs(facts | {f"{side}_kind": type(record).__name__})
        return data

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> "Comparison":
        """The comparison from a labelled data set, as `to_xarray` makes it."""
        kinds = {kind.__name__: kind for kind in (Curves, FlowCurves, Runs, FlowRuns)}
        try:
            sides = {
                side: kinds[data.attrs[f"{side}_kind"]].from_xarray(part_of(data, side)) for side in SIDES
            }
        except KeyError as error:
            raise FileError(f"a {cls.__name__} must contain {error}, and the file does not") from error
        return cls(**sides)

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        size = f"{self.runs.count} runs" + (f", n={self.runs.n}, d={self.runs.d}" if self.runs.d else "")
        worst = {name: self.worst(name) for name in ("train_error", "test_error")}
        told = [(name, f"{value:.2g}", "standard errors apart, at most") for name, value in worst.items()]
        return [*self.curves.rows()[:2], ("runs", size, ""), *told]


def part_of(data: xr.Dataset, side: str) -> xr.Dataset:
    """The data set of one side."""
    start = f"{side}_"
    names = [name for name in data.variables if str(name).startswith(start)]
    axes = [axis for axis in data.dims if str(axis).startswith(start)]
    part = data[names].reset_coords()
    part = part.drop_vars([name for name in part.variables if not str(name).startswith(start)])
    part = part.rename({name: str(name).removeprefix(start) for name in {*part, *axes}})
    facts = {k.removeprefix(start): v for k, v in data.attrs.items() if k.startswith(start)}
    coordinates = [name for name in part if name in part.dims]
    return part.set_coords(coordinates).drop_attrs().assign_attrs(facts)


@old_calls(seeds="runs")
def compare(
    task: Task,
    net: Model,
    t_max: Any,
    *,
    d: int = 500,
    runs: Any = 10,
    tol: float = 1e-3,
    t_eval: Any = None,
    seed: int = 0,
    workers: int = 1,
    progress: Wanted = None,
    trainer: Any = GradientFlow(),  # noqa: B008 - immutable
) -> Comparison:
    """Solve the infinite network and train finite ones.

    Both are trained alike. They differ by fluctuations, which the standard errors measure, and by a bias of
    order 1/d.

    Parameters
    ----------
    task : Task
        One δ, one σ, and the prior.
    net : Network or Model
        What is trained.
    t_max : float
        Training time > 0, in the units of gradient flow.
    d : int, default 500
        Dimension of the finite networks.
    runs : int, Runs or FlowRuns, default 10
        Number of finite networks; or runs that are there already, for example of another program (`Runs.of`).
    tol : float, default 1e-3
        Tolerance of `solve`.
    t_eval : array (k,), optional
        Times at which both are compared, as in `simulate`.
    seed : int, default 0
        Seed of both.
    workers : int, default 1
        Number of processes that train at the same time.
    progress : bool or callable, optional
        As in `solve`.
    trainer : GradientFlow, GradientDescent, Optax or an optax optimizer, default GradientFlow()
        How both are trained.

    Returns
    -------
    Comparison
        Both learning curves.
    """
    one_real("t_max", t_max, lambda x: x > 0, "one finite number > 0")
    one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    if not (isinstance(runs, RunsRecord) or is_whole(runs)):
        raise InputError(f"runs must be a number of networks, or runs of `simulate`, got {shown(runs)}")
    if not isinstance(runs, RunsRecord):
        runs = simulate(
            task, net, t_max, d=d, runs=runs, t_eval=t_eval, trainer=trainer, seed=seed, workers=workers,
            progress=progress,
        )  # fmt: skip
    if not runs.complete:
        raise KeyboardInterrupt
    if np.max(runs.t) > float(t_max) * (1 + 1e-9):
        raise InputError(f"runs must stop at t_max = {float(t_max):g} or before, got {np.max(runs.t):g}")
    curves = solve(task, net, t_max, tol=tol, trainer=trainer, seed=seed, progress=progress)
    return Comparison(curves, runs)
