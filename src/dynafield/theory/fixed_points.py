"""The limit of training [res:fixedpoint]."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike, Float

from dynafield.problem.checks import concrete, derivative_order, index_of, places, seed_of
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.networks import Network
from dynafield.problem.task import Task
from dynafield.records.record import Record, quantity
from dynafield.theory.batch import Batch, flatten, is_traced, unflatten
from dynafield.theory.law import LimitLaw
from dynafield.theory.points import ACCURACY, CASES, Points, check, solve_points

__all__ = ["FixedPoint", "choose", "describe", "fixed_point", "name_cases"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class FixedPoint(Record):
    """The limit of gradient flow: errors, kernels and the distribution of (w, w*), as `fixed_point` returns
    it.

    Attributes
    ----------
    task, net
        The problem.
    case : str or array over parameter axes
        "regularized" (lasso), "ridgeless" (least squares) or "interpolating" (least J).
    test_error : number or array over parameter axes
        Population error C_w + σ².
    train_error : number or array over parameter axes
        Training error C_f.
    C_w : number or array over parameter axes
        E[(w - w*)²].
    C_f : number or array over parameter axes
        Mean squared residual.
    chi_w : number or array over parameter axes
        Integrated response χ_w.
    R_w : number or array over parameter axes
        Response R_w(∞).
    tau : number or array over parameter axes
        Effective noise, τ² = (C_w + σ²)/δ.
    threshold : number or array over parameter axes
        Soft threshold (1 + χ_w) λ.
    """

    title: ClassVar[str] = "limit of training"

    case: Any = quantity("regularized (lasso), ridgeless or interpolating (minimum J)")
    test_error: Any = quantity("population error C_w + σ²")
    train_error: Any = quantity("training error C_f")
    C_w: Any = quantity("E[(w - w*)²]")
    C_f: Any = quantity("mean squared residual")
    chi_w: Any = quantity("integrated response χ_w")
    R_w: Any = quantity("response R_w(∞)")
    tau: Any = quantity("effective noise, τ² = (C_w + σ²)/δ")
    threshold: Any = quantity("soft threshold (1 + χ_w) λ")

    def law(self, *index: int) -> LimitLaw:
        """The distribution of (w, w*) of one problem.

        Parameters
        ----------
        *index : int
            Old way to choose one problem; write `point[0, 1].law()`.

        Returns
        -------
        LimitLaw
            Its density, distribution function, point masses and draws.
        """
        if index:
            return self.chosen(index, "law()").law()
        return self.law_at(index_of((), self.shape))

    def law_at(self, row: int) -> LimitLaw:
        """The distribution of (w, w*) of one problem, by its number.

        Parameters
        ----------
        row : int
            Number of the problem, in C order of the parameter axes.

        Returns
        -------
        LimitLaw
            The distribution.
        """
        batch = flatten(self.task, self.net)

        def pick(value):
            return np.asarray(value).reshape(-1)[row].item()

        case = str(pick(self.case))
        second = {"regularized": self.threshold, "ridgeless": 0.0, "interpolating": self.R_w}[case]
        second = pick(np.broadcast_to(second, self.shape))
        mirror = MirrorMap(float(batch.p.alpha[row]), batch.depth)
        return LimitLaw(case, batch.law(batch.fineness[-1]), pick(self.tau), second, mirror)

    def laws(self):
        """The distributions of all problems, in order."""
        return [self.law_at(row) for row in range(len(self))]

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draws of (w, w*) from the limiting distribution.

        Parameters
        ----------
        n : int
            Number of draws of each problem.
        seed : int, default 0
            Seed of the random numbers.

        Returns
        -------
        array (…, n), array (…, n)
            w and w*, parameter axes first.
        """
        seed = seed_of("seed", seed)
        draws = [law.sample(n, [seed, i]) for i, law in enumerate(self.laws())]
        w, w_star = (np.reshape([draw[k] for draw in draws], (*self.shape, n)) for k in (0, 1))
        return w, w_star

    def density(self, w: Float[ArrayLike, "..."]) -> np.ndarray:
        """Density of the continuous part of the distribution of w.

        Parameters
        ----------
        w : array
            Weights, of any shape.

        Returns
        -------
        array (…, *w.shape)
            Densities, parameter axes first.
        """
        w = places("w", w)
        return np.reshape([law.density(w) for law in self.laws()], (*self.shape, *np.shape(w)))

    def cdf(self, w: Float[ArrayLike, "..."]) -> np.ndarray:
        """The distribution function P(w ≤ ·).

        Parameters
        ----------
        w : array
            Weights, of any shape.

        Returns
        -------
        array (…, *w.shape)
            Probabilities, parameter axes first.
        """
        w = places("w", w)
        return np.reshape([law.cdf(w) for law in self.laws()], (*self.shape, *np.shape(w)))

    @property
    def mass_at_zero(self) -> Any:
        """P(w = 0)."""
        return unflatten(np.array([law.mass_at_zero for law in self.laws()]), self.shape)


def choose(masks: dict[str, Any], values: dict[str, Any]) -> Any:
    """Row by row the value of the row's case; NaN where no case applies."""
    rows: Any = np.nan
    for case, value in values.items():
        if value is not None:
            lib = jnp if any(isinstance(x, Tracer) for x in (masks[case], value, rows)) else np
            rows = lib.where(masks[case], value, rows)
    return rows


@jax.custom_jvp
def no_slope_at_zero(lam: Any) -> Any:
    """Zero, with derivative NaN at λ = 0: the case changes there, and with it the formula."""
    return jnp.zeros_like(lam)


@no_slope_at_zero.defjvp
def _(primals, tangents):
    (lam,), (moved,) = primals, tangents
    return jnp.zeros_like(lam), jnp.where(lam == 0, jnp.nan, 0.0) * moved


def describe(task: Task, net: Network, batch: Batch, points: Points) -> FixedPoint:
    """The public result from the solved rows [eq:fix_case1, eq:fix_case2, eq:fix_case3]."""
    p, one = batch.p, np.ones(len(batch.p.delta))
    above = choose({"a": p.delta > 1, "b": p.delta <= 1}, {"a": p.delta, "b": 2.0 * one})
    lasso, minimum = points.regularized, points.interpolating
    values = {}
    if lasso is not None:
        values["regularized"] = dict(tau=lasso.tau, C_w=lasso.c_w, threshold=lasso.second, chi_w=lasso.chi_w)
    noise = p.sigma**2 / (above - 1)
    values["ridgeless"] = dict(tau=p.sigma / (above - 1) ** 0.5, C_w=noise, chi_w=1 / (above - 1))
    if minimum is not None:
        values["interpolating"] = dict(
            tau=minimum.tau, C_w=minimum.c_w, chi_w=minimum.chi_w, R_w=minimum.second
        )
    good = choose(
        points.masks,
        {
            "regularized": lasso and lasso.found,
            "ridgeless": one,
            "interpolating": minimum and minimum.found & (minimum.error < ACCURACY),
        },
    )
    good = check(batch, good == 1, "the fixed point")

    def field(name, missing):
        return choose(points.masks, {case: known.get(name, missing * one) for case, known in values.items()})

    chi, c_w = field("chi_w", 0.0), field("C_w", 0.0)
    if derivative_order(p.lam):
        c_w = c_w + no_slope_at_zero(p.lam)
    c_f = (c_w + p.sigma**2) / (1 + chi) ** 2
    rows = dict(
        test_error=c_w + p.sigma**2, train_error=c_f, C_w=c_w, C_f=c_f, chi_w=chi,
        R_w=field("R_w", 0.0), tau=field("tau", 0.0), threshold=field("threshold", 0.0),
    )  # fmt: skip
    if is_traced(good):
        rows = {name: jnp.where(good, value, jnp.nan) for name, value in rows.items()}
    return FixedPoint(
        task,
        net,
        name_cases(points.masks, batch.shape),
        **{k: unflatten(v, batch.shape) for k, v in rows.items()},
    )


def name_cases(masks: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """The case of each problem by name; "traced" while JAX does not know it."""
    if is_traced(masks):
        return "traced"
    names = np.select([concrete(masks[case]) == 1 for case in CASES], CASES, default="none")
    return unflatten(names, shape)


def fixed_point(task: Task, net: Network) -> FixedPoint:
    """The limit of gradient flow of `net` on `task`, in high dimension [res:fixedpoint].

    Three cases: λ > 0 is the lasso [eq:fix_case1]; λ = 0 and δ > 1 least squares [eq:fix_case2]; λ = 0 and δ
    < 1 interpolation of least J [eq:fix_case3], at any depth. Arrays of δ, σ, α, λ broadcast and are solved
    as one batch; `jax.grad` works through all four.

    Parameters
    ----------
    task : Task
        δ, σ and the prior.
    net : DiagonalNetwork
        α, λ and depth; λ > 0 only at depth 2.

    Returns
    -------
    FixedPoint
        Numbers over the parameter axes, to a relative accuracy of 1e-8.

    Raises
    ------
    InputError
        If there is no formula: δ = 1 without weight decay, or weight decay at depth ≥ 3.
    SolveError
        If the accuracy was not reached.
    """
    batch = flatten(task, net)
    return describe(task, net, batch, solve_points(batch))
