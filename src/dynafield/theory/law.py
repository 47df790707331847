r"""The limiting distribution of one coordinate: \(y = w^* + \tau G/\sqrt s\), \(w = \) response(y; s)."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float

from dynafield.numerics.averages import invert
from dynafield.numerics.gaussian import interval_average, normal_cdf, normal_pdf
from dynafield.problem.checks import integer, places, real, seed_of
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.observation import observed_curve
from dynafield.problem.spectra import JointLaw

__all__ = ["LimitLaw", "Numbers"]

Numbers = Any
"""An array, or the NumPy scalar that arithmetic makes of one without axes."""


@dataclasses.dataclass(frozen=True)
class LimitLaw:
    """The distribution of (w, w*) at one fixed point [eq:fix_case1, eq:fix_case2, eq:fix_case3].

    Attributes
    ----------
    case : str
        "regularized" (lasso), "ridgeless" (least squares) or "interpolating" (least J).
    mixture : JointLaw
        Strata of variances and targets.
    tau : float
        Noise τ through which targets are seen.
    second : float
        The threshold θ (regularized), 0 (ridgeless) or R_w (interpolating); a feature of variance s has θ/s
        and R_w/s in their place [eq:observed_s].
    mirror : MirrorMap
        The mirror map of the network.
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
        """The weight that an observation leads to.

        Parameters
        ----------
        y : number or array
            Observation w* + noise.
        variance : number or array, default 1
            Variance of the feature.

        Returns
        -------
        number or array
            w, of the common shape.
        """
        y = np.asarray(real("y", y, np.isfinite, "finite numbers"), float)
        s = np.asarray(real("variance", variance, lambda s: s > 0, "numbers > 0"), float)
        return self.response(y, s)

    def response(self, y: np.ndarray, variance: np.ndarray) -> Numbers:
        """As `respond`, without checks.

        Parameters
        ----------
        y : array
            Observations; there may be none.
        variance : array
            Variances of the features.

        Returns
        -------
        array
            w, of the common shape.
        """
        second = self.second / variance
        if self.case == "regularized":
            return np.sign(y) * np.maximum(np.abs(y) - second, 0.0)
        if self.case == "ridgeless":
            return y
        s = invert(observed_curve(self.mirror, second), lambda s: (0 * s, 0 * s), 0.0, y)
        return self.mirror.weight(s)

    def observe(self, w: Float[ArrayLike, "..."]) -> tuple[Numbers, Numbers]:
        """The observation that leads to a weight (from the right at w = 0), and its slope.

        Parameters
        ----------
        w : array
            Weights, of any shape.

        Returns
        -------
        array (*w.shape, m), array (*w.shape, m)
            y and dy/dw in each of m strata; m = 1 if they are the same in all.
        """
        w, second = places("w", w)[..., None], self.second / self.mixture.variance
        if self.case == "regularized":
            return w + np.where(w < 0, -second, second), np.ones_like(w)
        if self.case == "ridgeless":
            return w, np.ones_like(w)
        s = self.mirror.coordinate_of_weight(w)
        y, stretch = w + second * self.mirror.dual(s), 1 + second / self.mirror.slope(s)
        return np.asarray(y), np.asarray(stretch)

    def sample(self, n: int, seed: int | list[int]) -> tuple[Numbers, Numbers]:
        """Independent draws.

        Parameters
        ----------
        n : int
            Number of draws.
        seed : int or list of int
            Seed of the random numbers.

        Returns
        -------
        array (n,), array (n,)
            w and w*.
        """
        parts = [seed_of("seed", part) for part in (seed if isinstance(seed, list) else [seed])]
        rng = np.random.default_rng(parts if isinstance(seed, list) else parts[0])
        which = rng.choice(len(self.mixture.weight), size=integer("n", n, 0), p=self.mixture.weight)
        w_star = self.mixture.mean[which] + self.mixture.std[which] * rng.standard_normal(n)
        variance = self.mixture.variance[which]
        y = w_star + self.tau / np.sqrt(variance) * rng.standard_normal(n)
        return self.response(y, variance), w_star

    def density(self, w: Float[ArrayLike, "..."]) -> Numbers:
        """Density of the continuous part of the distribution of w; `atoms` has the rest.

        Parameters
        ----------
        w : array
            Weights, of any shape.

        Returns
        -------
        array
            Densities, of the same shape.
        """
        return self.observed_density(*self.observe(w))

    def observed_density(self, y: Numbers, stretch: Numbers = 1.0) -> Numbers:
        """Density of the continuous part of the distribution of y, times a factor.

        Parameters
        ----------
        y : array (…, m)
            Observations, one for each stratum in the last axis.
        stretch : number or array (…, m), default 1
            The factor.

        Returns
        -------
        array (…)
            Densities.
        """
        smooth = self.width > 0
        t, m, p = self.width[smooth], self.mixture.mean[smooth], self.mixture.weight[smooth]
        y, stretch = (np.broadcast_to(x, (*np.shape(y)[:-1], len(smooth)))[..., smooth] for x in (y, stretch))
        return np.sum(p / t * stretch * normal_pdf((y - m) / t), axis=-1)

    def cdf(self, w: Float[ArrayLike, "..."]) -> Numbers:
        """The distribution function P(w ≤ ·), point masses included.

        Parameters
        ----------
        w : array
            Weights, of any shape.

        Returns
        -------
        array
            Probabilities, of the same shape.
        """
        return self.observed_cdf(self.observe(w)[0])

    def observed_cdf(self, y: Numbers) -> Numbers:
        """P(y ≤ ·).

        Parameters
        ----------
        y : array (…, m)
            Observations, one for each stratum in the last axis.

        Returns
        -------
        array (…)
            Probabilities.
        """
        smooth = self.width > 0
        gap = np.asarray(y) - self.mixture.mean
        below = np.where(smooth, normal_cdf(gap / np.where(smooth, self.width, 1.0)), gap >= 0)
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
        inside = interval_average(np.ones_like, -(second + m) / t, (second - m) / t)
        return float(np.sum(self.mixture.weight * np.where(smooth, inside, np.abs(m) <= second)))

    def point_masses(self) -> list[tuple[float, float]]:
        """Places and masses of the components that have no width."""
        sharp = self.width == 0
        where = self.response(self.mixture.mean[sharp], self.mixture.variance[sharp])
        return [(float(w), float(p)) for w, p in zip(where, self.mixture.weight[sharp], strict=True)]

    @property
    def atoms(self) -> dict[float, float]:
        """Places and masses of the point masses of w."""
        found = {}
        for place, mass in self.point_masses():
            found[place] = found.get(place, 0.0) + mass
        if self.mass_at_zero > 0:
            found[0.0] = self.mass_at_zero
        return dict(sorted(found.items()))
