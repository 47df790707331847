"""Approximate message passing [eq:amp]: every step is described by a scalar recursion, state evolution."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from dynafield.endpoints.denoisers import Denoiser, denoiser_of
from dynafield.endpoints.minimizers import check_convex, check_rank
from dynafield.errors import InputError, SolveError
from dynafield.numerics.threads import fitting_threads
from dynafield.problem.checks import integer, labelled_data, one_real, real_vector
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.records.text import as_text, show

__all__ = ["MessagePassing", "amp", "one_problem"]

PATIENCE = 100
"""Iterations without progress before damping is halved ..."""
HALVINGS = 3
"""... which it is no more often than this."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class MessagePassing:
    """The last iterate and the history: one entry per iteration, the first for w = 0."""

    w: Float[np.ndarray, " d"]
    case: str
    tau: Float[np.ndarray, " k"]
    b: Float[np.ndarray, " k"]
    t: Float[np.ndarray, " k"]
    change: Float[np.ndarray, " k"]
    weights: Float[np.ndarray, "k d"] | None
    damping: float
    converged: bool

    @property
    def status(self) -> str:
        """ "converged" or "not converged"."""
        return "converged" if self.converged else "not converged"

    def __repr__(self) -> str:
        rows = [
            ("case", self.case, ""),
            ("iterations", str(len(self.tau)), self.status),
            ("tau", show(self.tau[-1]), "effective noise |r|/√(nδ)"),
            ("b", show(self.b[-1]), "Onsager coefficient"),
            ("t", show(self.t[-1]), "threshold"),
            ("damping", show(self.damping), "1 is none"),
        ]
        return as_text("MessagePassing: approximate message passing", rows)


def one_problem(net: Any) -> DiagonalNetwork:
    """A DiagonalNetwork with one α and one λ whose endpoint is a convex problem, or InputError."""
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    alpha = one_real("alpha", net.alpha, lambda x: x > 0, "one number here")
    lam = one_real("lam", net.lam, lambda x: x >= 0, "one number here")
    if lam > 0:
        check_convex(net.depth)
    return DiagonalNetwork(alpha, lam, net.depth)


def amp(
    X: Any,
    y: Any,
    net: Network,
    iterations: int = 2000,
    tol: Any = 1e-10,
    damping: Any = 1.0,
    history: bool = False,
    throw: bool = True,
    variances: Any = None,
) -> MessagePassing:
    r"""Approximate message passing with its Onsager term, towards `minimizer(X, y, net)`.

    \(r^k = y - Xw^k + b_k r^{k-1}\), \(w^{k+1} = \eta(w^k + \tfrac1\delta X^\top r^k; t_{k+1})\) with \(b_k =
    \tfrac1\delta\langle\eta'\rangle\), \(t_{k+1} = \lambda + b_k t_k\). It is made for entries of variance
    1/d, or with `variances` of the features for entries of variance s/d, where \(X^\top r/s\) and t/s take
    the places of \(X^\top r\) and t [eq:amp_s]; on other data its fixed points are right but it may not reach
    them: then it is damped, by halves. Stops when w changes by less than `tol` relative to its size.
    `history` keeps all iterates.
    """
    X, y = labelled_data(X, y)
    net = one_problem(net)
    iterations = integer("iterations", iterations, 1)
    tol = one_real("tol", tol, lambda x: x > 0, "one number > 0")
    damping = one_real("damping", damping, lambda x: (x > 0) & (x <= 1), "one number in (0, 1]")
    if net.lam == 0:
        if len(X) == X.shape[1]:
            raise InputError("X must not be square where lam is 0: message passing has no fixed point there")
        check_rank(X)
    s = np.ones(1)
    if variances is not None:
        s = np.array(real_vector("variances", variances, lambda x: x > 0, "a vector of numbers > 0"))
        if len(s) != X.shape[1]:
            raise InputError(f"variances must have one entry for each of {X.shape[1]} columns, got {len(s)}")
    denoiser = denoiser_of(net, len(X) / X.shape[1])
    attempts: list[MessagePassing] = []
    with fitting_threads(X.size):
        for halving in range(HALVINGS + 1):
            share = damping / 2**halving
            result, stalled = iterate(X, y, denoiser, float(net.lam), iterations, tol, share, history, s)
            attempts.append(result)
            if not stalled:
                break
    result = min(attempts, key=lambda one: (not one.converged, np.nan_to_num(one.change[-1], nan=np.inf)))
    if throw and not result.converged:
        raise SolveError(
            f"message passing did not converge in {len(result.tau)} iterations "
            f"(last change {result.change[-1]:.1e}, damping {result.damping:g}): "
            "allow more iterations, a larger tol, or throw=False"
        )
    return result


def iterate(
    X: np.ndarray,
    y: np.ndarray,
    denoiser: Denoiser,
    lam: float,
    iterations: int,
    tol: float,
    damping: float,
    history: bool,
    variance: np.ndarray,
) -> tuple[MessagePassing, bool]:
    """The recursion at one damping until it settles, stalls or runs out; also whether it stalled."""
    n, d = X.shape
    delta = n / d
    w, r, b = np.zeros(d), np.zeros(n), 0.0
    mean = float(np.mean(variance))
    t = (
        lam
        if lam > 0
        else mean * float(denoiser.first_threshold(np.linalg.norm(y) / np.sqrt(n * delta * mean)))
    )
    rows, weights, done, stalled = [], [], False, False
    best, since = np.inf, 0
    runaway = 1e8 * max(1.0, float(np.linalg.norm(y)))
    for _ in range(iterations):
        r = (1 - damping) * r + damping * (y - X @ w + b * r)
        x = w + X.T @ r / (delta * variance)
        new, slope = denoiser.respond(x, t / variance)
        new = (1 - damping) * w + damping * new
        size = max(float(np.linalg.norm(new)), 1e-300)
        change = float(np.linalg.norm(new - w)) / size
        w, b = new, float(np.mean(slope)) / delta
        rows.append((float(np.linalg.norm(r)) / np.sqrt(n * delta), b, t, change))
        if history:
            weights.append(w)
        t = lam + b * t
        best, since = (change, 0) if change < best else (best, since + 1)
        done = change < tol
        stalled = bool(not np.isfinite(change) or size > runaway or since > PATIENCE / damping)
        if done or stalled:
            break
    tau, onsager, threshold, changes = np.array(rows).T
    kept = np.array(weights) if history else None
    result = MessagePassing(w, denoiser.case, tau, onsager, threshold, changes, kept, damping, done)
    return result, stalled and not done
