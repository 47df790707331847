"""Fixed points and rates against SciPy."""

import time
import warnings

import numpy as np
from scipy.integrate import IntegrationWarning

import dynafield as df
from benchmarks import baseline
from benchmarks.fresh import fresh

ALPHAS = np.geomspace(1e-3, 10, 1000)
SAMPLED = np.arange(25, 1000, 50)
COLD = """
import dynafield as df
task, net = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.DiagonalNetwork(0.5)
df.convergence_rate(task, net).gamma, df.fixed_point(task, net).test_error
"""


def seconds(function, repeats):
    """The median of several runs: these machines are noisy."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def section():
    """The table of fixed points and rates."""
    task, prior = df.Task(0.5, 0.1, df.Bernoulli(0.1)), df.Bernoulli(0.1)
    first = float(np.median([fresh(COLD) for _ in range(3)]))
    one = lambda: df.tradeoff(task, 0.5)  # noqa: E731
    many = lambda: df.tradeoff(task, ALPHAS)  # noqa: E731
    one(), many()
    warm, sweep = seconds(one, 20), seconds(many, 5)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)
        start = time.perf_counter()
        for alpha in ALPHAS[SAMPLED]:
            rows.append(baseline.fixed_point_and_rate(0.5, 0.1, prior, float(alpha)))
        scipy_point = (time.perf_counter() - start) / len(SAMPLED)
        scipy_one = seconds(lambda: baseline.fixed_point_and_rate(0.5, 0.1, prior, 0.5), 3)
    curve = many()
    c_w, _, gamma = np.array(rows).T
    gap = max(
        np.max(np.abs((curve.test_error[SAMPLED] - 0.01) / c_w - 1)),
        np.max(np.abs(curve.gamma[SAMPLED] / gamma - 1)),
    )
    return f"""## Fixed point with rate

δ = .5, σ = .1, Bernoulli(.1) targets, depth 2. The baseline is `benchmarks/baseline.py`: `scipy.integrate.quad` inside
`scipy.optimize.brentq`, with break points, tight brackets and no equation solved inside an integrand. For the sweep of
1,000 values of α from 1e-3 to 10 it is timed on {len(SAMPLED)} of them, evenly spaced. Both sides compute test error, R_w and γ
(dynafield also dγ/dα, twice). They agree to {gap:.0e} in relative terms.

| | SciPy baseline | dynafield | ratio |
|---|---|---|---|
| one problem, fresh process (import, compile, solve) | | {first:.1f} s | |
| one problem, warm | {scipy_one * 1e3:.0f} ms | {warm * 1e3:.1f} ms | {scipy_one / warm:.0f} |
| 1,000 problems, per problem | {scipy_point * 1e3:.0f} ms | {sweep:.3f} ms | {scipy_point / sweep * 1e3:.0f} |

The aim was 100 times faster per point on the sweep at equal accuracy.
"""
