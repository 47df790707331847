r"""The search phase of small α: which coordinates will grow, and in which order [eq:search_field]."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import index_of, same_shape, untraced
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.problem.task import Task
from dynafield.records.record import Record, quantity
from dynafield.theory.fields import FieldLaw, ordering

__all__ = ["SearchPhase", "search_phase"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class SearchPhase(Record):
    """What the fields at t = 0 decide, over the axes of the parameters."""

    title: ClassVar[str] = "search phase"

    noise: Any = quantity("standard deviation of the field's noise, ((ρ² + σ²)/δ)^½")
    threshold: Any = quantity("fields above λ α^(2-L) grow")
    true_growing: Any = quantity("probability that a true coordinate (w* ≠ 0) grows")
    false_growing: Any = quantity("probability that a false one (w* = 0) grows")
    ordering: Any = quantity("probability that a true coordinate is faster than a false one")

    def law(self, *index: int) -> FieldLaw:
        """The law of fields of one problem: distribution of W(t), activation times, draws."""
        place = np.unravel_index(index_of(index, self.shape), self.shape)
        values = (np.broadcast_to(x, self.shape)[place] for x in (self.net.alpha, self.net.lam, self.noise))
        alpha, lam, noise = map(float, values)
        return FieldLaw(self.task.prior.components, noise, DiagonalNetwork(alpha, lam, self.net.depth))

    def plot(self, ax: Any = None) -> Any:
        """One problem: the fields of true and false coordinates. Several: what grows, along the axis."""
        from dynafield.figures.phases import draw_search

        return draw_search(self, ax)


def search_phase(task: Task, net: Network) -> SearchPhase:
    """Probabilities that true and false coordinates grow, and that true ones are faster, for α → 0.

    Arrays of δ, σ, α, λ broadcast. Without weight decay every coordinate grows, and only the order of
    their speeds tells them apart.
    """
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    given = dict(delta=task.delta, sigma=task.sigma, alpha=net.alpha, lam=net.lam)
    untraced(**given)
    shape = same_shape(**given)
    rows = np.stack([np.broadcast_to(np.asarray(v, float), shape).ravel() for v in given.values()], axis=1)
    power, prior = task.prior.second_moment, task.prior.components
    if power == 0 and np.any(rows[:, 1] == 0):
        raise InputError("task must have targets or noise: with ρ² + σ² = 0 there are no fields")
    found = []
    for delta, sigma, alpha, lam in rows.tolist():
        law = FieldLaw(prior, ((power + sigma**2) / delta) ** 0.5, DiagonalNetwork(alpha, lam, net.depth))
        grow = (law.above(law.threshold, kind) for kind in (True, False))
        found.append((law.noise, law.threshold, *grow, ordering(law.fields, law.true)))
    return SearchPhase(task, net, *(np.reshape(column, shape) for column in zip(*found, strict=True)))
