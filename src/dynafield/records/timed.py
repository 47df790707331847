"""Results over training time."""

import dataclasses
from typing import Any

from dynafield.records.record import Record, quantity

__all__ = ["TIME", "TimedRecord", "TwoTimeRecord"]

TIME = ("time",)
KERNEL = ("time", "time_before")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class TimedRecord(Record):
    """A result at times `t`, which are a coordinate of its data set."""

    t: Any = quantity("training times", over=TIME, swept=False)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class TwoTimeRecord(TimedRecord):
    """The errors of an infinite network and its four kernels."""

    train_error: Any = quantity("training error C_f(t, t)", over=TIME)
    test_error: Any = quantity("test error C_w(t, t) + σ²", over=TIME)
    C_w: Any = quantity("correlation of errors E[(w(t) - w*)(w(t') - w*)]", False, over=KERNEL, optional=True)
    C_f: Any = quantity(
        "covariance over time of a residual f - ξ, which is Gaussian", False, over=KERNEL, optional=True
    )
    R_w: Any = quantity(
        "response of weights R_w(t, s), a density, 0 for s > t", False, over=KERNEL, optional=True
    )
    R_f: Any = quantity(
        "response of residuals R_f(t, s), a density, 0 for s > t", False, over=KERNEL, optional=True
    )
