"""The distribution of the weights

The distribution of one weight at three times, from the paths of the solver, and its density at the end of
training. Nine weights of ten have target 0 and stay near it; those with target 1 move out and make the
shoulder.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df
from dynafield.figures.style import COLOURS

task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
net = df.DiagonalNetwork(alpha=0.3)
curves = df.solve(task, net, t_max=100.0, tol=5e-3)

ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
edges = np.linspace(-0.6, 1.4, 41)
for t, colour in zip([3.0, 10.0, 100.0], COLOURS, strict=False):
    law = curves.law(t)
    mass, _ = np.histogram(law.w, edges, weights=law.weight)
    ax.stairs(mass / np.diff(edges), edges, color=colour, linewidth=1.5, label=f"t = {t:g}")
w = np.linspace(-0.6, 1.4, 1000)
ax.plot(w, df.fixed_point(task, net).density(w), color="black", linestyle="--", label="t = ∞")
ax.set(yscale="log", ylim=(1e-3, 10), xlabel="weight w", ylabel="density")
ax.legend(frameon=False)
plt.show()
