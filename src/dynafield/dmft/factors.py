r"""Two-time matrices of a general flow by rows: static (the teacher) first, then channels node by node.

\(C_w = F_wF_w^\top\) and \(C_\ell = \delta F_\ell F_\ell^\top\) by factors that grow from orthogonal bases of
what is sampled, as for diagonal networks [eq:dmft_factors]; \(R_w\), \(R_\ell\) are Jacobians of the
discretized system, \(R_\ell\) with the response to the teacher as its first column.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.kernels import CANCELLED, triangle

__all__ = ["Factor", "FactorRows", "LinearData", "Static"]


class FactorRows(NamedTuple):
    """New rows of a block: factor, and response with that within the block last."""

    noise: Float[np.ndarray, "b e"]
    response: Float[np.ndarray, "b r"]

    def flat(self) -> Float[np.ndarray, " m"]:
        """As one vector."""
        return np.concatenate([part.ravel() for part in self])

    def like(self, flat: Float[np.ndarray, " m"]) -> "FactorRows":
        """Rows of the same shapes from one vector."""
        noise, response = np.split(flat, [self.noise.size])
        return FactorRows(noise.reshape(self.noise.shape), response.reshape(self.response.shape))


@dataclasses.dataclass
class Factor:
    """Factor F and response R, of which `size` rows are known; F has `extra` columns before the others.

    The column of row r is extra + r. New parts below `smallest`, relative to `scale`, are dropped.
    """

    capacity: int
    smallest: float
    extra: int = 0

    def __post_init__(self):
        self.F = np.zeros((self.capacity, self.extra + self.capacity))
        self.R = np.zeros((self.capacity, self.capacity))
        self.size = 1
        self.scale = 1.0

    def enlarge(self, capacity: int) -> None:
        """More room."""
        more = ((0, capacity - self.capacity), (0, capacity - self.capacity))
        self.F, self.R, self.capacity = np.pad(self.F, more), np.pad(self.R, more), capacity

    def last(self, channels: int) -> Float[np.ndarray, "c e"]:
        """The rows of the last node."""
        return self.F[self.size - channels : self.size, : self.extra + self.size]

    def made(
        self, known: Float[np.ndarray, "b k"], overlap: np.ndarray, gram: np.ndarray
    ) -> Float[np.ndarray, "b e"]:
        """New rows from what is left of the outputs beyond `known`: overlap with the basis, and squares."""
        overlap = overlap[:, : self.size]
        least = max((self.smallest * self.scale) ** 2, CANCELLED * float(np.max(np.diag(gram))))
        return np.hstack([known + overlap, triangle(gram - overlap @ overlap.T, least)])

    def basis_maker(self, noise: Float[np.ndarray, "b e"]) -> Float[np.ndarray, "b b"]:
        """The matrix that makes new basis vectors of what the old ones leave of the outputs."""
        fresh = noise[:, self.extra + self.size :]
        count, found = len(fresh), int(np.sum(np.any(fresh != 0, axis=0)))
        make = np.zeros((count, count))
        order = np.arange(count - 1, -1, -1)[:found]
        make[:found, order] = np.linalg.inv(fresh[order, :found])
        return make

    def append(self, rows: FactorRows) -> None:
        """Keep the rows."""
        count, k = len(rows.noise), self.size
        self.F[k : k + count, : rows.noise.shape[1]] = rows.noise
        self.R[k : k + count, : k + count] = rows.response
        self.size = k + count


class Static(NamedTuple):
    """ℓ = H f + h(datum): slope, response of h to the teacher's output, factor of what is left of h."""

    H: Float[np.ndarray, "c c"]
    to_teacher: Float[np.ndarray, " c"]
    rest: Float[np.ndarray, "c c"]


class LinearData:
    r"""Data with ℓ affine in f need not be sampled [eq:linear_data].

    \((1 - HR_w)\,\ell = Hu_f + h\), so that rows of \(F_\ell\) and \(R_\ell\) obey one linear recursion
    with sources \((H F_w + bF_*, S)/\sqrt\delta\) and (b, H).
    """

    def __init__(self, static: Static, delta: float, rho: float):
        self.static, self.delta, self.rho = static, delta, rho

    def rows(self, coordinates: FactorRows, past: Factor) -> FactorRows:
        """The rows that new rows of F_w and R_w make."""
        H, b, S = self.static
        count, k, c = len(coordinates.noise), past.size, len(self.static.H)
        blocks = count // c
        slope, teacher = np.kron(np.eye(blocks), H), np.tile(b, blocks)
        back = slope @ coordinates.response
        errors = slope @ coordinates.noise
        errors[:, 0] += teacher * self.rho
        noise = np.hstack([np.tile(S, (blocks, 1)), errors]) / np.sqrt(self.delta)
        noise[:, : c + k] += back[:, :k] @ past.F[:k, : c + k]
        response = np.zeros((count, k + count))
        response[:, 0] = teacher
        response[:, k:] = slope
        response[:, :k] += back[:, :k] @ past.R[:k, :k]
        inner = np.eye(count) - back[:, k:]
        return FactorRows(np.linalg.solve(inner, noise), np.linalg.solve(inner, response))

    def fresh_square(self, rows: Float[np.ndarray, "r e"]) -> Float[np.ndarray, " t"]:
        """E|ℓ|² on fresh data, node by node, from all rows of F_w."""
        H, b, S = self.static
        c = len(H)
        errors = np.einsum("ab,tbe->tae", H, rows.reshape(-1, c, rows.shape[1]))
        errors[:, :, 0] += b * self.rho
        return np.sum(errors**2, axis=(1, 2)) + np.sum(S**2)
