"""Double descent

The test error where training ends, against the number of samples. Without weight decay it falls, rises to a
peak where samples and weights are equal in number, and falls again; beyond the peak the initial scale does
not matter. Weight decay removes the peak. Marks: ten data sets of dimension 200.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df
from dynafield.figures.style import COLOURS

sigma, prior = 0.1, df.Bernoulli(0.1)
delta = np.concatenate([np.linspace(0.1, 0.98, 45), np.linspace(1.02, 2, 30)])
ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
for (alpha, lam), colour in zip([(10.0, 0.0), (0.01, 0.0), (1.0, 0.1)], COLOURS, strict=False):
    net = df.DiagonalNetwork(alpha, lam)
    ends = df.fixed_point(df.Task(delta, sigma, prior), net)
    ax.plot(delta, ends.test_error, color=colour, label="λ = 0.1" if lam else f"λ = 0, α = {alpha:g}")
    for place in [0.25, 0.5, 0.75, 1.25, 1.5, 2.0]:
        found = []
        for run in range(10):
            data = df.data.training_data(df.Task(place, sigma, prior), d=200, run=run)
            end = df.endpoints.minimizer(data.X, data.y, net).w
            found.append(np.mean((end - data.w_star) ** 2) + sigma**2)
        bar = 2 * np.std(found, ddof=1) / np.sqrt(len(found))
        ax.errorbar(place, np.mean(found), yerr=bar, fmt="o", color=colour, markersize=4)
ax.set(xlabel="samples per dimension δ = n/d", ylabel="test error", ylim=(0, 0.15))
ax.legend(frameon=False)
plt.show()
