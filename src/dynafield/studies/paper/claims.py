"""A claim of the paper, what theory says, what was measured, and whether it holds."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

__all__ = [
    "CORRECTED",
    "PAPER",
    "PRINTED",
    "Claim",
    "Distance",
    "bound",
    "from_theory",
    "in_bound",
    "mean_of",
    "plain",
    "together",
]

LEVEL = 0.01
"""Chance at most that a claim which is right fails for an unlucky seed."""
PAPER, PRINTED, CORRECTED = "paper", "as printed", "corrected"
"""Who says so: the paper; the paper where it is to be corrected; the correction."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """One row of the table: its words, its numbers, and the rule that decides."""

    topic: str
    source: str
    statement: str
    theory: str
    measured: str
    difference: str
    rule: str
    holds: bool
    figure: str

    @property
    def verdict(self) -> str:
        """In words."""
        return "holds" if self.holds else "does not hold"

    def facts(self) -> dict[str, Any]:
        """All of it in plain types."""
        return dataclasses.asdict(self) | {"verdict": self.verdict}


def bound(runs: int, comparisons: int) -> float:
    """Standard errors that the worst of several means over runs exceeds with a chance of LEVEL at most.

    By Student's law, each comparison allowed its share: conservative where they are correlated.
    """
    return float(scipy.stats.t.isf(LEVEL / (2 * comparisons), runs - 1))


class Distance(NamedTuple):
    """Of means over runs from theory."""

    worst: float
    """In standard errors."""
    percent: float
    most: float
    """What the worst may be."""

    @property
    def holds(self) -> bool:
        """Whether it is within the bound."""
        return bool(self.worst <= self.most)

    @property
    def words(self) -> str:
        """What was found."""
        return f"worst {self.worst:.1f} standard errors, mean {self.percent:.1f} %"

    @property
    def rule(self) -> str:
        """What decides."""
        return f"holds if the worst is within {self.most:.1f} standard errors ({LEVEL:.0%} by chance)"


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
    """Several comparisons (runs, theory[, its error]) as one: worst, mean of percents, common bound."""
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
    """Means over runs that should be what theory says: each of `pairs` is (runs, theory); the last is "
    "shown."""
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
    """Numbers in a row."""
    return ", ".join(f"{float(x):.{digits}g}" for x in np.ravel(values))
