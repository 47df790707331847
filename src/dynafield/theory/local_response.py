r"""λ > 0: how one active coordinate relaxes by itself, the others answering [eq:local_response].

Late in training \(\Delta\dot w = -|w|\,(\Delta w - R_f * \Delta w)\) for a coordinate pushed off its
place. With \(A(u) = E[|w|/(u+|w|);\,w \neq 0]\) and \(p = u\,(1 - A(u)/\delta)\) its Laplace transform is
\(1/(p + |w|(1 - \bar R_f)) = u/(p\,(u+|w|))\), so the only candidate for a pole is \(u = -|w|\). Features of
variance s count with s|w| in place of |w|.
"""

import dataclasses
import functools

import numpy as np
from jaxtyping import ArrayLike, Complex, Float

from dynafield.errors import SolveError
from dynafield.numerics.laplace import contour
from dynafield.theory.law import LimitLaw

__all__ = ["LocalResponse"]

PANELS, LOWEST = 60, 1e-9
"""Intervals of sizes |w|, of equal ratio, and where they begin, in units of the largest."""
LEGENDRE = np.polynomial.legendre.leggauss(16)
REACH = 9.0
"""Standard deviations of the observation that are covered."""
STEPS, CLOSE = 100, 1e-12
"""Newton steps at most, and relative change at which they end."""


@dataclasses.dataclass(frozen=True)
class LocalResponse:
    """The answer of an active coordinate to a push, at a regularized fixed point of a task with this δ."""

    law: LimitLaw
    delta: float

    @property
    def largest(self) -> float:
        """A size s|w| beyond which there is hardly any coordinate."""
        mixture = self.law.mixture
        seen = mixture.variance * (np.abs(mixture.mean) + REACH * self.law.width)
        return float(np.max(seen)) - self.law.second

    def density(self, size: Float[ArrayLike, "..."]) -> np.ndarray:
        """Density of s|w| among all coordinates; the coordinates at zero are left out."""
        variance = self.law.mixture.variance
        y = (np.asarray(size, float)[..., None] + self.law.second) / variance
        at = self.law.observed_density
        return np.asarray(at(y, 1 / variance) + at(-y, 1 / variance))

    @functools.cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes and their probabilities, dense towards zero."""
        edges = self.largest * np.append(0.0, np.geomspace(LOWEST, 1.0, PANELS))
        half = np.diff(edges)[:, None] / 2
        size = (edges[:-1, None] + half * (1 + LEGENDRE[0])).ravel()
        return size, (half * LEGENDRE[1]).ravel() * self.density(size)

    def average(self, u: Complex[np.ndarray, "..."]) -> tuple[np.ndarray, np.ndarray]:
        r"""\(A(u) = E[s|w|/(u+s|w|)]\) for u off the negative axis, and its derivative."""
        size, weight = self.nodes
        near = 1 / (u[..., None] + size)
        return near @ (weight * size), -(near**2) @ (weight * size)

    def u_of(self, p: Complex[np.ndarray, "..."]) -> np.ndarray:
        r"""The root u of \(p = u(1 - A(u)/\delta)\) that is p for large p, by Newton steps."""
        u = p.astype(complex)
        for _ in range(STEPS):
            a, slope = self.average(u)
            step = (u * (1 - a / self.delta) - p) / (1 - a / self.delta - u * slope / self.delta)
            u = u - step
            if np.all(np.abs(step) <= CLOSE * np.abs(u)):
                return u
        raise SolveError("the local response was not found: Newton steps for u(p) do not settle")

    def relaxation(self, size: Float[ArrayLike, " n"], t: Float[ArrayLike, " t"]) -> np.ndarray:
        r"""What is left at times t > 0 of a unit push at 0, for coordinates of these sizes s|w|: size, time.

        The inverse Laplace transform of \(u/(p(u+|w|))\) [eq:local_response].
        """
        path = contour(np.asarray(t, float))
        u, size = self.u_of(path.z), np.asarray(size, float)[:, None, None]
        return 2 * np.real(np.sum(path.weight * u / (path.z * (u + size)), axis=-1))

    def pole(self, size: Float[ArrayLike, " n"]) -> np.ndarray:
        r"""The root of \(p + |w|(1 - \bar R_f(p)) = 0\) for these sizes s|w|, continued where it has to be.

        \(p = -|w|\,(1 - A(-|w| + i0)/\delta)\) [eq:local_pole], A a principal value minus \(i\pi|w|\) times
        the density of |w|. Where that density is zero p is real. Elsewhere p lies below the axis although u
        comes from above: on the far side of the cut, a resonance and no pole.
        """
        x = np.asarray(size, float)
        own, top = x * self.density(x), np.maximum(2 * self.largest, 2 * x)
        ratio = np.geomspace(LOWEST, 1.0, PANELS)
        edges = np.concatenate([x[:, None] * (1 - ratio[::-1]), x[:, None] + (top - x)[:, None] * ratio], 1)
        half = np.diff(edges)[..., None] / 2
        place = edges[:, :-1, None] + half * (1 + LEGENDRE[0])
        rest = (place * self.density(place) - own[:, None, None]) / (place - x[:, None, None])
        principal = np.sum(half * LEGENDRE[1] * rest, axis=(1, 2)) + own * np.log((top - x) / x)
        return -x * (1 - (principal - 1j * np.pi * own) / self.delta)
