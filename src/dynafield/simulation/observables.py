"""What is kept of a training run: numbers at chosen times, whatever the number of steps."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dynafield.simulation.data import Data, Reduced

__all__ = ["Observables"]


class Observables:
    """Curves of all networks trained on one data set; NaN for times that training did not reach."""

    def __init__(
        self,
        data: Data,
        reduced: Reduced,
        lam: Float[np.ndarray, " p"],
        times: int,
        coordinates: Int[np.ndarray, " c"],
        residuals: bool,
        weights: bool,
    ):
        self.data: Any = data
        self.reduced: Any = reduced
        self.lam, self.chosen, self.w_star = lam, coordinates, data.w_star
        self.variance, self.scale = data.variance, np.sqrt(data.variance)
        n, d = data.X.shape
        rows = len(lam)

        def empty(*shape: int) -> np.ndarray:
            return np.full((rows, *shape), np.nan)

        self.train_error, self.test_error, self.loss, self.norm = (empty(times) for _ in range(4))
        self.w = empty(d)
        self.coordinates: Any = empty(times, len(coordinates)) if len(coordinates) else None
        self.residuals: Any = empty(times, n) if residuals else None
        self.weights: Any = empty(times, d) if weights else None
        self.stopped_at = empty()
        self.curvature = 0.0  # the largest met, where steps follow it

    def take(self, row: int, which: np.ndarray, w: np.ndarray, squares: np.ndarray) -> None:
        """Record weights and u², v² of one network at some times; after the last time only final weights."""
        n, d = self.data.X.shape
        self.w[row] = w[-1]
        kept = which < self.train_error.shape[1]
        which, w, squares = which[kept], w[kept], squares[kept]
        total = np.sum(squares, axis=1)
        gap = w @ self.reduced.X.T - self.reduced.y
        self.train_error[row, which] = (np.einsum("tk,tk->t", gap, gap) + self.reduced.floor) / n
        miss = (w - self.w_star) * self.scale
        self.test_error[row, which] = np.einsum("td,td->t", miss, miss) / d + self.data.sigma**2
        self.loss[row, which] = 0.5 * self.train_error[row, which] + 0.5 * self.lam[row] / d * total
        self.norm[row, which] = np.sqrt(np.einsum("td,td->t", w, w) / d)
        if self.coordinates is not None:
            self.coordinates[row, which] = w[:, self.chosen]
        if self.residuals is not None:
            self.residuals[row, which] = w @ self.data.X.T - self.data.y
        if self.weights is not None:
            self.weights[row, which] = w

    def stripped(self) -> "Observables":
        """Without the data, which need not be kept or sent between processes."""
        self.data = self.reduced = None
        return self

    def stop(self, row: int, t: float) -> None:
        """Record that training of one network failed at time t."""
        self.stopped_at[row] = t
        self.w[row] = np.nan
