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
    r"""What the fields at t = 0 decide for small α, as `search_phase` returns it.

    Attributes
    ----------
    task, net
        The problem.
    noise : number or array over parameter axes
        Standard deviation of the field's noise at variance one, \(((\rho^2 + \sigma^2)/\delta)^{1/2}\).
    threshold : number or array over parameter axes
        Size of a field above which weights grow, λ α^(2-L).
    true_growing : number or array over parameter axes
        Probability that a true coordinate (w* ≠ 0) grows.
    false_growing : number or array over parameter axes
        Probability that a false coordinate (w* = 0) grows.
    ordering : number or array over parameter axes
        Probability that a true coordinate is faster than a false one.
    """

    title: ClassVar[str] = "search phase"

    noise: Any = quantity("standard deviation of the field's noise at variance one, ((ρ² + σ²)/δ)^½")
    threshold: Any = quantity("fields above λ α^(2-L) grow")
    true_growing: Any = quantity("probability that a true coordinate (w* ≠ 0) grows")
    false_growing: Any = quantity("probability that a false one (w* = 0) grows")
    ordering: Any = quantity("probability that a true coordinate is faster than a false one")

    def law(self, *index: int) -> FieldLaw:
        """The distribution of the fields of one problem, with activation times and draws.

        Parameters
        ----------
        *index : int
            Old way to choose one problem; write `phase[0, 1].law()`.

        Returns
        -------
        FieldLaw
            The distribution.
        """
        one = self.chosen(index, "law()")
        return field_law(*problem_at(one.task, one.net, ()))


def search_phase(task: Task, net: Network) -> SearchPhase:
    """Probabilities that true and false coordinates grow, and that true ones are faster, for α → 0
    [eq:search_field].

    Without weight decay every coordinate grows, and only the order of their speeds distinguishes them. Arrays
    of δ, σ, α, λ broadcast.

    Parameters
    ----------
    task : Task
        δ, σ and the prior; not without both targets and noise.
    net : DiagonalNetwork
        α, λ and depth.

    Returns
    -------
    SearchPhase
        Probabilities over the parameter axes.
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
