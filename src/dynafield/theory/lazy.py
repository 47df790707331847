r"""The lazy phase: for large α the network is linear, and its learning curve is explicit.

At depth L the slope is \(\kappa = \alpha^{2L-2}\) and time is \(\bar t = \kappa t\); weight decay is
not yet felt. All four kernels are averages over the Marchenko–Pastur law [eq:lazy_sol], which keep their
digits however small a training error is; where variances differ, they follow from Silverstein's equation, to
1e-12 of the error at t = 0 [eq:lazy_s].
"""

import dataclasses
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from dynafield.errors import InputError
from dynafield.numerics.spectra import MarchenkoPastur
from dynafield.problem.checks import one_real, real_list
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.problem.spectra import FINENESS
from dynafield.problem.task import Task
from dynafield.records.timed import TwoTimeRecord
from dynafield.theory.silverstein import Limit, errors_over_time, kernels_over_time, limit

__all__ = ["LazyCurves", "lazy_curves", "lazy_errors", "lazy_limit", "lazy_size"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class LazyCurves(TwoTimeRecord):
    """Errors and kernels of the lazy phase, as `lazy_curves` returns them.

    Attributes
    ----------
    task, net
        The problem.
    t : array (k,)
        Training times.
    train_error, test_error : array (k,)
        Errors, in the units of y².
    C_w, C_f, R_w, R_f : array (k, k)
        Kernels over two times: correlations of w - w* and of residuals, and responses.
    """

    title: ClassVar[str] = "learning curve of the lazy phase"


def lazy_curves(task: Task, net: Network, t: Any) -> LazyCurves:
    """Closed forms of the lazy phase [eq:lazy_sol]; right for α → ∞ at times of order α^(2-2L).

    Parameters
    ----------
    task : Task
        One δ, one σ, and the prior.
    net : DiagonalNetwork
        One α; λ has no effect in this phase.
    t : number or array (k,)
        Training times ≥ 0.

    Returns
    -------
    LazyCurves
        Errors and kernels at these times.
    """
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    delta = one_real("delta", task.delta, lambda x: x > 0, "one number > 0")
    sigma = one_real("sigma", task.sigma, lambda x: x >= 0, "one number ≥ 0")
    alpha = one_real("alpha", net.alpha, lambda x: x > 0, "one number > 0")
    times = real_list("t", t, lambda x: x >= 0, "times ≥ 0")
    slope = alpha ** (2 * net.depth - 2)
    if task.spectrum is None:
        kernels = lazy_kernels(delta, sigma**2, task.signal, slope * times)
    else:
        kernels = kernels_over_time(task.law_at(FINENESS[-1]), delta, sigma**2, slope * times)
    C_w, C_f, R_w, R_f = kernels
    return LazyCurves(
        task,
        net,
        t=times,
        train_error=np.diag(C_f).copy(),
        test_error=np.diag(C_w) + sigma**2,
        C_w=C_w,
        C_f=C_f,
        R_w=slope * R_w,
        R_f=slope * R_f,
    )


def lazy_errors(
    task: Task, net: DiagonalNetwork, t: Float[np.ndarray, " k"]
) -> tuple[np.ndarray, np.ndarray]:
    """Training and test error alone, of one problem, at any number of times."""
    delta, noise, power = float(task.delta), float(task.sigma) ** 2, task.signal
    if task.spectrum is not None:
        slope = float(net.alpha) ** (2 * net.depth - 2)
        return errors_over_time(task.law_at(FINENESS[-1]), delta, noise, slope * t)
    law = MarchenkoPastur(delta)
    x, weight = law.nodes()
    decay = np.exp(-(net.alpha ** (2 * net.depth - 2)) * t[:, None] * x)
    bulk = decay**2 @ weight
    train = power * (decay**2 @ (weight * x)) + noise / delta * (bulk + max(0.0, delta - 1))
    return train, power * (bulk + law.atom) + noise / delta * ((1 - decay) ** 2 @ (weight / x)) + noise


def lazy_size(task: Task) -> float:
    """The root mean square of w in the limit of the lazy phase; infinite at δ = 1 with noise."""
    return float(np.sqrt(limit_of(task).square))


def lazy_limit(task: Task) -> float:
    r"""The test error in the limit of the lazy phase, of one problem; infinite at δ = 1 with noise.

    \(\rho^2(1-\delta)_+ + \sigma^2/(1 - \min(\delta, 1/\delta))\) where all variances are one.
    """
    return limit_of(task).test_error


def limit_of(task: Task) -> Limit:
    """The limit of the lazy phase of one problem."""
    return limit(task.law_at(FINENESS[-1]), float(task.delta), float(task.sigma) ** 2)


def lazy_kernels(
    delta: float, noise: float, power: float, t: Float[np.ndarray, " k"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """C_w, C_f, R_w, R_f at unit slope."""
    law = MarchenkoPastur(delta)
    x, weight = law.nodes()
    decay, lost = np.exp(-t[:, None] * x), -np.expm1(-t[:, None] * x)
    bulk = (decay * weight) @ decay.T
    C_w = power * (bulk + law.atom) + noise / delta * (lost * (weight / x)) @ lost.T
    # the atom 1 - δ and the constant δ - 1 cancel for δ < 1: leave out both
    C_f = power * (decay * (weight * x)) @ decay.T + noise / delta * (bulk + max(0.0, delta - 1))
    R_w, R_f = np.zeros_like(C_w), np.zeros_like(C_w)
    both = np.stack([weight, weight * x], axis=1)
    for row, now in enumerate(t):
        before = np.flatnonzero(t <= now)
        R_w[row, before], R_f[row, before] = (np.exp(-(now - t[before])[:, None] * x) @ both).T / delta
        R_w[row, before] += law.atom / delta
    return C_w, C_f, R_w, R_f
