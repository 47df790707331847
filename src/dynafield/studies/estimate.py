"""The cost of a study: its points, its size, and the measured time of one point of each computation."""

import resource
import sys
import time
from typing import NamedTuple

import numpy as np

from dynafield.studies.computations import Computation
from dynafield.studies.study import Study

__all__ = ["Estimate", "estimate"]

PATIENCE = 20.0
"""Seconds: a point that takes longer is not computed a second time."""


class Estimate(NamedTuple):
    """The cost of one computation of a study."""

    computation: str
    points: int
    batches: int
    seconds: float
    """Seconds for all its points, one after another in one process."""
    result_bytes: int
    memory_bytes: int
    """Peak memory of this process after the trial."""


def estimate(study: Study) -> list[Estimate]:
    """The cost of each computation: one point is computed twice, so that compilation does not count."""
    batches = study.batches()
    return [
        Estimate(
            one.name,
            study.size,
            sum(batch.computation == one.name for batch in batches),
            trial(study, one) * study.size,
            result_bytes(study, one),
            peak(),
        )
        for one in study.computations
    ]


def trial(study: Study, computation: Computation) -> float:
    """Seconds for the point in the middle of the study."""
    point, taken = study.point_at([length // 2 for length in study.shape]), 0.0
    for _ in range(2):
        began = time.monotonic()
        computation.run([point], study.seed)
        taken = time.monotonic() - began
        if taken > PATIENCE:
            break
    return taken


def result_bytes(study: Study, computation: Computation) -> int:
    """Size of the results of a computation, in bytes."""
    lengths = {name: len(values) for name, values in computation.coordinates().items()}
    each = [int(np.prod([lengths[a] for a in part.over], dtype=int)) for part in computation.parts().values()]
    return 8 * study.size * sum(each)


def peak() -> int:
    """Peak memory of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
