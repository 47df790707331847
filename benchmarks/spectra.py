"""Features of different variances beside the same problem with all variances one, and fitted exponents."""

import resource
import time

import numpy as np

import dynafield as df

STD = dict(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
POWER = df.data.PowerLaw(1.5, 100.0)


def timed(work, times=3):
    """Least seconds of some repetitions, compiled before, and the last result."""
    found, result = [], work()
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        found.append(time.perf_counter() - start)
    return min(found), result


def row(name, plain, structured):
    """Both, and their ratio."""
    a, b = timed(plain)[0], timed(structured)[0]
    return f"| {name} | {a:.3g} | {b:.3g} | {b / a:.2g} |"


def pairs():
    """10,000 measured pairs: seconds of a fixed point and of a curve, in the memory of this process."""
    rng = np.random.default_rng(0)
    targets = rng.standard_normal(10_000) * (rng.random(10_000) < 0.1)
    spectrum = df.data.Spectrum.empirical(10_000 * np.arange(1.0, 10_001) ** -0.8, targets)
    task, net = df.Task(0.5, 0.1, spectrum=spectrum), df.DiagonalNetwork(0.5)
    ends = [
        timed(lambda one=one: df.fixed_point(task, one), 1)[0] for one in (net, df.DiagonalNetwork(0.5, 0.1))
    ]
    curve = timed(lambda: df.solve(task, net, 10.0, tol=1e-2), 1)[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return (
        f"10,000 measured pairs of variance and target: end of training {ends[0]:.2g} s (λ = 0) and {ends[1]:.2g} s (lasso), "
        f"curve to t = 10 at tol 1e-2 {curve:.2g} s; peak memory of the process {peak:.1f} GB."
    )


def exponents():
    """Fitted exponents along time of a linear model and of a network."""
    nets = {"linear": df.models.ridge_flow(), "network": df.DiagonalNetwork(0.05)}
    lines = ["| β | linear | expected | network, α = .05 | expected |", "|---|---|---|---|---|"]
    for beta in (0.25, 0.5, 1.0):
        task = df.Task(4.0, 0.0, df.Gaussian(1.0), spectrum=df.data.PowerLaw(2.0, 300.0, source=beta))
        law = df.studies.scaling_law(task, nets, times=np.geomspace(0.1, 10, 13), tol=3e-3)
        lazy, rich = (law.exponent(name) for name in nets)
        told = [f"{one.value:.2f} ± {one.error:.2f}" for one in (lazy, rich)]
        lines.append(
            f"| {beta:g} | {told[0]} | {beta:.2f} | {told[1]} | {law.expected()['rich', 'time']:.2f} |"
        )
    return "\n".join(lines)


def section():
    """The section of docs/benchmarks.md."""
    std, power = df.Task(**STD), df.Task(**STD, spectrum=POWER)
    deltas = np.linspace(0.1, 0.95, 1000)
    many, many_power = (df.Task(deltas, 0.1, df.Bernoulli(0.1), spectrum=x) for x in (None, POWER))
    net, lasso = df.DiagonalNetwork(0.5), df.DiagonalNetwork(0.5, 0.1)
    rows = [
        row(
            "curve to t = 100, tol 1e-2",
            *(lambda t=t: df.solve(t, net, 100.0, tol=1e-2) for t in (std, power)),
        ),
        row(
            "curve to t = 100, tol 1e-3",
            *(lambda t=t: df.solve(t, net, 100.0, tol=1e-3) for t in (std, power)),
        ),
        row("1,000 fixed points, λ = 0", *(lambda t=t: df.fixed_point(t, net) for t in (many, many_power))),
        row("1,000 fixed points, lasso", *(lambda t=t: df.fixed_point(t, lasso) for t in (many, many_power))),
    ]
    table = "\n".join(["| work | variances one, s | power law, s | ratio |", "|---|---|---|---|", *rows])
    return f"""
## Features of different variances

δ = .5, σ = .1, Bernoulli(.1), α = .5; `PowerLaw(1.5, 100)` beside all variances one. The aims were 3 times for curves
and 10 times for fixed points.

{table}

{pairs()}

Exponents of the excess error along time, a = 2, cutoff 300, σ = 0, δ = 4, t = .1 to 10:

{exponents()}
"""
