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
from dynafield.dmft.layers import growth
from dynafield.dmft.march import March, Problem, Step, UnsettledError, room
from dynafield.errors import SolveError
from dynafield.numerics.collocation import Radau, lagrange, radau

__all__ = [
    "LARGEST",
    "STEEPEST",
    "Tolerance",
    "TooLargeError",
    "defects",
    "halved",
    "march_adaptively",
    "march_along",
    "nodes_of",
    "room_for",
]

SHARE = 0.5
"""Error per defect to the power (s+1)/s, from comparison with halved blocks: .1 to .5 was found."""
LARGEST = 320
"""Most nodes of a grid."""
LONGEST = 2.5
"""A block is at most so many times longer than the one before."""
SMALLEST = 1e-12
"""Shortest block, relative to the first guess or the time reached."""
STEEPEST = 1.5
"""Largest μh: beyond, the rule no longer grows as the layers do."""
MANY = 60
"""After so many sweeps blocks do not grow."""


class TooLargeError(SolveError):
    """A march that outgrows the memory it was given."""


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


def excess(march: March, steps: list[Step], tolerance: Tolerance) -> float:
    """Largest estimated error in units of what is allowed."""
    worst = 0.0
    for member, step in zip(march.members, steps, strict=True):
        kernels = member.kernels
        k, made = kernels.nodes - 1, step.made
        for before, new in ((kernels.F[k], kernels.noise(made)), (kernels.U[k], kernels.residuals(made))):
            absolute, relative = defects(march.rule, np.vstack([before, new]), kernels.scale)
            worst = max(worst, float(absolute[0]) / tolerance.absolute)
            if tolerance.relative is not None and np.linalg.norm(new[-1]) > FAINT * kernels.scale:
                worst = max(worst, float(relative[0]) / tolerance.relative)
    return worst


def first_length(problem: Problem, scale: float, largest: float) -> float:
    """A first block: short beside the fastest relaxation and the first unit of movement."""
    slope = problem.alpha ** (2 * problem.depth - 2)
    spectrum = (1 + problem.delta**-0.5) ** 2
    force = (4 * scale + largest) * max(1.0, problem.alpha ** (problem.depth - 2))
    return 0.5 / (slope * spectrum + force + problem.lam * problem.depth)


Report = Callable[[March], None]


def march_adaptively(
    march: March, stops: Float[np.ndarray, " k"], tolerance: Tolerance, report: Report
) -> None:
    """March to the last stop with blocks chosen on the way, which end at all stops."""
    lengths = [
        first_length(m.problem, m.kernels.scale, float(np.max(np.abs(m.chunks[0].target))))
        for m in march.members
    ]
    fastest = max(growth(m.problem.depth, m.problem.lam) for m in march.members)
    limit = STEEPEST / fastest if fastest > 0 else np.inf
    length, stages = min(lengths), len(march.rule.nodes)
    while march.time < stops[-1]:
        make_room(march, stages)
        stop = float(stops[np.searchsorted(stops, march.time, side="right")])
        left = stop - march.time
        length = min(length, limit, left)
        if length < left < 2 * length:
            length = left / 2
        if length < SMALLEST * max(min(*lengths, stop), march.time):
            raise SolveError(
                f"the iteration for the kernels did not converge beyond t={march.time:.6g}, "
                "however short the step"
            )
        try:
            steps = march.attempt(length)
        except UnsettledError:
            length *= 0.4
            continue
        factor = 0.9 * max(excess(march, steps, tolerance), 1e-12) ** (-1 / (stages + 1))
        if factor < 0.8:
            length *= max(factor, 0.2)
            continue
        march.keep(length, steps)
        if length == left:
            march.edges[-1] = stop
        report(march)
        if max(step.sweeps for step in steps) > MANY:
            factor = min(factor, 1.0)
        length *= min(factor, LONGEST)


def make_room(march: March, stages: int) -> None:
    """Larger arrays when the next block would not fit."""
    kernels = march.members[0].kernels
    if kernels.nodes + stages <= kernels.capacity:
        return
    if kernels.nodes + stages > LARGEST:
        raise SolveError(
            f"more than {LARGEST} nodes of time are needed beyond t={march.time:.6g}: "
            "take a larger tol, or a smaller t_max"
        )
    larger = room(kernels.nodes + stages)
    if march.needs(larger) > march.means.memory:
        raise TooLargeError(
            f"{larger} nodes of time need {march.needs(larger) / 1e9:.2g} GB beyond t={march.time:.6g}, "
            "more than memory_gb allows: take more of it, or a larger tol"
        )
    for member in march.members:
        member.enlarge(larger)


def march_along(march: March, edges: Float[np.ndarray, " b"], report: Report) -> None:
    """March along given blocks; UnsettledError where one of them is too long."""
    for end in edges[1:]:
        make_room(march, len(march.rule.nodes))
        length = float(end - march.time)
        march.keep(length, march.attempt(length))
        march.edges[-1] = float(end)
        report(march)


def nodes_of(edges: Float[np.ndarray, " b"], stages: int) -> Float[np.ndarray, " t"]:
    """Times of all nodes, 0 first."""
    inside = edges[:-1, None] + np.diff(edges)[:, None] * radau(stages).nodes
    return np.concatenate([[0.0], inside.ravel()])


def room_for(edges: Float[np.ndarray, " b"], stages: int) -> int:
    """Room for the nodes of a grid."""
    return room(1 + stages * (len(edges) - 1))


def halved(edges: Float[np.ndarray, " b"]) -> Float[np.ndarray, " c"]:
    """The grid with all blocks halved."""
    return np.sort(np.concatenate([edges, (edges[1:] + edges[:-1]) / 2]))
