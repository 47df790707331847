"""Problems as flat batches: which rows belong to which case, and rows solved anew where needed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynafield.errors import InputError
from dynafield.problem.checks import concrete, derivative_order, same_shape
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.observation import Mixture
from dynafield.problem.priors import Components
from dynafield.problem.task import Task
from dynafield.theory.pair import Parameters

__all__ = ["Batch", "flatten", "is_traced", "refine", "solve_rows", "unflatten"]


class Batch(NamedTuple):
    """Parameters flattened to rows, the prior as a mixture, the depth, the shape to return to."""

    p: Parameters
    components: Components
    depth: int
    shape: tuple[int, ...]

    @property
    def mixture(self) -> Mixture:
        """The prior as JAX arrays."""
        return Mixture(*map(jnp.asarray, self.components))


def flatten(task: Any, net: Any) -> Batch:
    """The problems of (task, net) as rows; components without weight are dropped."""
    if not (isinstance(task, Task) and isinstance(net, DiagonalNetwork)):
        raise InputError(
            "the first argument must be a Task and the second a DiagonalNetwork, "
            f"got {type(task).__name__} and {type(net).__name__}"
        )
    given = dict(delta=task.delta, sigma=task.sigma, alpha=net.alpha, lam=net.lam)
    for name, value in given.items():
        if derivative_order(value) > 1:
            raise InputError(f"{name} must not be differentiated twice: derivatives are of first order")
    shape = same_shape(**given)
    rows = []
    for value in given.values():
        lib = jnp if isinstance(value, Tracer) else np
        rows.append(lib.broadcast_to(lib.asarray(value, float), shape).reshape(-1))
    weight, mean, std = task.prior.components
    kept = weight > 0
    components = Components(*(a[kept] for a in (weight, mean, std)))
    return Batch(Parameters(*rows), components, net.depth, shape)


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
    solve: Callable[[int, Any], Any], counts: tuple[int, ...], good: Callable[[Any], Any], mapped: Any
) -> Any:
    """`solve(count, rows)` with the first of `counts`; rows that are not `good` again with the next.

    Where values are traced there is nothing to look at, and the second count serves all.
    """
    if is_traced(mapped):
        return solve(counts[1], mapped)
    result = solve(counts[0], mapped)
    for count in counts[1:]:
        index = np.flatnonzero(concrete(good(result)) == 0)
        if len(index) == 0:
            break
        result = put(result, index, solve(count, jax.tree.map(lambda x, i=index: x[i], mapped)))
    return result


def unflatten(rows: Any, shape: tuple[int, ...]) -> Any:
    """Rows back on the parameter axes; one problem gives a plain number."""
    if isinstance(rows, Tracer):
        return rows.reshape(shape)
    rows = np.asarray(rows).reshape(shape)
    return rows if shape else rows.item()
