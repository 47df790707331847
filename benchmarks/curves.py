"""The solver against the published recipe, and its cost as t_max, tolerance, depth and α vary."""

import time
from pathlib import Path

import numpy as np

import dynafield as df
from benchmarks.recipe import recipe

__all__ = ["section"]

UNIT = 0.11
PICTURE = Path(__file__).parent.parent / "docs" / "cost.png"
TIMES = np.array([1.0, 2.0, 5.0, 10.0, 20.0])
EXACT = np.array(
    [[2.949e-2, 1.074e-2, 2.170e-3, 4.995e-4, 6.717e-5], [0.080649, 0.069477, 0.061411, 0.060119, 0.060803]]
)
TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))


def worst(t, train, test):
    """Largest error of both curves at the reference times, in units of E_test(0)."""
    found = np.stack([np.interp(TIMES, t, train), np.interp(TIMES, t, test)])
    return np.max(np.abs(found - EXACT)) / UNIT


def ours(tol, t_max=100.0, alpha=0.5, lam=0.0, depth=2):
    """Seconds of a warm solve, and the curves."""
    net = df.DiagonalNetwork(alpha, lam, depth)
    df.solve(TASK, net, t_max, tol=tol)
    start = time.perf_counter()
    curves = df.solve(TASK, net, t_max, tol=tol)
    return time.perf_counter() - start, curves


def theirs(dt, paths, seeds):
    """Seconds and error (root mean square over seeds) of the recipe to t = 20."""
    seconds, errors = [], []
    for seed in range(seeds):
        start = time.perf_counter()
        t, train, test, _ = recipe(0.5, 0.1, 0.1, 0.5, 20.0, dt, paths, 40, damping=0.0, seed=seed)
        seconds.append(time.perf_counter() - start)
        errors.append(worst(t, train, test))
    return np.mean(seconds), np.sqrt(np.mean(np.square(errors)))


def against_recipe():
    """Rows of both methods on the std case to t = 20."""
    rows = []
    for dt, paths, seeds in ((0.2, 4000, 2), (0.1, 8000, 1), (0.1, 32000, 1)):
        seconds, error = theirs(dt, paths, seeds)
        rows.append(f"| recipe, dt = {dt:g}, {paths} paths | {seconds:.1f} | {100 * error:.2f} % |")
    for tol in (1e-2, 1e-3):
        seconds, curves = ours(tol, 20.0)
        points = curves.at(TIMES)
        error = np.max(np.abs(np.stack([points.train_error, points.test_error]) - EXACT)) / UNIT
        rows.append(f"| `solve`, tol = {tol:g} | {seconds:.2f} | {100 * error:.3f} % |")
    return rows


STD, RICH = dict(alpha=0.5, t_max=100.0), dict(alpha=0.05, t_max=200.0)
SERIES = {  # what varies: label and problem of each point
    "tol": [(tol, options | dict(tol=tol)) for options in (STD, RICH) for tol in (3e-2, 1e-2, 3e-3)],
    "t_max": [(t, dict(tol=1e-2, alpha=a, t_max=t)) for a in (0.5, 0.05) for t in (10.0, 100.0, 1e3)],
    "depth": [(L, dict(tol=1e-2, alpha=0.8, depth=L)) for L in (2, 3, 5)],
}
OTHERS = [
    ("std, tol 3e-4", dict(tol=3e-4)),
    ("t_max = 1e5", dict(tol=1e-3, t_max=1e5)),
    ("depth 3, α = .8, λ = .05", dict(tol=1e-3, alpha=0.8, lam=0.05, depth=3)),
    ("lazy, α = 100", dict(tol=1e-3, alpha=100.0)),
]


def growth():
    """Rows of cost against tolerance, t_max, depth and α; their picture goes to docs/cost.png."""
    rows, times = [], {name: [] for name in SERIES}
    cases = [(name, x, options) for name, points in SERIES.items() for x, options in points]
    for name, x, options in [*cases, *((None, label, options) for label, options in OTHERS)]:
        seconds, curves = ours(**options)
        if name is None:
            label = x
        else:
            times[name].append(seconds)
            label = f"{name} = {x:g}, α = {options['alpha']:g}" + (
                f", tol = {options['tol']:g}" if name != "tol" else ""
            )
        bar = np.max(curves.test_error_se) / UNIT
        rows.append(f"| {label} | {seconds:.1f} | {len(curves.edges) - 1} | {curves.points} | {bar:.1e} |")
    draw(times)
    return rows


def draw(times):
    """Seconds against what varies, std and rich."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    from dynafield.figures.style import COLOURS, finish

    figure, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
    for ax, (name, points) in zip(panels, SERIES.items(), strict=True):
        x, y = np.array([point[0] for point in points]), np.array(times[name])
        for k, alpha in enumerate(dict.fromkeys(point[1]["alpha"] for point in points)):
            which = np.array([point[1]["alpha"] == alpha for point in points])
            ax.plot(x[which], y[which], "o-", color=COLOURS[k], label=f"α = {alpha:g}")
        ax.set_xscale("linear" if name == "depth" else "log")
        ax.set_yscale("log")
        ax.set_xticks(np.unique(x), [f"{one:g}" for one in np.unique(x)])
        ax.set_xticks([], minor=True)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        finish(ax, name, "seconds, warm" if name == "tol" else "")
    figure.savefig(PICTURE, dpi=120)


def section():
    """The tables as Markdown."""
    return "\n".join(
        [
            "## Learning curves",
            "",
            "Std case (δ = .5, σ² = .01, Bernoulli(.1), α = .5) to t = 20, largest error of both curves at five times in",
            "units of E_test(0), against reference values of four digits. The recipe (`benchmarks/recipe.py`: uniform Euler",
            "steps, plain Monte Carlo, global iteration) is written in its favour: no damping, exact fractions of the targets,",
            "single precision tangents in blocks. Times of `solve` are warm.",
            "",
            "| method | seconds | error |",
            "|---|---|---|",
            *against_recipe(),
            "",
            "Warm solves; α = .5 to t = 100, α = .05 (rich) to t = 200, unless said otherwise:",
            "",
            "![Seconds of a warm solve against tolerance, time and depth](cost.png)",
            "",
            "| problem | seconds | blocks | points per replica | largest error bar, E_test(0) |",
            "|---|---|---|---|---|",
            *growth(),
            "",
        ]
    )


if __name__ == "__main__":
    print(section())
