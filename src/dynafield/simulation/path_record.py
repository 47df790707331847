"""Training on given data, as a result: errors along time, with an estimate of the test error."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.errors import FileError, InputError
from dynafield.problem.checks import real_matrix
from dynafield.problem.text import trainer_facts, trainer_of
from dynafield.problem.trainers import Trainer
from dynafield.records.problems import described, model_facts, read_model
from dynafield.records.record import Labelled, quantity
from dynafield.records.text import show
from dynafield.records.timed import TIME

__all__ = ["LearningPath"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class LearningPath(Labelled):
    """One training run on given data, and what it would do on new ones, estimated from the run itself.

    `test_error_se` is the standard error of `test_error`: the scatter over the data, and that of the probes.
    """

    title: ClassVar[str] = "training on given data, with the test error estimated"

    net: Any
    trainer: Trainer
    t: Any = quantity("training times", over=TIME)
    train_error: Any = quantity("mean error of the data", over=TIME)
    test_error: Any = quantity("estimated error of new data", over=TIME)
    test_error_se: Any = quantity("standard error of test_error", over=TIME)
    train_loss: Any = quantity("mean loss of the data", False, over=TIME)
    test_loss: Any = quantity("estimated loss of new data", False, over=TIME)
    test_loss_se: Any = quantity("standard error of test_loss", False, over=TIME)
    degrees_of_freedom: Any = quantity("trace of the derivative of outputs in labels", over=TIME)
    intercept: Any = quantity("intercept", False, over=TIME)
    weights: Any = quantity("weights of the features that are kept", False, over=("time", "feature"))
    feature: Any = quantity("which features are kept", False, over=("feature",))
    left_out: Any = quantity(
        "output on every datum, as if trained without it", False, over=("time", "sample")
    )
    n: int = 0
    d: int = 0
    probes: int = 0
    exact: bool = False
    by_loss: bool = False
    fit_intercept: bool = False
    seed: int = 0
    asked: float = np.inf
    """Time to which training was to go; shorter after Ctrl-C. Infinite where it chose itself."""

    @property
    def judged(self) -> tuple[np.ndarray, np.ndarray]:
        """What a stop is chosen by, and its error bar: the loss where a model has its own, else the error."""
        return (self.test_loss, self.test_loss_se) if self.by_loss else (self.test_error, self.test_error_se)

    @property
    def best(self) -> int:
        """Place of the time at which the estimate is least; the last where nothing is estimated."""
        values = self.judged[0]
        return int(np.nanargmin(values)) if np.any(np.isfinite(values)) else len(self.t) - 1

    @property
    def best_stop(self) -> float:
        """Time at which the estimate is least."""
        return float(self.t[self.best])

    @property
    def complete(self) -> bool:
        """Whether training went as far as it was to go."""
        return bool(np.isinf(self.asked) or self.t[-1] >= self.asked * (1 - 1e-9))

    @property
    def w(self) -> Float[np.ndarray, " d"]:
        """All weights at the best stop."""
        return self.weights_at(self.best_stop)

    def weights_at(self, t: float) -> Float[np.ndarray, " d"]:
        """All weights at one of the times."""
        if len(self.feature) < self.d:
            raise InputError(f"weights of {len(self.feature)} of {self.d} features were kept: ask for all")
        return self.weights[self.place(t)]

    def place(self, t: float) -> int:
        """Where a time is, or InputError."""
        place = int(np.argmin(np.abs(self.t - t)))
        if not np.isclose(self.t[place], t, rtol=1e-6):
            raise InputError(f"t must be one of the times of the path, got {t!r}; {self.t[place]:g} is near")
        return place

    def predict(self, X: Any, t: float | None = None) -> Float[np.ndarray, " k"]:
        """Outputs on other inputs, at the best stop or at another time of the path."""
        X, t = real_matrix("X", X), self.best_stop if t is None else t
        if X.shape[1] != self.d:
            raise InputError(f"X must have {self.d} columns, got {X.shape[1]}")
        return X @ self.weights_at(t) + self.intercept[self.place(t)]

    def plot(self, ax: Any = None) -> Any:
        """Training error and estimated test error against time, with the best stop."""
        from dynafield.figures.learning_path import draw_learning_path

        return draw_learning_path(self, ax)

    def plot_weights(self, ax: Any = None) -> Any:
        """The weights against time, with the best stop."""
        from dynafield.figures.learning_path import draw_weights

        return draw_weights(self, ax)

    def rows(self) -> list[tuple[str, str, str]]:
        """What the path shows of itself."""
        probed = f"{self.probes} probes, seed {self.seed}" if self.probes else "nothing estimated"
        how = "each left out in turn" if self.exact else probed
        much = "" if self.complete else f", stopped before t={self.asked:g}"
        told = [
            ("data", f"n={self.n} d={self.d}, {how}{much}", ""),
            ("network", described(self.net), ""),
            ("trainer", repr(self.trainer), ""),
            *super().rows(),
        ]
        if not self.probes:
            return told
        value, error = (float(part[self.best]) for part in self.judged)
        best = f"{self.best_stop:.6g}: {value:.4g} ± {error:.2g}"
        return [
            *told,
            ("best stop", best, f"time of the least estimated {'loss' if self.by_loss else 'error'}"),
            ("w there", show(self.weights[self.best]), "weights that are kept"),
        ]

    def facts(self) -> dict[str, Any]:
        """The model, the trainer and the settings."""
        names = ("n", "d", "probes", "exact", "by_loss", "fit_intercept", "seed")
        numbers = {f"net_{name}": float(value) for name, value in self.net.numbers().items()}
        told = model_facts(self.net) | numbers | trainer_facts(self.trainer, float(self.t[-1]))
        return told | {name: int(getattr(self, name)) for name in names} | {"asked": float(self.asked)}

    def to_xarray(self) -> xr.Dataset:
        """Everything as a labelled data set over times, features and samples."""
        data = xr.Dataset()
        for field in self.numbered():
            facts = field.metadata
            data[field.name] = (facts["over"], getattr(self, field.name), {"long_name": facts["meaning"]})
        return data.rename(t="time").set_coords(["time", "feature"]).assign_attrs(self.facts())

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> "LearningPath":
        """The path that `to_xarray` described."""
        facts = data.attrs
        try:
            values = cls.values_in(data.assign(t=data["time"]))
            names = ("n", "d", "probes", "seed")
            flags = ("exact", "by_loss", "fit_intercept")
            numbers = {k.removeprefix("net_"): v for k, v in facts.items() if k.startswith("net_")}
            return cls(
                net=read_model(facts, numbers), trainer=trainer_of(facts), **values,
                **{name: int(facts[name]) for name in names}, **{name: bool(facts[name]) for name in flags},
                asked=float(facts["asked"]),
            )  # fmt: skip
        except KeyError as error:
            raise FileError(f"a {cls.__name__} must contain {error}, and the file does not") from error
