"""The figure of the paper: `python paper/figure.py`, about half a minute."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import dynafield as df
from dynafield.compiled import keep_compiled_code

ALPHAS = (0.05, 0.5, 2.0)
COLOURS = ("#b2182b", "#2166ac", "#4d9221")


def draw() -> Figure:
    """Learning curves of three initial scales over finite networks; the trade-off with these marked."""
    task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    t = np.geomspace(0.1, 100, 13)
    for alpha, colour in zip(ALPHAS, COLOURS, strict=True):
        net = df.DiagonalNetwork(alpha)
        curves = df.solve(task, net, t_max=100.0, tol=2e-3).at(np.geomspace(0.08, 100, 200))
        runs = df.simulate(task, net, t_max=100.0, d=400, seeds=8, t_eval=t)
        left.semilogx(curves.t, curves.test_error, color=colour, label=f"α = {alpha:g}")
        bars = runs.standard_error("test_error")
        left.errorbar(
            runs.t, runs.mean("test_error"), bars, fmt="o", color=colour, markersize=3, elinewidth=0.8
        )
    left.set(xlabel="time t", ylabel="test error", xlim=(0.08, 120))
    left.legend(frameon=False)
    line = df.tradeoff(task, alphas=np.geomspace(1e-3, 10, 60))
    right.semilogx(line.gamma, line.test_error, color="black", linewidth=1)
    for alpha, colour in zip(ALPHAS, COLOURS, strict=True):
        net = df.DiagonalNetwork(alpha)
        place = df.convergence_rate(task, net).gamma, df.fixed_point(task, net).test_error
        right.semilogx(*place, "o", color=colour, label=f"α = {alpha:g}")
    right.set(xlabel="convergence rate γ", ylabel="test error where training ends")
    right.legend(frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    keep_compiled_code()
    draw().savefig(Path(__file__).parent / "figure.png", dpi=200)
