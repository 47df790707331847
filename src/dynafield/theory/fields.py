r"""The distribution of the fields at the start of training, and what grows out of them for small α.

While w is still of order α^L every coordinate feels a constant field
\(h \sim s\,w^* + \sqrt s\,N(0, (\rho^2 + \sigma^2)/\delta)\), s the variance of its feature
[eq:search_field].
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from dynafield.errors import InputError
from dynafield.problem.checks import flag_or_none, integer, one_real, places, real, seed_of
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.priors import Components
from dynafield.problem.spectra import JointLaw
from dynafield.problem.task import Task
from dynafield.theory.closed_forms import Path, search, slowed, small_composite
from dynafield.theory.law import Numbers

__all__ = ["FieldLaw", "field_law"]

REACH = 8.5
"""Standard deviations covered by averages over fields."""
NODES = 400
"""Trapezoidal nodes per component: exponentially accurate for smooth functions of the field."""
LEGENDRE = np.polynomial.legendre.leggauss(100)


def field_law(task: Task, net: DiagonalNetwork) -> "FieldLaw":
    """The distribution of fields of one problem, given in plain numbers."""
    noise = ((task.signal + float(task.sigma) ** 2) / float(task.delta)) ** 0.5
    return FieldLaw(JointLaw(*(np.asarray(part, float) for part in task.law.present)), noise, net)


@dataclasses.dataclass(frozen=True)
class FieldLaw:
    """The distribution of (h, w*) for one problem: fields at the start of training, and targets.

    In all methods `true` chooses coordinates: those with w* ≠ 0 (True), with w* = 0 (False), or all (None).

    Attributes
    ----------
    prior : JointLaw
        Strata of variances and targets.
    noise : float
        Standard deviation of the field's noise at variance one.
    net : DiagonalNetwork
        The network, with one α and one λ.
    """

    prior: JointLaw
    noise: float
    net: DiagonalNetwork

    @property
    def true(self) -> np.ndarray:
        """Which components of the prior are not a point mass at zero."""
        return (self.prior.mean != 0) | (self.prior.std > 0)

    @property
    def fields(self) -> Components:
        """h as a mixture."""
        weight, mean, std, variance = self.prior
        width = np.hypot(variance * std, np.sqrt(variance) * self.noise)
        return Components(weight, variance * mean, width)

    @property
    def threshold(self) -> float:
        r"""Fields above \(\lambda\alpha^{2-L}\) grow [eq:activation_deep]."""
        return float(self.net.lam * self.net.alpha ** (2 - self.net.depth))

    def share(self, true: bool | None = None) -> np.ndarray:
        """Weights of the strata among the chosen coordinates; NaN if there are none.

        Parameters
        ----------
        true : bool, optional
            Which coordinates.

        Returns
        -------
        array (m,)
            Weights of sum one.
        """
        true = flag_or_none("true", true)
        chosen = np.ones_like(self.true) if true is None else self.true == true
        if not chosen.any():
            return np.full(len(chosen), np.nan)
        return np.where(chosen, self.prior.weight, 0.0) / np.sum(self.prior.weight[chosen])

    def above(self, level: Any, true: bool | None = None) -> Numbers:
        """The fraction of coordinates with fields larger than given levels.

        Parameters
        ----------
        level : number or array
            Sizes of fields, ≥ 0.
        true : bool, optional
            Among which coordinates.

        Returns
        -------
        array
            Fractions, of the shape of `level`; NaN if there are no such coordinates.
        """
        level = np.asarray(real("level", level, lambda x: x >= 0, "fields ≥ 0"), float)[..., None]
        _, mean, std = self.fields
        return (ndtr((mean - level) / std) + ndtr(-(mean + level) / std)) @ self.share(true)

    def ordering(self) -> float:
        """The probability that a true coordinate has a larger field than a false one; NaN without false
        ones.
        """
        if self.true.all():
            return float("nan")
        x, rule = LEGENDRE
        field = 0.5 * REACH * (1 + x)
        density = rule * np.exp(-0.5 * field**2)
        share = self.share(False)
        widths, which = np.unique(self.fields.std[share > 0], return_inverse=True)
        shares = np.bincount(which, share[share > 0])
        found = self.above(np.outer(widths, field), True)
        return float(shares @ (found @ density) / np.sum(density))

    def level(self, share: float, true: bool | None = None) -> float:
        """The size of field that a given fraction of the coordinates exceeds.

        Parameters
        ----------
        share : float
            Fraction between 0 and 1.
        true : bool, optional
            Of which coordinates.

        Returns
        -------
        float
            Size of the field.
        """
        share = one_real("share", share, lambda x: (x > 0) & (x < 1), "one number between 0 and 1")
        if np.any(np.isnan(self.share(true))):
            raise InputError(f"true must be {not true} or None: there are no coordinates of the other kind")
        low, high = 0.0, float(np.max(np.abs(self.fields.mean) + 2 * REACH * self.fields.std))
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.above(middle, true) > share else (low, middle)
        return 0.5 * (low + high)

    def precision(self, share: float) -> float:
        """The fraction of true coordinates among the fastest ones.

        Parameters
        ----------
        share : float
            Which fraction of all coordinates counts as the fastest, between 0 and 1.

        Returns
        -------
        float
            A fraction.
        """
        level = self.level(share)
        found = self.above(level, True) * np.sum(self.prior.weight[self.true])
        return float(found / self.above(level))

    def needed(self) -> float:
        r"""The value of \(|h|\) (at depth 2 less λ) times effective time that makes a coordinate active."""
        alpha, depth = self.net.alpha, self.net.depth
        if alpha >= 1:
            raise InputError(f"alpha must be < 1 for activation times, got {alpha:g}")
        return 2 * np.log(1 / alpha) if depth == 2 else 2 * alpha ** (2 - depth) / (depth - 2)

    def activation_time(self, field: Float[np.ndarray, "..."]) -> np.ndarray:
        r"""The time at which a coordinate with a constant field becomes active.

        \(2\log(1/\alpha)/(|h| - \lambda)\) at depth 2 [eq:activation]; deeper
        \(\int_0^t e^{-\lambda(L-2)s/2}ds = 2\alpha^{2-L}/((L-2)|h|)\) [eq:activation_deep].

        Parameters
        ----------
        field : array
            Fields h, of any shape.

        Returns
        -------
        array
            Times, of the same shape; infinite if a coordinate never becomes active.
        """
        size, needed, lam = np.abs(places("field", field)), self.needed(), self.net.lam
        rate = 0.5 * lam * (self.net.depth - 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.net.depth == 2:
                time = needed / (size - lam)
            else:
                felt = needed / size
                time = felt if rate == 0 else -np.log1p(-np.minimum(rate * felt, 1.0)) / rate
        return np.where(size > self.threshold, time, np.inf)

    def active(self, t: Float[np.ndarray, " t"], true: bool | None = None) -> Float[np.ndarray, " t"]:
        """The fraction of coordinates that are active by given times, if fields stayed as they are.

        Parameters
        ----------
        t : array (k,)
            Times > 0.
        true : bool, optional
            Among which coordinates.

        Returns
        -------
        array (k,)
            Fractions.
        """
        t = np.asarray(real("t", t, lambda x: x > 0, "times > 0"), float)
        needed = self.needed()
        shallow = self.net.depth == 2
        return self.above(self.net.lam + needed / t if shallow else needed / slowed(self.net, t), true)

    def activation_quantile(self, share: float, true: bool | None = True) -> float:
        """The time by which a fraction of the growing coordinates is active, if fields stayed as they are.

        Parameters
        ----------
        share : float
            Fraction between 0 and 1.
        true : bool, optional, default True
            Of which coordinates.

        Returns
        -------
        float
            The time; infinite if none grows.
        """
        grown = float(self.above(self.threshold, true))
        return float(self.activation_time(np.array(self.level(share * grown, true)))) if grown > 0 else np.inf

    def field_density(self, field: Float[np.ndarray, "..."], true: bool | None = None) -> Numbers:
        """Density of the fields.

        Parameters
        ----------
        field : array
            Fields h, of any shape.
        true : bool, optional
            Of which coordinates.

        Returns
        -------
        array
            Densities, of the same shape.
        """
        gap = (places("field", field)[..., None] - self.fields.mean) / self.fields.std
        return np.exp(-0.5 * gap**2) / (np.sqrt(2 * np.pi) * self.fields.std) @ self.share(true)

    def cdf(self, W: Float[np.ndarray, "..."], t: float) -> Numbers:
        r"""P(W(t) ≤ ·) for \(W = w/\alpha^L\) in the search phase [eq:search_sol].

        Parameters
        ----------
        W : array
            Rescaled weights, of any shape.
        t : float
            Time > 0.

        Returns
        -------
        array
            Probabilities, of the same shape.
        """
        gap = self.field_of(W, t)[..., None] - self.fields.mean
        return ndtr(gap / self.fields.std) @ self.prior.weight

    def density(self, W: Float[np.ndarray, "..."], t: float) -> Numbers:
        r"""Density of \(W(t) = w/\alpha^L\) in the search phase.

        Parameters
        ----------
        W : array
            Rescaled weights, of any shape.
        t : float
            Time > 0.

        Returns
        -------
        array
            Densities, of the same shape.
        """
        field, net = self.field_of(W, t), self.net
        s = net.curve.coordinate_of_dual(jnp.asarray(field * self.felt(t)))
        scale = net.alpha**net.depth * np.exp(0.5 * net.lam * net.depth * t)
        return self.field_density(field) * scale / (np.asarray(net.curve.slope(s)) * self.felt(t))

    def felt(self, t: float) -> float:
        """The effective time for which the field acts, shortened by the decay of the layers.

        Parameters
        ----------
        t : float
            Time > 0.

        Returns
        -------
        float
            Effective time.
        """
        return float(slowed(self.net, np.array(one_real("t", t, lambda x: x > 0, "a time > 0"))))

    def field_of(self, W: Float[np.ndarray, "..."], t: float) -> np.ndarray:
        r"""The field whose coordinate has reached W at time t.

        Parameters
        ----------
        W : array
            Rescaled weights \(w/\alpha^L\), of any shape.
        t : float
            Time > 0.

        Returns
        -------
        array
            Fields, of the same shape.
        """
        felt = self.felt(t)
        grown = places("W", W) * np.exp(0.5 * self.net.lam * self.net.depth * t)
        s = self.net.curve.coordinate_of_weight(jnp.asarray(grown * self.net.alpha**self.net.depth))
        return np.asarray(self.net.curve.dual(s)) / felt

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
        array (n,), array (n,)
            Fields h and targets w*.
        """
        rng = np.random.default_rng(seed_of("seed", seed))
        weight, mean, std, variance = self.prior
        which = rng.choice(len(weight), size=integer("n", n, 1), p=weight / np.sum(weight))
        target = mean[which] + std[which] * rng.standard_normal(n)
        s = variance[which]
        return s * target + np.sqrt(s) * self.noise * rng.standard_normal(n), target

    def moments(self, path: Path, t: Float[np.ndarray, " t"]) -> tuple[np.ndarray, np.ndarray]:
        """E[s w²] and E[s w w*] over time if the fields stay and w follows a closed form.

        A feature of variance s follows the path of target h/s with decay λ/s, in time st.

        Parameters
        ----------
        path : callable
            A closed form: a function of target, network and time.
        t : array (k,)
            Times.

        Returns
        -------
        array (k,), array (k,)
            Both averages.
        """
        x = np.linspace(-REACH, REACH, NODES)
        rule = np.exp(-0.5 * x**2)
        rule /= np.sum(rule)
        square, overlap = np.zeros(len(t)), np.zeros(len(t))
        for weight, mean, std, s in zip(*self.prior, strict=True):
            width = np.hypot(std, self.noise / np.sqrt(s))
            net = DiagonalNetwork(self.net.alpha, self.net.lam / s, self.net.depth)
            w = path((mean + width * x)[:, None], net, s * t)
            square += weight * s * (rule @ w**2)
            overlap += weight * s * (rule @ (w * (mean + std**2 / width * x)[:, None]))
        return square, overlap

    def path(self, target: np.ndarray, net: DiagonalNetwork, t: np.ndarray) -> np.ndarray:
        """w under a field that stays, through search and jump, at every depth; at most the size of the
        field.

        Parameters
        ----------
        target : array (n, 1)
            Fields divided by the variance of their feature.
        net : DiagonalNetwork
            One α, one λ and the depth.
        t : array (k,)
            Times.

        Returns
        -------
        array (n, k)
            Weights.
        """
        w = (small_composite if net.depth == 2 else search)(target, net, t)
        size = np.abs(target)
        return np.where(np.isnan(w), target, np.clip(w, -size, size))

    def test_error(self, t: Float[np.ndarray, " t"], sigma: float) -> np.ndarray:
        """The test error while fields stay: in the search, and until the first jumps [eq:search_sol].

        Parameters
        ----------
        t : array (k,)
            Times > 0.
        sigma : float
            Standard deviation of the label noise.

        Returns
        -------
        array (k,)
            Test errors.
        """
        square, overlap = self.moments(self.path, t)
        return square - 2 * overlap + self.prior.signal + sigma**2
