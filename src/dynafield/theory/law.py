r"""The limit law of one coordinate: \(y = w^* + \tau G/\sqrt s\), \(w = \) response(y; s)."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from dynafield.numerics.averages import invert
from dynafield.numerics.gaussian import interval_average, normal_cdf, normal_pdf
from dynafield.problem.checks import integer
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.observation import observed_curve
from dynafield.problem.spectra import JointLaw

__all__ = ["LimitLaw", "Numbers"]

Numbers = Any
"""An array, or the NumPy scalar that arithmetic makes of one without axes."""


@dataclasses.dataclass(frozen=True)
class LimitLaw:
    r"""The law of (w, w*) at one fixed point [eq:fix_case1, eq:fix_case2, eq:fix_case3].

    `second` is the threshold θ (regularized), 0 (ridgeless) or R_w (interpolating); a feature of variance s
    has θ/s and R_w/s in their place [eq:observed_s].
    """

    case: str
    mixture: JointLaw
    tau: float
    second: float
    mirror: MirrorMap

    @property
    def width(self) -> np.ndarray:
        """Standard deviation of y in each stratum."""
        return np.hypot(self.mixture.std, self.tau / np.sqrt(self.mixture.variance))

    def respond(self, y: Float[ArrayLike, "..."], variance: Float[ArrayLike, "..."] = 1.0) -> Numbers:
        """w of the observation y of a feature of this variance."""
        y, second = np.asarray(y, float), self.second / np.asarray(variance, float)
        if self.case == "regularized":
            return np.sign(y) * np.maximum(np.abs(y) - second, 0.0)
        if self.case == "ridgeless":
            return y
        s = invert(
            observed_curve(self.mirror, jnp.asarray(second)),
            lambda s: (0 * s, 0 * s),
            0.0,
            jnp.asarray(y),
        )
        return np.asarray(self.mirror.weight(s))

    def observe(self, w: Float[ArrayLike, "..."]) -> tuple[Numbers, Numbers]:
        """The observation y behind w (from the right at w = 0) in each stratum, and dy/dw."""
        w, second = np.asarray(w, float)[..., None], self.second / self.mixture.variance
        if self.case == "regularized":
            return w + np.where(w < 0, -second, second), np.ones_like(w)
        if self.case == "ridgeless":
            return w, np.ones_like(w)
        s = self.mirror.coordinate_of_weight(jnp.asarray(w))
        y, stretch = w + second * self.mirror.dual(s), 1 + second / self.mirror.slope(s)
        return np.asarray(y), np.asarray(stretch)

    def sample(self, n: int, seed: int | list[int]) -> tuple[Numbers, Numbers]:
        """n independent draws (w, w*)."""
        rng = np.random.default_rng(seed)
        which = rng.choice(len(self.mixture.weight), size=integer("n", n, 0), p=self.mixture.weight)
        w_star = self.mixture.mean[which] + self.mixture.std[which] * rng.standard_normal(n)
        variance = self.mixture.variance[which]
        y = w_star + self.tau / np.sqrt(variance) * rng.standard_normal(n)
        return self.respond(y, variance), w_star

    def density(self, w: Float[ArrayLike, "..."]) -> Numbers:
        """Density of the continuous part of the law of w; `atoms` holds the rest."""
        return self.observed_density(*self.observe(w))

    def observed_density(self, y: Numbers, stretch: Numbers = 1.0) -> Numbers:
        """Density of the continuous part of the law of y, which has one entry for each stratum, times a
        factor."""
        smooth = self.width > 0
        t, m, p = self.width[smooth], self.mixture.mean[smooth], self.mixture.weight[smooth]
        y, stretch = (np.broadcast_to(x, (*np.shape(y)[:-1], len(smooth)))[..., smooth] for x in (y, stretch))
        standard = jnp.asarray((y - m) / t)
        return np.sum(p / t * stretch * np.asarray(normal_pdf(standard)), axis=-1)

    def cdf(self, w: Float[ArrayLike, "..."]) -> Numbers:
        """P(w ≤ ·), atoms included."""
        return self.observed_cdf(self.observe(w)[0])

    def observed_cdf(self, y: Numbers) -> Numbers:
        """P(y ≤ ·), where y has one entry for each stratum."""
        smooth = self.width > 0
        gap = np.asarray(y) - self.mixture.mean
        standard = jnp.asarray(gap / np.where(smooth, self.width, 1.0))
        below = np.where(smooth, normal_cdf(standard), gap >= 0)
        return np.sum(self.mixture.weight * below, axis=-1)

    @property
    def mass_at_zero(self) -> float:
        """P(w = 0)."""
        if self.case != "regularized":
            return float(sum(mass for place, mass in self.point_masses() if place == 0))
        smooth = self.width > 0
        t, m, second = (
            np.where(smooth, self.width, 1.0),
            self.mixture.mean,
            self.second / self.mixture.variance,
        )
        inside = interval_average(
            jnp.ones_like, jnp.asarray(-(second + m) / t), jnp.asarray((second - m) / t)
        )
        return float(np.sum(self.mixture.weight * np.where(smooth, inside, np.abs(m) <= second)))

    def point_masses(self) -> list[tuple[float, float]]:
        """Places and masses of the components that have no width."""
        sharp = self.width == 0
        places = self.respond(self.mixture.mean[sharp], self.mixture.variance[sharp])
        return [(float(w), float(p)) for w, p in zip(places, self.mixture.weight[sharp], strict=True)]

    @property
    def atoms(self) -> dict[float, float]:
        """Places and masses of the discrete part of the law of w."""
        found = {}
        for place, mass in self.point_masses():
            found[place] = found.get(place, 0.0) + mass
        if self.mass_at_zero > 0:
            found[0.0] = self.mass_at_zero
        return dict(sorted(found.items()))
