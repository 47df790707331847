r"""The kernels of one problem, by rows: noise factor F, response R, and U = (1 + R)⁻¹F.

\(C_w + \sigma^2 = \delta FF^\top\) and \(C_f = \delta UU^\top\) [eq:dmft_factors]. F comes from
an orthogonal basis of the sampled errors, grown row by row, and never from a covariance
matrix: errors stay relative to F, and those of C_f relative to its square.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

__all__ = ["FAINT", "Kernels", "NewRows", "Totals"]

FAINT = 1e-8
"""Residuals below this, relative to their size at t = 0, never have relative accuracy."""
CANCELLED = 1e-11
"""Squares of new parts smaller than this, relative to what they are the remainder of, are dropped."""


class Totals(NamedTuple):
    """Averages over all paths that make the new rows."""

    overlap: Float[np.ndarray, "s t"]
    gram: Float[np.ndarray, "s s"]
    response: Float[np.ndarray, "s t"]
    moments: Float[np.ndarray, "3 s"]


class NewRows(NamedTuple):
    """Candidate rows of a block: F on the known basis and on new vectors (one per node), and R."""

    known: Float[np.ndarray, "s k"]
    fresh: Float[np.ndarray, "s s"]
    response: Float[np.ndarray, "s m"]

    def flat(self) -> Float[np.ndarray, " m"]:
        """As one vector."""
        return np.concatenate([part.ravel() for part in self])

    def like(self, flat: Float[np.ndarray, " m"]) -> "NewRows":
        """Rows of the same shapes from one vector."""
        ends = np.cumsum([part.size for part in self])
        parts = np.split(flat, ends[:-1])
        return NewRows(*(part.reshape(old.shape) for part, old in zip(parts, self, strict=True)))


@dataclasses.dataclass
class Kernels:
    r"""All rows known so far, node 0 being t = 0. Capacity grows as needed.

    New parts of the noise below `smallest`, relative to its size at t = 0, are dropped. Mini-batches
    give each datum a random weight of variance `spread` in every step: noise `white` of its own, and a
    part V of the residuals, \\(C_f = \\delta(UU^\top + VV^\top)\\) [eq:dmft_batches].
    """

    delta: float
    sigma: float
    second_moment: float
    stages: int
    capacity: int
    smallest: float
    spread: float = 0.0

    def __post_init__(self):
        shape = (self.capacity, self.capacity)
        self.F, self.R, self.U = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.moments = np.zeros((3, self.capacity))
        self.scale = np.sqrt((self.second_moment + self.sigma**2) / self.delta)
        self.F[0, 0] = self.U[0, 0] = self.scale
        self.noise_part = np.zeros(self.capacity)
        self.noise_part[0] = self.sigma / np.sqrt(self.delta) / self.scale
        self.V, self.white = np.zeros(shape), np.zeros(self.capacity)
        self.white[0] = np.sqrt(self.spread) * self.scale
        self.nodes = 1

    def enlarge(self, capacity: int) -> None:
        """More room."""
        more = capacity - self.capacity
        square = ((0, more), (0, more))
        self.F, self.R, self.U, self.V = (np.pad(m, square) for m in (self.F, self.R, self.U, self.V))
        self.white = np.pad(self.white, (0, more))
        self.moments = np.pad(self.moments, ((0, 0), (0, more)))
        self.noise_part = np.pad(self.noise_part, (0, more))
        self.capacity = capacity

    def guess(self) -> NewRows:
        """Rows of a new block: those of the last node, and the last block's response to itself."""
        s, k = self.stages, self.nodes
        response = np.zeros((s, k + s))
        response[:, :k] = self.R[k - 1, :k]
        if k > s:
            response[:, k:] = self.R[k - s : k, k - s : k]
        return NewRows(np.tile(self.F[k - 1, :k], (s, 1)), np.zeros((s, s)), response)

    def improved(self, rows: NewRows, totals: Totals) -> NewRows:
        """The rows that the paths make: F by orthogonalization, the end of the block first."""
        k, part = self.nodes, self.noise_part[: self.nodes]
        rest = self.sigma / np.sqrt(self.delta) - rows.known @ part
        overlap = totals.overlap[:, :k] + np.outer(rest, part)
        whole = totals.gram + np.outer(rest, rest)
        smallest = max((self.smallest * self.scale) ** 2, CANCELLED * float(np.max(np.diag(whole))))
        fresh = triangle(whole - overlap @ overlap.T, smallest)
        width = rows.response.shape[1]
        return NewRows(rows.known + overlap, fresh, totals.response[:, :width])

    def noise(self, rows: NewRows) -> Float[np.ndarray, "s t"]:
        """New rows of F, over all nodes there is room for."""
        s, k = self.stages, self.nodes
        noise = np.zeros((s, self.capacity))
        noise[:, :k], noise[:, k : k + s] = rows.known, rows.fresh
        return noise

    def residuals(self, rows: NewRows) -> Float[np.ndarray, "s t"]:
        """New rows of U."""
        s, k = self.stages, self.nodes
        past = rows.response[:, :k] @ self.U[:k]
        return np.linalg.solve(np.eye(s) + rows.response[:, k:], self.noise(rows) - past)

    @property
    def residual_factor(self) -> Float[np.ndarray, "t m"]:
        """Rows whose products, times δ, are C_f."""
        parts = (self.U, self.V) if self.spread > 0 else (self.U,)
        return np.hstack([part[: self.nodes] for part in parts])

    def measure(self) -> NewRows:
        """Weights of the rows that make their errors comparable: a response by what it responds to."""
        s, k = self.stages, self.nodes
        size = np.sqrt(np.sum(self.U[:k] ** 2, axis=1)) + 1e-3 * self.scale
        response = np.concatenate([size, np.full(s, size[-1])])
        return NewRows(np.ones((s, k)), np.ones((s, s)), np.tile(response, (s, 1)))

    def distance(self, old: NewRows, new: NewRows, reach: float, faint: float) -> tuple[float, float]:
        """Change of the rows in units of the noise at t = 0, and relative change of U.

        A gradient that is wrong by ε throughout a block moves weights by up to `reach` ε, and
        those that no data hold stay there: U must be right to that. Relative accuracy is not asked
        of U below `faint`, relative to t = 0.
        """
        before, after = self.residuals(old), self.residuals(new)
        gap = new.response - old.response
        past = gap[:, : self.nodes] @ self.U[: self.nodes] + gap[:, self.nodes :] @ after
        parts = [new.known - old.known, new.fresh - old.fresh, past]
        largest = max(np.sqrt(np.max(np.sum(part**2, axis=1))) for part in parts)
        turned = np.sqrt(np.sum((after - before) ** 2, axis=1))
        size = np.sqrt(np.sum(after**2, axis=1)) + faint * self.scale
        moved = max(largest, reach * np.max(turned)) / self.scale
        return float(moved), float(np.max(turned / size))

    def append(self, rows: NewRows, moments: Float[np.ndarray, "3 s"]) -> Float[np.ndarray, "s s"]:
        """Keep the rows; return the matrix that makes new basis vectors of what the old ones leave."""
        s, k = self.stages, self.nodes
        self.U[k : k + s] = self.residuals(rows)
        self.F[k : k + s] = self.noise(rows)
        self.R[k : k + s, : k + s] = rows.response
        self.moments[:, k : k + s] = moments
        if self.spread > 0:  # one node, R strictly lower triangular
            self.V[k] = self.R[k] * self.white - self.R[k] @ self.V
            self.white[k] = np.sqrt(self.spread * (self.U[k] @ self.U[k] + self.V[k] @ self.V[k]))
        found = int(np.sum(np.any(rows.fresh != 0, axis=0)))
        make = np.zeros((s, s))
        order = np.arange(s - 1, -1, -1)[:found]
        make[:found, order] = np.linalg.inv(rows.fresh[order, :found])
        rest = self.sigma / np.sqrt(self.delta) - rows.known @ self.noise_part[:k]
        self.noise_part[k : k + s] = make @ rest
        self.nodes = k + s
        return make


def triangle(gram: Float[np.ndarray, "s s"], smallest: float) -> Float[np.ndarray, "s s"]:
    """Factor of a Gram matrix, last row first; pivots below `smallest` end it."""
    size = len(gram)
    factor, left = np.zeros_like(gram), gram.copy()
    for k, i in enumerate(range(size - 1, -1, -1)):
        if left[i, i] <= smallest:
            break
        column = left[:, i] / np.sqrt(left[i, i])
        column[i + 1 :] = 0.0
        factor[:, k] = column
        left -= np.outer(column, column)
    return factor
