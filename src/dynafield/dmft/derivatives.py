r"""Derivatives of learning curves in the numbers behind them, with error bars [eq:tangents]."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from dynafield.dmft.ensemble import threads
from dynafield.dmft.estimates import named_curves
from dynafield.dmft.preparation import FEWEST, Order, Plan, Problem, member_bytes
from dynafield.dmft.refine import Solution
from dynafield.dmft.rules import StepTime
from dynafield.dmft.tangents import MOST_AT_ONCE, Direction, curve_tangents, sampled_data
from dynafield.errors import InputError
from dynafield.problem.jumps import jump_of_training, measures_that_jump
from dynafield.problem.model import MEASURES
from dynafield.problem.trainers import Steps
from dynafield.progress import Progress, Wanted
from dynafield.records.record import quantity
from dynafield.records.timed import TIME, TimedRecord

__all__ = ["CurveDerivative", "Deriving", "derivable", "for_every_curve"]

NETWORK = ("train_error", "test_error", "loss")
"""Curves of a network that have derivatives."""
REPLICAS = 4
"""Replicas that are differentiated, of two sizes each: the smaller ones tell the bias of a sample."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CurveDerivative(TimedRecord):
    """Derivatives of learning curves in one number, on the times of the curves.

    Those in the step of training compare runs of as many steps, not of as much time; of a schedule there is
    one for every step, as an axis before that of time. What jumps with f has no derivative by sampling, and
    is None.
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
        """An axis of steps before that of time, for a schedule."""
        return ("step", *over) if count > len(over) else over

    @property
    def curves(self) -> list[str]:
        """Names of the curves whose derivatives are known."""
        return [n for n in (*MEASURES, "loss") if getattr(self, n) is not None]

    def rows(self) -> list[tuple[str, str, str]]:
        """What the derivative shows of itself."""
        return [*super().rows()[:2], ("in", self.parameter, "the number that is varied"), *super().rows()[2:]]

    def facts(self) -> dict[str, Any]:
        """The number that is varied."""
        return {"parameter": self.parameter}

    @classmethod
    def settings(cls, data: Any) -> dict[str, Any]:
        """The fields behind `facts`."""
        return {"parameter": str(data.attrs["parameter"])}

    def plot(self, ax: Any = None) -> Any:
        """Derivatives of test and training error against time, with bands of two estimated errors."""
        from dynafield.figures.dmft import draw_derivative

        return draw_derivative(self, ax)


def for_every_curve(found: dict[str, Any]) -> dict[str, Any]:
    """Derivatives by name, None for those that there are not."""
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
                raise InputError(f"derivative must be in one of {', '.join(known)}, got {name!r}")
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
            work = [(part, pool.submit(self.one, *part, group)) for group in groups for part in parts]
            try:
                for number, (part, one) in enumerate(work):
                    slopes[part].append(one.result())
                    bar.show(number + 1.0, f"{number + 1} of {whole} replicas, {len(directions)} numbers")
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        joined = {part: np.concatenate(rows) for part, rows in slopes.items()}
        return {name: self.collected(joined, places[name]) for name in names}

    @property
    def plans(self) -> tuple[Plan, ...]:
        """How derivatives are sampled: as the curves, and with half the points; both with half of those that
        the solver has chosen. Steps with noise of their own need all points."""
        plan, order = self.found.ensemble.plan, self.order
        if order.equations.random:
            return (plan,)
        plan = plan._replace(seeds=plan.seeds[:REPLICAS], epsilons=plan.epsilons[:REPLICAS])
        points = plan.points if order.points is not None else plan.points // 2
        return tuple(plan._replace(points=max(least, FEWEST)) for least in (points, points // 2))

    @property
    def parts(self) -> list[tuple[int, int, int]]:
        """Plan, problem and replica of all that is done; both sizes begin, so that they are compiled side by
        side."""
        sizes, problems = range(len(self.plans)), range(len(self.order.problems))
        replicas = range(len(self.plans[0].seeds))
        rest = [(k, p, r) for p in problems for k in reversed(sizes) for r in replicas if (p, r) != (0, 0)]
        return [(k, 0, 0) for k in sizes] + rest

    @property
    def at_once(self) -> int:
        """Derivatives that fit into memory together, in all threads."""
        order, plan = self.order, self.plans[0]
        one = member_bytes(order.equations, order.problems[0].model, plan, len(self.found.ensemble.edges))
        return int(np.clip(order.memory / (one * threads(len(plan.seeds))) - 1, 1, MOST_AT_ONCE))

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

    def one(self, size: int, problem: int, replica: int, group: list) -> Float[np.ndarray, "k t m"]:
        """Derivatives of the curves of one replica of a problem."""
        order, ensemble = self.order, self.found.ensemble
        mine, plan = order.problems[problem], self.plans[size]
        equations = sampled_data(order.equations, mine)
        turns = (plan.turns[problem],) if plan.turns and equations is order.equations else ()
        plan = plan._replace(turns=turns)
        return curve_tangents(equations, mine, plan, replica, ensemble.edges, group)[1]

    def collected(self, slopes: dict[tuple[int, int, int], np.ndarray], place: Any) -> dict[str, Any]:
        """Means over replicas and error bars, of all problems."""
        order = self.order
        rows = []
        for p, problem in enumerate(order.problems):
            sizes = [
                np.array([slopes[k, p, r][place] for r in range(len(plan.seeds))])
                for k, plan in enumerate(self.plans)
            ]
            rows.append(self.estimated(p, problem, sizes))
        return {
            name: np.stack([one[name] for one in rows]).reshape(*order.shape, *rows[0][name].shape)
            for name in rows[0]
        }

    def estimated(self, number: int, problem: Problem, slopes: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Derivatives of the curves of one problem, and their error bars.

        Replicas scatter, and samples of half the points have twice their bias; what else is in the error bar
        of a curve is taken to be as large a share of its derivative.
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
            gap = means[-1] - value  # the bias itself, and some scatter
            parts = estimate.parts[name]._replace(scatter=0.0, bias=0.0)
            share = parts.whole / np.max(np.abs(estimate.value[name]))
            rest = share * np.max(np.abs(value), axis=-1, keepdims=True)
            found[name] = value
            found[f"{name}_se"] = np.sqrt(scatter**2 + gap**2 + rest**2)
        return found
