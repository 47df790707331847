"""Training on given data, as a result: errors along time, with an estimate of the test error."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.problem.checks import one_real, real_matrix
from dynafield.problem.text import trainer_facts, trainer_of
from dynafield.problem.trainers import Trainer
from dynafield.records import doors
from dynafield.records.problems import described, model_facts, read_model
from dynafield.records.record import Labelled, quantity
from dynafield.records.text import show
from dynafield.records.timed import TIME

__all__ = ["LearningPath"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class LearningPath(Labelled):
    """Training on your own data, with the error on new data estimated from the run itself.

    Attributes
    ----------
    net : Network or Model
        What was trained.
    trainer : GradientFlow or GradientDescent
        How it was trained.
    t : array (k,)
        Training times.
    train_error, train_loss : array (k,)
        Mean error and loss of the data.
    test_error, test_loss : array (k,)
        Estimated error and loss of new data; NaN if nothing was estimated.
    test_error_se, test_loss_se : array (k,)
        Their standard errors, from the scatter over the data and over the probes.
    degrees_of_freedom : array (k,)
        Trace of the derivative of outputs in labels.
    intercept : array (k,)
        Intercept; 0 if none is fitted.
    weights : array (k, c)
        Weights of the features that were kept.
    feature : array of int (c,)
        Numbers of these features.
    left_out : array (k, n)
        Output on every datum, as if it had been left out of training.
    n, d : int
        Numbers of samples and of features.
    probes, exact, fit_intercept, seed
        Arguments of `learning_path`.
    by_loss : bool
        Whether the best stop is that of the loss; otherwise that of the error.
    asked : float
        Time up to which training was to go; infinite if it was to stop by itself.
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
        """The curve by which a stop is chosen, and its error bar: the loss if a model has its own."""
        return (self.test_loss, self.test_loss_se) if self.by_loss else (self.test_error, self.test_error_se)

    @property
    def best(self) -> int:
        """Index of the time at which the estimate is least; the last one if nothing was estimated."""
        values = self.judged[0]
        return int(np.nanargmin(values)) if np.any(np.isfinite(values)) else len(self.t) - 1

    @property
    def best_stop(self) -> float:
        """Time at which the estimate is least."""
        return float(self.t[self.best])

    @property
    def complete(self) -> bool:
        """Whether training reached the time that was asked for."""
        return bool(np.isinf(self.asked) or self.t[-1] >= self.asked * (1 - 1e-9))

    @property
    def w(self) -> Float[np.ndarray, " d"]:
        """All weights at the best stop."""
        return self.weights_at(self.best_stop)

    def weights_at(self, t: float) -> Float[np.ndarray, " d"]:
        """All weights at one of the times.

        Parameters
        ----------
        t : float
            One of the times of the path.

        Returns
        -------
        array (d,)
            Weights.

        Raises
        ------
        InputError
            If weights of some features were not kept, or `t` is none of the times.
        """
        if len(self.feature) < self.d:
            raise InputError(f"weights of {len(self.feature)} of {self.d} features were kept: ask for all")
        return self.weights[self.place(t)]

    def place(self, t: float) -> int:
        """Index of a time.

        Parameters
        ----------
        t : float
            One of the times of the path.

        Returns
        -------
        int
            Its index in `t`.

        Raises
        ------
        InputError
            If it is none of the times.
        """
        t = one_real("t", t, lambda x: x >= 0, "one of the times of the path")
        place = int(np.argmin(np.abs(self.t - t)))
        if not np.isclose(self.t[place], t, rtol=1e-6):
            raise InputError(f"t must be one of the times of the path, got {t!r}; {self.t[place]:g} is near")
        return place

    def predict(self, X: Any, t: float | None = None) -> Float[np.ndarray, " k"]:
        """Outputs on other inputs.

        Parameters
        ----------
        X : array (m, d)
            Inputs, scaled as those of training.
        t : float, optional
            One of the times of the path. None: the best stop.

        Returns
        -------
        array (m,)
            Outputs.
        """
        X, t = real_matrix("X", X), self.best_stop if t is None else t
        if X.shape[1] != self.d:
            raise InputError(f"X must have {self.d} columns, got {X.shape[1]}")
        return X @ self.weights_at(t) + self.intercept[self.place(t)]

    def plot_weights(self, ax: Any = None) -> Any:
        """Draw the weights against time, with the best stop.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. None: new axes.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        return doors.draw(self, ax, "plot_weights")

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
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
        """The model, the trainer and the settings, as attributes of a file."""
        names = ("n", "d", "probes", "exact", "by_loss", "fit_intercept", "seed")
        numbers = {f"net_{name}": float(value) for name, value in self.net.numbers().items()}
        told = model_facts(self.net) | numbers | trainer_facts(self.trainer, float(self.t[-1]))
        return told | {name: int(getattr(self, name)) for name in names} | {"asked": float(self.asked)}

    def to_xarray(self) -> xr.Dataset:
        """Everything as a labelled data set over times, features and samples."""
        return super().to_xarray().set_coords("feature")

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        facts = data.attrs
        numbers = {k.removeprefix("net_"): v for k, v in facts.items() if k.startswith("net_")}
        whole = {name: int(facts[name]) for name in ("n", "d", "probes", "seed")}
        flags = {name: bool(facts[name]) for name in ("exact", "by_loss", "fit_intercept")}
        problem = {"net": read_model(facts, numbers), "trainer": trainer_of(facts)}
        return problem | whole | flags | {"asked": float(facts["asked"])}
