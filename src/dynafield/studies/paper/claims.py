"""A claim of the paper: where it stands, what theory says, what was measured, and whether it holds."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from dynafield.studies.paper.corrections import CORRECTIONS

__all__ = [
    "CORRECTED",
    "KOLMOGOROV",
    "LEVEL",
    "PAPER",
    "PRINTED",
    "Claim",
    "bound",
    "corrects",
    "distribution_bound",
    "from_theory",
    "in_bound",
    "mean_of",
    "placed",
    "plain",
    "together",
]

LEVEL = 0.01
"""Largest probability that a claim which is right fails for an unlucky seed."""
KOLMOGOROV = 1.63
"""Times 1/√N: the empirical distribution function of N independent draws is farther off with that chance."""
PAPER, PRINTED, CORRECTED = "paper", "as printed", "corrected"
"""Who states it: the paper; the paper where it is to be corrected; the correction."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """One row of the table: its words, its numbers, and the rule that decides.

    A claim that is not simply the paper's belongs to one of CORRECTIONS.
    """

    topic: str
    source: str
    statement: str
    theory: str
    measured: str
    difference: str
    rule: str
    holds: bool
    figure: str
    turns: str = ""
    """The smallest change of the data, of those tried, for which a claim that holds fails."""
    place: str = ""
    """Section, statement, equation and figure of the paper."""
    erratum: str = ""
    """The name of the correction."""

    @property
    def verdict(self) -> str:
        """In words."""
        return "holds" if self.holds else "does not hold"

    def facts(self) -> dict[str, Any]:
        """All of it in plain types, with the correction written out."""
        found = CORRECTIONS.get(self.erratum)
        words = {"printed": "", "corrected": "", "weight": ""}
        if found is not None:
            words = {"printed": found.printed, "corrected": found.corrected, "weight": found.weight}
        return dataclasses.asdict(self) | {"verdict": self.verdict} | words


def corrects(erratum: str, *claims: Claim) -> list[Claim]:
    """The same claims, those that are not the paper's with the name of their correction and its place."""
    place = CORRECTIONS[erratum].place
    return [
        claim if claim.source == PAPER else dataclasses.replace(claim, erratum=erratum, place=place)
        for claim in claims
    ]


def placed(place: str, *claims: Claim) -> list[Claim]:
    """The same claims, those without a place with this one."""
    return [claim if claim.place else dataclasses.replace(claim, place=place) for claim in claims]


def distribution_bound(number: int) -> float:
    """Distance that the empirical distribution function of so many independent draws exceeds with
    probability LEVEL (Kolmogorov)."""
    return KOLMOGOROV / number**0.5


def bound(runs: int, comparisons: int) -> float:
    """Standard errors that the worst of several means over runs exceeds with probability LEVEL at most.

    By Student's distribution, LEVEL divided among the comparisons: conservative where they are correlated.
    """
    return float(scipy.stats.t.isf(LEVEL / (2 * comparisons), runs - 1))


class Distance(NamedTuple):
    """Distance of means over runs from theory."""

    worst: float
    """In standard errors."""
    percent: float
    most: float
    """Largest value that is allowed for the worst."""

    @property
    def holds(self) -> bool:
        """Whether the worst is within the bound."""
        return bool(self.worst <= self.most)

    @property
    def words(self) -> str:
        """What was found."""
        return f"at most {self.worst:.1f} standard errors, on average {self.percent:.1f} %"

    @property
    def rule(self) -> str:
        """What decides."""
        return (
            f"holds if no difference exceeds {self.most:.1f} standard errors (probability {LEVEL:g} by "
            "chance)"
        )


def from_theory(runs: Any, theory: Any, own: Any = 0.0) -> Distance:
    """Means over the last axis against theory, whose standard error is `own`."""
    runs = np.asarray(runs)
    mean = np.mean(runs, axis=-1)
    error = np.hypot(np.std(runs, axis=-1, ddof=1) / np.sqrt(runs.shape[-1]), own)
    off = np.abs(mean - theory)
    apart = np.where(off > 0, off / np.maximum(error, 1e-300), 0.0)
    size = np.abs(np.asarray(theory, float) + 0 * mean)
    percent = 100 * float(np.mean(off / np.where(size > 0, size, np.abs(mean) + 1e-300)))
    return Distance(float(np.max(apart)), percent, bound(runs.shape[-1], np.size(mean)))


def together(comparisons: list[tuple[Any, ...]]) -> Distance:
    """Several comparisons (runs, theory[, its error]) as one: the worst, the mean in percent, one bound."""
    found = [from_theory(*one) for one in comparisons]
    runs = [np.asarray(one[0]) for one in comparisons]
    return Distance(
        max(one.worst for one in found),
        float(np.mean([one.percent for one in found])),
        bound(min(one.shape[-1] for one in runs), sum(one[..., 0].size for one in runs)),
    )


def in_bound(
    topic: str, source: str, words: str, pairs: list[tuple[Any, ...]], what: str, figure: str
) -> Claim:
    """Means over runs that should agree with theory. Each of `pairs` is (runs, theory); the last is shown."""
    distance, (runs, theory) = together(pairs), pairs[-1]
    mean = np.mean(runs, axis=-1)
    error = np.std(runs, axis=-1, ddof=1) / np.shape(runs)[-1] ** 0.5
    seen = f"{float(mean):.4g} ± {float(error):.2g}" if np.ndim(mean) == 0 else plain(mean)
    return Claim(
        topic,
        source,
        words,
        f"{what}: {plain(theory)}" if what else plain(theory),
        seen,
        distance.words,
        distance.rule,
        distance.holds,
        figure,
    )


def mean_of(values: np.ndarray) -> tuple[float, float]:
    """Mean of several numbers and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def plain(values: Any, digits: int = 3) -> str:
    """Numbers in a row, without exponents up to a million."""

    def written(x: float) -> str:
        return f"{x:.0f}" if 10**digits <= abs(x) < 1e6 else f"{x:.{digits}g}"

    return ", ".join(written(float(x)) for x in np.ravel(values))
