"""The learning curve of the infinite network, as a result."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.dmft.results.activation import LEVEL, Activation, activation_times
from dynafield.dmft.results.solved import SolvedRecord, replica_mean
from dynafield.problem.checks import called, function_of, integer, one_real, seed_of
from dynafield.records.problems import problem_words
from dynafield.records.record import quantity
from dynafield.records.timed import TIME, TwoTimeRecord

__all__ = ["Curves", "Law"]


class Points(NamedTuple):
    """Errors of a network at chosen times, each with its estimated error.

    Parameters
    ----------
    t : array (k,)
        Times.
    train_error, test_error : array (…, k)
        Errors, over the parameter axes and times.
    train_error_se, test_error_se : array (…, k)
        Their estimated errors.
    loss : array (…, k)
        Training loss with the penalty.
    """

    t: Float[np.ndarray, " k"]
    train_error: Float[np.ndarray, "... k"]
    test_error: Float[np.ndarray, "... k"]
    train_error_se: Float[np.ndarray, "... k"]
    test_error_se: Float[np.ndarray, "... k"]
    loss: Float[np.ndarray, "... k"]


class Law(NamedTuple):
    """The distribution of (w(t), w*) at one time, as weighted draws.

    Parameters
    ----------
    w : array (n,)
        Weights of sampled coordinates.
    w_star : array (n,)
        Their targets.
    weight : array (n,)
        Their weights in averages, of sum one.
    replica : array of int (n,)
        The replica that each belongs to.
    """

    w: Float[np.ndarray, " n"]
    w_star: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    replica: np.ndarray

    def average(self, function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> tuple[float, float]:
        """E[function(w, w*)] and its standard error from the replicas.

        Parameters
        ----------
        function : callable
            Takes two arrays (n,), w and w*, and returns an array (n,).

        Returns
        -------
        float, float
            Mean and standard error.
        """
        values = called("function", function_of("function", function), self.w, self.w_star)
        return replica_mean(values, self.weight, self.replica)

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Independent draws from the weighted ones.

        Parameters
        ----------
        n : int
            Number of draws.
        seed : int, default 0
            Seed of the random numbers.

        Returns
        -------
        array (n,), array (n,)
            w and w*.
        """
        rng = np.random.default_rng(seed_of("seed", seed))
        which = rng.choice(len(self.w), size=integer("n", n, 1), p=self.weight / self.weight.sum())
        return self.w[which], self.w_star[which]


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Curves(SolvedRecord, TwoTimeRecord):
    """The learning curve of an infinite network, as `solve` returns it.

    Arrays have the parameter axes first, written as …, then the axes given here; one problem has no parameter
    axes. Errors are in the units of y².

    Attributes
    ----------
    task, net
        The problem.
    t : array (k,)
        Training times, the nodes of the grid.
    train_error : array (…, k)
        Mean squared residual C_f(t, t).
    test_error : array (…, k)
        Population error C_w(t, t) + σ².
    train_error_se, test_error_se : array (…, k)
        Estimated errors of the two curves.
    loss : array (…, k)
        Half the training error, with the penalty λ E[u² + v²]/2.
    C_w, C_f, R_w, R_f : array (…, k, k)
        Kernels over two times: correlations of w - w* and of residuals, and responses.
    edges : array (b + 1,)
        Times between which the blocks of the grid lie.
    paths : array (…, n, k)
        Weights w(t) of sampled coordinates.
    path_target, path_weight, path_replica : array (…, n)
        Their targets, weights in averages and replicas.
    path_variance : array (…, n) or None
        Variances of their features; None if all are one.
    t_max, tol, rtol, points, seed, trainer
        Arguments of `solve`; `points` per replica.
    replicas : int
        Number of independent replicas.
    status : str
        "finished", "preview", "interrupted", or what went wrong.
    deriving
        What differentiates the curves; None in a record that was read from a file.
    """

    title: ClassVar[str] = "learning curve of the infinite network"
    final: ClassVar[tuple[str, ...]] = ("train_error", "test_error", "test_error_se")

    loss: Any = quantity("train_error/2 + λ E[u² + v²]/2", over=TIME)
    train_error_se: Any = quantity("estimated error of train_error", False, over=TIME)
    test_error_se: Any = quantity("estimated error of test_error", False, over=TIME)
    paths: Any = quantity("weights w(t) of sampled paths", False, over=("path", "time"))
    path_target: Any = quantity("their targets", False, over=("path",))
    path_weight: Any = quantity("their weights", False, over=("path",))
    path_variance: Any = quantity("variances of their features", False, over=("path",), optional=True)
    path_replica: Any = quantity("their replica", False, over=("path",))

    def at(self, times: Any) -> Points:
        """The errors at any times up to the last that was reached.

        Parameters
        ----------
        times : number or array (k,)
            Times ≥ 0; of discrete training, times after a step.

        Returns
        -------
        Points
            Errors (…, k) and their error bars, interpolation included.
        """
        t = self.reached(times)
        loss = np.asarray(self.loss) @ self.dense.weights(t).T
        return Points(t=t, loss=loss, **self.between(("train_error", "test_error"), t))

    def law(self, t: Any, *index: int) -> Law:
        """The distribution of (w(t), w*) at a time, of one problem, as weighted draws.

        Parameters
        ----------
        t : float
            Time.
        *index : int
            Old way to choose one problem; write `curves[0, 1].law(t)`.

        Returns
        -------
        Law
            Draws with weights.
        """
        one = self.chosen(index, "law(t)")
        return Law(np.asarray(one.paths) @ one.rule(t), *one.known())

    def activation(self, *index: int, level: float = LEVEL) -> Activation:
        r"""First times at which sampled coordinates of one problem have \(|w|\) ≥ level [eq:activation].

        Parameters
        ----------
        *index : int
            Old way to choose one problem; write `curves[0, 1].activation()`.
        level : float, default 0.5
            Size of a weight that counts as active, in the units of w*.

        Returns
        -------
        Activation
            Times of all sampled coordinates.
        """
        level = one_real("level", level, lambda x: x > 0, "one number > 0")
        one = self.chosen(index, "activation()")
        one.rule(0.0)
        times = activation_times(np.asarray(one.paths), one.dense, level)
        target, weight, replica = one.known()
        return Activation(
            time=times,
            w_star=target,
            weight=weight,
            replica=replica,
            level=level,
            t_max=float(one.t[-1]),
            problem=problem_words(one.task, one.net),
        )

    def known(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Targets, weights and replicas of the paths of one problem."""
        return np.asarray(self.path_target), np.asarray(self.path_weight), np.asarray(self.path_replica, int)

    def observable(self, function: Callable, t: Any, *index: int) -> tuple[float, float]:
        """E[function(w(t), w*)] and its standard error, of one problem.

        Parameters
        ----------
        function : callable
            Takes two arrays (n,), w and w*, and returns an array (n,).
        t : float
            Time.
        *index : int
            Old way to choose one problem; write `curves[0, 1].observable(function, t)`.

        Returns
        -------
        float, float
            Mean and standard error.
        """
        return self.chosen(index, "observable(function, t)").law(t).average(function)
