r"""Estimates of an entry from its noisy observation: proximal maps \(\eta(x; t)\) and their slopes."""

import abc
import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.problem.mirror import MirrorMap
from dynafield.problem.networks import DiagonalNetwork

__all__ = ["Denoiser", "MirrorProx", "denoiser_of"]


Threshold = float | Float[np.ndarray, "..."]
"""One for all entries, or one for each."""


class Denoiser(abc.ABC):
    """The proximal map of one of the three penalties."""

    case: str

    @abc.abstractmethod
    def respond(self, x: Float[np.ndarray, " d"], t: Threshold) -> tuple[np.ndarray, np.ndarray]:
        r"""\(\eta(x; t)\) and \(\partial_x\eta(x; t)\)."""

    def first_threshold(self, tau: Any) -> Any:
        """The first t if λ = 0, for a first noise τ: the recursion t ← b t must start above zero."""
        return 1.0


class SoftThreshold(Denoiser):
    r"""The proximal map of \(|w|\): the lasso."""

    case = "regularized"

    def respond(self, x: Float[np.ndarray, " d"], t: Threshold) -> tuple[np.ndarray, np.ndarray]:
        """Shrink by t."""
        return np.sign(x) * np.maximum(np.abs(x) - t, 0.0), (np.abs(x) > t).astype(float)


class Identity(Denoiser):
    """The proximal map of zero: least squares."""

    case = "ridgeless"

    def respond(self, x: Float[np.ndarray, " d"], t: Threshold) -> tuple[np.ndarray, np.ndarray]:
        """x itself."""
        return x.copy(), np.ones_like(x)


@dataclasses.dataclass(frozen=True)
class MirrorProx(Denoiser):
    r"""The proximal map of J, \(J' = \Phi\): interpolation. \(w + t\Phi(w) = x\), along the mirror map."""

    mirror: MirrorMap
    case = "interpolating"

    def respond(self, x: Float[np.ndarray, " d"], t: Threshold) -> tuple[np.ndarray, np.ndarray]:
        """By Newton in the logarithm of the left side, which rises at most twice as fast as s or log s."""
        mirror, size = self.mirror, np.maximum(np.abs(x), 1e-300)
        s = np.maximum(mirror.coordinate_bound(size), 1e-300)
        last = np.inf
        for _ in range(100):
            value = mirror.weight(s) + t * mirror.dual(s)
            slope = (mirror.slope(s) + t) * mirror.dual_slope(s)
            step = np.log(value / size) * value / slope
            s = np.maximum(s - step, 0.1 * s)
            change = float(np.max(np.abs(step) / s))
            if change < 1e-14 or (change < 1e-9 and change > 0.5 * last):
                break
            last = change
        kappa = mirror.slope(s)
        return np.sign(x) * mirror.weight(s), kappa / (kappa + t)

    def first_threshold(self, tau: Any) -> Any:
        """So that at x = τ half of it is shrunk away, about: τ/Φ(τ), up to a logarithm."""
        return tau / self.mirror.dual(self.mirror.coordinate_bound(tau))


def denoiser_of(net: DiagonalNetwork, delta: float) -> Denoiser:
    """The proximal map of the penalty that training is equivalent to."""
    if float(net.lam) > 0:
        return SoftThreshold()
    return Identity() if delta > 1 else MirrorProx(MirrorMap(float(net.alpha), net.depth))
