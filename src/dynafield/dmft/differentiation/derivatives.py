r"""Derivatives of learning curves in the numbers of a problem, with error bars [eq:tangents]."""

import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.differentiation.tangents import MOST_AT_ONCE, Direction, curve_tangents, sampled_data
from dynafield.dmft.ensemble import threads
from dynafield.dmft.estimates import named_curves
from dynafield.dmft.preparation import FEWEST, Order, Plan, Problem, member_bytes
from dynafield.dmft.refine import SMALL, Solution, with_replicas
from dynafield.dmft.rules import StepTime
from dynafield.errors import InputError
from dynafield.numerics.dense import Dense
from dynafield.problem.jumps import jump_of_training, measures_that_jump
from dynafield.problem.model import MEASURES
from dynafield.problem.trainers import Steps
from dynafield.progress import Progress, Wanted
from dynafield.records.record import quantity
from dynafield.records.timed import TIME, TimedRecord

__all__ = ["CurveDerivative", "Deriving", "for_every_curve"]

NETWORK = ("train_error", "test_error", "loss")
"""Curves of a network that have derivatives."""
REPLICAS, FEWER = 4, 2
"""Replicas that are differentiated; and smaller ones in halved blocks: they show bias and errors in time."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CurveDerivative(TimedRecord):
    """Derivatives of learning curves in one number, at the times of the curves.

    Derivatives in the step of training compare runs of the same number of steps, not of the same time. A
    schedule has one derivative for every step, on an axis before that of time. A curve that jumps with f has
    no derivative by sampling; its field is None.

    Attributes
    ----------
    task, net
        The problem.
    t : array (k,)
        Training times.
    parameter : str
        Name of the number.
    train_error, test_error, loss, train_loss, test_loss : array (…, k) or None
        Derivatives of the curves of these names; None if the record has no such curve.
    train_error_se, test_error_se, loss_se, train_loss_se, test_loss_se : array (…, k) or None
        Their standard errors.
    """

    title: ClassVar[str] = "derivative of a learning curve"

    parameter: str = ""
    train_error: Any = quantity("derivative of train_error", over=TIME, optional=True)
    test_error: Any = quantity("derivative of test_error", over=TIME, optional=True)
    loss: Any = quantity("derivative of loss", over=TIME, optional=True)
    train_loss: Any = quantity("derivative of train_loss", over=TIME, optional=True)
    test_loss: Any = quantity("derivative of test_loss", over=TIME, optional=True)
    train_error_se: Any = quantity("its estimated error", False, over=TIME, optional=True)
    test_error_se: Any = quantity("its estimated error", False, over=TIME, optional=True)
    loss_se: Any = quantity("its estimated error", False, over=TIME, optional=True)
    train_loss_se: Any = quantity("its estimated error", False, over=TIME, optional=True)
    test_loss_se: Any = quantity("its estimated error", False, over=TIME, optional=True)

    def axes_of(self, over: tuple[str, ...], count: int) -> tuple[str, ...]:
        """Names of the axes: an axis of steps before that of time, for a schedule.

        Parameters
        ----------
        over : tuple of str
            Axes of a field besides those of parameters.
        count : int
            Number of axes that the values have.

        Returns
        -------
        tuple of str
            Names.
        """
        return ("step", *over) if count > len(over) else over

    @property
    def curves(self) -> list[str]:
        """Names of the curves whose derivatives are known."""
        return [n for n in (*MEASURES, "loss") if getattr(self, n) is not None]

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        return [*super().rows()[:2], ("in", self.parameter, "the number that is varied"), *super().rows()[2:]]

    def facts(self) -> dict[str, Any]:
        """The number that is varied."""
        return {"parameter": self.parameter}

    @classmethod
    def settings(cls, data: Any) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        return {"parameter": str(data.attrs["parameter"])}


def for_every_curve(found: dict[str, Any]) -> dict[str, Any]:
    """Derivatives by the names of all curves, None where there is none."""
    return {name: found.get(name) for name in CurveDerivative.quantities() if name != "t"}


def derivable(order: Order) -> list[str]:
    """Names of the numbers in which curves can be differentiated."""
    trainer = order.equations.trainer
    steps = isinstance(order.equations.time, StepTime) and not getattr(trainer, "looks_back", False)
    return ["delta", "sigma", *order.problems[0].model.numbers(), *(["step"] if steps else [])]


def refusal(order: Order) -> str | None:
    """Why there are no derivatives of a kind that sampling can find, or None."""
    trainer, model = order.equations.trainer, order.problems[0].model
    if trainer is not None and trainer.fraction < 1 and not order.equations.closed:
        return "sampled data are in a batch or not, and sampled derivatives miss that"
    jump = jump_of_training(trainer, model)
    return jump and f"{jump}, and sampled derivatives miss jumps"


class Sampling(NamedTuple):
    """How curves are sampled in order to differentiate them, and in which blocks of time."""

    plan: Plan
    edges: Float[np.ndarray, " e"]


@dataclasses.dataclass(frozen=True)
class Deriving:
    """Differentiates curves that were solved: what was asked, and the replicas that answer it."""

    order: Order
    found: Solution
    network: bool

    def derivatives(self, names: tuple[str, ...], progress: Wanted = None) -> dict[str, dict[str, Any]]:
        """For each name, derivatives and their error bars by the names of curves, parameter axes first."""
        known = derivable(self.order)
        for name in names:
            if name not in known:
                raise InputError(f"name must be one of {', '.join(known)}, got {name!r}")
        reason = refusal(self.order)
        if reason is not None:
            raise InputError(f"derivatives cannot be found: {reason}")
        directions, places = self.directions(names)
        parts = self.parts
        groups = [directions[k : k + self.at_once] for k in range(0, len(directions), self.at_once)]
        slopes: dict[Any, list[np.ndarray]] = {part: [] for part in parts}
        whole = len(parts) * len(groups)
        with (
            Progress("differentiating", float(whole), progress) as bar,
            ThreadPoolExecutor(threads(len(parts))) as pool,
        ):
            work = []
            for group, part in itertools.product(groups, parts):
                work.append((part, pool.submit(self.one, *part, group)))
                if self.one_program and len(work) == 1:  # goes alone, so that code is compiled only once
                    wait([work[0][1]])
            try:
                for number, (part, one) in enumerate(work):
                    slopes[part].append(one.result())
                    bar.show(number + 1.0, f"{number + 1} of {whole} replicas, {len(directions)} numbers")
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        joined = {part: np.concatenate(rows) for part, rows in slopes.items()}
        return {name: self.collected(joined, places[name]) for name in names}

    @cached_property
    def samplings(self) -> tuple[Sampling, ...]:
        """How derivatives are sampled: with half the points that the solver has chosen; and with half of
        these, in halved blocks. Steps with noise of their own need all points."""
        plan, order, edges = self.found.ensemble.plan, self.order, self.found.ensemble.edges
        if order.equations.random:
            return (Sampling(plan, edges),)
        points = plan.points if order.points is not None else plan.points // 2
        halved = order.time.split(edges, np.full(len(edges) - 1, True))
        many, few = max(points, FEWEST), max(points // 2, FEWEST)
        like = many if few <= SMALL else 0
        return (
            Sampling(with_replicas(plan, REPLICAS)._replace(points=many, like=0), edges),
            Sampling(with_replicas(plan, FEWER)._replace(points=few, like=like), halved),
        )

    @property
    def one_program(self) -> bool:
        """Whether all samplings run the same compiled code."""
        return len({one.plan.data_rows for one in self.samplings}) == 1

    @property
    def parts(self) -> list[tuple[int, int, int]]:
        """Sampling, problem and replica of all that is done; one of each sampling begins, so that they are
        compiled side by side."""
        every = [
            (k, p, r)
            for p in range(len(self.order.problems))
            for k, one in reversed(list(enumerate(self.samplings)))
            for r in range(len(one.plan.seeds))
        ]
        return sorted(every, key=lambda part: part[1:] != (0, 0))

    @property
    def at_once(self) -> int:
        """Derivatives that fit into memory together, in all threads."""
        order = self.order
        model = order.problems[0].model
        one = max(
            member_bytes(order.equations, model, plan, len(edges)) * threads(len(plan.seeds))
            for plan, edges in self.samplings
        )
        return int(np.clip(order.memory / one - 1, 1, MOST_AT_ONCE))

    def directions(self, names: tuple[str, ...]) -> tuple[list[Direction], dict[str, Any]]:
        """All directions, and for each name the place of its own, or a slice of those of a schedule."""
        found: list[Direction] = []
        places: dict[str, Any] = {}
        trainer = self.order.equations.trainer
        for name in names:
            if name == "step" and isinstance(trainer, Steps) and trainer.scheduled:
                time = self.order.time
                assert isinstance(time, StepTime)
                taken = int(time.numbers(self.found.ensemble.edges)[-1])
                places[name] = slice(len(found), len(found) + taken)
                found += [Direction(name, k) for k in range(taken)]
            else:
                places[name] = len(found)
                found.append(Direction(name))
        return found, places

    def one(self, number: int, problem: int, replica: int, group: list) -> Float[np.ndarray, "k t m"]:
        """Derivatives of the curves of one replica of a problem, at the times of the curves."""
        order, asked = self.order, self.found.ensemble.edges
        mine, (plan, edges) = order.problems[problem], self.samplings[number]
        equations = sampled_data(order.equations, mine)
        turns = (plan.turns[problem],) if plan.turns and equations is order.equations else ()
        plan = plan._replace(turns=turns)
        slopes = curve_tangents(equations, mine, plan, replica, edges, group)[1]
        if edges is asked:
            return slopes
        rule = Dense(order.time.nodes(edges), edges).weights(order.time.nodes(asked))
        return np.einsum("ts,ksm->ktm", rule, slopes)

    def collected(self, slopes: dict[tuple[int, int, int], np.ndarray], place: Any) -> dict[str, Any]:
        """Means over replicas and error bars, of all problems."""
        order = self.order
        rows = []
        for p, problem in enumerate(order.problems):
            sizes = [
                np.array([slopes[k, p, r][place] for r in range(len(one.plan.seeds))])
                for k, one in enumerate(self.samplings)
            ]
            rows.append(self.estimated(p, problem, sizes))
        return {
            name: np.stack([one[name] for one in rows]).reshape(*order.shape, *rows[0][name].shape)
            for name in rows[0]
        }

    def estimated(self, number: int, problem: Problem, slopes: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Derivatives of the curves of one problem, and their error bars.

        The error bar combines the scatter of replicas with the difference to samples of half the points,
        which have twice the bias, in halved blocks of time, which have hardly any error in time. Other parts
        of a curve's error bar are assumed to be the same fraction of its derivative.
        """
        found, estimate = {}, self.found.estimates[number]
        names = NETWORK if self.network else MEASURES
        sizes = [named_curves(one) for one in slopes]
        jumps = () if self.network else measures_that_jump(problem.model)
        for name in names:
            if name.split("_")[-1] in jumps:
                continue
            means = [np.mean(one[name], axis=0) for one in sizes]
            value, count = means[0], len(sizes[0][name])
            scatter = np.std(sizes[0][name], axis=0, ddof=1) / np.sqrt(count)
            gap = means[-1] - value  # bias, error in time, and some scatter
            parts = estimate.parts[name]._replace(scatter=0.0, bias=0.0)
            share = parts.whole / np.max(np.abs(estimate.value[name]))
            rest = share * np.max(np.abs(value), axis=-1, keepdims=True)
            found[name] = value
            found[f"{name}_se"] = np.sqrt(scatter**2 + gap**2 + rest**2)
        return found
