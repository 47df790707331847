r"""Sampled coordinates and data: scrambled Sobol points, made exactly white.

Few components of the joint distribution of variances and targets are strata, each with its exact weight and a
number of points that grows with it, rounded to powers of two; many are drawn from one Sobol coordinate, those
of similar variances together. A stratum that is symmetric about zero is sampled on one half only where
the model is odd, since \((w, w^*, \zeta) \to -(w, w^*, \zeta)\) maps it to the other. Normals of a stratum
have exact means and covariances, so that what is linear in them has no sampling error [eq:white].

Sobol points are best in their first coordinates. Which combinations of normals matter most is known once a
problem was solved roughly; `leading_first` turns normals so that these come first [eq:leading].
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dynafield.numerics.normals import normals_of, sobol, whitened
from dynafield.problem.laws import quantile
from dynafield.problem.model import Datum, Model
from dynafield.problem.spectra import JointLaw

__all__ = ["Sample", "draw", "draw_data", "leading_first", "points_for", "strata", "turned"]

STRATA = 8
"""Up to so many components each have points of their own."""
SMALLEST = 64
"""Points of the smallest stratum."""
RARE = 0.3
"""Power of its weight in the points of a stratum: rare targets are those that are learnt."""
REMEMBERED = 2**19
"""Normals of at most so many numbers, four megabytes, are remembered."""
SIMILAR, BINS = 2.0, 8
"""Variances within a factor e to this power have points in common; so many such groups at most."""
EVEN = 64
"""Dimensions in which Sobol points are always used."""
PER_NORMAL = 4
"""Points per normal number that is made exactly white."""


class Stratum(NamedTuple):
    """A part of the joint distribution with its own points: weight, number of points, and its components."""

    weight: float
    points: int
    components: JointLaw

    @property
    def constant(self) -> bool:
        """Whether it is one point mass."""
        return len(self.components.weight) == 1 and bool(self.components.std[0] == 0)

    @property
    def symmetric(self) -> bool:
        """Whether it consists of components about zero, with or without width."""
        mean, std = self.components.mean, self.components.std
        return bool(np.all(mean == 0) and (np.all(std == 0) or np.all(std > 0)))


class Sample(NamedTuple):
    """Targets and weights of the paths, whether each stands for its mirror image too, standard normals,
    one column per path, variances of their features, and numbers of their strata.

    Any leading fraction 1/2^k of the columns is a smaller sample of the same kind.
    """

    target: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    folded: Bool[np.ndarray, " n"]
    normals: Float[np.ndarray, "t n"]
    variance: Float[np.ndarray, " n"]
    part: Any = None


def strata(law: JointLaw, points: int) -> list[Stratum]:
    """Strata with about `points` points in all."""
    law = JointLaw(*(np.asarray(part, float) for part in law.present))
    if len(law.weight) <= STRATA:
        groups = [np.array([k]) for k in range(len(law.weight))]
    elif np.all(law.variance == law.variance[0]):
        return [Stratum(1.0, power_of_two(float(points)), ordered(law, np.argsort(law.mean)))]
    else:
        groups = alike(law)
    found = []
    for members in groups:
        weight = float(np.sum(law.weight[members]))
        part = ordered(law, members)
        part = part._replace(weight=part.weight / weight)
        found.append(Stratum(weight, power_of_two(float(max(points * weight**RARE, SMALLEST))), part))
    return found


def ordered(law: JointLaw, which: np.ndarray) -> JointLaw:
    """Some components of a joint distribution, in an order."""
    return JointLaw(*(part[which] for part in law))


def alike(law: JointLaw) -> list[np.ndarray]:
    """Components of similar variances whose targets are of one kind: zero, point masses, or spread out."""
    size = np.log(law.variance)
    span = float(np.ptp(size))
    bins = int(np.clip(np.ceil(span / SIMILAR), 1, BINS))
    which = np.minimum(((size - size.min()) / max(span, 1e-300) * bins).astype(int), bins - 1)
    kind = np.where(law.std > 0, 2, np.where(law.mean != 0, 1, 0))
    order = np.lexsort((law.variance, np.sign(law.mean)))
    labels = (kind * bins + which)[order]
    return [order[labels == label] for label in np.unique(labels)]


def points_for(components: JointLaw, dims: int) -> int:
    """The least points with which so many normals are exactly white in all strata."""
    points = PER_NORMAL
    while min(part.points for part in strata(components, points)) < PER_NORMAL * dims:
        points *= 2
    return points


def power_of_two(x: float) -> int:
    """The power of two next to x, on a logarithmic scale."""
    return int(2 ** np.round(np.log2(x)))


def draw(parts: list[Stratum], dims: int, seed: tuple[int, ...], fold: bool = True) -> Sample:
    """One scrambled sample with `dims` normals per path; `fold` where there is a symmetry."""
    drawn = [one(part, dims, (*seed, k), fold and part.symmetric) for k, part in enumerate(parts)]
    rank = np.concatenate([np.arange(part.points) / part.points for part in parts])
    order = np.argsort(rank, kind="stable")
    return Sample(
        np.concatenate([d.target for d in drawn])[order],
        np.concatenate([d.weight for d in drawn])[order],
        np.concatenate([d.folded for d in drawn])[order],
        np.concatenate([d.normals for d in drawn], axis=1)[:, order],
        np.concatenate([d.variance for d in drawn])[order],
        np.repeat(np.arange(len(parts)), [part.points for part in parts])[order],
    )


def one(part: Stratum, dims: int, seed: tuple[int, ...], folded: bool) -> Sample:
    """The points of one stratum, or of half of it."""
    weight = np.full(part.points, part.weight / part.points)
    halves = np.full(part.points, folded)
    variance = np.full(part.points, part.components.variance[0])
    if part.constant:
        normals = white(dims, part.points, seed, folded)
        return Sample(np.full(part.points, part.components.mean[0]), weight, halves, normals, variance)
    if np.any(part.components.variance != part.components.variance[0]):
        return spread(part, dims, seed, folded)
    uniform = even_points(dims + 1, part.points, seed)
    target = quantile(part.components.components, 0.5 * uniform[0] if folded else uniform[0])
    if np.all(part.components.std > 0):  # the second moment exactly; atoms stay where they are
        exact = np.sum(part.components.weight * (part.components.mean**2 + part.components.std**2))
        target = target * np.sqrt(exact / np.mean(target**2))
    return Sample(target, weight, halves, made_white(normals_of(uniform[1:]), not folded), variance)


def spread(part: Stratum, dims: int, seed: tuple[int, ...], folded: bool) -> Sample:
    r"""The points of a stratum of several variances: a first coordinate chooses the component.

    Each component has its fraction of the points, and its exact weight, if there are points enough; else they
    are drawn. The second moment of \(\sqrt s\,w^*\) is exact.
    """
    law, n = part.components, part.points
    uniform = even_points(dims + 2, n, seed)
    rank = np.argsort(np.argsort(uniform[0], kind="stable"), kind="stable")
    ends = np.concatenate([[0], np.round(np.cumsum(law.weight) * n).astype(int)])
    counts = np.diff(ends)
    which = np.searchsorted(ends[1:], rank, side="right")
    weight = np.full(n, part.weight / n)
    if np.all(counts > 0):
        weight = part.weight * (law.weight / counts)[which]
    along = uniform[1]
    target = law.mean[which]
    if np.any(law.std > 0):
        target = target + law.std[which] * normals_of(0.5 * along if folded else along)
    elif folded:
        uniform[2] *= 0.5
    variance = law.variance[which]
    exact, found = part.weight * float(law.signal), float(np.sum(weight * variance * target**2))
    target = target * np.sqrt(exact / found) if found > 0 else target
    normals = made_white(normals_of(uniform[2:]), not folded)
    return Sample(target, weight, np.full(n, folded), normals, variance)


def even_points(dims: int, points: int, seed: tuple[int, ...]) -> Float[np.ndarray, "k n"]:
    """Sobol points, and independent ones in dimensions beyond those that can be white.

    There Sobol's coordinates have correlations of up to .7 with each other.
    """
    even = min(dims, max(points // PER_NORMAL, EVEN))
    rest = np.random.default_rng((*seed, 7)).random((dims - even, points))
    return np.concatenate([sobol(even, points, seed), rest])


@lru_cache(maxsize=64)
def remembered(dims: int, points: int, seed: tuple[int, ...], folded: bool) -> Float[np.ndarray, "k n"]:
    """White normals of a point mass: the same for every problem with the same seed."""
    uniform = even_points(dims, points, seed)
    if folded:
        uniform[0] *= 0.5
    normals = made_white(normals_of(uniform), not folded)
    normals.setflags(write=False)
    return normals


def white(dims: int, points: int, seed: tuple[int, ...], folded: bool) -> Float[np.ndarray, "k n"]:
    """White normals, remembered if they are few."""
    make = remembered if dims * points <= REMEMBERED else remembered.__wrapped__
    return make(dims, points, seed, folded)


def made_white(normals: Float[np.ndarray, "k n"], centred: bool) -> Float[np.ndarray, "k n"]:
    """Normals with exact second moments, and means unless their mirror images see to these.

    As many as the points can determine well; the others stay as they are.
    """
    dims, points = normals.shape
    exact = min(dims, points // PER_NORMAL)
    return np.concatenate([whitened(normals[:exact], centred), normals[exact:]])


def leading_first(field: Float[np.ndarray, "t r"]) -> Float[np.ndarray, "r r"]:
    """An orthogonal matrix O: with ζ = Oz the first of z move the field Fζ most, over all its times.

    Directions that the field does not have are left alone.
    """
    used = np.flatnonzero(np.any(field != 0, axis=0))
    turn = np.eye(field.shape[1])
    if len(used):
        turn[np.ix_(used, used)] = np.linalg.svd(field[:, used])[2].T
    return turn


def turned(normals: Float[np.ndarray, "k n"], turn: Float[np.ndarray, "r r"] | None) -> np.ndarray:
    """Normals turned by an orthogonal matrix, as many as it has rows."""
    if turn is None:
        return normals
    size = len(turn)
    return np.concatenate([turn @ normals[:size], normals[size:]])


def own_normals(model: Model) -> int:
    """Standard normals of a datum besides those of its f: label noise, and own randomness."""
    return model.own.normals + 1


def draw_data(
    model: Model, rho: float, sigma: float, points: int, dims: int, seed: tuple[int, ...], turn: Any = None
) -> tuple[Datum, Float[np.ndarray, "k n"]]:
    """Sampled data: their facts, and the normals of f, the teacher's output first.

    The first Sobol coordinate is the direction of f* + ξ, in which labels may jump.
    """
    own = own_normals(model)
    normals = made_white(normals_of(even_points(own + dims, points, seed)), True)
    along, across = normals[0], normals[1]
    size = np.hypot(rho, sigma)
    cosine, sine = (rho / size, sigma / size) if size > 0 else (1.0, 0.0)
    first = cosine * along + sine * across
    noise = sine * along - cosine * across
    datum = datum_of(model, rho, sigma, noise, normals[2 : own + 1], first)
    return datum, np.concatenate([first[None], turned(normals[own + 1 :], turn)])


def datum_of(
    model: Model, rho: float, sigma: float, noise: np.ndarray, own: np.ndarray, first: np.ndarray
) -> Datum:
    """The facts of data from their standardized f*, ξ and own normals."""
    return Datum(rho * first, sigma * noise, model.own.rows(own.T))
