r"""Scaling laws: how the test error falls with time, samples and compute [eq:scaling].

The excess \(E_{test} - \sigma^2\) is fitted by a power along each of the three. Linear models without weight
decay are exact, by Silverstein's equation; networks are solved.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from dynafield.deprecation import old_calls
from dynafield.dmft.solve import solve
from dynafield.errors import FileError, InputError
from dynafield.problem.checks import one_real, places, real_list, seed_of, shown
from dynafield.problem.flows import SavedFlow
from dynafield.problem.model import Model
from dynafield.problem.models import Ridge
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.spectra import FINENESS, PowerLaw
from dynafield.problem.task import Task
from dynafield.progress import Progress, Wanted
from dynafield.records.problems import add_problem, model_facts, read_model, read_problem
from dynafield.records.record import Labelled
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.silverstein import errors_over_time, limit

__all__ = ["Exponent", "ScalingLaw", "scaling_law"]

KNOWN = 0.2
"""Largest error bar of a point of a fit, relative to its excess."""
SMOOTH = 0.01
"""Relative accuracy to which a power law is expected to hold."""
FEWEST = 4
"""Smallest number of points of a fit."""
BUDGETS = 40
"""Number of budgets of compute at which the best error is computed."""
ALONG = ("time", "samples", "compute")


class Exponent(NamedTuple):
    """A fitted power law: excess error = prefactor · x^(-value) from x = low to high.

    Attributes
    ----------
    value : float
        The exponent.
    error : float
        Its error: that of the points, with half the difference between the slopes of the two halves, which is
        the larger part if the curve is not a straight line.
    prefactor : float
        Excess error at x = 1, by the fit.
    low, high : float
        Smallest and largest x of the points.
    """

    value: float
    error: float
    prefactor: float
    low: float
    high: float

    def at(self, x: Any) -> np.ndarray:
        """The fitted excess error.

        Parameters
        ----------
        x : number or array
            Time, samples per dimension or compute.

        Returns
        -------
        array
            E_test - σ², of the same shape.
        """
        return self.prefactor * places("x", x) ** -self.value


NOTHING = Exponent(*(np.nan,) * 5)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ScalingLaw(Labelled):
    """Test errors of several models over samples and times, and power laws fitted to them.

    Attributes
    ----------
    task : Task
        The task.
    nets : dict of Model
        Models by their labels.
    sizes : array (s,)
        Samples per dimension δ.
    times : array (k,) or None
        Training times; None for the limit of training.
    test_error, test_error_se : array (models, s, k)
        Population error and its estimated error; k = 1 without times.
    exponents : dict
        An `Exponent` for pairs of a label and "time", "samples" or "compute".
    """

    task: Task
    nets: dict[str, Model | SavedFlow]
    sizes: Float[np.ndarray, " s"]
    times: Float[np.ndarray, " t"] | None
    test_error: np.ndarray
    test_error_se: np.ndarray
    exponents: dict[tuple[str, str], Exponent]

    title: ClassVar[str] = "scaling law"

    @property
    def along(self) -> tuple[str, ...]:
        """The axes with exponents: time, samples, compute."""
        return tuple(name for name in ALONG if any(key[1] == name for key in self.exponents))

    def exponent(self, net: str, along: str = "time") -> Exponent:
        """The exponent of one model.

        Parameters
        ----------
        net : str
            Label of the model.
        along : str, default "time"
            "time", "samples" or "compute".

        Returns
        -------
        Exponent
            The fit.

        Raises
        ------
        InputError
            If there is no such fit.
        """
        if (net, along) not in self.exponents:
            known = ", ".join(f"{one} along {x}" for one, x in self.exponents)
            raise InputError(f"net and along must be one of: {known}; got {net!r}, {along!r}")
        return self.exponents[net, along]

    def curve(self, net: str, along: str = "time") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The excess error E_test - σ² along one axis.

        Along time with the most samples; along samples at the best time, or in the limit of training. Compute
        is t δ, which is steps × batch × d over d² for a step of one; its excess error is that of the best
        time and sample size.

        Parameters
        ----------
        net : str
            Label of the model.
        along : str, default "time"
            "time", "samples" or "compute".

        Returns
        -------
        array (k,), array (k,), array (k,)
            Times, sizes or compute; excess error; and its estimated error.
        """
        place = list(self.nets).index(net)
        noise = float(self.task.sigma) ** 2
        excess, error = self.test_error[place] - noise, self.test_error_se[place]
        if along == "samples":
            rows, best = np.arange(len(self.sizes)), np.argmin(excess, axis=1)
            return self.sizes, excess[rows, best], error[rows, best]
        if self.times is None:
            raise InputError("times must be given to scaling_law for exponents along time or compute")
        if along == "time":
            return self.times, excess[-1], error[-1]
        return frontier(self.sizes, self.times, excess, error)

    def expected(self) -> dict[tuple[str, str], float]:
        r"""Exponents of power laws with a source exponent β, for many data or long training [eq:scaling].

        Of a linear model β along time and \(a\min(\beta, 2)\) along samples; of a network of small α
        \(2a\beta/(a(1+\beta)+1)\) along time.
        """
        law = self.task.spectrum
        if not isinstance(law, PowerLaw) or law.source is None:
            return {}
        a, beta = float(law.exponent), float(law.source)
        lazy = {("lazy", "time"): beta, ("lazy", "samples"): a * min(beta, 2.0)}
        return lazy | {("rich", "time"): 2 * a * beta / (a * (1 + beta) + 1)}

    def to_xarray(self) -> xr.Dataset:
        """Test errors over models, sizes and times; exponents over models and what they are along."""
        axes = ("net", "size", "time")
        times = [np.inf] if self.times is None else self.times
        data = xr.Dataset(coords={"net": list(self.nets), "size": self.sizes, "time": times})
        data["test_error"] = (axes, self.test_error, {"long_name": "population error E[s (w - w*)²] + σ²"})
        data["test_error_se"] = (axes, self.test_error_se, {"long_name": "estimated error of test_error"})
        for part in Exponent._fields:
            rows = [
                [getattr(self.exponents.get((net, x), NOTHING), part) for x in ALONG] for net in self.nets
            ]
            data[f"exponent_{part}"] = (("net", "along"), np.array(rows), {"long_name": part})
        data = data.assign_coords(along=list(ALONG))
        task = self.task.at(float(self.sizes[-1]), float(self.task.sigma))
        models = {
            name: model_facts(net) | {"values": {k: float(v) for k, v in net.numbers().items()}}
            for name, net in self.nets.items()
        }
        return add_problem(data, task, SavedFlow("several", {})).assign_attrs(nets=json.dumps(models))

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> "ScalingLaw":
        """The scaling law from a labelled data set, as `to_xarray` makes it."""
        try:
            task, _ = read_problem(data)
            nets = {
                name: read_model(one, one["values"]) for name, one in json.loads(data.attrs["nets"]).items()
            }
            exponents = {}
            for net in nets:
                for along in ALONG:
                    cell = data.sel(net=net, along=along)
                    found = Exponent(*(float(cell[f"exponent_{part}"]) for part in Exponent._fields))
                    if not np.isnan(found.value):
                        exponents[net, along] = found
            times = None if np.isinf(data["time"][0]) else data["time"].values
            error, bar = data["test_error"].values, data["test_error_se"].values
        except KeyError as error:
            raise FileError(f"a {cls.__name__} must contain {error}, and the file does not") from error
        return cls(task, nets, data["size"].values, times, error, bar, exponents)

    def to_dataframe(self) -> pd.DataFrame:
        """Test errors with their error bars, a row for each model, size and time."""
        errors = self.to_xarray()[["test_error", "test_error_se"]]
        return errors.drop_vars(["sigma", "delta"]).to_dataframe().reset_index()

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        told = [("task", f"σ={float(self.task.sigma):g} {self.task.prior}{self.task.inputs}", "")]
        for (net, along), one in self.exponents.items():
            meaning = f"excess error ∝ {along}^-exponent, fitted from {one.low:.3g} to {one.high:.3g}"
            told.append((net, f"{one.value:.3f} ± {one.error:.3f}", meaning))
        for (kind, along), value in self.expected().items():
            told.append(("expected", f"{value:.3f}", f"{kind} along {along}"))
        return told


def frontier(
    sizes: np.ndarray, times: np.ndarray, excess: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The smallest excess for each budget tδ, over all sizes whose times reach it."""
    budgets = np.geomspace(sizes[0] * times[0], sizes[-1] * times[-1], BUDGETS)
    values = np.full((len(sizes), BUDGETS), np.inf)
    errors = np.full((len(sizes), BUDGETS), np.nan)
    for k, size in enumerate(sizes):
        t = budgets / size
        inside = (t >= times[0] * (1 - 1e-12)) & (t <= times[-1] * (1 + 1e-12))
        at = np.log(t[inside]), np.log(times)
        values[k, inside] = np.exp(np.interp(*at, np.log(np.maximum(excess[k], 1e-300))))
        errors[k, inside] = np.interp(*at, error[k])
    best = np.argmin(values, axis=0)
    columns = np.arange(BUDGETS)
    return budgets, values[best, columns], errors[best, columns]


def fitted(x: np.ndarray, excess: np.ndarray, error: np.ndarray) -> Exponent | None:
    """The power law through all points with small error bars; None if there are too few."""
    good = (excess > 0) & np.isfinite(excess) & (error <= KNOWN * np.abs(excess))
    if np.sum(good) < FEWEST:
        return None
    x, y = np.log(x[good]), np.log(excess[good])
    weight = 1 / np.hypot(error[good] / excess[good], SMOOTH)

    def line(part: slice) -> tuple[float, float, float]:
        (slope, level), covariance = np.polyfit(x[part], y[part], 1, w=weight[part], cov="unscaled")
        return float(slope), float(level), float(np.sqrt(covariance[0, 0]))

    slope, level, scatter = line(slice(None))
    half = len(x) // 2
    bend = 0.5 * abs(line(slice(None, half + 1))[0] - line(slice(half, None))[0])
    return Exponent(
        -slope, float(np.hypot(scatter, bend)), float(np.exp(level)), *np.exp(x[[0, -1]]).tolist()
    )


@old_calls()
def scaling_law(
    task: Task,
    nets: Any,
    *,
    times: Any = None,
    sizes: Any = None,
    tol: float = 1e-3,
    seed: int = 0,
    progress: Wanted = None,
) -> ScalingLaw:
    """Test error of several models against time, samples and compute, with fitted exponents [eq:scaling].

    Exponents are fitted over all points whose error bars are below a fifth of their excess error: choose
    times and sizes between which a power law is expected.

    Parameters
    ----------
    task : Task
        σ, the prior and a spectrum; δ is used if no `sizes` are given.
    nets : dict of Model
        Models by labels of your choice: `ridge_flow()` or a network of large α is lazy, a network of small α
        learns features.
    times : array (k,), optional
        Increasing training times. None: errors are those of the limit of training.
    sizes : array (s,), optional
        Increasing samples per dimension δ, four or more for exponents along samples. None: that of the task.
    tol : float, default 1e-3
        Tolerance of `solve`.
    seed : int, default 0
        Seed of `solve`.
    progress : bool or callable, optional
        As in `solve`.

    Returns
    -------
    ScalingLaw
        Errors over models, sizes and times, and their exponents.

    Raises
    ------
    InputError
        If neither times nor sizes are given, or the limit of training of a model has no closed form.
    """
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    if not isinstance(nets, Mapping) or not nets or not all(isinstance(x, Model) for x in nets.values()):
        raise InputError(
            f"nets must map labels to models, such as {{'lazy': ridge_flow()}}, got {shown(nets)}"
        )
    one_real("sigma", task.sigma, lambda x: x >= 0, "one number")
    tol = one_real("tol", tol, lambda x: (x >= 1e-6) & (x <= 0.1), "one number from 1e-6 to 0.1")
    seed = seed_of("seed", seed)
    if times is None and sizes is None:
        raise InputError("times or sizes must be given")
    moments = None if times is None else increasing("times", times)
    deltas = increasing("sizes", [task.delta] if sizes is None else sizes)
    found = []
    with Progress("solving", float(len(nets)), progress) as bar:
        for k, (label, net) in enumerate(nets.items()):
            bar.show(float(k), label)
            found.append(errors_of(task, net, deltas, moments, tol, seed))
    error, se = (np.stack(column) for column in zip(*found, strict=True))
    law = ScalingLaw(task, {str(k): v for k, v in nets.items()}, deltas, moments, error, se, {})
    chosen = [] if moments is None else ["time"]
    chosen += ["samples"] if len(deltas) >= FEWEST else []
    chosen += ["compute"] if moments is not None and len(deltas) >= FEWEST else []
    fits = {(net, x): fitted(*law.curve(net, x)) for x in chosen for net in law.nets}
    return dataclasses.replace(law, exponents={key: one for key, one in fits.items() if one is not None})


def increasing(name: str, values: Any) -> Float[np.ndarray, " n"]:
    """Numbers > 0 that increase, or InputError."""
    found = real_list(name, values, lambda x: x > 0, "increasing numbers > 0")
    if np.any(np.diff(found) <= 0):
        raise InputError(f"{name} must increase, got {found.tolist()}")
    return found


def errors_of(
    task: Task, net: Model, sizes: np.ndarray, times: np.ndarray | None, tol: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Test errors and their error bars of one model over sizes and times."""
    linear = isinstance(net, Ridge) and np.ndim(net.lam) == 0 and net.lam == 0 and is_zero(net.theta0)
    if linear:
        law, noise = task.law_at(FINENESS[-1]), float(task.sigma) ** 2
        if times is None:
            rows = np.array([[limit(law, delta, noise).test_error] for delta in sizes])
        else:
            rows = np.array([errors_over_time(law, delta, noise, times)[1] for delta in sizes])
        return rows, np.zeros_like(rows)
    many = task.at(sizes, task.sigma)
    if times is None:
        if not isinstance(net, DiagonalNetwork):
            raise InputError(f"times must be given: the limit of training of {net.name} has no closed form")
        ends = np.asarray(fixed_point(many, net).test_error, float)[:, None]
        return ends, 1e-8 * ends
    curves = solve(many, net, float(times[-1]), tol=tol, seed=seed, progress=False, throw=False)
    points = curves.at(times)
    return np.asarray(points.test_error), np.asarray(points.test_error_se)


def is_zero(start: Any) -> bool:
    """Whether training starts from zero."""
    return isinstance(start, int | float) and start == 0
