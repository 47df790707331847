"""A claim of the paper, what theory says, what was measured, and whether it holds."""

import dataclasses
from typing import Any

import numpy as np

__all__ = [
    "CORRECTED",
    "MOST",
    "PAPER",
    "PRINTED",
    "WORST",
    "Claim",
    "crossing",
    "end_claim",
    "in_errors",
    "plain",
    "ratio_of",
    "told",
]

MOST = 4.0
"""Standard errors by which the worst of several correlated numbers may be off."""
WORST = f"holds if the worst is within {MOST:g} standard errors"
PAPER, PRINTED, CORRECTED = "paper", "as printed", "corrected"
"""Who says so: the paper; the paper where the errata correct it; the errata."""


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
        return dataclasses.asdict(self) | {"holds": bool(self.holds), "verdict": self.verdict}


def in_errors(runs: np.ndarray, theory: Any, own: Any = 0.0) -> tuple[float, float]:
    """Distance of theory from means over the last axis: the worst in standard errors, the mean in percent.

    `own` is the standard error of theory itself.
    """
    mean = np.mean(runs, axis=-1)
    error = np.hypot(np.std(runs, axis=-1, ddof=1) / np.sqrt(runs.shape[-1]), own)
    return float(np.max(np.abs(mean - theory) / error)), 100 * float(np.mean(np.abs(mean / theory - 1)))


def crossing(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """The last x at which y goes through a level, between its points; NaN if it never does."""
    places = np.flatnonzero((y[:-1] - level) * (y[1:] - level) <= 0)
    if not len(places):
        return float("nan")
    k = places[-1]
    return float(x[k] + (level - y[k]) / (y[k + 1] - y[k]) * (x[k + 1] - x[k]))


def ratio_of(values: np.ndarray) -> tuple[float, float]:
    """Mean of several numbers and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def plain(values: Any, digits: int = 3) -> str:
    """Numbers in a row."""
    return ", ".join(f"{float(x):.{digits}g}" for x in np.ravel(values))


def told(worst: float, percent: float) -> str:
    """A difference in words."""
    return f"worst {worst:.1f} standard errors, mean {percent:.1f} %"


def end_claim(topic: str, words: str, pairs: list[tuple[np.ndarray, Any]], what: str, figure: str) -> Claim:
    """Errors of finite networks against a fixed point."""
    found = [in_errors(runs, expected) for runs, expected in pairs]
    worst, percent = max(w for w, _ in found), float(np.mean([p for _, p in found]))
    means = [np.mean(runs, axis=-1) for runs, _ in pairs]
    return Claim(
        topic,
        PAPER,
        words,
        f"{what}: {plain(pairs[-1][1])}",
        f"{what}: {plain(means[-1])}",
        told(worst, percent),
        WORST,
        worst <= MOST,
        figure,
    )
