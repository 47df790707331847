"""State evolution: what message passing does in high dimension, iteration by iteration."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.endpoints.denoisers import MirrorProx, denoiser_of
from dynafield.endpoints.message_passing import one_problem
from dynafield.errors import InputError
from dynafield.problem.checks import integer, one_real
from dynafield.problem.mirror import MirrorMap
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.problem.observation import active_fraction, mirror_averages, soft_threshold_error
from dynafield.problem.spectra import JointLaw
from dynafield.problem.task import Task
from dynafield.problem.trainers import check_features
from dynafield.records.text import as_text, show

__all__ = ["StateEvolution", "state_evolution"]

NODES = 256


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class StateEvolution:
    r"""The scalars of every iteration k: noise τ_k, threshold t_k, Onsager b_k and errors after it.

    At its fixed point \(b = \chi_w/(1+\chi_w)\), \(\tau^2 = (C_w+\sigma^2)/\delta\), and t is the
    threshold \((1+\chi_w)\lambda\), or R_w where λ = 0 [eq:map_se_dmft].
    """

    task: Task
    net: DiagonalNetwork
    case: str
    tau: Float[np.ndarray, " k"]
    t: Float[np.ndarray, " k"]
    b: Float[np.ndarray, " k"]
    C_w: Float[np.ndarray, " k"]
    test_error: Float[np.ndarray, " k"]

    def __repr__(self) -> str:
        rows = [
            ("case", self.case, f"{len(self.tau)} iterations"),
            ("tau", show(self.tau[-1]), "effective noise"),
            ("t", show(self.t[-1]), "threshold, or R_w where λ = 0"),
            ("b", show(self.b[-1]), "Onsager coefficient χ_w/(1+χ_w)"),
            ("test_error", show(self.test_error[-1]), "C_w + σ² after the last iteration"),
        ]
        return as_text("StateEvolution: message passing in high dimension", rows)


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
    """`amp` of `net` on `task` in the limit of high dimension [eq:state_evolution]."""
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}")
    net = one_problem(net)
    check_features(task, net)
    delta = one_real("delta", task.delta, lambda x: x > 0, "one number here")
    sigma = one_real("sigma", task.sigma, lambda x: x >= 0, "one number here")
    if sigma == 0 and task.signal == 0:
        raise InputError("sigma must be > 0 where the prior is zero: there is nothing to pass messages about")
    if delta == 1 and net.lam == 0:
        raise InputError("delta must not be 1 where lam is 0: there is no fixed point there")
    iterations = integer("iterations", iterations, 1)
    case = denoiser_of(net, delta).case
    mixture = JointLaw(*map(jnp.asarray, task.law.present))
    numbers = (jnp.asarray(x) for x in (delta, sigma, net.alpha, net.lam))
    tau, t, b, c_w = (np.asarray(x) for x in recursion(case, net.depth, iterations, mixture, *numbers))
    return StateEvolution(task, net, case, tau, t, b, c_w, c_w + sigma**2)
