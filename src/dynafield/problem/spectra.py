r"""Features of different variances: the joint distribution of a feature's variance s and its target w*.

Inputs are \(x = \Sigma^{1/2}\)(independent entries), Σ diagonal in the coordinates of the model. Every
distribution here is a sum of strata, each with one variance and a Gaussian or a point mass for its targets
[eq:joint_law]; a continuous distribution of s is a Gauss–Legendre rule in log s, as fine as is asked for.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from dynafield.deprecation import old_calls
from dynafield.errors import InputError
from dynafield.numerics.rules import crowded, legendre
from dynafield.problem.checks import concrete, flag_or_none, integer, real, real_matrix, real_vector, shown
from dynafield.problem.priors import (
    Components,
    Empirical,
    GaussianMixture,
    Prior,
    check_mixture,
    probabilities,
)

__all__ = [
    "FINENESS",
    "EmpiricalSpectrum",
    "Groups",
    "JointLaw",
    "PowerLaw",
    "Spectrum",
    "chosen",
    "isotropic",
    "spectrum_of",
]

FINENESS = (30, 60, 120, 240, 480)
"""Strata per component of the prior that stand for a continuous distribution of s, tried in turn."""
WIDEST = 1e12
"""Largest ratio of two variances."""
NEGLIGIBLE = 1e-12
"""Eigenvalues of a covariance below this part of the largest are rounding."""


class JointLaw(NamedTuple):
    """The joint distribution of a feature's variance s and its target w*, as a sum of strata.

    Parameters
    ----------
    weight : array (m,)
        Probabilities of the strata.
    mean : array (m,)
        Mean of w* in each stratum.
    std : array (m,)
        Standard deviation of w* in each stratum; 0 is a point mass.
    variance : array (m,)
        Variance s of the features of each stratum.
    """

    weight: Float[Any, " c"]
    mean: Float[Any, " c"]
    std: Float[Any, " c"]
    variance: Float[Any, " c"]

    @property
    def signal(self) -> Any:
        r"""\(\rho^2 = E[s\,w^{*2}]\), the variance of \(x \cdot w^*\)."""
        return (self.weight * self.variance * (self.mean**2 + self.std**2)).sum()

    def noise(self, tau: Any) -> Any:
        r"""Standard deviation \(\tau/\sqrt s\) of the noise through which a target is seen [eq:observed_s].

        Parameters
        ----------
        tau : number
            Noise τ at variance one.

        Returns
        -------
        array (m,)
            Of each stratum.
        """
        return tau / self.variance**0.5

    @property
    def present(self) -> "JointLaw":
        """Only the strata that have weight; all of them while JAX traces the weights."""
        if isinstance(self.weight, Tracer):
            return self
        kept = np.asarray(self.weight) > 0
        return self if kept.all() else JointLaw(*(part[kept] for part in self))

    @property
    def padded(self) -> "JointLaw":
        """The same with an even number of strata: one without weight is added where it is odd."""
        if len(self.weight) % 2 == 0 or any(isinstance(part, Tracer) for part in self):
            return self
        more = JointLaw(*(np.append(part, part[-1:]) for part in self))
        return more._replace(weight=np.append(self.weight, 0.0))

    @property
    def components(self) -> Components:
        """The distribution of w* alone."""
        return Components(self.weight, self.mean, self.std)


def isotropic(prior: Components) -> JointLaw:
    """The joint distribution if all variances are one."""
    return JointLaw(*prior, np.ones_like(prior.weight))


class Spectrum(eqx.Module):
    """The distribution of the variances of features, and how targets depend on them.

    Ready-made are `PowerLaw`, `Spectrum.groups`, `Spectrum.empirical` and `spectrum_of`. A spectrum of your
    own needs `joint`, and for finite networks `draw` and `variances`.
    """

    @abc.abstractmethod
    def joint(self, prior: Components, fineness: int) -> JointLaw:
        """The joint distribution of (s, w*).

        Parameters
        ----------
        prior : Components
            The prior of the task as a mixture of m components.
        fineness : int
            Number of strata that stand for a continuous distribution of s.

        Returns
        -------
        JointLaw
            Strata.
        """

    def joint_at_edge(self, prior: Components, fineness: int) -> JointLaw:
        """The same for averages that the smallest variances decide, as rates for δ > 1 are.

        Parameters
        ----------
        prior : Components
            The prior of the task as a mixture of m components.
        fineness : int
            Number of strata that stand for a continuous distribution of s.

        Returns
        -------
        JointLaw
            Strata; those of `joint` unless a spectrum knows better ones.
        """
        return self.joint(prior, fineness)

    @abc.abstractmethod
    def draw(
        self, prior: Prior, d: int, proportions: bool, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Variances and targets of the features of a finite network.

        Parameters
        ----------
        prior : Prior
            The prior of the task.
        d : int
            Number of features.
        proportions : bool
            Whether every stratum has its exact fraction of the features; otherwise draws are independent.
        rng : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        array (d,)
            Variances.
        array (d,)
            Targets.
        """

    @abc.abstractmethod
    def variances(self, d: int) -> Float[np.ndarray, " d"]:
        """Variances of the features of a finite network whose targets are given.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        array (d,)
            Variances in exact proportions, the largest first, or in the order in which they were measured.
        """

    @property
    def own_targets(self) -> Prior | None:
        """The distribution of the spectrum's own targets; None if they follow the task's prior."""
        return None

    @property
    def continuous(self) -> bool:
        """Whether strata stand for a continuous distribution."""
        return False

    @property
    def lowest(self) -> Any:
        """The smallest variance of a continuous distribution; None if it is that of a stratum."""
        return None

    @property
    def eigenbasis(self) -> bool:
        """Whether coordinates are eigenvectors of a covariance instead of features."""
        return False

    @staticmethod
    def groups(parts: Any) -> "Groups":
        """Groups of features with one variance each.

        Parameters
        ----------
        parts : list of (fraction, s) or (fraction, s, prior)
            Fraction of the features, their variance s > 0 and the prior of their targets. Either all groups
            have a prior or none has; without priors they take that of the task.

        Returns
        -------
        Spectrum
            For `Task(spectrum=…)`.

        Examples
        --------
        >>> spectrum = Spectrum.groups([(0.9, 0.5), (0.1, 5.5)])
        """
        return Groups(parts)

    @staticmethod
    def empirical(variances: Any, w_star: Any = None) -> "EmpiricalSpectrum":
        """Measured variances, all with the same probability.

        Parameters
        ----------
        variances : array (m,)
            Variances s > 0 of features, of order one: entries of the inputs have variance s/d.
        w_star : array (m,), optional
            Targets of the same features. None: targets are those of the task's prior.

        Returns
        -------
        Spectrum
            For `Task(spectrum=…)`.
        """
        return EmpiricalSpectrum(variances, w_star)


def positive(name: str, value: Any) -> Float[np.ndarray, " k"]:
    """Variances > 0 within range, or InputError."""
    found = np.array(real_vector(name, value, lambda s: s > 0, "a list of numbers > 0"))
    if np.max(found) > WIDEST * np.min(found):
        raise InputError(
            f"{name} must lie within a factor {WIDEST:g}, got {np.min(found):g} to {np.max(found):g}"
        )
    return found


class Groups(Spectrum):
    """Groups of features with one variance each, and a prior each, or all that of the task."""

    shares: np.ndarray
    values: np.ndarray
    priors: tuple[Prior, ...] | None

    def __init__(self, parts: Any):
        allowed = "a list of (fraction, s) or of (fraction, s, prior)"
        try:
            rows = [tuple(part) for part in parts]
        except TypeError:
            raise InputError(f"groups must be {allowed}, got {shown(parts)}") from None
        sizes = {len(row) for row in rows}
        if sizes not in ({2}, {3}):
            raise InputError(f"groups must be {allowed}, got entries of sizes {sorted(sizes)}")
        self.values = positive("variances of groups", [row[1] for row in rows])
        self.shares = probabilities("fractions of groups", [row[0] for row in rows], len(rows))
        self.priors = None
        if sizes == {3}:
            for row in rows:
                if not isinstance(row[2], Prior):
                    raise InputError(f"groups must be {allowed}, got {row[2]!r} as a prior")
                check_mixture(row[2])
            self.priors = tuple(row[2] for row in rows)

    def __repr__(self) -> str:
        priors: Any = self.priors or [None] * len(self.values)
        rows = zip(self.shares.tolist(), self.values.tolist(), priors, strict=True)
        told = ", ".join(
            f"({short(p)}, {short(s)}" + ("" if law is None else f", {law}") + ")" for p, s, law in rows
        )
        return f"Spectrum.groups([{told}])"

    @property
    def own_targets(self) -> Prior | None:
        """The mixture of the priors of all groups."""
        if self.priors is None:
            return None
        return mixed(self.shares, [prior.components for prior in self.priors])

    def parts(self, prior: Components) -> list[Components]:
        """The distribution of targets in each group."""
        if self.priors is None:
            return [prior] * len(self.values)
        return [one.components for one in self.priors]

    def joint(self, prior: Components, fineness: int) -> JointLaw:
        """One stratum for each group and component of its prior."""
        rows = [
            (share * part.weight, part.mean, part.std, np.full(len(part.weight), s))
            for share, s, part in zip(self.shares, self.values, self.parts(prior), strict=True)
        ]
        return JointLaw(*(np.concatenate(column) for column in zip(*rows, strict=True)))

    def draw(
        self, prior: Prior, d: int, proportions: bool, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Components of groups in exact proportions, in random order."""
        law = self.joint(prior.components, 1)
        which = chosen(law.weight, d, proportions, rng)
        return law.variance[which], law.mean[which] + law.std[which] * rng.standard_normal(d)

    def variances(self, d: int) -> Float[np.ndarray, " d"]:
        """Variances of d features in exact proportions, the largest first."""
        order = np.argsort(-self.values)
        ends = np.cumsum(self.shares[order])
        return self.values[order][np.minimum(np.searchsorted(ends, midpoints(d)), len(ends) - 1)]


class PowerLaw(Spectrum):
    r"""A power-law spectrum, \(s_k \propto k^{-a}\) [eq:power_law].

    The rank k of a feature is uniform from 1 to `cutoff`, so that d features stand for the ranks 1 to
    `cutoff`, several or a part of one at each. With a source exponent β, \(E[w^{*2}|s] \propto s^{\beta - 1 +
    1/a}\), which is \(\sum_{l > k} s_lw_l^{*2} \propto s_k^\beta\): targets are those of the prior times a
    factor that depends on s, and \(E[s\,w^{*2}] = E[s]\,\rho^2\).

    Parameters
    ----------
    exponent : float
        a > 0.
    cutoff : float, default 1000
        Largest rank, > 1.
    source : float, optional
        Source exponent β > 0. None: targets do not depend on s.
    mean : float, default 1
        E[s] > 0.

    Raises
    ------
    InputError
        If a number is out of range, or variances differ by too large a factor.
    """

    exponent: Any
    cutoff: Any
    source: Any
    mean: Any

    def __init__(self, exponent: Any, cutoff: Any = 1000.0, source: Any = None, mean: Any = 1.0):
        self.exponent = real("exponent", exponent, lambda a: a > 0, "one number > 0")
        self.cutoff = real("cutoff", cutoff, lambda k: k > 1, "one number > 1")
        self.mean = real("mean", mean, lambda s: s > 0, "one number > 0")
        self.source = None
        if source is not None:
            self.source = real("source", source, lambda b: b > 0, "one number > 0")
        for name in ("exponent", "cutoff", "mean", "source"):
            value = getattr(self, name)
            if np.ndim(value):
                raise InputError(f"{name} must be one number, got shape {np.shape(value)}")
            if value is not None and concrete(value) is None:
                raise InputError(
                    f"{name} must have a value: a spectrum is made outside jax.jit and jax.vmap, which may "
                    "take it as an argument; jax.grad and jax.jvp work"
                )
        with np.errstate(over="ignore"):
            base: Any = self.cutoff if isinstance(self.cutoff, jax.Array) else np.float64(self.cutoff)
            ratio = np.asarray(jax.lax.stop_gradient(base**self.exponent))
        if ratio > WIDEST:
            raise InputError(f"cutoff ** exponent must be at most {WIDEST:g}, got {ratio:g}")

    def __repr__(self) -> str:
        more = "" if self.source is None else f", source={short(self.source)}"
        scale = f", mean={short(self.mean)}" if not (isinstance(self.mean, float) and self.mean == 1) else ""
        return f"PowerLaw({short(self.exponent)}, {short(self.cutoff)}{more}{scale})"

    @property
    def continuous(self) -> bool:
        """Ranks are continuous."""
        return True

    def rule(self, fineness: int) -> tuple[Any, Any, Any, Any]:
        """A Gauss–Legendre rule in log k.

        Parameters
        ----------
        fineness : int
            Number of nodes.

        Returns
        -------
        tuple of four arrays (fineness,)
            Ranks, probabilities, variances and sizes of targets.
        """
        x, weight = legendre(fineness)
        k, weight = self.weighted(0.5 * (1 + x), weight)
        return k, weight, *self.at_ranks(k, weight, k)

    def weighted(self, place: Any, weight: Any) -> tuple[Any, Any]:
        """Ranks and probabilities of a rule in log k, from 0 at k = 1 to 1 at the last rank.

        Parameters
        ----------
        place, weight : array (m,)
            Nodes and weights.

        Returns
        -------
        array (m,), array (m,)
            Ranks, and probabilities whose sum is one.
        """
        k = self.library.exp(place * self.library.log(self.cutoff))
        return k, weight * k / (weight * k).sum()

    @property
    def library(self) -> Any:
        """jax.numpy if one of the numbers is a JAX array, else numpy."""
        return jnp if any(isinstance(x, jax.Array) for x in vars(self).values()) else np

    def at_ranks(self, k: Any, weight: Any, ranks: Any) -> tuple[Any, Any]:
        """Variances and sizes of targets at given ranks, normalized by the averages of a rule.

        Parameters
        ----------
        k, weight : array (m,)
            Ranks and probabilities of the rule.
        ranks : array
            Ranks to evaluate.

        Returns
        -------
        array, array
            Variances and sizes, of the shape of `ranks`.
        """
        bare = k**-self.exponent
        first = (weight * bare).sum()
        variance = self.mean * ranks**-self.exponent / first
        if self.source is None:
            return variance, self.library.ones_like(variance)
        power = self.source - 1 + 1 / self.exponent
        size = first / (weight * bare ** (1 + power)).sum()
        return variance, self.library.sqrt(size * ranks ** (-self.exponent * power))

    def joint(self, prior: Components, fineness: int) -> JointLaw:
        """Each component of the prior at all nodes of the rule."""
        _, weight, variance, size = self.rule(fineness)
        return self.strata(prior, weight, variance, size)

    def joint_at_edge(self, prior: Components, fineness: int) -> JointLaw:
        """The same with ranks that crowd at the last one, where variances are smallest [eq:edge_rule]."""
        away, weight = crowded(fineness)
        k, weight = self.weighted(1 - away, weight)
        known, probability, *_ = self.rule(FINENESS[2])
        return self.strata(prior, weight, *self.at_ranks(known, probability, k))

    def strata(self, prior: Components, weight: Any, variance: Any, size: Any) -> JointLaw:
        """Each component of the prior at all nodes.

        Parameters
        ----------
        prior : Components
            The prior of the task as a mixture.
        weight, variance, size : array (m,)
            Probability, variance and size of targets of each node.

        Returns
        -------
        JointLaw
            Strata.
        """
        lib, kept = self.library, prior.weight > 0
        p, m, s = (part[kept][:, None] for part in prior)
        rows = (p * weight, m * size, s * size, lib.broadcast_to(variance, (len(p), len(weight))))
        return JointLaw(*(lib.reshape(row, (-1,)) for row in rows))

    def draw(
        self, prior: Prior, d: int, proportions: bool, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Components of the prior in exact proportions, each with ranks spread evenly."""
        weight, mean, std = prior.components
        which = chosen(weight, d, proportions, rng)
        uniform = rng.random(d)
        if proportions:
            for c in range(len(weight)):
                rows = np.flatnonzero(which == c)
                uniform[rows] = (rng.permutation(len(rows)) + uniform[rows]) / max(len(rows), 1)
        variance, size = self.at(1 + (float(self.cutoff) - 1) * uniform)
        return variance, size * (mean[which] + std[which] * rng.standard_normal(d))

    @property
    def lowest(self) -> Any:
        """The variance of the last rank."""
        k, weight, *_ = self.rule(FINENESS[2])
        return self.at_ranks(k, weight, self.cutoff)[0]

    def at(self, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Variances and sizes of targets at given ranks, in plain numbers.

        Parameters
        ----------
        ranks : array
            Ranks from 1 to `cutoff`.

        Returns
        -------
        array, array
            Variances and sizes, of the shape of `ranks`.
        """
        k, weight, *_ = self.rule(FINENESS[2])
        variance, size = self.at_ranks(np.asarray(k), np.asarray(weight), ranks)
        return np.asarray(variance, float), np.asarray(size, float)

    def variances(self, d: int) -> Float[np.ndarray, " d"]:
        """Variances of d features in exact proportions, the largest first."""
        return self.at(1 + (float(self.cutoff) - 1) * midpoints(d))[0]


class EmpiricalSpectrum(Spectrum):
    """Measured variances, with or without targets that belong to them."""

    values: np.ndarray
    w_star: np.ndarray | None
    rotated: bool = eqx.field(static=True)

    def __init__(self, variances: Any, w_star: Any = None, rotated: bool = False):
        self.values = positive("variances", variances)
        self.w_star, self.rotated = None, bool(rotated)
        if w_star is not None:
            self.w_star = np.array(real_vector("w_star", w_star, np.isfinite, "a list of finite numbers"))
            if len(self.w_star) != len(self.values):
                raise InputError(
                    f"w_star must have one entry for each of {len(self.values)} variances, "
                    f"got {len(self.w_star)}"
                )

    def __repr__(self) -> str:
        pairs = "" if self.w_star is None else ", with targets"
        turned = ", of eigenvectors" if self.rotated else ""
        return f"Spectrum.empirical(<{len(self.values)} variances>{pairs}{turned})"

    @property
    def eigenbasis(self) -> bool:
        """Whether coordinates are eigenvectors of a covariance."""
        return self.rotated

    @property
    def own_targets(self) -> Prior | None:
        """The targets, if there are any."""
        return None if self.w_star is None else Empirical(self.w_star)

    def joint(self, prior: Components, fineness: int) -> JointLaw:
        """One stratum for each distinct pair of variance and target, or for each variance and component."""
        if self.w_star is not None:
            pairs, counts = np.unique(np.stack([self.values, self.w_star]), axis=1, return_counts=True)
            return JointLaw(counts / counts.sum(), pairs[1], np.zeros(len(counts)), pairs[0])
        values, counts = np.unique(self.values, return_counts=True)
        p, m, s = (part[:, None] for part in prior)
        whole = np.broadcast_arrays(p * counts / counts.sum(), m, s, values)
        return JointLaw(*(np.array(row).ravel() for row in whole))

    def draw(
        self, prior: Prior, d: int, proportions: bool, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The measured pairs themselves if there are d of them; otherwise in proportion, in random order."""
        count = len(self.values)
        which = np.arange(d) if proportions and d == count else chosen(np.ones(count), d, proportions, rng)
        if self.w_star is not None:
            return self.values[which], self.w_star[which]
        weight, mean, std = prior.components
        part = chosen(weight, d, proportions, rng)
        return self.values[which], mean[part] + std[part] * rng.standard_normal(d)

    def variances(self, d: int) -> Float[np.ndarray, " d"]:
        """As measured if there are d of them, otherwise the largest first."""
        if d == len(self.values):
            return np.array(self.values)
        return np.quantile(self.values, 1 - midpoints(d), method="inverted_cdf")


def short(value: Any) -> str:
    """A number as text from which it can be read back."""
    if not isinstance(value, float):
        return repr(value)
    few = f"{value:g}"
    return few if float(few) == value else repr(value)


def midpoints(d: int) -> Float[np.ndarray, " d"]:
    """The numbers (i + 1/2)/d."""
    return (np.arange(integer("d", d, 1)) + 0.5) / d


def chosen(weight: np.ndarray, d: int, proportions: bool, rng: np.random.Generator) -> np.ndarray:
    """Which stratum each of d features belongs to: in exact proportions and random order, or independent.

    Numbers of features that are not whole numbers are rounded by systematic sampling, without bias.
    """
    if not proportions:
        return rng.choice(len(weight), size=d, p=weight / weight.sum())
    ends = np.round(np.cumsum(weight / weight.sum()) * d, 9)
    ends = np.floor(ends + rng.uniform(0.0, 1.0 - 1e-9)).astype(int)
    counts = np.diff(np.concatenate([[0], ends]))
    return rng.permutation(np.repeat(np.arange(len(weight)), counts))


def mixed(shares: np.ndarray, parts: list[Components]) -> Prior:
    """A mixture of mixtures."""
    rows = [(share * p.weight, p.mean, p.std) for share, p in zip(shares, parts, strict=True)]
    return GaussianMixture(*(np.concatenate(column) for column in zip(*rows, strict=True)))


@old_calls()
def spectrum_of(data: Any, w_star: Any = None, *, covariance: bool | None = None) -> EmpiricalSpectrum:
    r"""The spectrum of inputs, for models that are linear in their parameters.

    Inputs have the scale of this library: entries of variance s/d, so that \(\Sigma = d\,E[xx^\top]\) has
    eigenvalues of order one. A diagonal covariance keeps its order, and is right for diagonal networks too.
    Any other is given by its eigenvalues, which diagonal networks cannot use: their coordinates are the
    features. Directions without variance are left out, with their targets; d is the number of the others.

    Parameters
    ----------
    data : array (n, d) or (d, d)
        Inputs, one row for each sample, or their covariance Σ.
    w_star : array (d,), optional
        Target, which is rotated into the eigenbasis. None: targets are those of the task's prior.
    covariance : bool, optional
        Whether `data` is a covariance. None: a square symmetric matrix is taken for one.

    Returns
    -------
    Spectrum
        For `Task(spectrum=…)`.

    Raises
    ------
    InputError
        If shapes do not fit, a covariance is not symmetric, or nothing varies.
    """
    matrix = real_matrix("data", data)
    n, d = matrix.shape
    covariance = flag_or_none("covariance", covariance)
    if covariance is None:
        covariance = n == d and bool(np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0))
    if covariance and (
        n != d or not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.max(abs(matrix)))
    ):
        raise InputError(
            f"data must be a symmetric matrix where it is a covariance, got shape {matrix.shape}"
        )
    target = None
    if w_star is not None:
        target = np.array(real_vector("w_star", w_star, np.isfinite, f"a vector of {d} finite numbers"))
        if len(target) != d:
            raise InputError(f"w_star must have {d} entries, one for each feature, got {len(target)}")
    if covariance and np.count_nonzero(matrix - np.diag(np.diag(matrix))) == 0:
        return EmpiricalSpectrum(np.diag(matrix), target)
    if covariance:
        values, vectors = np.linalg.eigh(matrix)
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        _, sizes, right = np.linalg.svd(matrix, full_matrices=False)
        values, vectors = sizes**2 * d / n, right.T
    kept = values > NEGLIGIBLE * values[0] if len(values) and values[0] > 0 else np.zeros(0, bool)
    if not np.any(kept):
        raise InputError("data must vary: all its eigenvalues are zero")
    turned = None if target is None else vectors.T[kept] @ target
    return EmpiricalSpectrum(values[kept] * (np.sum(kept) / d), turned, rotated=True)
