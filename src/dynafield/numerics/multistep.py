r"""Backward differentiation formulas for many independent solutions, each with its own step and order.

The numerical differentiation formulas of Shampine and Reichelt (orders 1 to 5, A(α)-stable,
stiffly accurate) in their quasi-constant step form. A solution is kept as its last value
and backward differences; changing the step is a small matrix on those, so all solutions
move together in batched products whatever their steps and orders [eq:bdf].
"""

import numpy as np
from jaxtyping import Float, Int

__all__ = ["ERROR", "LARGEST_ORDER", "BackwardDifferences"]

LARGEST_ORDER = 5
SIZE = LARGEST_ORDER + 3
"""Differences kept of each solution: value, one per order, two for the errors of neighbouring orders."""
KAPPA = np.array([0.0, -0.1850, -1 / 9, -0.0823, -0.0415, 0.0])
GAMMA = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, LARGEST_ORDER + 1))])
LEADING = (1 - KAPPA) * GAMMA
ERROR = np.concatenate([KAPPA * GAMMA + 1.0 / np.arange(1, LARGEST_ORDER + 2), [0.0]])
"""Local error of order k: ERROR[k] times the correction."""
INDEX = np.arange(SIZE)


def pascal(factor: Float[np.ndarray, " p"]) -> Float[np.ndarray, "p j j"]:
    """How differences at step h sum to values at step factor · h."""
    i, j = np.arange(1, LARGEST_ORDER + 1)[:, None], np.arange(1, LARGEST_ORDER + 1)
    table = np.zeros((len(factor), LARGEST_ORDER + 1, LARGEST_ORDER + 1))
    table[:, 0] = 1.0
    table[:, 1:, 1:] = (i - 1 - factor[:, None, None] * j) / i
    return np.cumprod(table, axis=1)


def step_matrix(order: int) -> Float[np.ndarray, "k k1"]:
    """New differences from the old ones and the correction, once a step is made."""
    i, j = np.arange(SIZE)[:, None], np.arange(SIZE + 1)
    sums = (j >= i) & (j <= order) | (i <= order + 2) & (j == SIZE)
    untouched = (i > order + 2) & (j == i)
    return (sums | untouched).astype(float) - ((i == order + 2) & (j == order + 1))


TAKEN = np.stack([step_matrix(order) for order in range(LARGEST_ORDER + 1)])
STAYED = np.eye(SIZE, SIZE + 1)
SAME = pascal(np.ones(1))[0]


def rescaling(order: Int[np.ndarray, " p"], factor: Float[np.ndarray, " p"]) -> Float[np.ndarray, "p k k"]:
    """The matrices that turn differences at step h into those at step factor · h, up to `order`."""
    change = np.tile(np.eye(SIZE), (len(order), 1, 1))
    inside = np.arange(LARGEST_ORDER + 1) <= order[:, None]
    block = inside[:, :, None] & inside[:, None, :]
    exact = np.swapaxes(pascal(factor) @ SAME, 1, 2)
    part = change[:, : LARGEST_ORDER + 1, : LARGEST_ORDER + 1]
    part[block] = exact[block]
    return change


class BackwardDifferences:
    """The recent past of P solutions of m unknowns; `rows` are those still under way."""

    def __init__(self, start: np.ndarray, slope: np.ndarray, step: np.ndarray):
        count = len(start)
        self.table = np.zeros((count, SIZE + 1, start.shape[1]))  # and a place for the correction
        self.table[:, 0], self.table[:, 1] = start, slope * step[:, None]
        self.spare = np.zeros_like(self.table)
        self.t, self.step = np.zeros(count), step.copy()
        self.order, self.steady = np.ones(count, int), np.zeros(count, int)
        self.rows = np.arange(count)

    def predict(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Extrapolated value x, past part ψ and weight c of the formula correction + ψ = c f(x + correction).

        And a guess of the correction: the last one where the step has not changed since.
        """
        past, order = self.past(), self.order[self.rows]
        known = (order[:, None] >= INDEX).astype(float)
        leading = LEADING[order]
        weights = known[:, : LARGEST_ORDER + 1] * GAMMA / leading[:, None]
        same = (order[:, None] + 1 == INDEX) * (self.steady[self.rows] > 0)[:, None]
        parts = np.stack([known, np.pad(weights, ((0, 0), (0, 2))), same], axis=1) @ past[:, :SIZE]
        return parts[:, 0], parts[:, 1], self.step[self.rows] / leading, parts[:, 2]

    def past(self) -> np.ndarray:
        """The differences of the rows under way."""
        return self.table if len(self.rows) == len(self.table) else self.table[self.rows]

    def neighbours(self, correction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the correction would be at one order less and one order more."""
        order = self.order[self.rows]
        return self.table[self.rows, order] + correction, correction - self.table[self.rows, order + 1]

    def inside(self, row: int, correction: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The solution of the row-th of `rows` at times inside the step just made."""
        index = self.rows[row]
        order, step = int(self.order[index]), self.step[index]
        j = np.arange(order)
        ends = self.t[index] + step - step * j
        basis = np.cumprod((times[:, None] - ends) / (step * (1 + j)), axis=1)
        basis = np.concatenate([np.ones((len(times), 1)), basis], axis=1)
        return np.cumsum(basis, axis=1) @ self.table[index, : order + 1] + basis.sum(1)[:, None] * correction

    def move(self, correction: np.ndarray, made: np.ndarray, factor: np.ndarray, order: np.ndarray) -> None:
        """Where `made`, take the step; then change step by `factor` and go on at `order`."""
        now = self.order[self.rows]
        change = np.where(made[:, None, None], TAKEN[now], STAYED)
        changed = (factor != 1.0) | (order != now)
        if changed.any():
            change[changed] = rescaling(order[changed], factor[changed]) @ change[changed]
        past = self.past()
        past[:, SIZE] = correction
        if len(self.rows) == len(self.table):
            np.matmul(change, past, out=self.spare[:, :SIZE])
            self.table, self.spare = self.spare, self.table
        else:
            self.table[self.rows, :SIZE] = change @ past
        self.t[self.rows] += np.where(made, self.step[self.rows], 0.0)
        self.step[self.rows] *= factor
        self.order[self.rows] = order
        self.steady[self.rows] = np.where(changed, 0, self.steady[self.rows] + made)
