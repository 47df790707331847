r"""The law of the fields at the start of training, and what grows out of them for small α.

While w is still of order α^L every coordinate feels a constant field
\(h = w^* - z(0)/\delta \sim w^* + N(0, (\rho^2 + \sigma^2)/\delta)\) [eq:search_field].
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from dynafield.errors import InputError
from dynafield.problem.checks import integer, one_real
from dynafield.problem.networks import DiagonalNetwork
from dynafield.problem.priors import Components
from dynafield.theory.closed_forms import Path, search, slowed, small_composite

__all__ = ["FieldLaw", "growing", "ordering"]

REACH = 8.5
"""Standard deviations covered by averages over fields."""
NODES = 400
"""Trapezoidal nodes per component: exponentially accurate for smooth functions of the field."""


def growing(mean: np.ndarray, width: np.ndarray, threshold: float) -> np.ndarray:
    """P(|h| > threshold) in each component."""
    return ndtr((mean - threshold) / width) + ndtr(-(mean + threshold) / width)


def ordering(law: Components, true: np.ndarray) -> float:
    """P(|h| of a true coordinate > |h| of a false one); NaN if there are none of one kind."""
    if not true.any() or true.all():
        return float("nan")
    x = np.linspace(-REACH, REACH, NODES)
    rule = np.exp(-0.5 * x**2)
    weight = law.weight[true] / np.sum(law.weight[true])
    beaten = [
        growing(law.mean[true], law.std[true], level) @ weight for level in np.abs(x * law.std[~true][0])
    ]
    return float(rule @ np.array(beaten) / np.sum(rule))


@dataclasses.dataclass(frozen=True)
class FieldLaw:
    """The law of (h, w*) for one problem."""

    prior: Components
    noise: float
    net: DiagonalNetwork

    @property
    def true(self) -> np.ndarray:
        """Which components of the prior are not a point mass at zero."""
        return (self.prior.mean != 0) | (self.prior.std > 0)

    @property
    def fields(self) -> Components:
        """h as a mixture."""
        return self.prior._replace(std=np.hypot(self.prior.std, self.noise))

    @property
    def threshold(self) -> float:
        r"""Fields above \(\lambda\alpha^{2-L}\) grow [eq:activation_deep]."""
        return float(self.net.lam * self.net.alpha ** (2 - self.net.depth))

    def share(self, true: bool | None = None) -> np.ndarray:
        """Weights of the components, of true or of false coordinates alone if asked."""
        chosen = np.ones_like(self.true) if true is None else self.true == true
        total = np.sum(self.prior.weight[chosen])
        return np.where(chosen, self.prior.weight, 0.0) / total if total > 0 else np.full(len(chosen), np.nan)

    def above(self, level: float, true: bool | None = None) -> float:
        r"""The share of coordinates (all, true or false) with fields larger than `level`."""
        return float(self.share(true) @ growing(self.fields.mean, self.fields.std, level))

    def level(self, share: float, true: bool | None = None) -> float:
        """The size of field that this share of the coordinates exceeds."""
        share = one_real("share", share, lambda x: (x > 0) & (x < 1), "one number between 0 and 1")
        top = float(np.max(np.abs(self.fields.mean) + 2 * REACH * self.fields.std))
        low, high = 0.0, top
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.above(middle, true) > share else (low, middle)
        return 0.5 * (low + high)

    def precision(self, share: float) -> float:
        """The share of true coordinates among the fastest `share` of all."""
        level = self.level(share)
        found = self.above(level, True) * np.sum(self.prior.weight[self.true])
        return float(found / self.above(level))

    def activation_time(self, field: Float[np.ndarray, "..."]) -> np.ndarray:
        r"""When a coordinate with this constant field becomes active; infinite if it never does.

        \(2\log(1/\alpha)/(|h| - \lambda)\) at depth 2 [eq:activation]; deeper
        \(\int_0^t e^{-\lambda(L-2)s/2}ds = 2\alpha^{2-L}/((L-2)|h|)\) [eq:activation_deep].
        """
        alpha, lam, depth = self.net.alpha, self.net.lam, self.net.depth
        if alpha >= 1:
            raise InputError(f"alpha must be < 1 for activation times, got {alpha:g}")
        size = np.abs(np.asarray(field, float))
        with np.errstate(divide="ignore", invalid="ignore"):
            if depth == 2:
                time = 2 * np.log(1 / alpha) / (size - lam)
            else:
                needed = 2 * alpha ** (2 - depth) / ((depth - 2) * size)
                rate = 0.5 * lam * (depth - 2)
                time = needed if rate == 0 else -np.log1p(-np.minimum(rate * needed, 1.0)) / rate
        return np.where(size > self.threshold, time, np.inf)

    def active(self, t: Float[np.ndarray, " t"], true: bool | None = None) -> Float[np.ndarray, " t"]:
        """The share of coordinates active by the times t > 0, if fields stayed as they are."""
        alpha, lam, depth = self.net.alpha, self.net.lam, self.net.depth
        if depth == 2:
            needed = lam + 2 * np.log(1 / alpha) / t
        else:
            needed = 2 * alpha ** (2 - depth) / ((depth - 2) * slowed(self.net, t))
        return np.array([self.above(level, true) for level in needed])

    def activation_quantile(self, share: float, true: bool | None = True) -> float:
        """When this share of the coordinates that grow at all is active, if fields stayed as they are."""
        grown = self.above(self.threshold, true)
        return float(self.activation_time(np.array(self.level(share * grown, true)))) if grown > 0 else np.inf

    def cdf(self, W: Float[np.ndarray, "..."], t: float) -> np.ndarray:
        r"""P(W(t) ≤ ·) for \(W = w/\alpha^L\) in the search phase [eq:search_sol]."""
        gap = self.field_of(W, t)[..., None] - self.fields.mean
        return ndtr(gap / self.fields.std) @ self.prior.weight

    def density(self, W: Float[np.ndarray, "..."], t: float) -> np.ndarray:
        """Density of W(t) in the search phase."""
        field = self.field_of(W, t)
        gap = (field[..., None] - self.fields.mean) / self.fields.std
        smooth = np.exp(-0.5 * gap**2) / (np.sqrt(2 * np.pi) * self.fields.std)
        s = self.net.curve.coordinate_of_dual(jnp.asarray(field * self.felt(t)))
        scale = self.net.alpha**self.net.depth * np.exp(0.5 * self.net.lam * self.net.depth * t)
        return smooth @ self.prior.weight * scale / (np.asarray(self.net.curve.slope(s)) * self.felt(t))

    def felt(self, t: float) -> float:
        """The time that the field acts, slowed by the decay of the layers."""
        return float(slowed(self.net, np.array(one_real("t", t, lambda x: x > 0, "a time > 0"))))

    def field_of(self, W: Float[np.ndarray, "..."], t: float) -> np.ndarray:
        """The field whose coordinate has come to W at time t."""
        grown = np.asarray(W, float) * np.exp(0.5 * self.net.lam * self.net.depth * t)
        s = self.net.curve.coordinate_of_weight(jnp.asarray(grown * self.net.alpha**self.net.depth))
        return np.asarray(self.net.curve.dual(s)) / self.felt(t)

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """n independent draws (h, w*)."""
        rng = np.random.default_rng(integer("seed", seed, 0))
        weight, mean, std = self.prior
        which = rng.choice(len(weight), size=integer("n", n, 1), p=weight)
        target = mean[which] + std[which] * rng.standard_normal(n)
        return target + self.noise * rng.standard_normal(n), target

    def moments(self, path: Path, t: Float[np.ndarray, " t"]) -> tuple[np.ndarray, np.ndarray]:
        """E[w²] and E[w w*] over time if the fields stay and w follows `path`."""
        x = np.linspace(-REACH, REACH, NODES)
        rule = np.exp(-0.5 * x**2)
        rule /= np.sum(rule)
        square, overlap = np.zeros(len(t)), np.zeros(len(t))
        for weight, mean, std in zip(*self.prior, strict=True):
            width = np.hypot(std, self.noise)
            w = path((mean + width * x)[:, None], self.net, t)
            square += weight * rule @ w**2
            overlap += weight * rule @ (w * (mean + std**2 / width * x)[:, None])
        return square, overlap

    def test_error(self, t: Float[np.ndarray, " t"], sigma: float) -> np.ndarray:
        """The test error while fields stay: in the search, and until the first jumps [eq:search_sol]."""
        square, overlap = self.moments(small_composite if self.net.depth == 2 else search, t)
        power = np.sum(self.prior.weight * (self.prior.mean**2 + self.prior.std**2))
        return square - 2 * overlap + power + sigma**2
