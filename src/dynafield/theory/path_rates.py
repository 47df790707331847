"""λ > 0: no common rate, but a distribution of rates [res:convergence_rates]."""

import dataclasses

import numpy as np
from jaxtyping import ArrayLike, Float

from dynafield.problem.checks import integer, places, seed_of
from dynafield.theory.law import LimitLaw, Numbers

__all__ = ["PathRates"]


@dataclasses.dataclass(frozen=True)
class PathRates:
    r"""The distribution of the rates of single coordinates at a regularized fixed point.

    A coordinate that goes to zero decays with rate \(\lambda - |g|\); an active one relaxes
    locally with rate \(|w|/(1+\chi_w)\), following a noise whose own decay is
    subexponential. In terms of the observation y both are
    \(\big|s|y| - \theta\big| / (1+\chi_w)\), s the variance of the feature [eq:path_rates]: arbitrarily
    slow coordinates exist, so no average decays exponentially.

    Attributes
    ----------
    law : LimitLaw
        The distribution of (w, w*).
    chi_w : float
        Integrated response χ_w.
    """

    law: LimitLaw
    chi_w: float

    @property
    def fraction_at_zero(self) -> float:
        """The fraction of coordinates that go to zero."""
        return self.law.mass_at_zero

    def edges(self, rate: Float[ArrayLike, "..."]) -> tuple[Numbers, Numbers, Numbers]:
        r"""The \(|y|\) at which active coordinates, and those at zero, have given rates.

        Also whether there is such a coordinate at zero; all by strata, in the last axis.

        Parameters
        ----------
        rate : array
            Rates, in units of one over time.

        Returns
        -------
        three arrays (*rate.shape, m)
            \(|y|\) of active coordinates, of those at zero, and whether the latter exist.
        """
        shift = places("rate", rate)[..., None] * (1 + self.chi_w)
        theta, variance = self.law.second, self.law.mixture.variance
        return (theta + shift) / variance, np.maximum(theta - shift, 0.0) / variance, shift[..., 0] <= theta

    def cdf(self, rate: Float[ArrayLike, "..."]) -> Numbers:
        """The fraction of coordinates that are not faster than given rates.

        Parameters
        ----------
        rate : array
            Rates, in units of one over time.

        Returns
        -------
        array
            Fractions, of the same shape.
        """
        rate = places("rate", rate)
        outer, inner, partial = self.edges(np.maximum(rate, 0.0))
        below = self.law.observed_cdf
        total = below(outer) - below(-outer)
        middle = np.where(partial, below(inner) - below(-inner), 0.0)
        return np.where(rate < 0, 0.0, total - middle)

    def density(self, rate: Float[ArrayLike, "..."]) -> Numbers:
        """Density of the rates; those of coordinates that go to zero lie below λ.

        Parameters
        ----------
        rate : array
            Rates, in units of one over time.

        Returns
        -------
        array
            Densities, of the same shape.
        """
        rate = places("rate", rate)
        outer, inner, partial = self.edges(np.maximum(rate, 0.0))
        at, stretch = self.law.observed_density, (1 + self.chi_w) / self.law.mixture.variance
        both = at(outer, stretch) + at(-outer, stretch)
        both += np.where(partial, at(inner, stretch) + at(-inner, stretch), 0.0)
        return np.where(rate < 0, 0.0, both)

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Independent draws.

        Parameters
        ----------
        n : int
            Number of draws.
        seed : int, default 0
            Seed of the random numbers.

        Returns
        -------
        array (n,), array of bool (n,)
            Rates, and whether each coordinate goes to zero.
        """
        law = self.law
        rng = np.random.default_rng(seed_of("seed", seed))
        which = rng.choice(len(law.mixture.weight), size=integer("n", n, 0), p=law.mixture.weight)
        y = law.mixture.mean[which] + law.width[which] * rng.standard_normal(n)
        pull = law.mixture.variance[which] * np.abs(y)
        return np.abs(pull - law.second) / (1 + self.chi_w), pull <= law.second
