r"""How near discrete training is to an instability.

A step moves a small change of the parameters by \(1 - \eta H\), H the Hessian where training is: a block of
many steps is right where no eigenvalue of \(\eta H\) comes near 2, and hides what happens beyond. Rows of a
sample with fresh inputs, which agree with what drives the rows, are a finite model with that Hessian
[eq:curvature].
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from dynafield.dmft.member import Member, State
from dynafield.dmft.newton import outputs_and_slopes, rates_and_slopes
from dynafield.dmft.preparation import Equations

__all__ = ["curvature", "most_curvature"]

ROWS = 384
"""Coordinates of that model."""
MOST_DATA = 1536
"""Its data at most; there are fewer coordinates where there would be more."""
STIFFEST = 4
"""Rows of the largest curvature of their own that are always among them, where variances differ."""
CAUTION = 0.9
"""Fraction of the limit of stability from which on steps are taken one by one: a finite model's largest
eigenvalue is within 5 % of the limit's."""


def most_curvature(equations: Equations) -> float:
    r"""The largest stable \(\eta H\): 2, with momentum β \(2(1+\beta)\), of Nesterov over \(1+2\beta\)."""
    beta, trainer = equations.inertia, equations.trainer
    ahead = trainer is not None and trainer.looks_ahead
    return CAUTION * 2 * (1 + beta) / (1 + 2 * beta if ahead else 1)


def curvature(members: Member, states: State, t: float) -> float:
    """The largest eigenvalue of the Hessian over all members, which stand before a single step."""
    count = len(states.sizes)
    slopes = all_slopes(members, states, jnp.asarray(t))
    side = members.coordinates
    sides = (side.weight, side.facts.scale, members.numbers.delta, states.coordinates.normals)
    known = (states.coordinates if states.data is None else states.data).count
    found = jax.tree.map(np.asarray, (slopes, *sides, known))
    return max(of_member(*jax.tree.map(lambda x, k=k: x[k], found)) for k in range(count))


@jax.jit
def all_slopes(members: Member, states: State, t: Any) -> Any:
    """Derivatives of outputs by states, of rates by drive and state, and of ℓ by f."""

    def one(member, state):
        rows, side = state.coordinates, member.coordinates
        args = (rows.state[None], side.facts, t[None])
        output = outputs_and_slopes(member.coordinate, *args)[1][0]
        rates = rates_and_slopes(member.coordinate, state.drive[None], *args)[1:]
        heard = None
        if member.datum is not None:
            heard = outputs_and_slopes(member.datum, state.data.state[None], member.data.facts, t[None])[1][0]
        return output, rates[0][0], rates[1][0], heard

    return jax.vmap(one)(members, states)


def of_member(
    slopes: Any, weight: np.ndarray, scale: np.ndarray, delta: Any, normals: np.ndarray, known: Any
) -> float:
    """The largest eigenvalue of the Hessian of a finite model; `known` of the normals have driven rows."""
    output, by_drive, by_state, heard = slopes
    n = int(min(ROWS, max(8, MOST_DATA / float(delta))))
    m = max(4, round(float(delta) * n))
    rng = np.random.default_rng(0)
    which = np.searchsorted(np.cumsum(weight), (np.arange(n) + 0.5) / n * np.sum(weight))
    which = np.minimum(which, len(weight) - 1)
    if np.ptp(scale) > 0:  # rare features of large variance decide, and may not be among so few rows
        own = np.abs(np.einsum("ckn,kcn->n", output, by_drive))
        which[-STIFFEST:] = np.argsort(own)[-STIFFEST:]
    output, by_drive, by_state = (x[..., which] for x in (output, by_drive, by_state))
    inputs = rng.standard_normal((m, n))
    seen = normals[: min(int(known), m // 2)][:, which]
    inputs[: len(seen)] = seen  # inputs along the directions that have driven the rows
    if heard is not None:
        heard = heard[..., rng.choice(heard.shape[-1], m)]
    k = by_state.shape[0]

    def bent(change: np.ndarray) -> np.ndarray:
        theta = change.reshape(k, n)
        f = np.einsum("ckn,kn->cn", output, theta) @ inputs.T
        ell = f if heard is None else np.einsum("abm,bm->am", heard, f)
        g = ell @ inputs / (delta * n)
        return -(np.einsum("kcn,cn->kn", by_drive, g) + np.einsum("kln,ln->kn", by_state, theta)).ravel()

    kind: Any = LinearOperator  # its own arguments are not typed
    largest: Any = eigs
    operator = kind((k * n, k * n), matvec=bent, dtype=float)
    try:
        found = largest(
            operator, 1, which="LM", tol=0.01, v0=rng.standard_normal(k * n), return_eigenvectors=False
        )
    except ArpackNoConvergence as error:
        found = error.eigenvalues if len(error.eigenvalues) else [np.inf]
    return float(np.max(np.abs(found)))
