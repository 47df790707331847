"""Interpolation between nodes: in each block the polynomial through its start and its nodes."""

import dataclasses
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from dynafield.numerics.collocation import lagrange

__all__ = ["Dense"]

SHARE = 0.5
"""Error of interpolation per estimate: .2 to 1 was found in five problems."""


@dataclasses.dataclass(frozen=True)
class Dense:
    """Nodes (0 first) in blocks with given ends."""

    t: Float[np.ndarray, " t"]
    edges: Float[np.ndarray, " b"]

    @cached_property
    def places(self) -> Int[np.ndarray, " b"]:
        """Numbers of the nodes at the ends of blocks."""
        length = np.diff(self.edges)
        near = np.minimum(np.append(length, np.inf), np.insert(length, 0, np.inf))
        return np.searchsorted(self.t, self.edges + 1e-6 * near, side="right") - 1

    @property
    def stages(self) -> int:
        """Nodes in the first block."""
        return int(self.places[1])

    def jump(self, values: Float[np.ndarray, "... t"]) -> float:
        """What polynomials through the first block's nodes, without t = 0, miss there at most."""
        s = self.stages
        back = lagrange(self.t[1 : s + 1], np.zeros(1))[0]
        return float(np.max(np.abs(values[..., 1 : s + 1] @ back - values[..., 0])))

    def pieces(
        self, times: Float[np.ndarray, " k"], after_jump: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Block by block: which times and which nodes, and where both are inside it, from 0 to 1.

        `after_jump`: t = 0 is not one of the nodes of the first block.
        """
        block = np.clip(np.searchsorted(self.edges, times, side="left") - 1, 0, len(self.edges) - 2)
        for b in np.unique(block):
            start, length = self.edges[b], self.edges[b + 1] - self.edges[b]
            nodes, rows = (
                np.arange(int(self.places[b]), int(self.places[b + 1]) + 1),
                np.flatnonzero(block == b),
            )
            if after_jump and b == 0:
                nodes, rows = nodes[1:], rows[times[rows] > 0]
            yield rows, nodes, (times[rows] - start) / length, (self.t[nodes] - start) / length

    def weights(self, times: Float[np.ndarray, " k"], after_jump: bool = False) -> Float[np.ndarray, "k t"]:
        """Weights of the nodes in the values at other times; `after_jump`: t = 0 counts for itself alone."""
        weights = np.zeros((len(times), len(self.t)))
        weights[times == 0, 0] = 1.0
        for rows, nodes, inside, places in self.pieces(times, after_jump):
            weights[np.ix_(rows, nodes)] = lagrange(places, inside)
        return weights

    def uncertainty(
        self, values: Float[np.ndarray, "... t"], times: Float[np.ndarray, " k"], after_jump: bool = False
    ) -> Float[np.ndarray, "... k"]:
        r"""Error of interpolated values, estimated; zero on the nodes [eq:between].

        What all nodes but the first miss at the first, ε, is an error of one order less. In units of the
        change over the block, V, it tells how orders fall off: \(\frac12\epsilon(\epsilon/V)^{1/s}\).
        """
        found = np.zeros((*values.shape[:-1], len(times)))
        for rows, nodes, inside, places in self.pieces(times, after_jump):
            own = values[..., nodes]
            missed = np.abs(own[..., 1:] @ lagrange(places[1:], places[:1])[0] - own[..., 0])
            change = np.ptp(own, axis=-1)
            share = np.minimum(missed / np.where(change > 0, change, 1.0), 1.0)
            shape, most = (
                np.abs(np.prod(x[:, None] - places, axis=1)) for x in (inside, np.linspace(places[0], 1, 65))
            )
            largest = SHARE * missed * share ** (1 / (len(nodes) - 1))
            found[..., rows] = largest[..., None] * shape / np.max(most)
        return found
