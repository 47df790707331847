"""Anderson's acceleration of a fixed-point iteration."""

import numpy as np
from jaxtyping import Float

__all__ = ["Anderson"]


class Anderson:
    """Proposes the next argument of a map from the last few arguments and values.

    `measure` weighs the entries where gaps are compared.
    """

    def __init__(self, measure: Float[np.ndarray, " m"], memory: int = 8):
        self.measure = measure
        self.memory = memory
        self.values: list[np.ndarray] = []
        self.gaps: list[np.ndarray] = []

    def next(self, argument: Float[np.ndarray, " m"], value: Float[np.ndarray, " m"]) -> np.ndarray:
        """The value, corrected by the combination of past steps that best cancels the gap."""
        self.values = [*self.values[-self.memory :], value]
        self.gaps = [*self.gaps[-self.memory :], self.measure * (value - argument)]
        if len(self.gaps) == 1:
            return value
        turns = np.diff(np.array(self.gaps), axis=0)
        share = np.linalg.lstsq(turns.T, self.gaps[-1], rcond=1e-10)[0]
        return value - share @ np.diff(np.array(self.values), axis=0)
