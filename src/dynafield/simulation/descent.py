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
    report: Callable[[float], None],
) -> dict[int, int]:
    """Take the steps up to each of `stops` (increasing) and hand over the weights and u², v² there.

    `report` is told after every step how much is done. Returns the networks that diverged,
    each with the step at which it did.
    """
    depth, truncation = net.depth, net.truncation
    rows, diverged, following = np.arange(len(u)), {}, 0
    u, v, shrink = u.copy(), v.copy(), 1.0 - 0.5 * step * lam[:, None]

    def layer(x):
        power = x**depth
        value, slope, _ = truncation(power)
        return value, x ** (depth - 1) * slope

    limit = None
    with np.errstate(over="ignore", invalid="ignore"):
        for taken in range(int(stops[-1]) + 1):
            (u_value, u_slope), (v_value, v_slope) = layer(u), layer(v)
            w = (u_value - v_value) / depth
            gap = w @ data.X.T - data.y
            size = np.einsum("pk,pk->p", gap, gap)
            limit = DIVERGED * float(np.max(size) + np.sum(data.y**2)) if limit is None else limit
            good = size <= limit
            if not good.all():
                diverged |= {int(row): taken for row in rows[~good]}
                rows, u, v, shrink, w, gap = (a[good] for a in (rows, u, v, shrink, w, gap))
                u_slope, v_slope = u_slope[good], v_slope[good]
            if not len(rows):
                break
            if taken == stops[following]:
                squares = np.concatenate([u**2, v**2], axis=1)
                for k, row in enumerate(rows.tolist()):
                    observe(row, np.array([following]), w[[k]], squares[[k]])
                following += 1
            report(taken / max(1, int(stops[-1])))
            g = gap @ data.X * (0.5 * step / delta)
            u, v = shrink * u - u_slope * g, shrink * v + v_slope * g
    return diverged
