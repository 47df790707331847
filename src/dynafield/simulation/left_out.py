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

FAINT = 0.03
"""Smallest size of a ramp, relative to the first."""


class Ramps:
    """Random shifts of what data send back: the first from the start, then one ramp in every cell of time.

    Signs of different ramps are made orthogonal over the data, so that one does not disturb the measurement
    of another before training has mixed them. A ramp is the larger the more outputs change in its cell: what
    it measures counts as much.
    """

    def __init__(self, n: int, probes: int, most: int, centred: bool, seed: int):
        rng = np.random.default_rng([seed, n, probes])
        self.signs = np.empty((n, most, probes))
        for probe in range(probes):
            signs = rng.choice([-1.0, 1.0], size=(n, most))
            self.signs[..., probe] = orthogonal(signs - signs.mean(axis=0) if centred else signs)
        self.sizes: list[float] = []
        self.total = np.zeros((n, probes))

    def add(self, change: float) -> Float[np.ndarray, "n m"]:
        """The shifts at the end of the next ramp, by the change of outputs while it lasts."""
        first = self.sizes[0] if self.sizes else 0.0
        size = max(np.sqrt(change), FAINT * first) or 1.0
        self.total = self.total + size * self.signs[:, len(self.sizes)]
        self.sizes.append(float(size))
        return self.total

    def along(self, values: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "j m"]:
        """What the average datum shows of each ramp, per unit of its size."""
        count = len(self.sizes)
        seen = np.einsum("njm,nm->jm", self.signs[:, :count], values) / len(values)
        return seen / np.array(self.sizes)[:, None]

    def response(
        self,
        outputs: Float[np.ndarray, "n m"],
        slope: Float[np.ndarray, " n"],
        leverage: Float[np.ndarray, " n"],
    ) -> tuple[Float[np.ndarray, "j m"], Float[np.ndarray, "j m"]]:
        """The last row of a `Response`, from derivatives of outputs and the slope of ℓ."""
        bent = slope[:, None] * outputs
        of_residuals = self.along(self.total + bent)
        # outputs follow shifts by this share: what signs would show of that by chance is taken out
        follow = float(np.clip(-np.sum(self.total * outputs) / np.sum(self.total**2), 0.0, 1.0))
        weight = 1.0 / leverage[:, None]
        known = follow * float(np.mean(weight))
        return self.along(weight * (outputs + follow * self.total)) - known, of_residuals


def orthogonal(signs: Float[np.ndarray, "n j"]) -> Float[np.ndarray, "n j"]:
    """Columns that are orthogonal and of mean square one, as near to given ones as there are."""
    n, count = signs.shape
    if n < 2 * count:
        return signs
    values, vectors = np.linalg.eigh(signs.T @ signs / n)
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
