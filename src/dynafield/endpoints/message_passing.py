"""Approximate message passing [eq:amp]: every step is described by a scalar recursion, state evolution."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from dynafield.deprecation import old_calls
from dynafield.endpoints.denoisers import Denoiser, denoiser_of
from dynafield.endpoints.minimizers import check_convex, check_rank
from dynafield.errors import InputError, SolveError
from dynafield.numerics.threads import fitting_threads
from dynafield.problem.checks import at_most, flag, integer, labelled_data, one_real, real_vector
from dynafield.problem.networks import DiagonalNetwork, Network
from dynafield.records.record import Labelled, quantity
from dynafield.records.text import show

__all__ = ["MOST_ITERATIONS", "MessagePassing", "amp", "one_problem"]

PATIENCE = 100
"""Iterations without progress before damping is halved ..."""
HALVINGS = 3
"""... which it is no more often than this."""
MOST_ITERATIONS = 1_000_000
"""Iterations that may be asked for."""


ITERATION = ("iteration",)


@dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MessagePassing(Labelled):
    r"""The last iterate of message passing and its history, as `amp` returns them.

    Attributes
    ----------
    w : array (d,)
        Weights after the last iteration.
    case : str
        "regularized" (lasso), "ridgeless" (least squares) or "interpolating" (least J).
    tau : array (k,)
        Effective noise \(|r|/\sqrt{n\delta}\) in every iteration, the first for w = 0.
    b : array (k,)
        Onsager coefficient.
    t : array (k,)
        Threshold.
    change : array (k,)
        Relative change of w.
    weights : array (k, d) or None
        Weights after every iteration, if they were kept.
    damping : float
        Damping that was used; 1 is none.
    converged : bool
        Whether the last change is below the tolerance.
    """

    title: ClassVar[str] = "approximate message passing"

    w: Any = quantity("weights after the last iteration", over=("feature",))
    case: str
    tau: Any = quantity("effective noise |r|/√(nδ)", over=ITERATION)
    b: Any = quantity("Onsager coefficient", over=ITERATION)
    t: Any = quantity("threshold", over=ITERATION)
    change: Any = quantity("relative change of w", over=ITERATION)
    weights: Any = quantity("weights after every iteration", over=(*ITERATION, "feature"), optional=True)
    damping: float
    converged: bool

    @property
    def status(self) -> str:
        """ "converged" or "not converged"."""
        return "converged" if self.converged else "not converged"

    def rows(self) -> list[tuple[str, str, str]]:
        """Rows of the printed table."""
        return [
            ("case", self.case, ""),
            ("iterations", str(len(self.tau)), self.status),
            ("tau", show(self.tau[-1]), "effective noise |r|/√(nδ)"),
            ("b", show(self.b[-1]), "Onsager coefficient"),
            ("t", show(self.t[-1]), "threshold"),
            ("damping", show(self.damping), "1 is none"),
        ]

    def facts(self) -> dict[str, Any]:
        """Case, damping and convergence, as attributes of a file."""
        return {"case": self.case, "damping": self.damping, "converged": int(self.converged)}

    @classmethod
    def settings(cls, data: xr.Dataset) -> dict[str, Any]:
        """The fields that `facts` wrote, from the attributes of a data set."""
        facts = data.attrs
        told = {"case": str(facts["case"]), "damping": float(facts["damping"])}
        return told | {"converged": bool(facts["converged"])}


def one_problem(net: Any) -> DiagonalNetwork:
    """A DiagonalNetwork with one α and one λ whose limit of training is a convex problem, or InputError."""
    if not isinstance(net, DiagonalNetwork):
        raise InputError(f"net must be a DiagonalNetwork, got {type(net).__name__}")
    alpha = one_real("alpha", net.alpha, lambda x: x > 0, "one number here")
    lam = one_real("lam", net.lam, lambda x: x >= 0, "one number here")
    if lam > 0:
        check_convex(net.depth)
    return DiagonalNetwork(alpha, lam, net.depth)


@old_calls()
def amp(
    X: Any,
    y: Any,
    net: Network,
    *,
    iterations: int = 2000,
    tol: Any = 1e-10,
    damping: Any = 1.0,
    history: bool = False,
    throw: bool = True,
    variances: Any = None,
) -> MessagePassing:
    r"""Approximate message passing with its Onsager term, which converges to `minimizer(X, y, net)` [eq:amp].

    \(r^k = y - Xw^k + b_k r^{k-1}\), \(w^{k+1} = \eta(w^k + \tfrac1\delta X^\top r^k; t_{k+1})\) with \(b_k =
    \tfrac1\delta\langle\eta'\rangle\), \(t_{k+1} = \lambda + b_k t_k\). It is meant for entries of variance
    1/d. On other data its fixed points are right but it may not converge; then damping is halved, several
    times.

    Parameters
    ----------
    X : array (n, d)
        Inputs.
    y : array (n,)
        Labels.
    net : DiagonalNetwork
        One α, one λ, and the depth; λ > 0 only at depth 2.
    iterations : int, default 2000
        Largest number of iterations.
    tol : float, default 1e-10
        Change of w, relative to its size, below which it has converged.
    damping : float, default 1
        Fraction in (0, 1] of every update that is taken at first.
    history : bool, default False
        Whether the weights of all iterations are kept.
    throw : bool, default True
        Whether SolveError is raised if it does not converge. False returns the best attempt.
    variances : array (d,), optional
        Variances s of the features, for entries of variance s/d: \(X^\top r/s\) and t/s take the places of
        \(X^\top r\) and t [eq:amp_s]. None: all are one.

    Returns
    -------
    MessagePassing
        The last weights and the history.

    Raises
    ------
    InputError
        If X is square, or has not full rank, where λ = 0.
    SolveError
        If it does not converge.
    """
    X, y = labelled_data(X, y)
    net = one_problem(net)
    history, throw = flag("history", history), flag("throw", throw)
    iterations = at_most("iterations", integer("iterations", iterations, 1), MOST_ITERATIONS)
    tol = one_real("tol", tol, lambda x: x > 0, "one number > 0")
    damping = one_real("damping", damping, lambda x: (x > 0) & (x <= 1), "one number in (0, 1]")
    if net.lam == 0:
        if len(X) == X.shape[1]:
            raise InputError("X must not be square where lam is 0: message passing has no fixed point there")
        with fitting_threads(X.size):
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
    result = MessagePassing(
        w=w, case=denoiser.case, tau=tau, b=onsager, t=threshold, change=changes, weights=kept,
        damping=damping, converged=done,
    )  # fmt: skip
    return result, stalled and not done
