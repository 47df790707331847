r"""The grid of time: blocks as long as accuracy and convergence of the iteration allow.

The polynomial through the nodes of a block, extended back to its start, misses what is known
there by a defect of order \(h^s\) [eq:dmft_defect]. Dense output, which uses the start as one
more node, is better by a power of h; so the defect to the power (s+1)/s measures its error.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.kernels import FAINT
from dynafield.dmft.march import March, Step, UnsettledError
from dynafield.errors import SolveError
from dynafield.numerics.collocation import Radau, lagrange

__all__ = ["Tolerance", "defects", "halved", "march_adaptively", "march_along"]

SHARE = 0.5
"""Error per defect to the power (s+1)/s, from comparison with halved blocks: .1 to .5 was found."""
LONGEST = 2.5
"""A block is at most so many times longer than the one before."""
SMALLEST = 1e-12
"""Shortest block, relative to the first guess or the time reached."""
MANY = 60
"""After so many sweeps blocks do not grow."""


class Tolerance(NamedTuple):
    """Error allowed in E_train and E_test: absolute in units of E_test(0), and relative or None."""

    absolute: float
    relative: float | None = None

    def times(self, share: float) -> "Tolerance":
        """A share of it."""
        return Tolerance(share * self.absolute, None if self.relative is None else share * self.relative)

    def allowed(self, values: np.ndarray, unit: float | np.ndarray) -> np.ndarray:
        """The error allowed beside each value."""
        size = np.full_like(values, self.absolute) * unit
        return size if self.relative is None else np.minimum(size, self.relative * np.abs(values))


def defects(
    rule: Radau, rows: Float[np.ndarray, "k m"], scale: float
) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, " b"]]:
    """Errors that the defects of all blocks stand for: in units of E_test(0), and relative.

    A row of F is a path-space vector: its norm is a root mean square over paths, so that the
    defect of the rows is that of single paths, which may be rough where averages are smooth.
    """
    s = len(rule.nodes)
    nodes, starts = rows[1:].reshape(-1, s, rows.shape[1]), rows[:-1:s]
    back = lagrange(rule.nodes, np.zeros(1))[0]
    missed = np.linalg.norm(np.einsum("i,bik->bk", back, nodes) - starts, axis=1)
    size = np.min(np.linalg.norm(nodes, axis=2), axis=1) + 1e-12 * scale
    power = (s + 1) / s
    return SHARE * (missed / scale) ** power, SHARE * (missed / size) ** power


def excess(march: March, steps: list[Step], rule: Radau, tolerance: Tolerance) -> float:
    """Largest estimated error in units of what is allowed."""
    worst = 0.0
    for member, step in zip(march.members, steps, strict=True):
        for rows, scale in member.turns(step.made):
            absolute, relative = defects(rule, rows, scale)
            worst = max(worst, float(absolute[0]) / tolerance.absolute)
            if tolerance.relative is not None and np.linalg.norm(rows[-1]) > FAINT * scale:
                worst = max(worst, float(relative[0]) / tolerance.relative)
    return worst


Report = Callable[[March], None]


def march_adaptively(
    march: March, rule: Radau, stops: Float[np.ndarray, " k"], tolerance: Tolerance, report: Report
) -> None:
    """March to the last stop with blocks chosen on the way, which end at all stops."""
    first = min(member.first_length() for member in march.members)
    limit = min(member.longest() for member in march.members)
    length, stages = first, len(rule.nodes)
    while march.time < stops[-1]:
        march.make_room()
        stop = float(stops[np.searchsorted(stops, march.time, side="right")])
        left = stop - march.time
        length = min(length, limit, left)
        if length < left < 2 * length:
            length = left / 2
        if length < SMALLEST * max(min(first, stop), march.time):
            raise SolveError(
                f"the iteration for the kernels did not converge beyond t={march.time:.6g}, "
                "however short the step"
            )
        try:
            steps = march.attempt(length)
        except UnsettledError:
            length *= 0.4
            continue
        factor = 0.9 * max(excess(march, steps, rule, tolerance), 1e-12) ** (-1 / (stages + 1))
        if factor < 0.8:
            length *= max(factor, 0.2)
            continue
        march.keep(stop if length == left else march.time + length, steps)
        report(march)
        if max(step.sweeps for step in steps) > MANY:
            factor = min(factor, 1.0)
        length *= min(factor, LONGEST)


def march_along(march: March, edges: Float[np.ndarray, " b"], report: Report) -> None:
    """March along given blocks or steps; UnsettledError where a block is too long."""
    for end in edges[1:]:
        march.make_room()
        march.keep(float(end), march.attempt(float(end - march.time)))
        report(march)


def halved(edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " c"]:
    """The grid with all blocks halved."""
    return np.sort(np.concatenate([edges, (edges[1:] + edges[:-1]) / 2]))
