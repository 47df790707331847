"""Problems as flat batches: which rows belong to which case, and rows solved anew where needed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynafield.errors import InputError
from dynafield.numerics.roots import ORDERS, of_order
from dynafield.problem.checks import concrete, derivative_order, same_shape
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.spectra import FINENESS, JointLaw
from dynafield.problem.task import Task
from dynafield.problem.trainers import check_features
from dynafield.theory.pair import Parameters

__all__ = ["Batch", "flatten", "is_traced", "refine", "solve_rows", "unflatten"]


class Batch(NamedTuple):
    """Parameters flattened to rows, their task, the depth, the shape to return to."""

    p: Parameters
    task: Task
    depth: int
    shape: tuple[int, ...]

    @property
    def fineness(self) -> tuple[int, ...]:
        """Numbers of strata to try in turn for a continuous spectrum; a single one for others."""
        spectrum = self.task.spectrum
        return FINENESS if spectrum is not None and spectrum.continuous else FINENESS[:1]

    def law(self, fineness: int | None = None, edge: bool = False) -> JointLaw:
        """Strata of variances and targets, at will crowded at the smallest one; those without weight are
        dropped."""
        return self.task.law_at(self.fineness[0] if fineness is None else fineness, edge).present

    def mixture(self, fineness: int, edge: bool = False) -> JointLaw:
        """Strata of variances and targets as JAX arrays; with a few numbers of them, compiled code is used
        again."""
        return JointLaw(*map(jnp.asarray, self.law(fineness, edge).padded))

    @property
    def lowest(self) -> Any:
        """The smallest variance; None where one of the strata has it."""
        spectrum = self.task.spectrum
        return None if spectrum is None or spectrum.lowest is None else jnp.asarray(spectrum.lowest)

    @property
    def silent(self) -> bool:
        """Whether all targets are zero."""
        weight, mean, std = self.task.prior.components
        return not np.any((weight > 0) & ((mean != 0) | (std != 0)))


def flatten(task: Any, net: Any) -> Batch:
    """The problems of (task, net) as rows."""
    if not (isinstance(task, Task) and isinstance(net, DiagonalNetwork)):
        raise InputError(
            "task must be a Task and net a DiagonalNetwork, the first and the second argument, "
            f"got {type(task).__name__} and {type(net).__name__}"
        )
    check_features(task, net)
    given = dict(delta=task.delta, sigma=task.sigma, alpha=net.alpha, lam=net.lam)
    for name, value in (given | spectrum_numbers(task)).items():
        if derivative_order(value) > ORDERS:
            raise InputError(f"{name} must not be differentiated three times: two derivatives are supported")
    shape = same_shape(**given)
    rows = []
    for value in given.values():
        lib = jnp if isinstance(value, Tracer) else np
        rows.append(lib.broadcast_to(lib.asarray(value, float), shape).reshape(-1))
    return Batch(Parameters(*rows), task, net.depth, shape)


def spectrum_numbers(task: Task) -> dict[str, Any]:
    """Numbers of a spectrum that JAX may trace, by name."""
    found = {} if task.spectrum is None else vars(task.spectrum)
    return {name: value for name, value in found.items() if isinstance(value, Tracer)}


def is_traced(tree: Any) -> bool:
    """Whether any entry has no value yet (inside jax.jit or jax.vmap)."""
    return any(concrete(leaf) is None for leaf in jax.tree.leaves(tree))


def put(into: Any, index: np.ndarray, rows: Any) -> Any:
    """`into` with `rows` at `index`, leaf by leaf; differentiable where JAX traces."""

    def one(old, new):
        if isinstance(old, Tracer) or isinstance(new, Tracer):
            return jnp.asarray(old).at[index].set(new)
        old = np.array(old)
        old[index] = new
        return old

    return jax.tree.map(one, into, rows)


def solve_rows(solve: Callable[[Any], Any], mask: Any, mapped: Any, safe: Any) -> Any:
    """`solve` on the rows in `mask`; NaN (or False) on the others.

    A traced mask cannot pick rows: then all are solved, with `safe` values where the mask
    is off, and chosen between afterwards.
    """

    def empty(leaf):
        return np.zeros(len(mask), bool) if leaf.dtype == bool else np.full(len(mask), np.nan)

    known = concrete(mask)
    if known is None:
        result = solve(jax.tree.map(lambda x, s: jnp.where(mask, x, s), mapped, safe))
        return jax.tree.map(lambda x: jnp.where(mask, x, empty(x)), result)
    index = np.flatnonzero(known)
    if len(index) == 0:
        return None
    result = solve(jax.tree.map(lambda x: x[index], mapped))
    return put(jax.tree.map(empty, result), index, result)


def refine(
    solve: Callable[[Any, Any], Any], rules: tuple[Any, ...], good: Callable[[Any], Any], mapped: Any
) -> Any:
    """`solve(rule, rows)` with the first of `rules`; rows that are not `good` again with the next.

    Where values are traced there is nothing to look at: the second rule serves all, or the only one.
    """
    if is_traced(mapped):
        return solve(rules[min(1, len(rules) - 1)], mapped)
    result = solve(rules[0], mapped)
    for rule in rules[1:]:
        known = concrete(good(result))
        index = np.flatnonzero(known == 0)
        if known is None or len(index) == 0:
            break
        result = put(result, index, solve(rule, jax.tree.map(lambda x, i=index: x[i], mapped)))
    return result


def unflatten(rows: Any, shape: tuple[int, ...]) -> Any:
    """Rows back on the parameter axes; one problem gives a plain number.

    Traced ones have two derivatives, and NaN beyond: inside a `jit` nobody sees how many JAX is taking.
    """
    if isinstance(rows, Tracer):
        return rows.reshape(shape) if rows.dtype == bool else of_order(rows.reshape(shape))
    rows = np.asarray(rows).reshape(shape)
    return rows if shape else rows.item()
