r"""Responses as densities in time, from matrices that hold \(R(t,s)\,ds\) node by node.

At the edge of a block a density is exact to the order of the method, \(R_w(t,s) = \sum_{t_k > s}
(RB^{-1})_{t,k}\, e^{\mu(t_k - s)}\); inside an earlier block the weight is divided by the node's own; inside
t's own block, where weights are no density, an exponential through the edge and the diagonal, \(R_w(t,t) =
E[\kappa]/\delta\) with slope \(\partial_s R_w = E[\kappa^2]/\delta - \mu E[\kappa]/\delta\), takes over
[eq:dmft_density].
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import lambertw

from dynafield.numerics.collocation import Radau

__all__ = ["Responses", "densities", "step_densities"]


class Responses(NamedTuple):
    """Densities R_w(t, s) and R_f(t, s) on the nodes, zero for s > t."""

    R_w: Float[np.ndarray, "t t"]
    R_f: Float[np.ndarray, "t t"]


def integration(
    rule: Radau, lengths: Float[np.ndarray, " b"], mu: float
) -> tuple[Float[np.ndarray, "t t"], Float[np.ndarray, "t b"]]:
    """B on all nodes (none for node 0), and the free motion of ψ = 1 from the start of each block."""
    s, blocks = len(rule.nodes), len(lengths)
    size = 1 + s * blocks
    matrix, free = np.zeros((size, size)), np.zeros((size, blocks))
    last, carried = np.zeros(size), np.zeros(blocks)
    for b, h in enumerate(lengths):
        rows = slice(1 + s * b, 1 + s * (b + 1))
        grow = np.linalg.inv(np.eye(s) - mu * h * rule.weights)
        carried[b] = 1.0
        free[rows] = np.outer(grow @ np.ones(s), carried)
        matrix[rows] = np.outer(grow @ np.ones(s), last)
        matrix[rows, rows] = grow @ (h * rule.weights)
        last, carried = matrix[rows][-1].copy(), free[rows][-1].copy()
    return matrix, free


def step_densities(weights: Float[np.ndarray, "t t"], t: Float[np.ndarray, " t"]) -> Responses:
    """Responses of discrete training per unit of time: zero at equal times, where they act one step later."""
    width, one = np.diff(t, append=2 * t[-1] - t[-2]), np.eye(len(t))
    return Responses(weights / width, (one - np.linalg.inv(one + weights)) / width)


def densities(
    weights: Float[np.ndarray, "t t"],
    moments: Float[np.ndarray, "2 t"],
    rule: Radau,
    edges: Float[np.ndarray, " e"],
    t: Float[np.ndarray, " t"],
    mu: float,
    growth: float,
) -> Responses:
    """Both responses as densities on the nodes.

    States that grow like \\(e^{\\mu t}\\) have growth = μ; those that a drive moves less and less, zero.
    """
    size, s, lengths = len(weights), len(rule.nodes), np.diff(edges)
    matrix, free = integration(rule, lengths, growth)
    pace, pace_at_edges = (np.exp((growth - mu) * x) for x in (t, edges[:-1]))
    inner = np.zeros_like(weights)
    inner[1:, 1:] = np.linalg.solve(matrix[1:, 1:].T, (weights / pace)[1:, 1:].T).T
    at_edges = inner @ free * pace_at_edges
    inverse = np.linalg.inv(np.eye(size) + weights)
    later = np.repeat(np.arange(len(lengths)), s)
    after = np.concatenate([[-1], later])[:, None] >= np.arange(len(lengths))
    f_edges = np.where(after, inverse @ np.where(after, at_edges, 0.0), 0.0)
    mean, square = moments
    slope = square - mu * mean
    share = np.concatenate([[1.0], np.outer(lengths, rule.weights[-1]).ravel()])
    return Responses(
        on_nodes(weights / share, at_edges, mean, slope, edges, t, s, mu),
        on_nodes((np.eye(size) - inverse) / share, f_edges, mean, slope + mean**2, edges, t, s, mu),
    )


def on_nodes(
    past: Float[np.ndarray, "t t"],
    at_edges: Float[np.ndarray, "t b"],
    diagonal: Float[np.ndarray, " t"],
    slope: Float[np.ndarray, " t"],
    edges: Float[np.ndarray, " e"],
    t: Float[np.ndarray, " t"],
    s: int,
    mu: float,
) -> Float[np.ndarray, "t t"]:
    """A density on the nodes: weights for earlier blocks, edges where nodes are, an exponential within."""
    near = mu * t[1:] < 1  # beyond, the sum at the edge t = 0 cancels; the first node stands for it
    density = np.tril(past)
    density[0, 0] = diagonal[0]
    density[1:, 0] = np.where(near, at_edges[1:, 0], density[1:, 1])
    for b in range(len(edges) - 1):
        rows = slice(1 + s * b, 1 + s * (b + 1))
        density[rows, rows.start - 1] = at_edges[rows, b]
        for i in range(rows.start, rows.stop):
            width = t[i] - edges[b]
            share = (t[i] - t[rows.start : i + 1]) / width
            drop = diagonal[i] - at_edges[i, b]
            density[i, rows.start : i + 1] = diagonal[i] - drop * relaxed(share, slope[i] * width, drop)
    return density


def relaxed(share: Float[np.ndarray, " n"], slope: float, drop: float) -> Float[np.ndarray, " n"]:
    r"""\((1 - e^{-ky})/(1 - e^{-k})\): from 0 to 1 with the given slope (times drop) at 0.

    Of third order like a parabola, and monotone where the block is long compared with the relaxation.
    """
    steep = slope / drop if drop > 0 else 1.0
    if steep <= 0 or abs(steep - 1) < 1e-6:
        return share
    k = steep + np.real(lambertw(-steep * np.exp(-steep), 0 if steep > 1 else -1))
    return np.expm1(-k * share) / np.expm1(-k)
