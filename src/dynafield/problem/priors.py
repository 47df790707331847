r"""Distributions of one entry of the target, \(w^* \sim P_*\).

Every prior is a finite mixture of Gaussians, point masses being Gaussians of width zero.
Seen through Gaussian noise a mixture stays one, so every average the theory needs is a
sum of one-dimensional integrals, with no sampling error [eq:mixture].
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import (
    called,
    function_of,
    in_range,
    integer,
    one_real,
    real_vector,
    seed_of,
)

__all__ = [
    "Bernoulli",
    "Components",
    "Discrete",
    "Empirical",
    "GaussBernoulli",
    "Gaussian",
    "GaussianMixture",
    "Prior",
    "check_mixture",
    "probabilities",
]

LISTED = "a non-empty list of finite numbers"
"""Words for values and means."""
HERMITE = 64
"""Gauss–Hermite nodes per Gaussian component in `Prior.average`."""


class Components(NamedTuple):
    """A mixture of Gaussians and point masses.

    Parameters
    ----------
    weight : array (m,)
        Probabilities of the components, ≥ 0 and summing to one.
    mean : array (m,)
        Their means, in the units of w*.
    std : array (m,)
        Their standard deviations; 0 is a point mass.
    """

    weight: np.ndarray
    mean: np.ndarray
    std: np.ndarray


def probability(name: str, value: Any) -> float:
    """One number in [0, 1]."""
    return one_real(name, value, lambda p: (p >= 0) & (p <= 1), "a probability in [0, 1]")


def probabilities(name: str, value: Any, length: int) -> np.ndarray:
    """`length` numbers ≥ 0 that sum to one (to 1e-9, then exactly)."""
    allowed = "probabilities ≥ 0 that sum to 1"
    probs = real_vector(name, value, lambda p: p >= 0, allowed)
    if len(probs) != length:
        raise InputError(f"{name} must have one entry for each of {length} values, got {len(probs)}")
    total = float(np.sum(probs))
    if abs(total - 1) > 1e-9:
        raise InputError(f"{name} must be {allowed}, got a sum of {total:.17g}")
    return probs / total


class Prior(eqx.Module):
    """The distribution of one entry of the target w*. A prior of your own needs only the method
    `mixture`.
    """

    @abc.abstractmethod
    def mixture(self) -> Components:
        """The distribution as a mixture of Gaussians and point masses."""

    @property
    def components(self) -> Components:
        """The mixture as float64 arrays."""
        found = called(f"mixture of the prior {type(self).__name__}", self.mixture)
        return Components(*(np.asarray(part, float) for part in found))

    @property
    def second_moment(self) -> float:
        r"""\(\rho^2 = E[w^{*2}]\)."""
        weight, mean, std = self.components
        return float(np.sum(weight * (mean**2 + std**2)))

    def __repr__(self) -> str:
        def short(value):
            if np.ndim(value) == 0:
                return repr(value)
            return str(np.asarray(value).tolist()) if np.size(value) <= 6 else f"<{np.size(value)} numbers>"

        fields = ", ".join(f"{name}={short(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"

    def sample(self, n: int, seed: int) -> np.ndarray:
        """Independent draws.

        Parameters
        ----------
        n : int
            Number of draws, ≥ 1.
        seed : int
            Seed of the random numbers.

        Returns
        -------
        array (n,)
            Entries of a target.
        """
        weight, mean, std = self.components
        rng = np.random.default_rng(seed_of("seed", seed))
        which = rng.choice(len(weight), size=integer("n", n, 0), p=weight)
        return mean[which] + std[which] * rng.standard_normal(n)

    def average(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        """E[function(w*)] by sums and Gauss–Hermite rules, exact for polynomials of degree < 128.

        Parameters
        ----------
        function : callable
            Takes an array of targets and returns an array of the same shape.

        Returns
        -------
        float
            The average.
        """
        function_of("function", function)
        weight, mean, std = self.components
        x, gauss = np.polynomial.hermite_e.hermegauss(HERMITE)
        atom = std == 0
        total = np.sum(weight[atom] * called("function", function, mean[atom])) if atom.any() else 0.0
        for w, m, s in zip(weight[~atom], mean[~atom], std[~atom], strict=True):
            total += w * np.sum(gauss * called("function", function, m + s * x)) / np.sqrt(2 * np.pi)
        return float(total)


class Bernoulli(Prior):
    """Entries that are `value` with probability p, else 0.

    Parameters
    ----------
    p : float
        Probability of a nonzero entry, in [0, 1].
    value : float, default 1
        Its value.
    """

    p: float
    value: float

    def __init__(self, p: Any, value: Any = 1.0):
        self.p = probability("p", p)
        self.value = in_range("value", one_real("value", value, np.isfinite, "a finite number"))

    def mixture(self) -> Components:
        """Two point masses."""
        return Components(np.array([1 - self.p, self.p]), np.array([0, self.value]), np.zeros(2))


class Discrete(Prior):
    """Given values with given probabilities.

    Parameters
    ----------
    values : array (m,)
        The values that an entry can have.
    probs : array (m,)
        Their probabilities, ≥ 0 and summing to one.
    """

    values: np.ndarray
    probs: np.ndarray

    def __init__(self, values: Any, probs: Any):
        self.values = in_range("values", real_vector("values", values, np.isfinite, LISTED))
        self.probs = probabilities("probs", probs, len(self.values))

    def mixture(self) -> Components:
        """One point mass per value."""
        return Components(self.probs, self.values, np.zeros_like(self.values))


class Gaussian(Prior):
    """Normal entries with mean zero.

    Parameters
    ----------
    std : float, default 1
        Standard deviation, ≥ 0.
    """

    std: float

    def __init__(self, std: Any = 1.0):
        self.std = in_range("std", one_real("std", std, lambda s: s > 0, "a number > 0"))

    def mixture(self) -> Components:
        """One Gaussian."""
        return Components(np.ones(1), np.zeros(1), np.array([self.std]))


class GaussBernoulli(Prior):
    """Entries that are normal with probability p, else 0.

    Parameters
    ----------
    p : float
        Probability of a nonzero entry, in [0, 1].
    std : float, default 1
        Standard deviation of the nonzero entries, ≥ 0.
    """

    p: float
    std: float

    def __init__(self, p: Any, std: Any = 1.0):
        self.p = probability("p", p)
        self.std = in_range("std", one_real("std", std, lambda s: s > 0, "a number > 0"))

    def mixture(self) -> Components:
        """A point mass and a Gaussian."""
        return Components(np.array([1 - self.p, self.p]), np.zeros(2), np.array([0, self.std]))


class Empirical(Prior):
    """Each of the given values with equal probability.

    Parameters
    ----------
    values : array (m,)
        Values of an entry; repeated ones are merged.
    """

    values: np.ndarray

    def __init__(self, values: Any):
        self.values = in_range("values", real_vector("values", values, np.isfinite, LISTED))

    def mixture(self) -> Components:
        """One point mass per distinct value."""
        values, counts = np.unique(self.values, return_counts=True)
        return Components(counts / counts.sum(), values, np.zeros_like(values))


class GaussianMixture(Prior):
    """A mixture of Gaussians and point masses: the general case.

    Parameters
    ----------
    weights : array (m,)
        Probabilities of the components, ≥ 0 and summing to one.
    means : array (m,)
        Their means.
    stds : array (m,)
        Their standard deviations, ≥ 0; 0 is a point mass.
    """

    weights: np.ndarray
    means: np.ndarray
    stds: np.ndarray

    def __init__(self, weights: Any, means: Any, stds: Any):
        self.means = in_range("means", real_vector("means", means, np.isfinite, LISTED))
        self.weights = probabilities("weights", weights, len(self.means))
        self.stds = in_range("stds", real_vector("stds", stds, lambda s: s >= 0, "a list of numbers ≥ 0"))
        if len(self.stds) != len(self.means):
            raise InputError(
                f"stds must have one entry for each of {len(self.means)} means, got {len(self.stds)}"
            )

    def mixture(self) -> Components:
        """The components as they were given."""
        return Components(self.weights, self.means, self.stds)


def check_mixture(prior: Prior) -> None:
    """InputError, naming the class, unless `mixture` gives valid weights, means and widths."""
    found = called(f"mixture of the prior {type(prior).__name__}", prior.mixture)
    try:
        weight, mean, std = found
        GaussianMixture(weight, mean, std)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"prior {type(prior).__name__} must have a mixture that is a distribution: {error}"
        ) from error
