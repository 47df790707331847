r"""The search phase of small α: which coordinates will grow, and in which order [eq:search_field]."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from dynafield.errors import InputError
from dynafield.problem.checks import same_shape, untraced
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.problem.task import Task
from dynafield.problem.trainers import check_features
from dynafield.records.problems import problem_at
from dynafield.records.record import Record, quantity
from dynafield.theory.fields import FieldLaw, field_law

__all__ = ["SearchPhase", "search_phase"]


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class SearchPhase(Record):
    """What the fields at t = 0 decide, over the axes of the parameters."""

    title: ClassVar[str] = "search phase"

    noise: Any = quantity("standard deviation of the field's noise at variance one, ((ρ² + σ²)/δ)^½")
    threshold: Any = quantity("fields above λ α^(2-L) grow")
    true_growing: Any = quantity("probability that a true coordinate (w* ≠ 0) grows")
    false_growing: Any = quantity("probability that a false one (w* = 0) grows")
    ordering: Any = quantity("probability that a true coordinate is faster than a false one")

    def law(self, *index: int) -> FieldLaw:
        """The law of fields of one problem: distribution of W(t), activation times, draws."""
        return field_law(*problem_at(self.task, self.net, index))

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
    check_features(task, net)
    given = dict(delta=task.delta, sigma=task.sigma, alpha=net.alpha, lam=net.lam)
    untraced(**given)
    shape = same_shape(**given)
    if task.signal == 0 and np.any(np.asarray(task.sigma) == 0):
        raise InputError("task must have targets or noise: with ρ² + σ² = 0 there are no fields")
    found = []
    for index in np.ndindex(shape):
        law = field_law(*problem_at(task, net, index))
        grow = (float(law.above(law.threshold, kind)) for kind in (True, False))
        found.append((law.noise, law.threshold, *grow, law.ordering()))
    return SearchPhase(task, net, *(np.reshape(column, shape) for column in zip(*found, strict=True)))
