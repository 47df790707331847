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

    def jump(self, values: Float[np.ndarray, "... t"]) -> float:
        """What polynomials through the first block's nodes, without t = 0, miss there at most."""
        s = self.stages
        back = lagrange(self.t[1 : s + 1], np.zeros(1))[0]
        return float(np.max(np.abs(values[..., 1 : s + 1] @ back - values[..., 0])))

    def weights(self, times: Float[np.ndarray, " k"], after_jump: bool = False) -> Float[np.ndarray, "k t"]:
        """Weights of the nodes in the values at other times; `after_jump`: t = 0 counts for itself alone."""
        s = self.stages
        block = np.clip(np.searchsorted(self.edges, times, side="left") - 1, 0, len(self.edges) - 2)
        weights = np.zeros((len(times), len(self.t)))
        for b in np.unique(block):
            columns = np.arange(s * b, s * b + s + 1)
            rows = np.flatnonzero(block == b)
            start, length = self.edges[b], self.edges[b + 1] - self.edges[b]
            if after_jump and b == 0:
                weights[rows, 0], rows, columns = times[rows] == 0, rows[times[rows] > 0], columns[1:]
            inside = (self.t[columns] - start) / length
            weights[np.ix_(rows, columns)] = lagrange(inside, (times[rows] - start) / length)
        return weights
