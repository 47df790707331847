r"""Scaling laws: how the test error falls with time, samples and compute [eq:scaling].

The excess \(E_{test} - \sigma^2\) is fitted by a power along each of the three. Linear models without weight
decay are exact, by Silverstein's equation; networks are solved.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from dynafield.dmft.solve import solve
from dynafield.errors import InputError
from dynafield.problem.checks import one_real, real_vector
from dynafield.problem.model import Model
from dynafield.problem.models import Ridge
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.spectra import FINENESS, PowerLaw
from dynafield.problem.task import Task
from dynafield.progress import Progress, Wanted
from dynafield.records import files
from dynafield.theory.fixed_points import fixed_point
from dynafield.theory.silverstein import errors_over_time, limit

__all__ = ["Exponent", "ScalingLaw", "scaling_law"]

KNOWN = 0.2
"""Points whose error bar is more than this part of their excess do not count in a fit."""
SMOOTH = 0.01
"""A power law is not expected to hold better than this."""
FEWEST = 4
"""Points of a fit at least."""
BUDGETS = 40
"""Budgets at which the best error for its compute is looked for."""
ALONG = ("time", "samples", "compute")


class Exponent(NamedTuple):
    """A fitted power: excess error ∝ x^(-value) from x = low to high.

    `error` joins the error bars of the points and half of what the slopes of both halves differ by, which is
    most of it where the curve is no straight line.
    """

    value: float
    error: float
    prefactor: float
    low: float
    high: float

    def at(self, x: Any) -> np.ndarray:
        """The fitted excess."""
        return self.prefactor * np.asarray(x, float) ** -self.value


@dataclasses.dataclass(frozen=True, eq=False)
class ScalingLaw:
    """Test errors of several models over samples and times, and the powers that fit them.

    `test_error` has axes of models, sizes δ and times; without times, it is the end of training.
    """

    task: Task
    nets: dict[str, Model]
    sizes: Float[np.ndarray, " s"]
    times: Float[np.ndarray, " t"] | None
    test_error: np.ndarray
    test_error_se: np.ndarray
    exponents: dict[tuple[str, str], Exponent]

    title: ClassVar[str] = "scaling law"

    @property
    def along(self) -> tuple[str, ...]:
        """What there are exponents along: time, samples, compute."""
        return tuple(name for name in ALONG if any(key[1] == name for key in self.exponents))

    def exponent(self, net: str, along: str = "time") -> Exponent:
        """The exponent of one model along time, samples or compute."""
        if (net, along) not in self.exponents:
            known = ", ".join(f"{one} along {x}" for one, x in self.exponents)
            raise InputError(f"net and along must be one of: {known}; got {net!r}, {along!r}")
        return self.exponents[net, along]

    def curve(self, net: str, along: str = "time") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, sizes or compute, the excess E_test - σ² there, and its error bar.

        Along time with the most samples; along samples at the best time, or at the end of training; compute
        is t δ, which is steps × batch × d over d² for a step of one, and its excess that of the best choice.
        """
        place = list(self.nets).index(net)
        noise = float(self.task.sigma) ** 2
        excess, error = self.test_error[place] - noise, self.test_error_se[place]
        if along == "samples":
            rows, best = np.arange(len(self.sizes)), np.argmin(excess, axis=1)
            return self.sizes, excess[rows, best], error[rows, best]
        if self.times is None:
            raise InputError("times must be given to scaling_law for a law along time or compute")
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

    def plot(self, ax: Any = None) -> Any:
        """Excess error against time, samples and compute, with the fitted powers; `ax` for one of them."""
        from dynafield.figures.scaling import draw_scaling

        return draw_scaling(self, ax)

    def to_xarray(self) -> xr.Dataset:
        """Test errors over models, sizes and times; exponents over models and what they are along."""
        axes = ("net", "delta", "time")
        times = [np.inf] if self.times is None else self.times
        data = xr.Dataset(coords={"net": list(self.nets), "delta": self.sizes, "time": times})
        data["test_error"] = (axes, self.test_error, {"long_name": "population error E[s (w - w*)²] + σ²"})
        data["test_error_se"] = (axes, self.test_error_se, {"long_name": "estimated error of test_error"})
        for part, meaning in (("value", "exponent"), ("error", "its error"), ("prefactor", "its prefactor")):
            rows = [
                [
                    getattr(self.exponents[net, x], part) if (net, x) in self.exponents else np.nan
                    for x in ALONG
                ]
                for net in self.nets
            ]
            data[f"exponent_{part}"] = (("net", "along"), np.array(rows), {"long_name": meaning})
        data = data.assign_coords(along=list(ALONG))
        spectrum = {} if self.task.spectrum is None else {"spectrum": str(self.task.spectrum)}
        told = {"sigma": float(self.task.sigma), "prior": str(self.task.prior)} | spectrum
        return data.assign_attrs(told | {"nets": "; ".join(net.name for net in self.nets.values())})

    def save(self, path: str | Path) -> Path:
        """Write it to a netCDF file, for any reader of xarray."""
        return files.write(self.to_xarray(), type(self).__name__, path)

    def __repr__(self) -> str:
        lines = [f"ScalingLaw: σ={float(self.task.sigma):g} {self.task.prior}{self.task.inputs}"]
        for (net, along), one in self.exponents.items():
            told = f"{one.value:.3f} ± {one.error:.3f}, fitted from {one.low:.3g} to {one.high:.3g}"
            lines.append(f"  {net:<12} excess error ∝ {along:<8}^-{told}")
        lines += [
            f"  expected     {kind} along {x}: {value:.3f}" for (kind, x), value in self.expected().items()
        ]
        return "\n".join(lines)


def frontier(
    sizes: np.ndarray, times: np.ndarray, excess: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least excess for each budget tδ, over all sizes whose times reach it."""
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
    """The power through points that are known well enough; None for too few of them."""
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


def scaling_law(
    task: Task,
    nets: Any,
    times: Any = None,
    sizes: Any = None,
    tol: float = 1e-3,
    seed: int = 0,
    progress: Wanted = None,
) -> ScalingLaw:
    """Test error of several models against time, samples and compute, with fitted exponents.

    `nets` maps labels to models: `ridge_flow()` is the lazy one, or a network of large α; a network of small
    α learns features. With `times` errors are those of training up to then, with `sizes`, values of δ in
    place of the task's, those of several sample sizes; with sizes alone, of the end of training. Exponents
    are fitted over all points whose error bars are below a fifth of their excess error: choose times and
    sizes between which a power law is expected.
    """
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    if not isinstance(nets, Mapping) or not nets or not all(isinstance(x, Model) for x in nets.values()):
        raise InputError(f"nets must map labels to models, such as {{'lazy': ridge_flow()}}, got {nets!r}")
    one_real("sigma", task.sigma, lambda x: x >= 0, "one number")
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
    found = np.array(real_vector(name, np.atleast_1d(values), lambda x: x > 0, "increasing numbers > 0"))
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
            raise InputError(f"times must be given: the end of training of {net.name} has no closed form")
        ends = np.asarray(fixed_point(many, net).test_error, float)[:, None]
        return ends, 1e-8 * ends
    curves = solve(many, net, float(times[-1]), tol=tol, seed=seed, progress=False, throw=False)
    points = curves.at(times)
    return np.asarray(points.test_error), np.asarray(points.test_error_se)


def is_zero(start: Any) -> bool:
    """Whether training starts from zero."""
    return isinstance(start, int | float) and start == 0
