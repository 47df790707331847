r"""Outputs on data as if each had been left out, from the response of training [eq:leave_one_out].

A shift ε of what datum i sends back changes its own output by \(D_i\varepsilon\); without its own
feedback it would change by \(K_i\varepsilon\), with \(D_i = K_i(1 + \Lambda_iD_i)\) and Λ the slope of ℓ. In
high dimension \(K_i = a_iK\), with one K for all data and their leverages \(a_i \propto |x_i|^2\), so that
averages of \(D_i/a_i\) and \(\Lambda_iD_i\) give it, and \(f^-_i = f_i - a_iK\ell_i\). Shifts are ramps that
begin one after the other, with random signs; K is found by their response, which is triangular in time.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

__all__ = ["Ramps", "Response", "left_out_outputs"]

TOGETHER = 24
"""Ramps whose signs are drawn at once."""
CROWDED = 1.25
"""Data for each ramp, at least, for signs to be made orthogonal."""
SHORTEST = 0.25
"""Data of a smaller leverage count less in the averages that give K."""
FAINT = 0.03
"""Smallest size of a ramp, relative to the first."""


class Ramps:
    """Random shifts of what data send back: the first from the start, then one ramp in every cell of time.

    Signs of different ramps are made orthogonal over the data, so that one does not disturb the measurement
    of another before training has mixed them. A ramp is the larger the more outputs change in its cell: what
    it measures counts as much.
    """

    def __init__(self, n: int, probes: int, centred: bool, seed: int):
        self.rng, self.centred = np.random.default_rng([seed, n, probes]), centred
        self.signs = np.empty((probes, n, 0))
        self.sizes: list[float] = []
        self.total = np.zeros((n, probes))

    def add(self, change: float) -> Float[np.ndarray, "n m"]:
        """The shifts at the end of the next ramp, by the change of outputs while it lasts."""
        if len(self.sizes) == self.signs.shape[2]:
            self.signs = np.concatenate(
                [self.signs, np.stack([self.more(one) for one in self.signs])], axis=2
            )
        first = self.sizes[0] if self.sizes else 0.0
        size = max(np.sqrt(change), FAINT * first) or 1.0
        self.total = self.total + size * self.signs[:, :, len(self.sizes)].T
        self.sizes.append(float(size))
        return self.total

    def more(self, known: Float[np.ndarray, "n j"]) -> Float[np.ndarray, "n k"]:
        """Further signs of one probe, orthogonal to all others of it where there are enough data."""
        n = len(known)
        signs = self.rng.choice([-1.0, 1.0], size=(n, TOGETHER))
        if self.centred:
            signs = signs - signs.mean(axis=0)
        if n < CROWDED * (known.shape[1] + TOGETHER):
            return signs / np.sqrt(np.maximum(np.mean(signs**2, axis=0), 1 / n))
        return orthogonal(signs - known @ (known.T @ signs / n))

    def along(self, values: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "j m"]:
        """What the average datum shows of each ramp, per unit of its size."""
        count = len(self.sizes)
        seen = np.einsum("mnj,nm->jm", self.signs[:, :, :count], values) / len(values)
        return seen / np.array(self.sizes)[:, None]

    def response(
        self,
        outputs: Float[np.ndarray, "n m"],
        slope: Float[np.ndarray, " n"],
        leverage: Float[np.ndarray, " n"],
    ) -> tuple[Float[np.ndarray, "j m"], Float[np.ndarray, "j m"]]:
        """The last row of a `Response`, from derivatives of outputs and the slope of ℓ."""
        # outputs follow shifts by this fraction: what signs would show of that by chance is taken out
        size = max(float(np.sum(self.total**2)), 1e-290)
        follow = float(np.clip(-np.sum(self.total * outputs) / size, 0.0, 1.0))
        weight = 1.0 / np.maximum(leverage, SHORTEST)[:, None]
        bent, counted = slope[:, None] * outputs, leverage[:, None] * weight
        of_outputs = self.along(weight * (outputs + follow * self.total)) - follow * np.mean(weight)
        follow = float(np.clip(-np.sum(self.total * bent) / size, 0.0, 1.0))
        of_residuals = self.along(counted * (bent + follow * self.total)) + (1.0 - follow) * np.mean(counted)
        return of_outputs, of_residuals


def orthogonal(signs: Float[np.ndarray, "n j"]) -> Float[np.ndarray, "n j"]:
    """Columns that are orthogonal and of mean square one, as near to given ones as there are."""
    values, vectors = np.linalg.eigh(signs.T @ signs / len(signs))
    return signs @ (vectors / np.sqrt(values)) @ vectors.T


class Response(NamedTuple):
    r"""Responses to each ramp at each time, by probe, averaged over the data.

    \(\overline{D_i/a_i}\) of outputs, with leverages a, and \(1 + \overline{\Lambda_iD_i}\) of residuals.
    """

    of_outputs: Float[np.ndarray, "k j m"]
    of_residuals: Float[np.ndarray, "k j m"]

    def without(self, probe: int | None, intercept: int) -> tuple[np.ndarray, np.ndarray]:
        """Averages over probes but one; with an intercept on so many data, of its response too."""
        kept = np.arange(self.of_outputs.shape[2]) != (-1 if probe is None else probe)
        D, G = (np.tril(part[:, :, kept].mean(axis=2)) for part in self)
        if not intercept:
            return D, G
        share = 1.0 / intercept
        return (1.0 - share) * D - share * np.tril(np.ones_like(D)), (1.0 - share) * G


def left_out_outputs(
    f: Float[np.ndarray, "k n"],
    ell: Float[np.ndarray, "k n"],
    leverage: Float[np.ndarray, " n"],
    D: Float[np.ndarray, "k k"],
    G: Float[np.ndarray, "k k"],
) -> Float[np.ndarray, "k n"]:
    r"""\(f^- = f - aK\ell\) with \(KG = D\) [eq:leave_one_out]."""
    return f - D @ scipy.linalg.solve_triangular(G, leverage * ell, lower=True)
