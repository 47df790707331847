"""Training runs of finite networks, as a result."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import integer, real_vector, same_shape
from dynafield.problem.model import Model
from dynafield.problem.networks import Network
from dynafield.problem.optimizers import as_trainer
from dynafield.problem.task import Task
from dynafield.problem.text import trainer_facts, trainer_of
from dynafield.problem.trainers import GradientFlow, Trainer, check_training
from dynafield.records.record import quantity
from dynafield.records.text import show
from dynafield.records.timed import TimedRecord

__all__ = ["CURVE", "Runs", "RunsRecord"]

CURVE = ("run", "time")


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class RunsRecord(TimedRecord):
    """Models of finite size trained on independent data sets."""

    w_star: Any = quantity("targets", over=("run", "feature"), swept=False, optional=True)
    variance: Any = quantity(
        "variances of the features", False, over=("run", "feature"), swept=False, optional=True
    )
    run: Any = quantity("which of the runs asked for", False, over=("run",), swept=False)
    stopped_at: Any = quantity("time at which training failed, NaN where it did not", False, over=("run",))
    trainer: Trainer = GradientFlow()
    inputs: str = "gaussian"
    targets: str = "proportions"
    start: str = "alpha"
    n: int = 0
    seed: int = 0
    asked: int = 0

    @classmethod
    def of(
        cls,
        task: Task,
        net: Model,
        t: Any,
        train_error: Any,
        test_error: Any,
        d: int | None = None,
        trainer: Any = GradientFlow(),  # noqa: B008 - immutable
        **more: Any,
    ) -> "RunsRecord":
        """Curves that another program has made, of one problem: over times, or over runs and times.

        Errors are in the units of this library, mean squared residual and |Σ^½(w - w*)|²/d + σ² of networks;
        `d` is the dimension, if it is known. `more` are other curves of this kind of record by their names.
        """
        trainer = as_trainer(trainer)
        check_training(task, net, trainer)
        if isinstance(net, Network) != (cls is Runs):
            raise InputError("Runs.of is for networks, FlowRuns.of for other models")
        if same_shape(delta=task.delta, sigma=task.sigma, **net.numbers()):
            raise InputError("task and net must be one problem, not an array of them")
        times = real_vector("t", t, lambda x: (x >= 0) & np.isfinite(x), "increasing times ≥ 0")
        if np.any(np.diff(times) <= 0):
            raise InputError("t must be increasing times ≥ 0")
        curves = {"train_error": train_error, "test_error": test_error} | more
        fields = {f.name: f.metadata for f in dataclasses.fields(cls)}
        known = [name for name, facts in fields.items() if facts.get("over") == CURVE]
        for name, values in curves.items():
            if name not in known:
                raise InputError(f"{name} must not be given: curves are {', '.join(known)}")
            curves[name] = np.atleast_2d(np.asarray(values, float))
            wanted = (len(np.atleast_2d(np.asarray(train_error))), len(times))
            if curves[name].shape != wanted:
                got, asked = (" x ".join(map(str, one)) for one in (curves[name].shape, wanted))
                raise InputError(f"{name} must have {asked} values, runs by times, got {got}")
        count = len(curves["train_error"])
        missing: dict[str, Any] = dict.fromkeys(
            name for name, facts in fields.items() if facts.get("optional")
        )
        return cls(
            task, net, t=times, **(missing | curves), run=np.arange(count), stopped_at=np.full(count, np.nan),
            trainer=trainer, inputs="given", targets="given", asked=count,
            n=0 if d is None else round(float(task.delta) * integer("d", d, 1)),
        )  # fmt: skip

    @property
    def d(self) -> int:
        """Dimension of the inputs; 0 where another program has made the runs and not told it."""
        return round(self.n / float(self.task.delta)) if self.w_star is None else np.shape(self.w_star)[1]

    @property
    def seeds(self) -> int:
        """Number of runs that finished."""
        return np.shape(self.run)[0]

    @property
    def complete(self) -> bool:
        """Whether all runs asked for are here (Ctrl-C may have ended them early)."""
        return self.seeds == self.asked

    @property
    def status(self) -> np.ndarray:
        """Of every network, "finished" or "failed" (see `stopped_at`)."""
        return np.where(np.isnan(self.stopped_at), "finished", "failed")

    def mean(self, name: str) -> Float[np.ndarray, "..."]:
        """A curve averaged over runs."""
        return np.mean(self.curve(name), axis=-2)

    def standard_deviation(self, name: str) -> Float[np.ndarray, "..."]:
        """Spread of a curve between runs (zero for one run)."""
        return np.std(self.curve(name), axis=-2, ddof=min(1, self.seeds - 1))

    def standard_error(self, name: str) -> Float[np.ndarray, "..."]:
        """Standard error of the mean of a curve; NaN for one run, which has none."""
        if self.seeds < 2:
            return np.full_like(self.mean(name), np.nan)
        return self.standard_deviation(name) / np.sqrt(self.seeds)

    def curve(self, name: str) -> Float[np.ndarray, "..."]:
        """One of the quantities over runs and times, by name."""
        curves = [f.name for f in dataclasses.fields(self) if f.metadata.get("over") == CURVE]
        if name not in curves:
            raise InputError(f"name must be one of {', '.join(curves)}, got {name!r}")
        if getattr(self, name) is None:
            raise InputError(f"{name} is not among the curves that were given")
        return np.asarray(getattr(self, name))

    def facts(self) -> dict[str, Any]:
        """Trainer, inputs, targets, sizes and seed."""
        names = ("inputs", "targets", "start", "n", "seed", "asked")
        return trainer_facts(self.trainer, float(self.t[-1])) | {k: getattr(self, k) for k in names}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """What `facts` told."""
        facts = data.attrs
        numbers = {name: int(facts[name]) for name in ("n", "seed", "asked")}
        texts = {name: str(facts[name]) for name in ("inputs", "targets", "start")}
        return {"trainer": trainer_of(facts), **texts, **numbers}

    def rows(self) -> list[tuple[str, str, str]]:
        """What the runs show of themselves."""
        told = super().rows()
        runs = f"{self.seeds} runs" + ("" if self.complete else f" of {self.asked} asked for")
        given = ", u(0) and v(0) given in place of α" if self.start == "given" else ""
        size = f"n={self.n} d={self.d} {self.inputs} inputs, targets {self.targets}{given}, {runs}"
        size = (
            f"{size}, seed {self.seed}" if self.inputs != "given" else f"made elsewhere, d={self.d}, {runs}"
        )
        told[2:2] = [("data", size, ""), ("trainer", repr(self.trainer), "")]
        last = [
            (f"final {name}", show(self.mean(name)[..., -1], 6), "mean over runs at the last time")
            for name in ("train_error", "test_error")
        ]
        return told + last

    def plot(self, ax: Any = None) -> Any:
        """Train and test error against time: mean of the runs, band of one standard deviation."""
        from dynafield.figures.simulation import draw_runs

        return draw_runs(self, ax)


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Runs(RunsRecord):
    """Finite networks trained on independent data sets: parameter axes, then runs, then times."""

    title: ClassVar[str] = "finite networks"

    train_error: Any = quantity("mean squared residual |Xw - y|²/n", over=CURVE)
    test_error: Any = quantity("population error |Σ^½(w - w*)|²/d + σ²", over=CURVE)
    loss: Any = quantity("train_error/2 + λ(|u|² + |v|²)/(2d)", over=CURVE, optional=True)
    norm: Any = quantity("root mean square of w", over=CURVE, optional=True)
    w: Any = quantity("final weights", over=("run", "feature"), optional=True)
    coordinates: Any = quantity(
        "weights of the chosen coordinates", over=(*CURVE, "coordinate"), optional=True
    )
    coordinate: Any = quantity("the chosen ones", False, over=("coordinate",), swept=False, optional=True)
    residuals: Any = quantity("Xw - y", over=(*CURVE, "sample"), optional=True)
    weights: Any = quantity("all weights at all times", over=(*CURVE, "feature"), optional=True)
