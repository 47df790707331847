"""The explorer without a server: `python docs/demo.py OUT.html`, one file with results computed in advance.

It holds learning curves on a grid of problems, where training ends, how fast, and the trade-off of both. The
page `demo_page.html` draws them. Nothing is fetched: the file opens from a disk or from any web server.
"""

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dynafield as df
from dynafield.compiled import keep_compiled_code

TEMPLATE = Path(__file__).parent / "demo_page.html"
SLOT = "/*DATA*/"
"""Where the page takes its numbers."""
DIGITS = 6
"""Significant digits of a number in the file; curves have fewer, fixed points are cut to so many."""


class Grid(NamedTuple):
    """The problems of the page: each δ with each σ, λ and α."""

    delta: Sequence[float] = (0.25, 0.5, 0.75, 1.5, 3.0)
    sigma: Sequence[float] = (0.1, 0.3)
    lam: Sequence[float] = (0.0, 0.1)
    alpha: Sequence[float] = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    sparsity: float = 0.1
    times: Sequence[float] = tuple(np.geomspace(0.05, 100, 67))
    line: Sequence[float] = tuple(np.geomspace(0.01, 20, 41))
    """Scales α of the lines that show where training ends."""
    tol: float = 1e-2


def short(values: object) -> object:
    """Numbers with few digits; what is not a number of the file's format becomes null."""
    array = np.asarray(values, float)
    cut = [float(f"{x:.{DIGITS}g}") if np.isfinite(x) else None for x in array.ravel()]
    return cut[0] if array.ndim == 0 else cut


def ends(task: df.Task, alphas: Sequence[float], lam: float) -> dict[str, object]:
    """Where training ends for each α, and the rates; without decay they are exponential."""
    nets = [df.DiagonalNetwork(float(alpha), lam) for alpha in alphas]
    points = [df.fixed_point(task, net) for net in nets]
    rates = [df.convergence_rate(task, net) for net in nets]
    names = ("test_error", "train_error", "mass_at_zero")
    found = {name: short([getattr(point, name) for point in points]) for name in names}
    gamma = short([rate.gamma if rate.exponential else np.nan for rate in rates])
    return found | {"case": points[0].case, "gamma": gamma}


def curve(task: df.Task, net: df.DiagonalNetwork, grid: Grid) -> dict[str, object]:
    """Training and test error at the times of the grid, with the error bar of the latter."""
    found = df.solve(task, net, float(grid.times[-1]), tol=grid.tol).at(np.asarray(grid.times))
    return {name: short(getattr(found, name)) for name in ("train_error", "test_error", "test_error_se")}


def problems(grid: Grid) -> Iterator[tuple[str, dict[str, object]]]:
    """One entry for each task and decay, named by its place in the grid."""
    axes = (grid.delta, grid.sigma, grid.lam)
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        delta, sigma, lam = (float(axis[k]) for axis, k in zip(axes, place, strict=True))
        task = df.Task(delta, sigma, df.Bernoulli(grid.sparsity))
        curves = [curve(task, df.DiagonalNetwork(float(a), lam), grid) for a in grid.alpha]
        entry = {"ends": ends(task, grid.alpha, lam), "line": ends(task, grid.line, lam), "curves": curves}
        yield "-".join(map(str, place)), entry


def compute(grid: Grid) -> dict[str, object]:
    """All that the page shows."""
    axes = {name: short(getattr(grid, name)) for name in ("delta", "sigma", "lam", "alpha", "times", "line")}
    facts = {"sparsity": grid.sparsity, "tol": grid.tol, "version": df.__version__}
    return {**axes, **facts, "problems": dict(problems(grid))}


def page(data: dict[str, object]) -> str:
    """The HTML file."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    template = TEMPLATE.read_text(encoding="utf-8")
    assert template.count(SLOT) == 1
    return template.replace(SLOT, text)


if __name__ == "__main__":
    keep_compiled_code()
    out = Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(compute(Grid())), encoding="utf-8")
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
