"""Derivatives of curves beside the curves themselves and beside differences of them; the best training."""

import time

import numpy as np

import dynafield as df
from benchmarks.fresh import fresh

__all__ = ["section"]

TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
NOISY = df.Task(0.5, 0.3, df.Bernoulli(0.1))
NAMES = ("delta", "sigma", "alpha", "lam")
SHIFT = 0.02
"""Central differences are taken so far on both sides; smaller ones drown in the noise of fresh points."""


def clock(work, times=3):
    """Seconds of the fastest of some runs after a first one, and what it made."""
    made, seconds = work(), []
    for _ in range(times):
        start = time.perf_counter()
        made = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), made


def differences(tol):
    """Four derivatives by solving again on both sides of every number."""
    known = dict(delta=0.5, sigma=0.1, alpha=0.5, lam=0.1)
    found = {}
    for name in NAMES:
        ends = []
        for by in (SHIFT, -SHIFT):
            one = known | {name: known[name] + by}
            task = df.Task(one["delta"], one["sigma"], df.Bernoulli(0.1))
            ends.append(
                df.solve(task, df.DiagonalNetwork(one["alpha"], one["lam"]), 20.0, tol=tol).test_error[-1]
            )
        found[name] = (ends[0] - ends[1]) / (2 * SHIFT)
    return found


def row(tol):
    """One line of the table."""
    net = df.DiagonalNetwork(0.5, 0.1)
    alone, _ = clock(lambda: df.solve(TASK, net, 20.0, tol=tol))
    both, slopes = clock(lambda: df.solve(TASK, net, 20.0, tol=tol).derivatives(*NAMES))
    apart, shifted = clock(lambda: differences(tol))
    gap = max(
        abs(shifted[n] - slopes[n].test_error[-1]) / np.max(np.abs(slopes[n].test_error)) for n in NAMES
    )
    bar = max(np.max(slopes[n].test_error_se) / np.max(np.abs(slopes[n].test_error)) for n in NAMES)
    return f"| {tol:g} | {alone:.2f} | {both:.2f} | {both / alone:.1f} | {(alone + apart) / alone:.1f} | {bar:.1e} | {gap:.1e} |"


def cold():
    """Seconds of a new process that looks for the best α, λ and stopping time of the std task."""
    return fresh(
        "import dynafield as df; df.optimize(df.Task(.5, .1, df.Bernoulli(.1)), df.DiagonalNetwork(.5), "
        "('alpha', 'lam'), 'best_stop', t_max=20.0)"
    )


def section():
    """The tables as Markdown."""
    net = df.DiagonalNetwork(1.0)
    alpha, _ = clock(lambda: df.optimize(NOISY, net))
    lam, _ = clock(lambda: df.optimize(NOISY, net, "lam"))
    three, found = clock(
        lambda: df.optimize(TASK, df.DiagonalNetwork(0.5), ("alpha", "lam"), "best_stop", t_max=20.0), times=1
    )
    return "\n".join(
        [
            "## Derivatives, and the best training",
            "",
            "δ = .5, σ = .1, Bernoulli(.1), α = .5, λ = .1 to t = 20; derivatives of all curves in δ, σ, α and λ, warm. Differences solve again on both sides of every number,",
            "`.02` away, and have their own bias and noise (*gap*: at the end, largest of the four, relative to the largest derivative of a curve; *bar*: our own error bar in the same unit). The aim was 4 times the curve.",
            "",
            "| tol | curve, s | with four derivatives, s | ratio | differences, ratio | bar | gap |",
            "|---|---|---|---|---|---|---|",
            *(row(tol) for tol in (1e-2, 1e-3)),
            "",
            "| best of the task | seconds, warm | aim |",
            "|---|---|---|",
            f"| α at the end, σ = .3 | {alpha:.3f} | .05 |",
            f"| λ at the end, σ = .3 | {lam:.3f} | .05 |",
            f"| α, λ and stop up to t = 20, σ = .1 ({len(found.path)} curves with derivatives) | {three:.0f} | 20 |",
            f"| the same in a new process, compilation included | {cold():.0f} | |",
            "",
        ]
    )
