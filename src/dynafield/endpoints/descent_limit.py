r"""The limit \(\alpha \to 0\) of training on given data, in \(s = t/\log(1/\alpha)\) [eq:descent_limit].

With \(\Gamma = \int_0^s g\) the limit is \(|\Gamma_i| \le 2 + \lambda s\), and \(w_i \ne 0\) only at the
edge: a coordinate is let in when it gets there, and all that are in contact with the edge are at their common
minimum at once. So w is constant between events, Γ is linear, and every event is found exactly.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from dynafield.errors import SolveError

__all__ = ["descent_limit"]

ROUNDING = 1e-11
"""Relative size of gradients and residuals that count as zero."""
EXCHANGES = 1000
"""Changes of the active set at one event, at most."""
EVENTS = 20
"""Events for each coordinate, at most."""


class Descent(NamedTuple):
    """Times of events from s = 0 on, and the weights from each of them to the next."""

    s: Float[np.ndarray, " k"]
    w: Float[np.ndarray, "k d"]

    def at(self, s: Float[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
        """Weights at given times."""
        return self.w[np.searchsorted(self.s, s, side="right") - 1]


def descent_limit(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], lam: float, end: float) -> Descent:
    """All events up to `end`, which may be infinite: the last weights are then the limit of training."""
    delta, d = len(y) / X.shape[1], X.shape[1]
    tiny = ROUNDING * float(np.max(np.abs(X.T @ y))) / delta
    s, w, moved = 0.0, np.zeros(d), np.zeros(d)
    times, weights = [s], [w]
    for _ in range(EVENTS * d):
        g = X.T @ (X @ w - y) / delta
        wait, who, side = next_contact(moved, g, 2 + lam * s, lam, w == 0, tiny)
        if not s + wait < end:
            return Descent(np.array(times), np.array(weights))
        s, moved = s + wait, moved + wait * g  # Γ' = g [eq:descent_limit]
        inside = np.flatnonzero(w)
        contact, sign = np.append(inside, who), np.append(np.sign(w[inside]), side)
        size = least_in_cone(X[:, contact] * sign, y, lam * delta, np.append(np.abs(w[inside]), 0.0))
        w = np.zeros(d)
        w[contact] = sign * size
        times.append(s)
        weights.append(w)
    raise SolveError(f"the limit of small alpha was not followed beyond s={s:g}: too many events")


def next_contact(
    moved: np.ndarray, g: np.ndarray, edge: float, lam: float, free: np.ndarray, tiny: float
) -> tuple[float, int, float]:
    """Time until a coordinate comes to the edge, which one, and the sign that its weight will have."""
    found = (np.inf, -1, 1.0)
    for sign in (1.0, -1.0):
        slack, rate = edge + sign * moved, lam + sign * g
        coming = free & (rate < -2 * tiny)
        wait = np.where(coming, np.maximum(slack, 0.0) / np.where(coming, -rate, 1.0), np.inf)
        first = int(np.argmin(wait))
        if wait[first] < found[0]:
            found = (float(wait[first]), first, sign)
    return found


def least_in_cone(X: np.ndarray, y: np.ndarray, pull: float, v: np.ndarray) -> np.ndarray:
    r"""The least \(\frac12\|Xv - y\|^2 + p\sum v\) with v ≥ 0, from a v whose last entry is the newcomer.

    Towards the minimum on the active columns; a coordinate that would become negative stays at zero, and may
    come back if the gradient says so.
    """
    active, tiny = np.ones(len(v), bool), ROUNDING * float(np.max(np.abs(X.T @ y)))
    for _ in range(EXCHANGES):
        goal = least_squares(X[:, active], y, pull)
        now, ahead = v[active], goal <= 0
        if ahead.any():
            shares = np.where(ahead, now / np.where(ahead, now - goal, 1.0), np.inf)
            stop = int(np.argmin(shares))
            v = np.zeros(len(v))
            v[active] = now + shares[stop] * (goal - now)
            leaving = np.flatnonzero(active)[stop]
            v[leaving], active[leaving] = 0.0, False
            continue
        v = np.zeros(len(v))
        v[active] = goal
        rate = np.where(active, 0.0, pull + X.T @ (X @ v - y))
        if np.min(rate) >= -tiny:
            return v
        active[int(np.argmin(rate))] = True
    raise SolveError("the minimum over the active coordinates was not found: are columns of X equal?")


def least_squares(X: np.ndarray, y: np.ndarray, pull: float) -> np.ndarray:
    """The minimum with a linear penalty and no constraint, by QR."""
    q, r = np.linalg.qr(X)
    if len(r) < X.shape[1] or np.min(np.abs(np.diag(r))) <= 1e-12 * np.max(np.abs(np.diag(r))):
        raise SolveError("the limit of small alpha needs active columns of X that are independent")
    tilted = scipy.linalg.solve_triangular(r, np.full(X.shape[1], pull), trans=1)
    return scipy.linalg.solve_triangular(r, q.T @ y - tilted)
