"""The learning curve of a general flow, as a result."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dynafield.dmft.results.solved import SolvedRecord, replica_mean
from dynafield.problem.checks import called, function_of, integer, seed_of
from dynafield.problem.model import MEASURES, Datum
from dynafield.records.flows import FlowRecord
from dynafield.records.record import quantity
from dynafield.records.timed import TIME

__all__ = ["FlowCurves"]

CHANNELS = ("channel", "time")
KERNEL = ("channel", "time", "channel_before", "time_before")


class FlowPoints(NamedTuple):
    """Losses and errors at chosen times, each with its estimated error.

    Parameters
    ----------
    t : array (k,)
        Times.
    train_loss, train_error, test_loss, test_error : array (…, k)
        Curves, over the parameter axes and times.
    train_loss_se, train_error_se, test_loss_se, test_error_se : array (…, k)
        Their estimated errors.
    """

    t: Float[np.ndarray, " k"]
    train_loss: Float[np.ndarray, "... k"]
    train_error: Float[np.ndarray, "... k"]
    test_loss: Float[np.ndarray, "... k"]
    test_error: Float[np.ndarray, "... k"]
    train_loss_se: Float[np.ndarray, "... k"]
    train_error_se: Float[np.ndarray, "... k"]
    test_loss_se: Float[np.ndarray, "... k"]
    test_error_se: Float[np.ndarray, "... k"]


class ThetaLaw(NamedTuple):
    """The distribution of (θ(t), w*) at one time, as weighted draws.

    Parameters
    ----------
    theta : array (n, …)
        States of sampled coordinates.
    w_star : array (n,)
        Their targets.
    weight : array (n,)
        Their weights in averages, of sum one.
    replica : array of int (n,)
        The replica that each belongs to.
    """

    theta: np.ndarray
    w_star: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    replica: np.ndarray

    def average(self, function: Callable) -> tuple[float, float]:
        """E[function(theta, w_star)] and its standard error from the replicas.

        Parameters
        ----------
        function : callable
            Takes θ and w* of one coordinate and returns a number, in jax.numpy.

        Returns
        -------
        float, float
            Mean and standard error.
        """
        rows = jax.vmap(function_of("function", function))
        return replica_mean(called("function", rows, self.theta, self.w_star), self.weight, self.replica)

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
        array (n, …), array (n,)
            θ and w*.
        """
        which = chosen(self.weight, n, seed)
        return self.theta[which], self.w_star[which]


class DataLaw(NamedTuple):
    """The distribution of f(t) on a training datum and of what the datum knows, as weighted draws.

    Parameters
    ----------
    f : array (n, …)
        Outputs on sampled data.
    datum : Datum
        Their f*, ξ and z, arrays over the data.
    weight : array (n,)
        Their weights in averages, of sum one.
    replica : array of int (n,)
        The replica that each belongs to.
    """

    f: np.ndarray
    datum: Datum
    weight: Float[np.ndarray, " n"]
    replica: np.ndarray

    def average(self, function: Callable) -> tuple[float, float]:
        """E[function(f, datum)] and its standard error from the replicas.

        Parameters
        ----------
        function : callable
            Takes f and the Datum of one datum and returns a number, in jax.numpy.

        Returns
        -------
        float, float
            Mean and standard error.
        """
        rows = jax.vmap(function_of("function", function))
        return replica_mean(called("function", rows, self.f, self.datum), self.weight, self.replica)

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, Datum]:
        """Independent draws from the weighted ones.

        Parameters
        ----------
        n : int
            Number of draws.
        seed : int, default 0
            Seed of the random numbers.

        Returns
        -------
        array (n, …), Datum
            Outputs and what the data know.
        """
        which = chosen(self.weight, n, seed)
        return self.f[which], Datum(*(part[which] for part in self.datum))


def chosen(weight: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Indices drawn with probabilities in proportion to their weights."""
    rng = np.random.default_rng(seed_of("seed", seed))
    return rng.choice(len(weight), size=integer("n", n, 1), p=weight / weight.sum())


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FlowCurves(SolvedRecord, FlowRecord):
    """The learning curve of a model in high dimension, as `solve` returns it.

    Arrays have the parameter axes first, written as …, then the axes given here. Axes of channels c are there
    only if w returns a vector.

    Attributes
    ----------
    task, net
        The problem; after loading from a file, `net` is the name of the flow and its numbers.
    t : array (k,)
        Training times, the nodes of the grid.
    train_loss, train_error, test_loss, test_error : array (…, k)
        Mean loss and error on the training data and on fresh data.
    train_loss_se, train_error_se, test_loss_se, test_error_se : array (…, k)
        Their estimated errors.
    overlap : array (…, c, k)
        Cosine between f and the teacher's f*.
    norm : array (…, c, k)
        Root mean square of f.
    C_w, C_ell : array (…, c, k, c, k)
        Correlations of w and of ℓ at two times.
    R_w, R_ell : array (…, c, k, c, k)
        Mean derivatives of w and ℓ by their drives on the nodes of the grid.
    edges : array (b + 1,)
        Times between which the blocks of the grid lie.
    theta : array (…, n, k, state)
        θ(t) of sampled coordinates.
    path_target, path_weight, path_replica : array (…, n)
        Their targets, weights in averages and replicas.
    path_variance : array (…, n) or None
        Variances of their features; None if all are one.
    f : array (…, m, k, c)
        f(t) of sampled training data.
    f_star, xi : array (…, m)
        Their teacher's output and label noise.
    z : array (…, m, z_entry)
        Their own randomness.
    datum_weight, datum_replica : array (…, m)
        Their weights in averages and replicas.
    t_max, tol, rtol, points, seed, trainer
        Arguments of `solve`; `points` per replica.
    replicas : int
        Number of independent replicas.
    status : str
        "finished", "preview", "interrupted", or what went wrong.
    deriving
        What differentiates the curves; None in a record that was read from a file.
    """

    title: ClassVar[str] = "learning curve of a flow in the limit of high dimension"
    final: ClassVar[tuple[str, ...]] = MEASURES

    train_loss: Any = quantity("mean loss on the training data", over=TIME)
    train_error: Any = quantity("mean error on the training data", over=TIME)
    test_loss: Any = quantity("mean loss on fresh data", over=TIME)
    test_error: Any = quantity("mean error on fresh data", over=TIME)
    train_loss_se: Any = quantity("estimated error of train_loss", False, over=TIME)
    train_error_se: Any = quantity("estimated error of train_error", False, over=TIME)
    test_loss_se: Any = quantity("estimated error of test_loss", False, over=TIME)
    test_error_se: Any = quantity("estimated error of test_error", False, over=TIME)
    overlap: Any = quantity("cosine between f and the teacher's", over=CHANNELS)
    norm: Any = quantity("root mean square of f", over=CHANNELS)
    C_w: Any = quantity("correlation E[w(t) w(t')]", False, over=KERNEL, optional=True)
    C_ell: Any = quantity("correlation E[ℓ(t) ℓ(t')]", False, over=KERNEL, optional=True)
    R_w: Any = quantity(
        "Jacobian E[∂w(t)/∂u_g(s)] of the discretized flow", False, over=KERNEL, optional=True
    )
    R_ell: Any = quantity(
        "Jacobian E[∂ℓ(t)/∂u_f(s)] of the discretized flow", False, over=KERNEL, optional=True
    )
    theta: Any = quantity("θ(t) of sampled coordinates", False, over=("path", "time", "state"))
    path_target: Any = quantity("their targets", False, over=("path",))
    path_weight: Any = quantity("their weights", False, over=("path",))
    path_variance: Any = quantity("variances of their features", False, over=("path",), optional=True)
    path_replica: Any = quantity("their replica", False, over=("path",))
    f: Any = quantity("f(t) of sampled training data", False, over=("datum", "time", "channel"))
    f_star: Any = quantity("their teacher's output", False, over=("datum",))
    xi: Any = quantity("their label noise", False, over=("datum",))
    z: Any = quantity("their own randomness", False, over=("datum", "z_entry"))
    datum_weight: Any = quantity("their weights", False, over=("datum",))
    datum_replica: Any = quantity("their replica", False, over=("datum",))

    def at(self, times: Any) -> FlowPoints:
        """Losses and errors at any times up to the last that was reached.

        Parameters
        ----------
        times : number or array (k,)
            Times ≥ 0; of discrete training, times after a step.

        Returns
        -------
        FlowPoints
            Losses and errors (…, k) with their error bars, interpolation included.
        """
        t = self.reached(times)
        return FlowPoints(t=t, **self.between(MEASURES, t))

    def begins_with_jump(self, values: np.ndarray) -> bool:
        """Whether a curve jumps right after t = 0, as the fraction of wrong signs does if f(0) = 0.

        A jump is larger than the defects that a block may have [eq:dmft_defect].

        Parameters
        ----------
        values : array (…, k)
            A curve on the nodes.

        Returns
        -------
        bool
            Whether there is a jump.
        """
        s = self.dense.stages
        allowed = 2 * (0.4 * self.tol) ** (s / (s + 1)) * np.max(np.abs(values))
        return s > 1 and self.dense.jump(values) > float(allowed)

    def law(self, t: Any, *index: int) -> ThetaLaw:
        """The distribution of (θ(t), w*) at a time, of one problem, as weighted draws.

        Parameters
        ----------
        t : float
            Time.
        *index : int
            Old way to choose one problem; write `curves[0, 1].law(t)`.

        Returns
        -------
        ThetaLaw
            Draws with weights.
        """
        one = self.chosen(index, "law(t)")
        theta = np.einsum("nt...,t->n...", np.asarray(one.theta), one.rule(t))
        target, weight, replica = (
            np.asarray(x) for x in (one.path_target, one.path_weight, one.path_replica)
        )
        return ThetaLaw(theta, target, weight, replica.astype(int))

    def data_law(self, t: Any, *index: int) -> DataLaw:
        """The distribution of f(t) on the training data at a time, of one problem, as weighted draws.

        Parameters
        ----------
        t : float
            Time.
        *index : int
            Old way to choose one problem; write `curves[0, 1].data_law(t)`.

        Returns
        -------
        DataLaw
            Draws with weights.
        """
        one = self.chosen(index, "data_law(t)")
        f = np.einsum("nt...,t->n...", np.asarray(one.f), one.rule(t))
        facts = Datum(*(np.asarray(x) for x in (one.f_star, one.xi, one.z)))
        return DataLaw(f, facts, np.asarray(one.datum_weight), np.asarray(one.datum_replica).astype(int))

    def observable(self, function: Callable, t: Any, *index: int) -> tuple[float, float]:
        """E[function(theta, w_star)] at a time and its standard error, of one problem.

        Parameters
        ----------
        function : callable
            Takes θ and w* of one coordinate and returns a number, in jax.numpy.
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

    def data_observable(self, function: Callable, t: Any, *index: int) -> tuple[float, float]:
        """E[function(f, datum)] over the training data and its standard error, of one problem.

        Parameters
        ----------
        function : callable
            Takes f and the Datum of one datum and returns a number, in jax.numpy.
        t : float
            Time.
        *index : int
            Old way to choose one problem; write `curves[0, 1].data_observable(function, t)`.

        Returns
        -------
        float, float
            Mean and standard error.
        """
        return self.chosen(index, "data_observable(function, t)").data_law(t).average(function)
