"""How fast training converges [res:convergence_rates]."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynafield.errors import InputError
from dynafield.numerics.roots import ORDERS, of_order
from dynafield.problem.checks import integer
from dynafield.problem.networks import Network
from dynafield.problem.task import Task
from dynafield.records.record import Record, quantity
from dynafield.theory.batch import Batch, flatten, is_traced, unflatten
from dynafield.theory.fixed_points import FixedPoint, choose, describe, fixed_point, name_cases
from dynafield.theory.largest_curvature import largest_curvature
from dynafield.theory.path_rates import PathRates
from dynafield.theory.points import Points, check, solve_points
from dynafield.theory.speeds import ROUNDED, Speeds, good, large_alpha, lasting, small_alpha, solve_speeds

__all__ = ["ConvergenceRate", "convergence_rate", "solve_both"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ConvergenceRate(Record):
    r"""The rate γ of gradient flow, \(L(t) - L(\infty) = e^{-2\gamma t + o(t)}\), as `convergence_rate`
    returns it.

    Attributes
    ----------
    task, net
        The problem.
    case : str or array over parameter axes
        "regularized" (lasso), "ridgeless" (least squares) or "interpolating" (least J).
    exponential : bool or array over parameter axes
        Whether the loss decays exponentially.
    gamma : number or array over parameter axes
        γ, in units of one over time: the loss decays as exp(-2γt), the test error as exp(-γt).
    u : number or array over parameter axes
        Root u of E[(κ/(u+κ))²] = δ.
    A : number or array over parameter axes
        E[κ/(u+κ)].
    dgamma_dalpha : number or array over parameter axes
        dγ/dα in total.
    dgamma_dalpha_fixed_law : number or array over parameter axes
        dγ/dα with the distribution of w held fixed.
    large_alpha : number or array over parameter axes
        What γ approaches as α → ∞; α^(2L-2) (1 - δ^(-1/2))² if all variances are one.
    small_alpha : number or array over parameter axes
        Limit of γ as α → 0.
    """

    title: ClassVar[str] = "how fast training converges"

    case: Any = quantity("regularized (lasso), ridgeless or interpolating (minimum J)")
    exponential: Any = quantity("whether the loss decays exponentially")
    gamma: Any = quantity("rate γ: the loss decays as exp(-2γt), the test error as exp(-γt)")
    u: Any = quantity("root u of E[(κ/(u+κ))²] = δ")
    A: Any = quantity("E[κ/(u+κ)]")
    dgamma_dalpha: Any = quantity("dγ/dα in total")
    dgamma_dalpha_fixed_law: Any = quantity("dγ/dα at fixed distribution of w")
    large_alpha: Any = quantity(
        "what γ approaches as α → ∞: α^(2L-2) (1 - δ^(-1/2))² if all variances are one"
    )
    small_alpha: Any = quantity("limit of γ as α → 0")

    def paths(self, *index: int) -> PathRates:
        """The distribution of the rates of single coordinates, of one problem with λ > 0.

        Parameters
        ----------
        *index : int
            Old way to choose one problem; write `rate[0, 1].paths()`.

        Returns
        -------
        PathRates
            Its density, distribution function and draws.

        Raises
        ------
        InputError
            If λ = 0.
        """
        if index:
            return self.chosen(index, "paths()").paths()
        point = fixed_point(self.task, self.net)
        law = point.law()
        if law.case != "regularized":
            raise InputError(
                f"lam must be > 0 for a distribution of path rates, got a {law.case} problem: use gamma"
            )
        return PathRates(law, float(point.chi_w))

    def largest(self, d: int, *index: int) -> float:
        """The typical largest curvature of a network of dimension d in the limit of training, of one
        problem.

        Gradient descent is stable there for steps below 2 divided by it; with infinitely many coordinates
        there is no bound, since weights have Gaussian tails [eq:largest_curvature].

        Parameters
        ----------
        d : int
            Dimension, ≥ 2.
        *index : int
            Old way to choose one problem; write `rate[0, 1].largest(d)`.

        Returns
        -------
        float
            Curvature, in units of one over time.
        """
        if index:
            return self.chosen(index, f"largest({d})").largest(d)
        law = fixed_point(self.task, self.net).law()
        return largest_curvature(law, float(self.task.delta), integer("d", d, 2))


def describe_rate(task: Task, net: Network, batch: Batch, points: Points, speeds: Speeds) -> ConvergenceRate:
    """The public result from the solved rows [eq:convergence_rate_eqn]."""
    known = {case: speed for case, speed in speeds._asdict().items() if speed is not None}
    one = np.ones(len(batch.p.delta))

    def field(pick, regularized):
        return choose(
            points.masks, {"regularized": regularized * one} | {c: pick(s) for c, s in known.items()}
        )

    what, why = "the convergence rate", "hardly any slopes lie around u, and rounding moves it"
    fine = check(batch, field(good, 1.0) == 1, what)
    fine = fine & check(batch, field(lasting, 1.0) == 1, what, ROUNDED, why)
    rows = dict(
        gamma=field(lambda s: s.rate.gamma, 0.0),
        u=field(lambda s: s.rate.u, np.nan),
        A=field(lambda s: s.rate.a, np.nan),
        dgamma_dalpha=field(lambda s: s.slope, 0.0),
        dgamma_dalpha_fixed_law=field(lambda s: s.slope_fixed_law, 0.0),
        large_alpha=field(lambda _: large_alpha(batch), np.nan),
        small_alpha=field(lambda _: small_alpha(batch), np.nan),
    )
    for name in ("dgamma_dalpha", "dgamma_dalpha_fixed_law"):  # derivatives themselves: one is left
        rows[name] = of_order(rows[name], ORDERS - 1) if isinstance(rows[name], Tracer) else rows[name]
    if is_traced(fine):
        rows = {name: jnp.where(fine, value, jnp.nan) for name, value in rows.items()}
    rows["exponential"] = ~points.masks["regularized"]
    values = {name: unflatten(value, batch.shape) for name, value in rows.items()}
    return ConvergenceRate(task, net, name_cases(points.masks, batch.shape), **values)


def solve_both(task: Task, net: Network) -> tuple[FixedPoint, ConvergenceRate]:
    """Fixed points and rates of the same problems, solved once."""
    batch = flatten(task, net)
    points = solve_points(batch)
    point = describe(task, net, batch, points)
    return point, describe_rate(task, net, batch, points, solve_speeds(batch, points))


def convergence_rate(task: Task, net: Network) -> ConvergenceRate:
    r"""The rate γ at which gradient flow of `net` on `task` converges.

    For λ = 0 the loss decays as \(e^{-2\gamma t}\) up to a power of t, with γ from
    [eq:convergence_rate_eqn] at any depth. For λ > 0 there is no such rate:
    `exponential` is False, `gamma` 0, and `paths()` gives the distribution of the rates of single
    coordinates. Arrays of δ, σ, α, λ broadcast; `jax.grad` works through δ, σ, α.

    Parameters
    ----------
    task : Task
        δ, σ and the prior.
    net : DiagonalNetwork
        α, λ and depth; λ > 0 only at depth 2.

    Returns
    -------
    ConvergenceRate
        Numbers over the parameter axes.

    Raises
    ------
    InputError
        If there is no formula: δ = 1 without weight decay, or weight decay at depth ≥ 3.
    SolveError
        If the accuracy was not reached.
    """
    return solve_both(task, net)[1]
