"""Computations that a study can do at its points, many points at once."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr

from dynafield.deprecation import warn_of
from dynafield.dmft.solve import solve
from dynafield.errors import InputError, SolveError
from dynafield.problem.checks import flag, integer, one_real, real_list
from dynafield.problem.text import numbers
from dynafield.problem.trainers import Steps
from dynafield.simulation.inputs import read_inputs
from dynafield.simulation.simulate import simulate
from dynafield.studies.optimization import optimize
from dynafield.studies.phases import phases
from dynafield.studies.points import Point, together
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.phases import STAGES
from dynafield.theory.phases_record import Phases
from dynafield.theory.rates import convergence_rate

__all__ = ["COMPUTATIONS", "Computation", "Part"]

MEASURES = ("plateau_end", "grokking_time", "activation_50%", "best_stop", "best_test_error")


class Part(NamedTuple):
    """A number, text or curve for each point."""

    meaning: str
    over: tuple[str, ...] = ()
    text: bool = False


@dataclasses.dataclass(frozen=True)
class Computation(abc.ABC):
    """One kind of computation with its settings."""

    name: ClassVar[str]
    many: ClassVar[bool] = False
    """Whether batches are best given to several processes, instead of one process with all cores."""

    renamed: ClassVar[Mapping[str, str]] = {}
    """New names of settings, by the old ones that study files may still have."""

    renamed_variables: ClassVar[Mapping[str, str]] = {}
    """New names of variables of the data set, by the old ones that finished batches may still have."""

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> "Computation":
        """Made from the table of a study; InputError with the name of the key if something is wrong."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for old in cls.renamed.keys() & table.keys():
            warn_of(f"{cls.name}.{old} is now called {cls.name}.{cls.renamed[old]}")
        table = {cls.renamed.get(key, key): value for key, value in table.items()}
        for key in table:
            if key not in fields:
                known = ", ".join(fields) or "no settings"
                raise InputError(f"{cls.name}.{key} is not known here: there are {known}")
        for key, field in fields.items():
            if field.default is dataclasses.MISSING and key not in table:
                raise InputError(f"{cls.name}.{key} is missing")
        try:
            return cls(**table)
        except InputError as error:
            raise InputError(f"{cls.name}.{error}") from None

    def settings(self) -> dict[str, Any]:
        """The settings in plain types."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(self).items()}

    @abc.abstractmethod
    def parts(self) -> dict[str, Part]:
        """The numbers that it computes at each point."""

    def coordinates(self) -> dict[str, np.ndarray]:
        """Values along the axes of its curves."""
        return {}

    def group(self, point: Point) -> Any:
        """Points with the same value of this can be computed at once."""
        return (point.prior, point.spectrum, point.depth, point.M)

    def admit(self, point: Point) -> None:
        """Raise InputError if a point cannot be computed."""
        point.problem()

    @abc.abstractmethod
    def compute(self, points: Sequence[Point], seed: int) -> dict[str, Any]:
        """The parts of several points of one group: first axis over the points."""

    def run(self, points: Sequence[Point], seed: int) -> xr.Dataset:
        """The parts of a batch. If it fails, points are computed one by one, and errors are kept."""
        try:
            return self.labelled(self.compute(points, seed), [""] * len(points))
        except (InputError, SolveError, ArithmeticError, ValueError) as failure:
            if len(points) == 1:
                return self.labelled(self.nothing(), [f"{type(failure).__name__}: {failure}"])
        return xr.concat([self.run([point], seed) for point in points], "point", data_vars="minimal")

    def nothing(self) -> dict[str, Any]:
        """The parts of a point that failed."""
        lengths = {name: len(values) for name, values in self.coordinates().items()}
        made = {}
        for name, part in self.parts().items():
            shape = (1, *(lengths[axis] for axis in part.over))
            made[name] = np.array([""]) if part.text else np.full(shape, np.nan)
        return made

    def variable(self, part: str) -> str:
        """Name of a part in the data set: that of the computation comes first, and only once."""
        return part if part == self.name else f"{self.name}_{part}"

    def labelled(self, found: dict[str, Any], errors: list[str]) -> xr.Dataset:
        """The parts as a data set with names, axes and meanings."""
        data = xr.Dataset()
        for name, part in self.parts().items():
            values = np.asarray(found[name])
            values = values.astype(str).astype(object) if part.text else values.astype(float)
            values = values.reshape(len(errors), *values.shape[1:]) if values.ndim else values[None]
            data[self.variable(name)] = (("point", *part.over), values, {"long_name": part.meaning})
        data[self.variable("error")] = (
            "point",
            np.array(errors, object),
            {"long_name": "why it failed, if it did"},
        )
        return data.assign_coords({axis: (axis, values) for axis, values in self.coordinates().items()})


@dataclasses.dataclass(frozen=True)
class FixedPoints(Computation):
    """`fixed_point` at every point."""

    name = "fixed_point"

    def parts(self) -> dict[str, Part]:
        """Errors and responses in the limit of training."""
        return {
            "case": Part("regularized, ridgeless or interpolating", text=True),
            "test_error": Part("population error C_w + σ²"),
            "train_error": Part("training error"),
            "chi_w": Part("susceptibility of the weights"),
            "R_w": Part("response of the weights"),
        }

    def compute(self, points: Sequence[Point], seed: int) -> dict[str, Any]:
        """All points at once."""
        found = fixed_point(*together(points))
        return {name: np.broadcast_to(np.asarray(getattr(found, name)), len(points)) for name in self.parts()}


@dataclasses.dataclass(frozen=True)
class Rates(Computation):
    """`convergence_rate` at every point."""

    name = "convergence_rate"

    def parts(self) -> dict[str, Part]:
        """The rate of convergence."""
        return {"gamma": Part("rate γ: the loss decays as exp(-2γt); 0 for λ > 0")}

    def compute(self, points: Sequence[Point], seed: int) -> dict[str, Any]:
        """All points at once."""
        found = convergence_rate(*together(points))
        return {"gamma": np.broadcast_to(np.asarray(found.gamma), len(points))}


@dataclasses.dataclass(frozen=True)
class BestAlpha(Computation):
    """The α with the smallest test error in the limit of training, by `optimize`, at every point."""

    name = "best_alpha"
    renamed_variables: ClassVar[Mapping[str, str]] = {
        "best_alpha_best_alpha": "best_alpha",
        "best_alpha_best_test_error": "best_alpha_test_error",
    }

    def parts(self) -> dict[str, Part]:
        """The best α, whether it is a limit of its range, and the test error."""
        return {
            "best_alpha": Part("α with the smallest test error in the limit of training"),
            "boundary": Part("the limit of the range of α, if the best α is one", text=True),
            "test_error": Part("smallest test error, that of the best α"),
        }

    def compute(self, points: Sequence[Point], seed: int) -> dict[str, Any]:
        """One point after another."""
        found = optimize(*together(points), "alpha", progress=False)
        shape = len(points)
        return {
            "best_alpha": np.broadcast_to(found.best["alpha"], shape),
            "boundary": np.broadcast_to(np.asarray(found.boundary)[..., 0], shape),
            "test_error": np.broadcast_to(found.value, shape),
        }


def times_of(name: str, t_eval: Any, t_max: float) -> tuple[float, ...]:
    """Times at which curves are kept: by default 0 and 60 more up to t_max, dense at first."""
    if t_eval is None:
        return (0.0, *np.geomspace(1e-4 * t_max, t_max, 60).tolist())
    given = numbers(name, t_eval) if isinstance(t_eval, str) else t_eval
    allowed = f"times from 0 to t_max = {t_max:g}, increasing"
    times = real_list(name, given, lambda x: (x >= 0) & (x <= t_max), allowed)
    if np.any(np.diff(times) <= 0):
        late = int(np.argmax(np.diff(times) <= 0))
        raise InputError(f"{name} must be {allowed}, got {times[late]:g} before {times[late + 1]:g}")
    return tuple(times.tolist())


@dataclasses.dataclass(frozen=True)
class Solve(Computation):
    """`solve` at every point; with `phases`, also the measured stages."""

    name = "solve"

    t_max: Any
    tol: Any = 1e-3
    rtol: Any = None
    t_eval: Any = None
    memory_gb: Any = None
    phases: Any = False

    def __post_init__(self) -> None:
        t_max = one_real("t_max", self.t_max, lambda x: x > 0, "one number > 0")
        object.__setattr__(self, "t_max", t_max)
        one_real("tol", self.tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
        object.__setattr__(self, "t_eval", times_of("t_eval", self.t_eval, t_max))
        if self.rtol is not None:
            one_real("rtol", self.rtol, lambda x: (x >= 1e-4) & (x <= 1), "one number from 1e-4 to 1")
        if self.memory_gb is not None:
            one_real("memory_gb", self.memory_gb, lambda x: x > 0, "one number > 0")
        flag("phases", self.phases)

    def parts(self) -> dict[str, Part]:
        """Both errors with error bars, and the measured stages if they are asked for."""
        curve = ("solve_time",)
        made = {
            "train_error": Part("training error", curve),
            "test_error": Part("test error", curve),
            "train_error_se": Part("estimated error of train_error", curve),
            "test_error_se": Part("estimated error of test_error", curve),
            "loss": Part("loss", curve),
        }
        return made | ({name: Part(name.replace("_", " ")) for name in MEASURES} if self.phases else {})

    def coordinates(self) -> dict[str, np.ndarray]:
        """Times of the curves."""
        return {"solve_time": np.array(self.t_eval)}

    def group(self, point: Point) -> Any:
        """Networks of one depth and prior, trained alike."""
        return (*super().group(point), point.step, point.momentum, point.batch_fraction)

    def admit(self, point: Point) -> None:
        """Times must be multiples of the step; stages exist for gradient flow only."""
        trainer = point.trainer
        if isinstance(trainer, Steps):
            trainer.number("solve.t_eval", np.array(self.t_eval))
            if self.phases:
                raise InputError(
                    "solve.phases must be false for a discrete trainer: stages are those of the flow"
                )

    def compute(self, points: Sequence[Point], seed: int) -> dict[str, Any]:
        """All points on one grid of times."""
        curves = solve(
            *together(points), self.t_max, tol=self.tol, rtol=self.rtol, trainer=points[0].trainer, seed=seed,
            memory_gb=self.memory_gb, progress=False,
        )  # fmt: skip
        at = curves.at(np.array(self.t_eval))
        names = ("train_error", "test_error", "train_error_se", "test_error_se", "loss")
        found = {name: np.atleast_2d(getattr(at, name)) for name in names}
        if not self.phases:
            return found
        stages = [one.phases() for one in curves]
        return found | {name: np.array([measure(one, name) for one in stages]) for name in MEASURES}


def measure(found: Phases, name: str) -> float:
    """A measured value; NaN if there is none."""
    return next((one.value for one in found.measured if one.name == name), np.nan)


@dataclasses.dataclass(frozen=True)
class Stages(Computation):
    """`phases` by closed forms at every point."""

    name = "phases"

    def parts(self) -> dict[str, Part]:
        """The regime, and when each stage begins; NaN for stages that do not occur."""
        starts = {f"{stage}_start": Part(f"begin of the stage {stage}") for stage in STAGES}
        return {"regime": Part("large α, small α or between the limits", text=True)} | starts

    def compute(self, points: Sequence[Point], seed: int) -> dict[str, Any]:
        """One point after another, since each is quick."""
        found = [phases(*together([point])) for point in points]
        starts = {
            f"{stage}_start": np.array(
                [next((s.start for s in one if s.name == stage), np.nan) for one in found]
            )
            for stage in STAGES
        }
        return {"regime": np.array([one.regime for one in found])} | starts


@dataclasses.dataclass(frozen=True)
class Simulate(Computation):
    """`simulate` at every point, all runs kept."""

    name = "simulate"
    renamed: ClassVar[Mapping[str, str]] = {"seeds": "runs"}
    many = True

    t_max: Any
    d: Any = 500
    runs: Any = 10
    t_eval: Any = None
    inputs: Any = "gaussian"
    tol: Any = 1e-6

    def __post_init__(self) -> None:
        t_max = one_real("t_max", self.t_max, lambda x: x > 0, "one number > 0")
        object.__setattr__(self, "t_max", t_max)
        integer("d", self.d, 2)
        integer("runs", self.runs, 1)
        one_real("tol", self.tol, lambda x: (x >= 1e-12) & (x <= 1e-2), "one number from 1e-12 to 1e-2")
        object.__setattr__(self, "t_eval", times_of("t_eval", self.t_eval, t_max))
        if not isinstance(self.inputs, str):
            raise InputError(f"inputs must be the name of a distribution, got {self.inputs!r}")
        read_inputs(self.inputs, 1.0, 2)

    def parts(self) -> dict[str, Part]:
        """Both errors of every run."""
        curve = ("run", "simulate_time")
        return {"train_error": Part("training error", curve), "test_error": Part("test error", curve)}

    def coordinates(self) -> dict[str, np.ndarray]:
        """Runs and times."""
        return {"run": np.arange(self.runs), "simulate_time": np.array(self.t_eval)}

    def group(self, point: Point) -> Any:
        """Networks trained alike on the same data."""
        trained = (point.step, point.momentum, point.batch_fraction)
        return (*super().group(point), point.delta, point.sigma, *trained)

    def admit(self, point: Point) -> None:
        """Times must be multiples of the step."""
        read_inputs(self.inputs, point.delta, self.d)
        if isinstance(point.trainer, Steps):
            point.trainer.number("simulate.t_eval", np.array(self.t_eval))

    def compute(self, points: Sequence[Point], seed: int) -> dict[str, Any]:
        """All α and λ on the same data."""
        runs = simulate(
            *together(points), self.t_max, d=self.d, runs=self.runs, t_eval=np.array(self.t_eval),
            trainer=points[0].trainer, inputs=self.inputs, seed=seed, tol=self.tol, progress=False,
        )  # fmt: skip
        if not runs.complete:
            raise KeyboardInterrupt
        return {name: np.reshape(getattr(runs, name), (len(points), self.runs, -1)) for name in self.parts()}


COMPUTATIONS: dict[str, type[Computation]] = {
    one.name: one for one in (FixedPoints, Rates, BestAlpha, Solve, Stages, Simulate)
}
"""Computations by name."""
