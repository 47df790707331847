r"""The path equation and its tangents, for one chunk of sampled coordinates.

Everything two-time is a block lower triangular matrix over the nodes of time. With the noise
\(\eta = F\zeta\) and the response R the coordinates obey \((1 + R)g = w - w^* + \eta\) and
\(\psi = -Bg\) [eq:dmft_path], and their tangents T obey
\((1 + R)B^{-1}T + \kappa T = 1 + R\) [eq:dmft_tangent]. Only the rows of one block of nodes are
new at a time; all before is history.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dynafield.dmft.layers import Layers, layers, pace, within_reach
from dynafield.numerics.small import inverse_of_shifted

__all__ = ["Block", "Outcome", "Paths", "Rows", "Sums", "commit", "extrapolated", "sweep"]

NEWTON = 40
"""Largest number of Newton steps in a sweep."""
SETTLED = 1e-9
"""After a Newton step this small, relative to 1 + |φ|, the next would be lost in rounding."""


class Paths(NamedTuple):
    """One chunk of coordinates and their history; unused columns of time are zero."""

    target: Float[Array, " n"]
    root_weight: Float[Array, " n"]
    normals: Float[Array, "t n"]
    basis: Float[Array, "t n"]
    gradient: Float[Array, "t n"]
    a: Float[Array, " n"]
    b: Float[Array, " n"]
    rates: Float[Array, "t n t"] | None
    tangent: Float[Array, "n t"] | None


class Block(NamedTuple):
    """Constants of a block: first node's place, integration, its inverse, free motion and decay."""

    place: Int[Array, ""]
    integral: Float[Array, "s s"]
    inverse: Float[Array, "s s"]
    carry: Float[Array, " s"]
    drift: Float[Array, " s"]
    alpha: Float[Array, ""]


class Rows(NamedTuple):
    """New rows of the kernels: noise factor, response to the past, and within the block."""

    noise: Float[Array, "s t"]
    known: Float[Array, "s t"]
    response: Float[Array, "s t"]
    inner: Float[Array, "s s"]


class Sums(NamedTuple):
    """What one chunk contributes to the new rows."""

    overlap: Float[Array, "s t"]
    gram: Float[Array, "s s"]
    response: Float[Array, "s t"] | None
    moments: Float[Array, "3 s"]
    step: Float[Array, ""]


class Outcome(NamedTuple):
    """Paths over a block: increments of ψ, layers at its end, errors beyond the basis, tangents."""

    phi: Float[Array, "s n"]
    a: Float[Array, " n"]
    b: Float[Array, " n"]
    rest: Float[Array, "s n"]
    tangent: Float[Array, "s n t"] | None


class Solved(NamedTuple):
    """A block of paths: increments of ψ, layers, P = (1 + R)B⁻¹, and (P + κ)⁻¹ by its entries."""

    phi: Float[Array, "s n"]
    a: Float[Array, "s n"]
    b: Float[Array, "s n"]
    made: Layers
    stiff: Float[Array, "s s"]
    inverse: list
    step: Float[Array, ""]


@jax.jit
def extrapolated(paths: Paths, block: Block) -> Float[Array, "s n"]:
    """First guess of the increments: the gradient stays as it is, but moves no layer far."""
    last = jax.lax.dynamic_index_in_dim(paths.gradient, block.place - 1, keepdims=False)
    return jnp.clip(-block.integral.sum(axis=1)[:, None] * last, -1.0, 1.0)


def follow(depth: int, paths: Paths, block: Block, rows: Rows, guess: Float[Array, "s n"]) -> Solved:
    r"""Newton's method for the increments \(\varphi = -B_b g\) of all paths over the block."""
    known = rows.noise @ paths.normals - rows.response @ paths.gradient
    stiff = (jnp.eye(len(rows.inner)) + rows.inner) @ block.inverse
    free_a = block.carry[:, None] * paths.a + block.drift[:, None]
    free_b = block.carry[:, None] * paths.b + block.drift[:, None]
    p = pace(depth)

    def at(phi):
        a, b = free_a + p * phi, free_b - p * phi
        return a, b, layers(depth, block.alpha, a, b)

    def improve(state):
        phi, _, count = state
        a, b, made = at(phi)
        residual = -(stiff @ phi) - (made.weight - paths.target) - known
        inverse = inverse_of_shifted(stiff, made.slope)
        step = within_reach(depth, apply(inverse, residual), a, b)
        return phi + step, jnp.max(jnp.abs(step) / (1.0 + jnp.abs(phi))), count + 1

    def unsettled(state):
        _, size, count = state
        return (size > SETTLED) & (count < NEWTON)

    first = admissible(depth, guess, free_a, free_b)
    phi, size, _ = jax.lax.while_loop(unsettled, improve, (first, jnp.asarray(jnp.inf), 0))
    a, b, made = at(phi)
    return Solved(phi, a, b, made, stiff, inverse_of_shifted(stiff, made.slope), size)


def admissible(depth: int, guess: Array, free_a: Array, free_b: Array) -> Array:
    """A first guess at which both layers exist."""
    return within_reach(depth, guess, free_a, free_b) if depth > 2 else guess


def apply(matrix: list, vectors: Float[Array, "s n"]) -> Float[Array, "s n"]:
    """Product of a matrix of columns with a vector of columns."""
    return jnp.stack([sum(m * v for m, v in zip(row, vectors, strict=True)) for row in matrix])


def errors(paths: Paths, solved: Solved) -> Float[Array, "s n"]:
    """w - w*, each path with the root of its weight."""
    return paths.root_weight * (solved.made.weight - paths.target)


@functools.partial(jax.jit, static_argnums=0)
def sweep(
    depth: int, paths: Paths, block: Block, rows: Rows, guess: Float[Array, "s n"]
) -> tuple[Outcome, Sums]:
    """Solve the paths for given rows of the kernels; return them and what they make of these rows."""
    solved = follow(depth, paths, block, rows, guess)
    rest = errors(paths, solved) - rows.known @ paths.basis
    overlap, gram = rest @ paths.basis.T, rest @ rest.T
    weight, made = paths.root_weight**2, solved.made
    moments = jnp.stack([made.slope @ weight, made.slope**2 @ weight, made.square @ weight])
    response = tangent = None
    if paths.rates is not None:
        tangent = tangents(paths, block, rows, solved)
        response = jnp.einsum("sn,snt->st", made.slope * weight, tangent)
    outcome = Outcome(solved.phi, solved.a[-1], solved.b[-1], rest, tangent)
    return outcome, Sums(overlap, gram, response, moments, solved.step)


def tangents(paths: Paths, block: Block, rows: Rows, solved: Solved) -> Float[Array, "s n t"]:
    """New rows of T for every path."""
    assert paths.rates is not None
    assert paths.tangent is not None
    size, (times, count, _) = len(rows.inner), paths.rates.shape
    own = jax.lax.dynamic_update_slice(rows.response, jnp.eye(size) + rows.inner, (0, block.place))
    past = (rows.response @ paths.rates.reshape(times, -1)).reshape(size, count, times)
    source = own[:, None, :] - past + (solved.stiff @ block.carry)[:, None, None] * paths.tangent
    return jnp.stack(
        [sum(m[:, None] * s for m, s in zip(row, source, strict=True)) for row in solved.inverse]
    )


@functools.partial(jax.jit, donate_argnums=0)
def commit(
    paths: Paths,
    block: Block,
    outcome: Outcome,
    correction: Float[Array, "s t"],
    fresh: Float[Array, "s s"],
) -> Paths:
    """The history with the block added; `fresh` makes new basis vectors of what the old ones leave."""
    put = jax.lax.dynamic_update_slice
    rest = outcome.rest - correction @ paths.basis
    rates = tangent = None
    if paths.rates is not None and paths.tangent is not None and outcome.tangent is not None:
        turned = outcome.tangent - block.carry[:, None, None] * paths.tangent
        rates = put(paths.rates, jnp.einsum("ij,jnt->int", block.inverse, turned), (block.place, 0, 0))
        tangent = outcome.tangent[-1]
    return paths._replace(
        basis=put(paths.basis, fresh @ rest, (block.place, 0)),
        gradient=put(paths.gradient, -block.inverse @ outcome.phi, (block.place, 0)),
        a=outcome.a,
        b=outcome.b,
        rates=rates,
        tangent=tangent,
    )
