"""Gradient flow with noise, in short steps: their number is doubled until the curves stay [eq:two_rates].

Paths of Brownian motion have no blocks with a few nodes. Errors of these steps are of second order in their
size, so that the difference of two such solutions shows what is left.
"""

from collections.abc import Callable

import numpy as np

from dynafield.dmft.estimates import LIKELY, Estimate, largest
from dynafield.dmft.march import DIVERGING
from dynafield.dmft.preparation import Order
from dynafield.dmft.refine import Report, Solution, refine
from dynafield.errors import SolveError

__all__ = ["TOGETHER", "refine_in_short_steps"]

FIRST = 32
"""Steps to begin with."""
MOST = 1024
"""Steps that are never exceeded."""
SHARE = 0.4
"""Largest error in time, as a fraction of the tolerance."""
TOGETHER = 4
"""Steps that are one piece of a curve where it is read between them."""
ORDER = 4.0
"""Factor by which errors fall where steps are halved."""


def refine_in_short_steps(in_steps: Callable[[int], Order], report: Report) -> tuple[Order, Solution]:
    """Solve to tolerance; `in_steps(n)` is the problem in n steps."""
    count, before = FIRST, None
    while True:
        order = in_steps(count)
        found = refine(order, report)
        unstable = found.ensemble.health == DIVERGING and before is None
        if unstable and count >= MOST:
            return order, found._replace(failure=SolveError(too_stiff(order, found, count)))
        if found.failure is not None and not unstable:
            return order, found
        if before is not None:
            add_time(before, found)
        done = before is not None and largest(order, found.estimates, lambda parts: parts.time) <= SHARE
        if not unstable and (done or order.preview or count >= MOST):
            return order, found
        count, before = 2 * count, None if unstable else found


def too_stiff(order: Order, found: Solution, count: int) -> str:
    """The message for a problem that needs more steps than are allowed."""
    t = found.ensemble.edges[-1]
    return (
        f"{count} short steps of gradient flow with noise blew up at t={t:.3g}: parameters without weight "
        "decay wander off, and are stiff far out. Take a smaller t_max or temperature, or GradientDescent"
    )


def add_time(before: Solution, now: Solution) -> None:
    """Add to error bars what twice as long steps have changed, beyond chance."""
    for old, new in zip(before.estimates, now.estimates, strict=True):
        for name in new.parts:
            new.parts[name] = new.parts[name]._replace(time=left_over(old, new, name))


def left_over(old: Estimate, new: Estimate, name: str) -> np.ndarray:
    """Error of a curve in time at all steps, the largest so far."""
    gap = np.abs(new.value[name][::2] - old.value[name])
    chance = LIKELY * np.hypot(old.parts[name].scatter, new.parts[name].scatter[::2])
    error = np.maximum.accumulate(np.maximum(gap - chance, 0.0) / (ORDER - 1))
    return np.append(error[0], np.repeat(error[1:], 2))
