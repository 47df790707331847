"""State evolution: what message passing does in high dimension, iteration by iteration."""

import dataclasses
import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from dynafield.endpoints.denoisers import MirrorProx, denoiser_of
from dynafield.endpoints.message_passing import MOST_ITERATIONS, one_problem
from dynafield.errors import InputError
from dynafield.problem.checks import at_most, integer, one_real
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.networks import Network
from dynafield.problem.observation import active_fraction, mirror_averages, soft_threshold_error
from dynafield.problem.spectra import JointLaw
from dynafield.problem.task import Task
from dynafield.problem.trainers import check_features
from dynafield.records.record import Record, quantity
from dynafield.records.text import show

__all__ = ["StateEvolution", "state_evolution"]

NODES = 256
ITERATION = ("iteration",)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class StateEvolution(Record):
    r"""The scalars of every iteration of message passing in high dimension, as `state_evolution` returns
    them.

    At the fixed point \(b = \chi_w/(1+\chi_w)\), \(\tau^2 = (C_w+\sigma^2)/\delta\), and t is the
    threshold \((1+\chi_w)\lambda\), or R_w where λ = 0 [eq:map_se_dmft].

    Attributes
    ----------
    task, net
        The problem.
    case : str
        "regularized" (lasso), "ridgeless" (least squares) or "interpolating" (least J).
    tau : array (k,)
        Effective noise of every iteration.
    t : array (k,)
        Threshold, or R_w where λ = 0.
    b : array (k,)
        Onsager coefficient χ_w/(1+χ_w).
    C_w : array (k,)
        E[(w - w*)²] after the iteration.
    test_error : array (k,)
        C_w + σ² after the iteration.
    """

    title: ClassVar[str] = "message passing in high dimension"

    case: str
    tau: Any = quantity("effective noise", over=ITERATION)
    t: Any = quantity("threshold, or R_w where λ = 0", over=ITERATION)
    b: Any = quantity("Onsager coefficient χ_w/(1+χ_w)", over=ITERATION)
    C_w: Any = quantity("E[(w - w*)²] after the iteration", over=ITERATION)
    test_error: Any = quantity("C_w + σ² after the iteration", over=ITERATION)

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        last = [
            (field.name, show(getattr(self, field.name)[-1]), f"{field.metadata['meaning']}, last")
            for field in self.numbered()
        ]
        return [*super().rows()[:2], ("case", self.case, f"{len(self.tau)} iterations"), *last]

    def facts(self) -> dict[str, Any]:
        """The case, as an attribute of a file."""
        return {"case": self.case}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        return {"case": str(data.attrs["case"])}


@functools.partial(jax.jit, static_argnames=("case", "depth", "iterations"))
def recursion(case: str, depth: int, iterations: int, mixture: JointLaw, delta, sigma, alpha, lam) -> Any:
    """All iterations as one compiled loop."""

    def errors(tau, t):
        if case == "regularized":
            return soft_threshold_error(mixture, tau, t), active_fraction(mixture, tau, t)
        if case == "ridgeless":
            return tau**2, jnp.ones(())
        averages = mirror_averages(MirrorMap(alpha, depth), mixture, NODES, jnp.log(tau), jnp.log(t))
        return averages.c_w, averages.active

    def step(carry, _):
        tau, t = carry
        c_w, slope = errors(tau, t)
        b = slope / delta
        return (jnp.sqrt((c_w + sigma**2) / delta), lam + b * t), (tau, t, b, c_w)

    tau = jnp.sqrt((mixture.signal + sigma**2) / delta)
    mean, first = jnp.sum(mixture.weight * mixture.variance), 1.0
    if case == "interpolating":
        first = mean * MirrorProx(MirrorMap(alpha, depth)).first_threshold(tau / jnp.sqrt(mean))
    t = jnp.where(lam > 0, lam, first)
    return jax.lax.scan(step, (tau, t), None, length=iterations)[1]


def state_evolution(task: Task, net: Network, iterations: int = 200) -> StateEvolution:
    """What `amp` of `net` on `task` does in high dimension, iteration by iteration [eq:state_evolution].

    Parameters
    ----------
    task : Task
        One δ, one σ, and the prior.
    net : DiagonalNetwork
        One α, one λ, and the depth; λ > 0 only at depth 2.
    iterations : int, default 200
        Number of iterations.

    Returns
    -------
    StateEvolution
        Scalars of every iteration.

    Raises
    ------
    InputError
        If δ = 1 where λ = 0, or there are neither targets nor noise.
    """
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    net = one_problem(net)
    check_features(task, net)
    delta = one_real("delta", task.delta, lambda x: x > 0, "one number here")
    sigma = one_real("sigma", task.sigma, lambda x: x >= 0, "one number here")
    if sigma == 0 and task.signal == 0:
        raise InputError("sigma must be > 0 where the prior is zero: there is nothing to estimate")
    if delta == 1 and net.lam == 0:
        raise InputError("delta must not be 1 where lam is 0: there is no fixed point there")
    iterations = at_most("iterations", integer("iterations", iterations, 1), MOST_ITERATIONS)
    case = denoiser_of(net, delta).case
    mixture = JointLaw(*map(jnp.asarray, task.law.present))
    numbers = (jnp.asarray(x) for x in (delta, sigma, net.alpha, net.lam))
    tau, t, b, c_w = (np.asarray(x) for x in recursion(case, net.depth, iterations, mixture, *numbers))
    return StateEvolution(task, net, case, tau, t, b, c_w, c_w + sigma**2)
