"""Depth

The same task learnt by two, three and four layers from the same initial scale: the deeper the network, the
later it learns and the lower its test error. Dotted: where each of them ends.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df
from dynafield.figures.style import COLOURS

task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
t = np.geomspace(0.1, 100, 300)

ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
for depth, colour in zip([2, 3, 4], COLOURS, strict=False):
    net = df.DiagonalNetwork(alpha=0.6, depth=depth)
    seen = df.solve(task, net, t_max=100.0, tol=1e-2).at(t)
    error, width = seen.test_error, 2 * seen.test_error_se
    ax.plot(t, error, color=colour, label=f"depth {depth}")
    ax.fill_between(t, error - width, error + width, color=colour, alpha=0.2, linewidth=0)
    ax.axhline(df.fixed_point(task, net).test_error, xmin=0.8, color=colour, linestyle=":")
ax.set(xscale="log", xlabel="training time t", ylabel="test error")
ax.legend(frameon=False)
plt.show()
