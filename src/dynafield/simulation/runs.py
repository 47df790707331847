"""Training runs of finite networks, as a result."""

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.deprecation import warn_of
from dynafield.errors import InputError
from dynafield.problem.checks import integer, real_or_missing, real_vector, same_shape
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
    """Finite models trained on independent data sets."""

    w_star: Any = quantity("targets", over=("run", "feature"), swept=False, optional=True)
    variance: Any = quantity(
        "variances of the features", False, over=("run", "feature"), swept=False, optional=True
    )
    run: Any = quantity("which of the runs asked for", False, over=("run",), swept=False)
    stopped_at: Any = quantity("time at which training failed, NaN where it did not", False, over=("run",))
    trainer: Trainer = GradientFlow()
    tol: float = math.nan
    """Relative error of w in gradient flow; NaN for steps, and for runs of other programs."""
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
        r"""Curves that another program has computed, as a record of one problem.

        Parameters
        ----------
        task : Task
            The task, with one δ and one σ.
        net : Network or Model
            The network for `Runs.of`, any other model for `FlowRuns.of`, with one value for each of its
            numbers.
        t : array (k,)
            Increasing times ≥ 0.
        train_error : array (k,) or (runs, k)
            Mean squared residual, or mean error of a flow, on the training data.
        test_error : array (k,) or (runs, k)
            Population error, of networks \(|\Sigma^{1/2}(w - w^*)|^2/d + \sigma^2\).
        d : int, optional
            Dimension of the inputs. None: not known.
        trainer : GradientFlow, GradientDescent, Optax or an optax optimizer, default GradientFlow()
            How the models were trained.
        **more : array (k,) or (runs, k)
            Other curves of this kind of record, by name, such as `loss`.

        Returns
        -------
        Runs or FlowRuns
            The record, for example for `compare(task, net, t_max, runs=…)`.

        Raises
        ------
        InputError
            If shapes do not fit, or a curve is not known.
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
            curves[name] = np.atleast_2d(real_or_missing(name, values))
            wanted = (len(curves["train_error"]), len(times))
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
        """Dimension of the inputs; 0 if the runs come from another program and it was not given."""
        return round(self.n / float(self.task.delta)) if self.w_star is None else np.shape(self.w_star)[1]

    @property
    def count(self) -> int:
        """Number of runs that finished."""
        return np.shape(self.run)[0]

    @property
    def seeds(self) -> int:
        """Old name of `count`."""
        warn_of("runs.seeds is now called runs.count")
        return self.count

    @property
    def complete(self) -> bool:
        """Whether all runs that were asked for have finished (Ctrl-C may have stopped some)."""
        return self.count == self.asked

    @property
    def status(self) -> np.ndarray:
        """Of every network, "finished" or "failed" (see `stopped_at`)."""
        return np.where(np.isnan(self.stopped_at), "finished", "failed")

    def mean(self, name: str) -> Float[np.ndarray, "..."]:
        """A curve averaged over runs.

        Parameters
        ----------
        name : str
            Name of a curve, such as "test_error".

        Returns
        -------
        array (…, k)
            Over parameter axes and times.
        """
        return np.mean(self.curve(name), axis=-2)

    def standard_deviation(self, name: str) -> Float[np.ndarray, "..."]:
        """Standard deviation of a curve over runs; zero for one run.

        Parameters
        ----------
        name : str
            Name of a curve, such as "test_error".

        Returns
        -------
        array (…, k)
            Over parameter axes and times.
        """
        return np.std(self.curve(name), axis=-2, ddof=min(1, self.count - 1))

    def standard_error(self, name: str) -> Float[np.ndarray, "..."]:
        """Standard error of the mean of a curve; NaN for one run.

        Parameters
        ----------
        name : str
            Name of a curve, such as "test_error".

        Returns
        -------
        array (…, k)
            Over parameter axes and times.
        """
        if self.count < 2:
            return np.full_like(self.mean(name), np.nan)
        return self.standard_deviation(name) / np.sqrt(self.count)

    def curve(self, name: str) -> Float[np.ndarray, "..."]:
        """A curve of all runs, by name.

        Parameters
        ----------
        name : str
            Name of a curve, such as "test_error".

        Returns
        -------
        array (…, runs, k)
            Over parameter axes, runs and times.

        Raises
        ------
        InputError
            If there is no such curve.
        """
        curves = [f.name for f in dataclasses.fields(self) if f.metadata.get("over") == CURVE]
        if name not in curves:
            raise InputError(f"name must be one of {', '.join(curves)}, got {name!r}")
        if getattr(self, name) is None:
            raise InputError(f"{name} is not among the curves that were given")
        return np.asarray(getattr(self, name))

    def facts(self) -> dict[str, Any]:
        """Trainer, inputs, targets, sizes and seed, as attributes of a file."""
        names = ("inputs", "targets", "start", "n", "seed", "asked")
        flow = {"tol": self.tol} if isinstance(self.trainer, GradientFlow) else {}
        return trainer_facts(self.trainer, float(self.t[-1])) | flow | {k: getattr(self, k) for k in names}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        facts = data.attrs
        numbers = {name: int(facts[name]) for name in ("n", "seed", "asked")}
        texts = {name: str(facts[name]) for name in ("inputs", "targets", "start")}
        tol = float(facts.get("tol", facts.get("trainer_tol", math.nan)))
        return {"trainer": trainer_of(facts), "tol": tol, **texts, **numbers}

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        told = super().rows()
        runs = f"{self.count} runs" + ("" if self.complete else f" of {self.asked} asked for")
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


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Runs(RunsRecord):
    r"""Finite networks trained on independent data sets, as `simulate` returns them.

    Arrays have the parameter axes first, written as …, then the axes given here.

    Attributes
    ----------
    task, net
        The problem.
    t : array (k,)
        Training times.
    train_error : array (…, runs, k)
        Mean squared residual \(|Xw - y|^2/n\).
    test_error : array (…, runs, k)
        Population error \(|\Sigma^{1/2}(w - w^*)|^2/d + \sigma^2\).
    loss : array (…, runs, k) or None
        Half the training error, with the penalty \(\lambda(|u|^2 + |v|^2)/(2d)\).
    norm : array (…, runs, k) or None
        Root mean square of w.
    w : array (…, runs, d) or None
        Weights at the last time of training.
    coordinates : array (…, runs, k, c) or None
        Weights of the coordinates that were asked for.
    coordinate : array of int (c,) or None
        Their numbers.
    residuals : array (…, runs, k, n) or None
        Xw - y, if asked for.
    weights : array (…, runs, k, d) or None
        All weights at all times, if asked for.
    w_star : array (runs, d) or None
        Targets.
    variance : array (runs, d) or None
        Variances of the features; None if all are one.
    run : array of int (runs,)
        Numbers of the runs that have finished.
    stopped_at : array (…, runs)
        Time at which training failed; NaN if it did not.
    trainer : GradientFlow or Steps
        How the networks were trained.
    tol : float
        Relative error of w in gradient flow; NaN for steps, and for runs of another program.
    inputs, targets, start : str
        Where inputs, targets and u(0), v(0) come from.
    n : int
        Number of samples.
    seed, asked : int
        Seed, and number of runs that were asked for.
    """

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
