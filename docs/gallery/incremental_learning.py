"""Incremental learning

From a small initial scale coordinates become active one after the other, the largest targets first. Dotted:
the time 2 log(1/α)/|w*| that a target would take by itself.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df
from dynafield.figures.style import COLOURS

alpha = 1e-3
task = df.Task(delta=20.0, sigma=0.1, prior=df.Discrete([0.0, 0.5, 1.0, 2.0], [0.7, 0.1, 0.1, 0.1]))
curves = df.solve(task, df.DiagonalNetwork(alpha), t_max=50.0, tol=5e-3)


def active(target, t):
    """The fraction of all coordinates that have this target and are active, and its standard error."""
    return curves.observable(lambda w, w_star: (abs(w) > 0.25) & (w_star == target), t)


ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
times = np.linspace(0, 50, 101)
for target, chance, colour in zip([2.0, 1.0, 0.5, 0.0], [0.1, 0.1, 0.1, 0.7], COLOURS, strict=False):
    fraction, error = np.array([active(target, t) for t in times]).T / chance
    ax.plot(times, fraction, color=colour, label=f"w* = {target:g}")
    ax.fill_between(times, fraction - 2 * error, fraction + 2 * error, color=colour, alpha=0.2, linewidth=0)
    if target:
        ax.axvline(2 * np.log(1 / alpha) / target, color=colour, linestyle=":")
ax.set(xlabel="training time t", ylabel="fraction with |w| > 1/4")
ax.legend(frameon=False)
plt.show()
