r"""Infinitely many data, δ → ∞: every coordinate moves by itself [eq:dmft_inf_delta].

With the coordinate s of the mirror map the equation is
\(\dot s = e^{-\lambda(L-2)t/2}(w^* - w)/\Phi'(s)\), \(w = e^{-\lambda Lt/2}h(\Phi(s))\), at every depth.
It is solved for many targets at once, and averaged over the prior.
"""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy.integrate import solve_ivp

from dynafield.deprecation import old_calls
from dynafield.errors import InputError, SolveError
from dynafield.problem.checks import in_range, one_real, real_list
from dynafield.problem.mirror import log_cosh
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.problem.priors import Components, Prior, check_mixture
from dynafield.problem.task import Task
from dynafield.records.problems import add_problem, described, read_problem
from dynafield.records.record import Labelled, quantity
from dynafield.theory.closed_forms import FORMS

__all__ = ["InfiniteDataCurves", "infinite_data_curves", "infinite_data_paths"]

ACCURACY = 1e-10
"""Relative tolerance of the integrator."""
SETTLED = 1e-7
"""Change of the error, in units of ρ², at which there are enough targets."""
SOUND = 1e-4
"""Change above which the most targets are not enough."""
LEGENDRE = np.polynomial.legendre.leggauss(8)
PANELS = (24, 3072)
"""Intervals of targets per Gaussian component, at first and at most; eight targets each."""
REACH = 8.5
"""Standard deviations covered."""
HIGHEST = 700.0
"""Logarithms are kept below: a trial step of the integrator may overshoot."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfiniteDataCurves(Labelled):
    """The learning curve for δ → ∞, where training and test error are equal, with its approximations.

    Attributes
    ----------
    prior : Prior
        Distribution of the targets.
    net : DiagonalNetwork
        The network.
    sigma : float
        Standard deviation of the label noise.
    t : array (k,)
        Training times.
    test_error : array (k,)
        Test error, in the units of y².
    C_w : array (k, k)
        Correlation E[(w(t) - w*)(w(t') - w*)].
    forms : dict of array (k,)
        The test error by closed forms, by their names; NaN where one is not defined.
    """

    title: ClassVar[str] = "learning curve for δ → ∞"

    prior: Prior
    net: DiagonalNetwork
    sigma: float
    t: Any = quantity("training times", over=("time",))
    test_error: Any = quantity("population error E[(w - w*)²] + σ²", over=("time",))
    C_w: Any = quantity("correlation of errors E[(w(t) - w*)(w(t') - w*)]", over=("time", "time_before"))
    forms: dict[str, Float[np.ndarray, " t"]]

    @property
    def train_error(self) -> Float[np.ndarray, " t"]:
        """The same as the test error."""
        return self.test_error

    def to_xarray(self) -> xr.Dataset:
        """Errors, correlation and closed forms over time."""
        data = super().to_xarray()
        for name, values in self.forms.items():
            data[f"{name}_form"] = ("time", values, {"long_name": f"test error by the {name} form"})
        problem = add_problem(data, Task(1.0, self.sigma, self.prior), self.net)
        return problem.drop_vars("delta")  # which is infinite

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """Prior, network, noise and closed forms."""
        task, net = read_problem(data.assign_coords(delta=1.0))
        forms = {str(k).removesuffix("_form"): v.values for k, v in data.items() if str(k).endswith("_form")}
        return {"prior": task.prior, "net": net, "sigma": float(task.sigma), "forms": forms}

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        last = ("final test_error", f"{self.test_error[-1]:.6g}", f"at t = {self.t[-1]:g}")
        problem = f"σ={self.sigma:g} {self.prior}"
        return [("task", problem, ""), ("network", described(self.net), ""), *super().rows(), last]


@old_calls()
def infinite_data_curves(prior: Any, net: Network, t: Any, *, sigma: float = 0.0) -> InfiniteDataCurves:
    """Errors for δ → ∞, exact and by closed forms [eq:dmft_inf_delta].

    There are lazy, rich, logistic and composite forms for α ≥ 1, search, descent and composite forms for α <
    1, as far as the depth and λ allow them.

    Parameters
    ----------
    prior : Prior
        Distribution of the targets.
    net : DiagonalNetwork
        One α, one λ and the depth.
    t : number or array (k,)
        Training times ≥ 0, in increasing order.
    sigma : float, default 0
        Standard deviation of the label noise.

    Returns
    -------
    InfiniteDataCurves
        Errors at these times; `forms` has the closed forms.
    """
    if not isinstance(prior, Prior):
        raise InputError(f"prior must be a Prior, got {type(prior).__name__}")
    check_mixture(prior)
    net, times = checked(net, t)
    sigma = one_real("sigma", sigma, lambda x: x >= 0, "one number ≥ 0")
    panels, most = PANELS
    before = None
    while True:
        target, weight = targets(prior.components, panels)
        w = paths(target, net, times)
        C_w = np.asarray(np.einsum("nt,ns,n->ts", w - target[:, None], w - target[:, None], weight))
        change = np.inf if before is None else np.max(np.abs(np.diag(C_w - before)))
        atomic = not np.any(prior.components.std > 0)
        if atomic or change <= SETTLED * prior.second_moment:
            break
        if panels >= most and change > SOUND * prior.second_moment:
            raise SolveError(f"the average over the prior did not settle: it still changes by {change:.2g}")
        if panels >= most:
            break
        before, panels = C_w, 2 * panels
    forms = {}
    for form in FORMS:
        if form.applies(net):
            error = form.path(target[:, None], net, times) - target[:, None]
            forms[form.name] = weight @ error**2 + sigma**2
    error = np.diag(C_w) + sigma**2
    return InfiniteDataCurves(
        prior=prior, net=net, sigma=sigma, t=times, test_error=error, C_w=C_w, forms=forms
    )


def infinite_data_paths(w_star: Any, net: Network, t: Any) -> Float[np.ndarray, "n t"]:
    """w(t) of single coordinates for δ → ∞ [eq:dmft_inf_delta].

    Parameters
    ----------
    w_star : number or array (n,)
        Targets.
    net : DiagonalNetwork
        One α, one λ and the depth.
    t : number or array (k,)
        Training times ≥ 0, in increasing order.

    Returns
    -------
    array (n, k)
        Weights, one row for each target.
    """
    net, times = checked(net, t)
    return paths(in_range("w_star", real_list("w_star", w_star, np.isfinite, "finite targets")), net, times)


def checked(net: Any, t: Any) -> tuple[DiagonalNetwork, Float[np.ndarray, " t"]]:
    """A network of plain numbers and times that do not decrease, or InputError."""
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    alpha = one_real("alpha", net.alpha, lambda x: x > 0, "one number > 0")
    lam = one_real("lam", net.lam, lambda x: x >= 0, "one number ≥ 0")
    times = real_list("t", t, lambda x: x >= 0, "times ≥ 0")
    if np.any(np.diff(times) < 0):
        raise InputError(
            f"t must be times in increasing order, got {times[np.argmin(np.diff(times)) + 1]:g} "
            "after a later one"
        )
    return DiagonalNetwork(alpha, lam, net.depth), times


def targets(components: Components, panels: int) -> tuple[np.ndarray, np.ndarray]:
    """Targets and weights: atoms as they are, Gaussians by Gauss–Legendre rules side by side."""
    places, weights = [], []
    x, rule = LEGENDRE
    for weight, mean, std in zip(*components, strict=True):
        if std == 0:
            places.append(np.array([mean]))
            weights.append(np.array([weight]))
            continue
        edges = np.linspace(-REACH, REACH, panels + 1)
        half = 0.5 * (edges[1] - edges[0])
        normal = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * x).ravel()
        density = np.tile(half * rule, panels) * np.exp(-0.5 * normal**2) / np.sqrt(2 * np.pi)
        places.append(mean + std * normal)
        weights.append(weight * density)
    return np.concatenate(places), np.concatenate(weights)


def paths(target: Float[np.ndarray, " n"], net: DiagonalNetwork, t: Float[np.ndarray, " t"]) -> np.ndarray:
    """w(t) for each target, from the equation for s of |w*|."""
    size = np.abs(target)
    mirror, depth, lam = net.curve, net.depth, net.lam
    scale = np.log(2 / depth) + depth * np.log(net.alpha)

    def weight(time: Any, s: np.ndarray) -> np.ndarray:
        grown = log_cosh(mirror.c * s) / mirror.c if depth > 2 else 0.0
        common = scale + grown - 0.5 * lam * depth * time
        up, down = (np.exp(np.minimum(common + sign * s, HIGHEST)) for sign in (1, -1))
        return np.where(np.abs(s) < 1, np.exp(np.minimum(common, HIGHEST)) * np.sinh(s), 0.5 * (up - down))

    def velocity(time: float, s: np.ndarray) -> np.ndarray:
        slow = -0.5 * lam * (depth - 2) * time
        if depth > 2:
            slow = slow - np.log(2 / depth) + (depth - 2) * np.log(net.alpha) + 2 * log_cosh(mirror.c * s)
        return np.exp(np.minimum(slow, HIGHEST)) * (size - weight(time, s))

    if t[-1] == 0:
        return np.zeros((len(target), len(t)))
    diagonal: dict[str, Any] = dict(lband=0, uband=0)
    found = solve_ivp(
        velocity, (0.0, t[-1]), np.zeros_like(size), "LSODA", t, rtol=ACCURACY, atol=1e-13, **diagonal
    )
    if not found.success:
        raise SolveError(f"the equation of one coordinate was not solved: {found.message}")
    return np.sign(target)[:, None] * weight(t, found.y)
