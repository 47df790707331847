r"""Laws of one entry of the target, \(w^* \sim P_*\).

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
from dynafield.problem.checks import integer, one_real, real_vector

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
]

HERMITE = 64
"""Gauss–Hermite nodes per Gaussian component in `Prior.average`."""


class Components(NamedTuple):
    """Weights, means and standard deviations of a mixture; std 0 is a point mass."""

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
    """The law of one target entry. A prior of your own needs only `mixture`."""

    @abc.abstractmethod
    def mixture(self) -> Components:
        """The law as a mixture of Gaussians and point masses."""

    @property
    def components(self) -> Components:
        """The mixture as float64 arrays."""
        return Components(*(np.asarray(part, float) for part in self.mixture()))

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
        """n independent draws."""
        weight, mean, std = self.components
        rng = np.random.default_rng(seed)
        which = rng.choice(len(weight), size=integer("n", n, 0), p=weight)
        return mean[which] + std[which] * rng.standard_normal(n)

    def average(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        """E[function(w*)] by sums and Gauss–Hermite rules: exact for polynomials of degree < 128."""
        weight, mean, std = self.components
        x, gauss = np.polynomial.hermite_e.hermegauss(HERMITE)
        atom = std == 0
        total = np.sum(weight[atom] * function(mean[atom])) if atom.any() else 0.0
        for w, m, s in zip(weight[~atom], mean[~atom], std[~atom], strict=True):
            total += w * np.sum(gauss * function(m + s * x)) / np.sqrt(2 * np.pi)
        return float(total)


class Bernoulli(Prior):
    """`value` with probability p, else 0."""

    p: float
    value: float

    def __init__(self, p: Any, value: Any = 1.0):
        self.p = probability("p", p)
        self.value = one_real("value", value, np.isfinite, "a finite number")

    def mixture(self) -> Components:
        """Two point masses."""
        return Components(np.array([1 - self.p, self.p]), np.array([0, self.value]), np.zeros(2))


class Discrete(Prior):
    """Given values with given probabilities."""

    values: np.ndarray
    probs: np.ndarray

    def __init__(self, values: Any, probs: Any):
        self.values = real_vector("values", values, np.isfinite, "a non-empty list of finite numbers")
        self.probs = probabilities("probs", probs, len(self.values))

    def mixture(self) -> Components:
        """One point mass per value."""
        return Components(self.probs, self.values, np.zeros_like(self.values))


class Gaussian(Prior):
    """Centred normal entries."""

    std: float

    def __init__(self, std: Any = 1.0):
        self.std = one_real("std", std, lambda s: s > 0, "a number > 0")

    def mixture(self) -> Components:
        """One Gaussian."""
        return Components(np.ones(1), np.zeros(1), np.array([self.std]))


class GaussBernoulli(Prior):
    """Normal with probability p, else 0."""

    p: float
    std: float

    def __init__(self, p: Any, std: Any = 1.0):
        self.p = probability("p", p)
        self.std = one_real("std", std, lambda s: s > 0, "a number > 0")

    def mixture(self) -> Components:
        """A point mass and a Gaussian."""
        return Components(np.array([1 - self.p, self.p]), np.zeros(2), np.array([0, self.std]))


class Empirical(Prior):
    """Each of the given values with equal probability (repeated values are merged)."""

    values: np.ndarray

    def __init__(self, values: Any):
        self.values = real_vector("values", values, np.isfinite, "a non-empty list of finite numbers")

    def mixture(self) -> Components:
        """One point mass per distinct value."""
        values, counts = np.unique(self.values, return_counts=True)
        return Components(counts / counts.sum(), values, np.zeros_like(values))


class GaussianMixture(Prior):
    """Gaussians and point masses (std 0) of given weights: the general case."""

    weights: np.ndarray
    means: np.ndarray
    stds: np.ndarray

    def __init__(self, weights: Any, means: Any, stds: Any):
        self.means = real_vector("means", means, np.isfinite, "a non-empty list of finite numbers")
        self.weights = probabilities("weights", weights, len(self.means))
        self.stds = real_vector("stds", stds, lambda s: s >= 0, "a list of numbers ≥ 0")
        if len(self.stds) != len(self.means):
            raise InputError(
                f"stds must have one entry for each of {len(self.means)} means, got {len(self.stds)}"
            )

    def mixture(self) -> Components:
        """What was given."""
        return Components(self.weights, self.means, self.stds)


def check_mixture(prior: Prior) -> None:
    """InputError, naming the class, unless `mixture` gives weights, means and widths of a law."""
    try:
        weight, mean, std = prior.mixture()
        GaussianMixture(weight, mean, std)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"prior {type(prior).__name__} must have a mixture that is a law: {error}"
        ) from error
