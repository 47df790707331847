"""The solver on the problems that its design was measured by, warm."""

import time

import numpy as np

import dynafield as df
from benchmarks.fresh import fresh

__all__ = ["section"]

TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
DENSE = df.Task(0.9, 0.1, df.Gaussian(0.8))
LABELS = df.Task(2.0, 0.5, df.Gaussian(1.0))
CASES = {  # what is solved, and seconds of the first engine (tangents) on a machine like this
    "std to t = 100, tol 1e-2": (TASK, df.DiagonalNetwork(0.5), 100.0, dict(tol=1e-2), ".5"),
    "std to t = 100, tol 1e-3": (TASK, df.DiagonalNetwork(0.5), 100.0, dict(tol=1e-3), "1.9"),
    "α = .05 to t = 200, tol 1e-3": (TASK, df.DiagonalNetwork(0.05), 200.0, dict(tol=1e-3), "10"),
    "α = 10, λ = .1 to t = 100, tol 1e-3": (TASK, df.DiagonalNetwork(10.0, 0.1), 100.0, dict(tol=1e-3), "28"),
    "depth 3, α = .3, λ = .01, δ = .9, Gaussian .8, t = 60, tol 2.5e-3": (DENSE, df.DiagonalNetwork(0.3, 0.01, 3), 60.0, dict(tol=2.5e-3), "55"),
    "std, preview": (TASK, df.DiagonalNetwork(0.5), 100.0, dict(tol=1e-2, preview=True), ".4"),
    "60 steps of .5, tol 1e-3": (TASK, df.DiagonalNetwork(0.5), 30.0, dict(trainer=df.GradientDescent(0.5)), "3.4"),
    "500 steps of .1, tol 1e-3": (TASK, df.DiagonalNetwork(0.5), 50.0, dict(trainer=df.GradientDescent(0.1)), "90"),
    "5,000 steps of .02, tol 1e-3": (TASK, df.DiagonalNetwork(0.5), 100.0, dict(trainer=df.GradientDescent(0.02)), "refused"),
    "100,000 steps of .001, tol 1e-3": (TASK, df.DiagonalNetwork(0.5), 100.0, dict(trainer=df.GradientDescent(0.001)), "refused"),
    "10,000 steps of .01, momentum .9, tol 1e-2": (TASK, df.DiagonalNetwork(0.5), 100.0, dict(tol=1e-2, trainer=df.HeavyBall(0.01, 0.9)), "refused"),
    "logistic, 50 steps of .5, tol 1e-2": (LABELS, df.models.logistic_flow(0.1), 25.0, dict(tol=1e-2, trainer=df.GradientDescent(0.5)), "–"),
}  # fmt: skip


ACCELERATOR = """On an H200 (one card, jax 0.11.2, warm, `solve` as a user calls it, not made by this command; in brackets the first engine): std to t = 100 at
tol 1e-3 .33 s (2.2), at 1e-4 1.0 s (3.9); α = .05 to t = 200 at 1e-3 1.0 s (5.8). Before `eq:foreseen` was used: std at 1e-5 8.8 s; α = 10, λ = .1 to t = 100
.8 s; 60 steps of .5 .15 s (1.9); 500 steps of .1 .64 s (16 at tol 1e-2); 24 problems in one array at tol 1e-2 1.05 s. A shape is compiled in 4 to 24 s there.
Steps in blocks, later: std flow .26 s, 5,000 steps of .02 .60 s, 100,000 of .001 .66 s, both at 1e-3; 10,000 of .01 with momentum .9 .77 s, 1,000 of Adam 1.1 s, both at 1e-2.
Mini-batches of a tenth, steps of .05, tol 1e-2: 500 steps 2.7 s, 2,000 steps 5.9 s there.

Not made by this command either, two cores, tol 1e-2: 1,000 steps of Adam (`optax.adam(.01)`) .97 s warm; 2,000 steps of .05 with mini-batches of a tenth 172 s and 1.7 GB in a
new process, compilation included."""


def row(name):
    """One line of the table: the faster of two warm solves."""
    task, net, t_max, options, before = CASES[name]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        curves = df.solve(task, net, t_max, **options)
        seconds.append(time.perf_counter() - start)
    bar = np.max(curves.test_error_se) / curves.test_error[0]
    return f"| {name} | {min(seconds[1:]):.2f} | {before} | {len(curves.edges) - 1} | {curves.points} | {bar:.1e} |"


def many():
    """Seconds of 24 problems solved in one array and one by one, both warm."""
    alpha = np.geomspace(0.1, 3.0, 24)
    arguments = dict(t_max=20.0, tol=1e-2)

    def together():
        df.solve(TASK, df.DiagonalNetwork(alpha), **arguments)

    def apart():
        for one in alpha:
            df.solve(TASK, df.DiagonalNetwork(one), **arguments)

    seconds = []
    for work in (together, apart):
        work()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def cold():
    """Seconds of a new process that imports, compiles, and solves std at tol 1e-3."""
    return fresh(
        "import dynafield as df; df.solve(df.Task(.5, .1, df.Bernoulli(.1)), df.DiagonalNetwork(.5), 100.0)"
    )


def section():
    """The table as Markdown."""
    return "\n".join(
        [
            "## The engine",
            "",
            "Warm solves: the code was compiled before. *std* is the problem of the tutorial: δ = .5, σ = .1, Bernoulli(.1), α = .5. The column *first engine* has the times of an earlier version of the solver, on a machine of the same kind.",
            "",
            "| work | seconds | first engine | blocks or steps | points per replica | largest error bar |",
            "|---|---|---|---|---|---|",
            *(row(name) for name in CASES),
            "",
            "24 problems, α from .1 to 3 to t = 20 at tol 1e-2: {:.1f} s in one array, {:.1f} s one by one.".format(
                *many()
            ),
            f"A cold process, std to t = 100 at tol 1e-3, import and compilation included: {cold():.1f} s.",
            "",
            ACCELERATOR,
            "",
        ]
    )
