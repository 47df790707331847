"""How fast training ends [res:convergence_rates]."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynafield.errors import InputError
from dynafield.numerics.roots import ORDERS, of_order
from dynafield.problem.checks import index_of, integer
from dynafield.problem.networks import Network
from dynafield.problem.task import Task
from dynafield.records.record import Record, quantity
from dynafield.theory.batch import Batch, flatten, is_traced, unflatten
from dynafield.theory.fixed_points import FixedPoint, choose, describe, fixed_point, name_cases
from dynafield.theory.largest_curvature import largest_curvature
from dynafield.theory.path_rates import PathRates
from dynafield.theory.points import Points, check, solve_points
from dynafield.theory.speeds import Speeds, good, large_alpha, small_alpha, solve_speeds

__all__ = ["ConvergenceRate", "convergence_rate", "solve_both"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ConvergenceRate(Record):
    r"""The rate γ of gradient flow: \(L(t) - L(\infty) = e^{-2\gamma t + o(t)}\)."""

    title: ClassVar[str] = "how fast training ends"

    case: Any = quantity("regularized (lasso), ridgeless or interpolating (minimum J)")
    exponential: Any = quantity("whether the loss decays exponentially")
    gamma: Any = quantity("rate γ: the loss decays as exp(-2γt), the test error as exp(-γt)")
    u: Any = quantity("root u of E[(κ/(u+κ))²] = δ")
    A: Any = quantity("E[κ/(u+κ)]")
    dgamma_dalpha: Any = quantity("dγ/dα in total")
    dgamma_dalpha_fixed_law: Any = quantity("dγ/dα at fixed law of w")
    large_alpha: Any = quantity(
        "to which γ tends as α → ∞: α^(2L-2) (1 - δ^(-1/2))² if all variances are one"
    )
    small_alpha: Any = quantity("limit of γ as α → 0")

    def paths(self, *index: int) -> PathRates:
        """The law of the rates of single coordinates, for the problem at `index` (λ > 0)."""
        point = fixed_point(self.task, self.net)
        law = point.law(*index)
        if law.case != "regularized":
            raise InputError(
                f"lam must be > 0 for a law of path rates, got a problem that is {law.case}: use gamma"
            )
        return PathRates(law, float(np.ravel(point.chi_w)[index_of(index, self.shape)]))

    def largest(self, d: int, *index: int) -> float:
        """The typical largest curvature of a network of dimension d where it ends, for one problem.

        Gradient descent is stable there for steps below 2 over it; with infinitely many coordinates there is
        no bound, since weights have Gaussian tails [eq:largest_curvature].
        """
        law = fixed_point(self.task, self.net).law(*index)
        delta = np.broadcast_to(np.asarray(self.task.delta, float), self.shape)
        row = index_of(index, self.shape)
        return largest_curvature(law, float(np.ravel(delta)[row]), integer("d", d, 2))

    def plot(self, ax: Any = None) -> Any:
        """γ along the parameter axis; for one problem with λ > 0 the law of the path rates."""
        from dynafield.figures.theory import draw_rate

        return draw_rate(self, ax)


def describe_rate(task: Task, net: Network, batch: Batch, points: Points, speeds: Speeds) -> ConvergenceRate:
    """The public result from the solved rows [eq:convergence_rate_eqn]."""
    known = {case: speed for case, speed in speeds._asdict().items() if speed is not None}
    one = np.ones(len(batch.p.delta))

    def field(pick, regularized):
        return choose(
            points.masks, {"regularized": regularized * one} | {c: pick(s) for c, s in known.items()}
        )

    fine = check(batch, field(good, 1.0) == 1, "the convergence rate")
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
    `exponential` is False, `gamma` 0, and `paths()` gives the law of the rates of single
    coordinates. Arrays of δ, σ, α, λ broadcast; `jax.grad` works through δ, σ, α.
    """
    return solve_both(task, net)[1]
