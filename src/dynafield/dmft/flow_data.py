"""Data of a flow: how they are drawn, what never changes in them, and how they look once all is known."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from dynafield.dmft.factors import Static
from dynafield.dmft.flow_member import FlowMember, FlowProblem
from dynafield.dmft.sampling import Sample, Stratum, draw
from dynafield.dmft.sides import Equation, solved_rows
from dynafield.numerics.normals import whitened
from dynafield.problem.flows import Datum, Flow
from dynafield.problem.priors import Components

__all__ = ["Observed", "datum_of", "draw_data", "observe", "own_normals", "static_part"]

STATIC = 2**16
"""Points for the averages of what never changes in a datum."""
OBSERVED = 2.0**31
"""Data observed at the end times nodes squared: what there is time for."""
SMOOTH, JUMPING = 16, 64
"""Data observed per point of the sample: where what is averaged is smooth in f, and where it may not be."""
FEWEST, MOST = 2**12, 2**18
"""Data observed at least and at most; between, half of 1/tol², with which a share is known to about tol."""


def own_normals(flow: Flow, problem: FlowProblem) -> int:
    """Standard normals of a datum besides those of its f: label noise if any, and own randomness."""
    return flow.own.normals + int(problem.sigma > 0)


def draw_data(
    flow: Flow, problem: FlowProblem, points: int, rows: int, more: int, turn: Any, seed: tuple[int, ...]
) -> Sample:
    """Sampled data: own normals, those of f (the teacher's output first), and more.

    The first Sobol coordinate is the direction of f* + ξ, in which labels may jump; the noise of f beyond
    the teacher's output is along given directions.
    """
    own, (rho, sigma) = own_normals(flow, problem), problem[2:0:-1]
    part = Stratum(1.0, points, Components(np.ones(1), np.zeros(1), np.zeros(1)))
    sample = draw([part], own + rows + more, seed, fold=False)
    normals = sample.normals
    order = [own, *range(own), *range(own + 1, len(normals))]  # Sobol's first is the teacher's
    normals = normals[np.argsort(order)]
    if sigma > 0 and rho > 0:
        size = np.hypot(rho, sigma)
        along, across = normals[own].copy(), normals[0].copy()
        normals[own], normals[0] = (
            (rho * along + sigma * across) / size,
            (sigma * along - rho * across) / size,
        )
    if turn is not None:
        end = own + 1 + len(turn)
        normals[own + 1 : end] = turn @ normals[own + 1 : end]
    return sample._replace(normals=normals)


def datum_of(flow: Flow, problem: FlowProblem, own: np.ndarray, first: np.ndarray) -> Datum:
    """The facts of sampled data from their own normals and the first normal of their f."""
    noise = int(problem.sigma > 0)
    xi = problem.sigma * own[0] if noise else np.zeros(len(first))
    return Datum(problem.rho * first, xi, flow.own.rows(own[noise:].T))


def static_part(flow: Flow, problem: FlowProblem, slope: Float[np.ndarray, "c c"]) -> Static:
    """H, b and S of ℓ = H f + h: b = E[h f*]/ρ² by Stein's identity, SSᵀ the covariance of what b leaves."""
    own = own_normals(flow, problem)
    normals = whitened(draw_data(flow, problem, STATIC, 1, 0, None, (0, 3)).normals)
    datum = datum_of(flow, problem, normals[:own], normals[own])
    at_zero = jax.vmap(flow.push)(jnp.zeros((STATIC, *flow.channels)), datum)
    h = np.asarray(at_zero).reshape(STATIC, -1)
    b = h.T @ datum.f_star / STATIC / problem.rho**2 if problem.rho > 0 else np.zeros(h.shape[1])
    left = h - np.outer(datum.f_star, b)
    values, vectors = np.linalg.eigh(left.T @ left / STATIC)
    return Static(slope, b, vectors * np.sqrt(np.maximum(values, 0.0)))


def wanted(flow: Flow, member: FlowMember) -> int:
    """Data to observe per point of the sample: few where averages are known, many where errors may jump."""
    if member.linear is not None and flow.loss is None and flow.error is None:
        return 1
    return SMOOTH if flow.error is None else JUMPING


class Observed(NamedTuple):
    """Curves (4, time), and f (datum, time, channel) of some data with what they know."""

    curves: np.ndarray
    f: np.ndarray
    datum: Datum


def observe(equation: Equation, flow: Flow, member: FlowMember, fraction: float, keep: int) -> Observed:
    """Losses and errors on many data of their own, with all kernels known: no iteration, no tangents."""
    problem, c, nodes = member.problem, flow.outputs, member.nodes
    size, own = 1 + c * nodes, own_normals(flow, problem)

    wish = min(OBSERVED / (c * nodes) ** 2, 0.5 / member.tol**2, wanted(flow, member) * member.points)
    count = int(np.clip(2 ** np.floor(np.log2(wish)), FEWEST, MOST))
    F_w, R_w = member.coordinates.factor.F[:size, :size], member.coordinates.factor.R[:size, :size]
    turn = np.linalg.svd(F_w[:, 1:])[2].T
    masks = nodes if fraction < 1 else 0
    normals = draw_data(flow, problem, count, size, masks, turn, (*member.seed, 4)).normals
    datum = datum_of(flow, problem, normals[:own], normals[own])
    gain = (ndtr(normals[own + size :]) < fraction) / fraction if fraction < 1 else None
    noise = F_w[1:] @ normals[own : own + size]
    f, ell = np.zeros((nodes * c, count)), np.zeros((nodes * c, count))
    response, first, facts = R_w[1:, 1:], 0, tuple(jnp.array(x) for x in datum)
    for times in member.block_times:
        rows = slice(first * c, (first + len(times)) * c)
        known = noise[rows] + response[rows, : rows.start] @ ell[: rows.start]
        share = None if gain is None else gain[first : first + len(times)]
        f[rows], ell[rows] = solved_rows(equation, facts, share, times, response[rows, rows], known)
        first += len(times)
    times, shape = np.concatenate(member.block_times), (nodes, *flow.channels, count)
    curves = np.concatenate([means(flow, x.reshape(shape), facts, times) for x in (f, noise)])
    states = f[:, :keep].reshape(nodes, c, -1).transpose(2, 0, 1)
    return Observed(curves, states, Datum(*(np.asarray(x)[:keep] for x in datum)))


@partial(jax.jit, static_argnums=0)
def means(flow: Flow, f: Any, facts: Any, times: Any) -> Any:
    """Mean loss and error at all times, (2, t)."""

    def one(f, facts, t):
        return flow.measures(f, Datum(*facts), t)

    over = jax.vmap(jax.vmap(one, in_axes=(-1, 0, None)), in_axes=(0, None, 0))
    return jnp.mean(over(f, facts, times), axis=1).T
