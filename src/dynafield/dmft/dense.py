"""Interpolation between nodes: in each block the polynomial through its start and its nodes."""

import dataclasses

import numpy as np
from jaxtyping import Float

from dynafield.numerics.collocation import lagrange

__all__ = ["Dense"]


@dataclasses.dataclass(frozen=True)
class Dense:
    """Nodes (0 first) in blocks with given ends."""

    t: Float[np.ndarray, " t"]
    edges: Float[np.ndarray, " b"]

    @property
    def stages(self) -> int:
        """Nodes per block."""
        return (len(self.t) - 1) // (len(self.edges) - 1)

    def weights(self, times: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k t"]:
        """Weights of the nodes in the values at other times."""
        s = self.stages
        block = np.clip(np.searchsorted(self.edges, times, side="left") - 1, 0, len(self.edges) - 2)
        weights = np.zeros((len(times), len(self.t)))
        for b in np.unique(block):
            columns = np.arange(s * b, s * b + s + 1)
            rows = np.flatnonzero(block == b)
            start, length = self.edges[b], self.edges[b + 1] - self.edges[b]
            inside = (self.t[columns] - start) / length
            weights[np.ix_(rows, columns)] = lagrange(inside, (times[rows] - start) / length)
        return weights
