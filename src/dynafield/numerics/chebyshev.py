r"""Stabilized explicit steps for stiff flows whose fast modes decay (Runge–Kutta–Chebyshev, second order).

A step of size h in s stages is stable for rates of decay up to \(\rho \approx 0.65\,s^2/h\), so that work
grows with \(\sqrt{\rho h}\), not with \(\rho h\), and needs nothing but evaluations of the right-hand side
(Sommeijer, Shampine and Verwer 1998).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["LONGEST", "Stages", "local_error", "stages", "stages_needed", "step"]

DAMPING = 2.0 / 13.0
MOST = 250
"""Stages of a step at most."""
LONGEST = 0.653 * (MOST**2 - 1)
"""Largest step times rate of decay that is stable."""


class Stages(NamedTuple):
    """Coefficients of the stages of a step, padded to one length, and their number."""

    before: Any
    two_before: Any
    slope: Any
    first_slope: Any
    node: Any
    count: Any


def stages_needed(stiffness: float) -> int:
    """Fewest stages that are stable at this step times rate of decay."""
    return int(min(MOST, max(2, np.ceil(np.sqrt(1.0 + stiffness / 0.653)))))


@lru_cache(maxsize=MOST)
def stages(count: int) -> Stages:
    """The coefficients of a step in so many stages, from Chebyshev polynomials and their derivatives."""
    w0 = 1.0 + DAMPING / count**2
    T, dT, ddT = (np.zeros(count + 1) for _ in range(3))
    T[0], T[1], dT[1] = 1.0, w0, 1.0
    for j in range(2, count + 1):
        T[j] = 2 * w0 * T[j - 1] - T[j - 2]
        dT[j] = 2 * T[j - 1] + 2 * w0 * dT[j - 1] - dT[j - 2]
        ddT[j] = 4 * dT[j - 1] + 2 * w0 * ddT[j - 1] - ddT[j - 2]
    w1 = dT[count] / ddT[count]
    b = np.zeros(count + 1)
    b[2:] = ddT[2:] / dT[2:] ** 2
    b[:2] = b[2]
    before, two_before, slope, first_slope, node = (np.zeros(MOST + 1) for _ in range(5))
    j = np.arange(2, count + 1)
    before[j] = 2 * b[j] * w0 / b[j - 1]
    two_before[j] = -b[j] / b[j - 2]
    slope[1], slope[j] = b[1] * w1, 2 * b[j] * w1 / b[j - 1]
    first_slope[j] = -(1.0 - b[j - 1] * T[j - 1]) * slope[j]
    node[j] = w1 * ddT[j] / dT[j]
    node[1] = node[2] / (4 * w0)
    return Stages(before, two_before, slope, first_slope, node, np.asarray(count))


def step(rate: Callable[[Any, Any], Any], y: Any, t: Any, h: Any, coefficients: Stages) -> Any:
    """y at t + h, of y' = rate(y, t)."""
    c = Stages(*map(jnp.asarray, coefficients))
    first = rate(y, t)

    def stage(j: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        older, last = carry
        slope = rate(last, t + c.node[j - 1] * h)
        share = 1.0 - c.before[j] - c.two_before[j]
        new = share * y + c.before[j] * last + c.two_before[j] * older
        return last, new + h * (c.slope[j] * slope + c.first_slope[j] * first)

    return jax.lax.fori_loop(2, c.count + 1, stage, (y, y + c.slope[1] * h * first))[1]


def local_error(rate: Callable[[Any, Any], Any], y: Any, after: Any, t: Any, h: Any) -> Any:
    """What a step was off by, of third order in h."""
    return 0.8 * (y - after) + 0.4 * h * (rate(y, t) + rate(jnp.asarray(after), t + h))
