"""The picture of the README: the trade-off, and the law behind three of its points."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import dynafield as df
from dynafield.figures.style import COLOURS

task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
df.tradeoff(task, np.geomspace(1e-3, 10, 60)).plot(left)
left.set_title("Better solutions are harder to find", fontsize=11)
w = np.linspace(-1.0, 2.0, 1501)
for alpha, colour in zip((2.0, 0.3, 0.01), COLOURS, strict=False):
    point = df.fixed_point(task, df.DiagonalNetwork(alpha))
    label = f"α = {alpha:g}: test error {point.test_error:.3f}"
    right.semilogy(w, point.density(w), color=colour, label=label)
right.set(xlabel="coordinate w where training ends", ylabel="density", ylim=(1e-3, 1e3))
right.set_title(
    "Small initialization ends sparse (δ = 0.5, σ = 0.1, one target entry in ten is 1)", fontsize=9
)
right.grid(alpha=0.25, linewidth=0.6)
right.legend(frameon=False, fontsize=9)
right.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).parent / "picture.png", dpi=120)
