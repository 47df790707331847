r"""Gradient descent on (u, v), step by step, of many networks on one data set [eq:gf_truncated_dln]."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from dynafield.problem.networks import Network
from dynafield.simulation.data import Reduced

__all__ = ["descend"]

DIVERGED = 1e12
"""A squared residual this many times the first one (and the labels') has diverged."""


def descend(
    net: Network,
    lam: Float[np.ndarray, " p"],
    u: Float[np.ndarray, "p d"],
    v: Float[np.ndarray, "p d"],
    data: Reduced,
    delta: float,
    step: float,
    stops: Int[np.ndarray, " t"],
    observe: Callable[[int, np.ndarray, np.ndarray, np.ndarray], object],
    between: Callable[[], None],
) -> dict[int, int]:
    """Take the steps up to each of `stops` (increasing) and hand over the weights there.

    Returns the networks that diverged, each with the step at which it did.
    """
    depth, truncation = net.depth, net.truncation
    rows, diverged = np.arange(len(u)), {}
    u, v, shrink = u.copy(), v.copy(), 1.0 - 0.5 * step * lam[:, None]

    def layer(x):
        power = x**depth
        value, slope, _ = truncation(power)
        return value, x ** (depth - 1) * slope

    limit = None
    taken = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for index, stop in enumerate(stops):
            while True:
                (u_value, u_slope), (v_value, v_slope) = layer(u), layer(v)
                w = (u_value - v_value) / depth
                if taken == stop or not len(rows):
                    break
                gap = w @ data.X.T - data.y
                size = np.einsum("pk,pk->p", gap, gap)
                if limit is None:
                    limit = DIVERGED * (np.max(size) + np.sum(data.y**2))
                good = size <= limit
                if not good.all():
                    diverged |= {int(row): taken for row in rows[~good]}
                    rows, u, v, shrink = rows[good], u[good], v[good], shrink[good]
                    continue
                g = gap @ data.X * (0.5 * step / delta)
                u, v = shrink * u - u_slope * g, shrink * v + v_slope * g
                taken += 1
                between()
            for row, one, squares in zip(rows, w, np.sum(u**2, 1) + np.sum(v**2, 1), strict=True):
                observe(int(row), np.array([index]), one[None], squares[None])
    return diverged
