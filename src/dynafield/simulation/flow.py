r"""Gradient flow of many networks on one data set.

A stiff problem: for large α the spectrum of the flow is that of \(\alpha^2X^\top X/\delta\), and
late training goes on for times far beyond the fastest mode. Backward differentiation
with a step of its own for every network; the implicit equations reduce to one symmetric
system per network in residual space [eq:flow_newton], solved together by conjugate
gradients, preconditioned by the lazy part of the flow, which is diagonal once the rows
of X are rotated.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.numerics.conjugate import solve_shared
from dynafield.numerics.multistep import ERROR, LARGEST_ORDER, BackwardDifferences
from dynafield.problem.networks import Network
from dynafield.simulation.data import Reduced
from dynafield.simulation.layers import Layers, State

__all__ = ["integrate"]

SHARE = 0.05
"""Error allowed per step, in units of the tolerance: incremental learning magnifies it."""
CLOSE = 0.05
"""Error of the linear solves, in units of the error allowed per step."""
LONGEST_MOVE = 0.5
"""Largest change of a layer's logarithm against its extrapolation: beyond, linearization fails."""
SINGULAR = 0.3
"""Smallest derivative of a layer's own implicit equation."""
SMALLEST = 1e-13
"""Smallest step, relative to the time reached, and to the first step."""
MOST_STEPS = 200_000
"""Steps that are tried at most: hard problems at the tightest tolerance take some thousands."""
PACE, HOPELESS = 4_000, 10
"""After every so many steps a network is given up if, at their pace, so many times MOST_STEPS would not be
enough: its residuals are rounding errors, and too large for long steps."""


class Linear(NamedTuple):
    """The implicit equations of a step, linearized at the extrapolated point."""

    here: State
    size: np.ndarray
    c: np.ndarray
    u_gap: np.ndarray
    v_gap: np.ndarray
    u_own: Any
    v_own: Any
    good: np.ndarray


def integrate(
    net: Network,
    lam: Float[np.ndarray, " p"],
    u: Float[np.ndarray, "p d"],
    v: Float[np.ndarray, "p d"],
    data: Reduced,
    delta: float,
    tol: float,
    times: Float[np.ndarray, " t"],
    observe: Callable[[int, np.ndarray, np.ndarray, np.ndarray], bool | None],
    report: Callable[[float], None],
) -> dict[int, float]:
    """Follow the flow from (u, v) through `times` (increasing, from 0 on).

    `observe(row, indices, w, squares)` receives the weights of a network and its u², v² at
    some of the times, and may answer False to leave it there; `report` is called after every
    step how much is done. Returns the networks whose step became too small, each with the
    time it had reached.
    """
    layers, decay, tol = Layers(net, u, v), 0.5 * lam, SHARE * tol
    past = BackwardDifferences(layers.start, *first_step(layers, decay, data, delta, tol))
    following, dead, least, tried = np.zeros(len(u), int), {}, SMALLEST * past.step, 0
    before = np.zeros(len(u))
    if times[0] == 0:
        w, squares = layers.state(layers.start).w, layers.squares(layers.start)
        for row in past.rows.tolist():
            observe(row, np.zeros(1, int), w[[row]], squares[[row]])
        following[:] = 1
        if len(times) == 1:
            return dead
    with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too long, and refused
        while len(past.rows):
            tried += 1
            line, correction = newton(layers, past, decay[past.rows], data, delta, tol)
            error = norm(line, correction, tol) * ERROR[past.order[past.rows]]
            made = (error < 1.0) & line.good & (np.max(np.abs(correction), axis=1) < LONGEST_MOVE)
            error = np.where(made | ((error >= 1.0) & np.isfinite(error)), error, np.inf)
            going = deliver(layers, past, correction, made, times, following, observe)
            factor, order = choose(past, line, correction, error, made, tol)
            past.move(np.where(made[:, None], correction, 0.0), made, factor, order)
            limit = np.maximum(SMALLEST * past.t[past.rows], least[past.rows])
            stuck = going & ((past.step[past.rows] < limit + 1e-290) | (tried >= MOST_STEPS))
            if tried % PACE == 0:
                stuck |= going & hopeless(before[past.rows], past.t[past.rows], times[-1])
                before = past.t.copy()
            dead |= {int(row): float(past.t[row]) for row in past.rows[stuck]}
            past.rows = past.rows[going & ~stuck]
            report(share_done(past.t, times))
    return dead


def hopeless(before: np.ndarray, now: np.ndarray, end: float) -> np.ndarray:
    """Whether the end is out of reach at the pace of the last steps."""
    return (end - now) * PACE > HOPELESS * MOST_STEPS * (now - before)


def share_done(t: np.ndarray, times: np.ndarray) -> float:
    """Fraction of the work that is done, in the logarithm of time, as steps go."""
    first = max(1e-6 * times[-1], 1e-290)
    return float(np.mean(np.log1p(np.minimum(t, times[-1]) / first)) / np.log1p(times[-1] / first))


def gradient(w: np.ndarray, data: Reduced, delta: float) -> np.ndarray:
    r"""\(g = \tfrac1\delta X^\top(Xw - y)\)."""
    return (w @ data.X.T - data.y) @ data.X / delta


def first_step(
    layers: Layers, decay: np.ndarray, data: Reduced, delta: float, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """The slope at the start, and a step so small that its error is far below the tolerance."""
    here = layers.state(layers.start)
    g = gradient(here.w, data, delta)
    slope = np.concatenate([-here.u.speed * g - decay[:, None], here.v.speed * g - decay[:, None]], axis=1)
    stiff = here.u.slope * here.u.speed + here.v.slope * here.v.speed
    strength = np.sum(data.X**2) / min(data.X.shape) / delta  # a mode's typical pull
    fastest = np.max(np.abs(slope), axis=1) + strength * np.max(stiff, axis=1)
    return slope, 0.1 * np.sqrt(tol) * min(1.0, np.sqrt(tol) * 100) / np.maximum(fastest, 1e-300)


def linearize(
    layers: Layers, past: BackwardDifferences, decay: np.ndarray, data: Reduced, delta: float
) -> tuple[Linear, np.ndarray]:
    """Residuals and derivatives of the step's equations at the extrapolated point x."""
    x, psi, c, guess = past.predict()
    d, c, decay = x.shape[1] // 2, c[:, None], decay[:, None]
    here = layers.state(x + guess)
    psi = psi + guess
    g = gradient(here.w, data, delta)
    u_gap = psi[:, :d] + c * (here.u.speed * g + decay)
    v_gap = psi[:, d:] - c * (here.v.speed * g - decay)
    u_own = own_slope(here.u.speed_slope, c * g)
    v_own = own_slope(here.v.speed_slope, -c * g)
    good = (np.min(u_own, axis=1) > SINGULAR) & (np.min(v_own, axis=1) > SINGULAR)
    size = np.sqrt(np.vecdot(here.w, here.w) / d)
    return Linear(here, np.maximum(size, 1e-100), c, u_gap, v_gap, u_own, v_own, good), guess


def own_slope(speed_slope: Any, push: np.ndarray) -> np.ndarray:
    """Derivative of a layer's own implicit equation; one at depth 2, where speeds are constant."""
    if np.ndim(speed_slope) == 0 and speed_slope == 0:
        return np.ones((len(push), 1))
    return 1.0 + speed_slope * push


def newton(
    layers: Layers, past: BackwardDifferences, decay: np.ndarray, data: Reduced, delta: float, tol: float
) -> tuple[Linear, np.ndarray]:
    r"""The correction of the extrapolated point, by one Newton step [eq:flow_newton].

    One is enough: what it leaves is the square of the correction, and the correction is
    of the size of the tolerance, or the step is refused.
    """
    line, guess = linearize(layers, past, decay, data, delta)
    here, c = line.here, line.c
    u_pull, v_pull = here.u.slope / line.u_own, here.v.slope / line.v_own
    stiff = np.where(line.good[:, None], u_pull * here.u.speed + v_pull * here.v.speed, 0.0)
    right = (v_pull * line.v_gap - u_pull * line.u_gap) @ data.X.T
    share = (c * ERROR[past.order[past.rows]][:, None] / (delta * tol)) ** 2 / guess.shape[1]
    weight = share * (
        here.u.speed**2 + here.v.speed**2 + 2.0 * (stiff / line.size[:, None]) ** 2
    ) + np.zeros_like(stiff)
    lazy = None
    if data.strength is not None:
        lazy = 1.0 / (1.0 + c / delta * np.min(stiff, axis=1)[:, None] * data.strength)
    pulled, solved = solve_shared(data.X, stiff * c / delta, right, weight, CLOSE, lazy)
    pulled /= delta
    line = line._replace(good=line.good & solved)
    u_move = -(line.u_gap + c * here.u.speed * pulled) / line.u_own
    v_move = -(line.v_gap - c * here.v.speed * pulled) / line.v_own
    return line, guess + np.concatenate([u_move, v_move], axis=1)


def norm(line: Linear, change: np.ndarray, tol: float) -> np.ndarray:
    """A change of (a, b) in units of the tolerance: relative in the layers, and in w as a vector."""
    d = change.shape[1] // 2
    moved = line.here.u.slope * change[:, :d] - line.here.v.slope * change[:, d:]
    layers = np.vecdot(change, change) / (2 * d)
    return np.sqrt(layers + np.vecdot(moved, moved) / d / line.size**2) / tol


def choose(
    past: BackwardDifferences,
    line: Linear,
    correction: np.ndarray,
    error: np.ndarray,
    made: np.ndarray,
    tol: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Factor of the step and next order of each solution, from the errors of neighbouring orders."""
    order = past.order[past.rows]
    same = np.maximum(error, 1e-10) ** (-1.0 / (order + 1))
    factor = np.where(made, 1.0, np.clip(0.8 * same, 0.2, 0.9))
    ready = made & (past.steady[past.rows] >= order)
    if not ready.any():
        return factor, order
    below, above = past.neighbours(correction)
    lower = norm(line, below, tol) * ERROR[order - 1]
    upper = norm(line, above, tol) * ERROR[order + 1]
    less = np.where(order > 1, np.maximum(lower, 1e-10) ** (-1.0 / order), 0.0)
    more = np.where(order < LARGEST_ORDER, np.maximum(upper, 1e-10) ** (-1.0 / (order + 2)), 0.0)
    gains = np.stack([same, less, more])
    best = np.argmax(gains, axis=0)
    gain = np.minimum(0.85 * np.max(gains, axis=0), 10.0)
    change = ready & ((best > 0) | (gain > 1.2) | (gain < 0.9))
    return np.where(change, gain, factor), np.where(change, order + np.array([0, -1, 1])[best], order)


def deliver(
    layers: Layers,
    past: BackwardDifferences,
    correction: np.ndarray,
    made: np.ndarray,
    times: np.ndarray,
    following: np.ndarray,
    observe: Callable[[int, np.ndarray, np.ndarray, np.ndarray], bool | None],
) -> np.ndarray:
    """Hand over what lies inside the steps just made; answers which solutions go on."""
    going = np.ones(len(past.rows), bool)
    ends = past.t[past.rows] + past.step[past.rows]
    for row in np.flatnonzero(made).tolist():
        index = past.rows[row]
        until = int(np.searchsorted(times, ends[row], side="right"))
        if until > following[index]:
            which = np.arange(int(following[index]), until)
            x = past.inside(row, correction[row], times[which])
            going[row] = observe(int(index), which, layers.state(x).w, layers.squares(x)) is not False
            following[index] = until
            going[row] &= until < len(times)
    return going
