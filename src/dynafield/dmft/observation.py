r"""Data of a closed side, observed once its kernels are known.

Residuals of affine data are \(\ell = G\tilde\zeta\), where \(\tilde\zeta_j\) is direction j of the
coordinates seen through the inputs of a datum: Gaussian, but for its correlation with the teacher's output
and with the label noise of that datum [eq:closed_data].
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynafield.dmft.closed import Affine
from dynafield.dmft.ensemble import Replica
from dynafield.dmft.preparation import Equations, Problem, affine_of
from dynafield.dmft.sampling import draw_data
from dynafield.problem.model import Datum, Model

__all__ = ["observe", "observed_measures"]

ROUNDING = 1e-12
"""Differences this small, relative to what they are taken of, are zero."""
POINTS = 2**14
"""Data on which losses of affine models are observed."""


class Observed(NamedTuple):
    """f of sampled data on training and on fresh inputs (time, channel, datum), with what the data know."""

    trained: Float[np.ndarray, "t c n"]
    fresh: Float[np.ndarray, "t c n"]
    datum: Datum


def observe(equations: Equations, problem: Problem, replica: Replica, points: int, seed: int) -> Observed:
    """Data of a replica whose data side is closed."""
    model, c, rho = problem.model, problem.model.outputs, equations.rho
    affine = affine_of(equations, problem)
    size = len(replica.teacher_basis)
    datum, normals = draw_data(model, rho, problem.sigma, points, size + 1, (seed, 5))
    seen = directions_seen(replica, affine, model, datum, normals[1:], rho)
    h = at_zero(model, datum)
    kernels = [replica.on_nodes(name) for name in ("F_ell", "F_w")]
    back = np.linalg.inv(affine.slope)
    trained, fresh = (
        np.einsum("ab,tbn->tan", back, difference((rows @ seen).reshape(-1, c, points), h))
        for rows in kernels
    )
    return Observed(trained, fresh, datum)


def difference(ell: Float[np.ndarray, "t c n"], h: Float[np.ndarray, "c n"]) -> Float[np.ndarray, "t c n"]:
    """ℓ - h, set to an exact zero where only rounding is left, since the sign of f may matter."""
    left = ell - h
    return np.where(np.abs(left) > ROUNDING * (np.abs(h) + np.max(np.abs(h), initial=0.0)), left, 0.0)


def at_zero(model: Model, datum: Datum) -> Float[np.ndarray, "c n"]:
    """h, which is ℓ where f = 0."""
    h = jax.vmap(model.ell, in_axes=(None, 0))(jnp.zeros(model.channels), datum)
    return np.asarray(h).reshape(len(np.asarray(datum.f_star)), -1).T


def directions_seen(
    replica: Replica, affine: Affine, model: Model, datum: Datum, normals: np.ndarray, rho: float
) -> Float[np.ndarray, "r n"]:
    """Directions of the coordinates as a datum sees them.

    Three parts: along its teacher's output, along its label noise, and the rest.
    """
    along = replica.teacher_basis / rho if rho > 0 else np.zeros_like(replica.teacher_basis)
    standard = np.asarray(datum.f_star) / rho if rho > 0 else np.zeros(len(np.asarray(datum.f_star)))
    left = at_zero(model, datum) - np.outer(affine.to_teacher, np.asarray(datum.f_star))
    noise = np.linalg.pinv(affine.rest, rcond=1e-10) @ left
    still = replica.still_basis
    used = np.any(replica.on_nodes("F_w") != 0, axis=0)
    covariance = np.diag(used.astype(float)) - np.outer(along, along) - still @ still.T
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.outer(along, standard) + still @ noise + factor @ normals[: len(along)]


def observed_measures(equations: Equations, problem: Problem, replica: Replica, seed: int) -> Any:
    """Losses and errors (time, 4) of affine data that do not follow from mean squares, or None."""
    model = problem.model
    if not equations.closed or not (model.own_loss or model.own_error):
        return None
    seen = observe(equations, problem, replica, POINTS, seed)

    @jax.jit
    def averages(f: Any) -> Any:
        rows = jnp.moveaxis(f, 2, 1).reshape(f.shape[0], f.shape[2], *model.channels)
        measures = jax.vmap(jax.vmap(model.measures), in_axes=(0, None))(rows, seen.datum)
        return jnp.mean(measures, axis=1)

    return np.concatenate([np.asarray(averages(f)) for f in (seen.trained, seen.fresh)], axis=1)
