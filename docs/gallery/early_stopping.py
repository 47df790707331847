"""Early stopping

With noisy labels the test error has a minimum; after it the network fits the noise. The smaller the initial
scale, the later and the lower the minimum. Bars: times that the error bars cannot tell from the best.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df
from dynafield.figures.style import COLOURS

task = df.Task(delta=0.5, sigma=0.2, prior=df.Bernoulli(0.1))
t = np.geomspace(0.03, 60, 300)

ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
for alpha, colour in zip([2.0, 0.6, 0.2], COLOURS, strict=False):
    curves = df.solve(task, df.DiagonalNetwork(alpha), t_max=60.0, tol=5e-3)
    error, width = curves.at(t).test_error, 2 * curves.at(t).test_error_se
    ax.plot(t, error, color=colour, label=f"α = {alpha:g}")
    ax.fill_between(t, error - width, error + width, color=colour, alpha=0.2, linewidth=0)
    found = curves.phases()
    stop, least = found["best_stop"], found["best_test_error"]
    sides = [[stop.value - stop.low], [stop.high - stop.value]]
    ax.errorbar(stop.value, least.value, xerr=sides, fmt="o", color=colour, capsize=3)
ax.set(xscale="log", xlabel="training time t", ylabel="test error")
ax.legend(frameon=False)
plt.show()
