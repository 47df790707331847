r"""Linear models on features of different variances, by Silverstein's equation [eq:silverstein].

In the Laplace domain the training residuals answer what drives them with \(\kappa(z)\),
\(\kappa = 1 - \tfrac1\delta E\bigl[\tfrac{s\kappa}{z+s\kappa}\bigr]\), and the test error is
\(\hat E(z,z') = \bigl(\tfrac{\sigma^2}{zz'} + E\bigl[\tfrac{s\,w^{*2}}{(z+s\kappa)(z'+s\kappa')}\bigr]\bigr)
\big/ \bigl(1 - \tfrac{\kappa\kappa'}\delta E\bigl[\tfrac{s^2}{(z+s\kappa)(z'+s\kappa')}\bigr]\bigr)\)
[eq:lazy_s]. All variances one give Marchenko–Pastur averages.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float
from scipy.optimize import brentq

from dynafield.errors import SolveError
from dynafield.numerics.laplace import Contour, contour, invert_both
from dynafield.problem.spectra import JointLaw

__all__ = [
    "Limit",
    "errors_over_time",
    "half_time",
    "kernels_over_time",
    "learnt",
    "limit",
    "response",
    "shrinkage",
]

ITERATIONS = 500
"""Of the fixed point that gives κ, at most."""
CLOSE = 1e-14
"""Relative change at which it ends."""
ACCEPTED = 1e-10
"""Relative residual beyond which it is not believed."""
AT_ONCE = 2**22
"""Strata times nodes at once."""
EARLIEST = 1e-13
"""Times are at least this part of that of the largest variance: nothing has moved by then."""


def response(law: JointLaw, delta: float, z: Complex[np.ndarray, "..."]) -> Complex[np.ndarray, "..."]:
    """κ(z), off the negative axis: a contraction there, with Newton's steps once it is near."""
    flat, kappa = z.ravel(), np.ones(z.size, complex)
    size = max(1, AT_ONCE // len(law.weight))
    for start in range(0, z.size, size):
        here = slice(start, start + size)
        kappa[here] = one_response(law, delta, flat[here])
    return kappa.reshape(z.shape)


def one_response(law: JointLaw, delta: float, z: Complex[np.ndarray, " k"]) -> Complex[np.ndarray, " k"]:
    """κ(z) at some nodes."""
    kappa, change = np.ones(len(z), complex), np.inf
    for _ in range(ITERATIONS):
        resolvent = law.variance / (z[:, None] + law.variance * kappa[:, None])
        mean = resolvent @ law.weight
        gap = kappa * (1 + mean / delta) - 1
        slope = 1 + mean / delta - kappa * (resolvent**2 @ law.weight) / delta
        plain, newton = kappa - 1 / (1 + mean / delta), gap / slope
        step = np.where(np.abs(newton) < 0.1 * np.abs(kappa), newton, plain)
        kappa = kappa - step
        change = float(np.max(np.abs(step) / np.abs(kappa)))
        if change < CLOSE:
            break
    mean = (law.variance / (z[:, None] + law.variance * kappa[:, None])) @ law.weight
    if not np.all(np.abs(kappa * (1 + mean / delta) - 1) < ACCEPTED):
        raise SolveError(
            f"Silverstein's equation was not solved at delta={delta:g} (last change {change:.1e})"
        )
    return kappa


class Side(NamedTuple):
    """Nodes of a contour with κ there, and 1/(z + sκ) in all strata."""

    z: Complex[np.ndarray, " k"]
    kappa: Complex[np.ndarray, " k"]
    resolvent: Complex[np.ndarray, "k c"]

    def conj(self) -> "Side":
        """The same at the complex conjugate nodes."""
        return Side(*(part.conj() for part in self))


def side_of(law: JointLaw, delta: float, z: Complex[np.ndarray, " k"]) -> Side:
    """κ and resolvents on nodes."""
    kappa = response(law, delta, z)
    return Side(z, kappa, 1 / (z[:, None] + law.variance * kappa[:, None]))


def test_transform(
    law: JointLaw, delta: float, noise: float, one: Side, other: Side
) -> tuple[Complex[np.ndarray, "k l"], Complex[np.ndarray, "k l"]]:
    r"""\(\hat E(z,z')\) of the test error, σ² included; \(\kappa\kappa'\hat E\) of the training error."""
    power = law.weight * law.variance * (law.mean**2 + law.std**2)
    signal = (one.resolvent * power) @ other.resolvent.T
    loop = (one.resolvent * (law.weight * law.variance**2)) @ other.resolvent.T
    both = np.outer(one.kappa, other.kappa)
    found = (signal + noise / np.outer(one.z, other.z)) / (1 - both * loop / delta)
    return found, both * found


def times_seen(law: JointLaw, t: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """Times > 0 that replace times which are zero or too small."""
    return np.maximum(t, EARLIEST / np.max(law.variance))


def errors_over_time(
    law: JointLaw, delta: float, noise: float, t: Float[np.ndarray, " t"]
) -> tuple[np.ndarray, np.ndarray]:
    """Training and test error of a linear model of slope one at some times."""
    found = []
    for now in times_seen(law, t):
        here = contour(np.array([now]))
        side = side_of(law, delta, here.z[0])
        found.append([np.diag(x)[0] for x in pair(law, delta, noise, here, side, here, side)])
    test, train = np.array(found).reshape(len(t), 2).T
    return train, test


def pair(
    law: JointLaw, delta: float, noise: float, first: Contour, one: Side, second: Contour, other: Side
) -> list[Float[np.ndarray, "t u"]]:
    """Test and training errors at two sets of times, each with the nodes of its contours."""
    shape = (*first.z.shape, *second.z.shape)
    straight = test_transform(law, delta, noise, one, other)
    crossed = test_transform(law, delta, noise, one, other.conj())
    split = [[x.reshape(shape).transpose(0, 2, 1, 3) for x in both] for both in (straight, crossed)]
    a = Contour(*(x[:, None] for x in first))
    b = Contour(*(x[None] for x in second))
    return [invert_both(a, b, x, y) for x, y in zip(*split, strict=True)]


def kernels_over_time(
    law: JointLaw, delta: float, noise: float, t: Float[np.ndarray, " t"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """C_w, C_f, R_w, R_f of a linear model of slope one."""
    path = contour(times_seen(law, t))
    side = side_of(law, delta, path.z.ravel())
    test, C_f = pair(law, delta, noise, path, side, path, side)
    R_w, R_f = np.zeros_like(test), np.zeros_like(test)
    mean = float(np.sum(law.weight * law.variance)) / delta
    for row, now in enumerate(t):
        before = np.flatnonzero(t <= now)
        ages = now - t[before]
        old = ages > EARLIEST / np.max(law.variance)
        R_w[row, before], R_f[row, before] = mean, mean
        if np.any(old):
            here = contour(ages[old])
            kappa = response(law, delta, here.z)
            for matrix, transform in ((R_w, (1 - kappa) / kappa), (R_f, 1 - kappa)):
                matrix[row, before[old]] = 2 * np.real(np.sum(here.weight * transform, axis=1))
    return test - noise, C_f, R_w, R_f


def learnt(law: JointLaw, delta: float, variance: float, t: float) -> float:
    r"""The mean fraction of a target learnt by a linear model of slope one: \(E[w|w^*]/w^*\), whose transform
    is \(\tfrac1z\bigl(1 - \tfrac{z}{z+s\kappa}\bigr)\) [eq:group_times].
    """
    path = contour(np.array([t]))
    kappa = response(law, delta, path.z)
    transform = variance * kappa / (path.z * (path.z + variance * kappa))
    return float(2 * np.real(np.sum(path.weight * transform)))


def half_time(law: JointLaw, delta: float, variance: float) -> float:
    """The time at which half of what will be learnt of the targets is learnt."""
    u = shrinkage(law, delta) if delta < 1 else 0.0
    goal = 0.5 * variance / (u + variance)
    low, high = 1e-6 / variance, 1e-6 / variance
    while learnt(law, delta, variance, high) < goal:
        low, high = high, 4 * high
    found: Any = brentq(lambda x: learnt(law, delta, variance, np.exp(x)) - goal, np.log(low), np.log(high))
    return float(np.exp(found))


class Limit(NamedTuple):
    r"""The limit of gradient flow of a linear model without weight decay: u, test error, and E[w²].

    \(w = (s\,w^* + \sqrt{sE/\delta}\,G)/(u + s)\) with \(\delta = E[s/(u+s)]\) for δ < 1, and u = 0
    for δ > 1.
    """

    u: float
    test_error: float
    square: float


def limit(law: JointLaw, delta: float, noise: float) -> Limit:
    """Least squares, or interpolation of least norm [eq:lazy_limit_s]; infinite at δ = 1 with noise."""
    weight, variance = law.weight, law.variance
    power = law.mean**2 + law.std**2
    if delta == 1:
        worst = np.inf if noise > 0 else 0.0
        return Limit(0.0, worst, worst if noise > 0 else float(np.sum(weight * power)))
    u = 0.0 if delta > 1 else shrinkage(law, delta)
    part = variance / (u + variance)
    loop = float(np.sum(weight * part**2)) / delta
    bias = float(np.sum(weight * variance * power * (1 - part) ** 2))
    error = (noise + bias) / (1 - loop)
    return Limit(float(u), error, float(np.sum(weight * part**2 * (power + error / delta / variance))))


def shrinkage(law: JointLaw, delta: float) -> float:
    """u with E[s/(u + s)] = δ < 1."""
    low, high = float(np.min(law.variance)), float(np.max(law.variance))

    def excess(log_u: float) -> float:
        return float(np.sum(law.weight * law.variance / (np.exp(log_u) + law.variance))) - delta

    ridge = (1 - delta) / delta
    if low == high:
        return low * ridge
    found: Any = brentq(excess, np.log(low * ridge) - 1e-9, np.log(high * ridge) + 1e-9, xtol=1e-15)
    return float(np.exp(found))
