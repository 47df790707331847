"""Training in steps

Steps of 0.5 with the full gradient and with random batches of a half and a fifth of the data, and the
gradient flow. The smaller the batches, the slower the training error falls. Lines: infinite network; marks:
d = 400, eight runs.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df
from dynafield.figures.style import COLOURS

task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
net = df.DiagonalNetwork(alpha=0.5)

ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
t = np.linspace(0, 12, 200)
ax.plot(t, df.solve(task, net, 12.0, tol=5e-3).at(t).train_error, "--", color="0.4", label="gradient flow")
trainers = {
    "full gradients": df.GradientDescent(0.5),
    "batches of 1/2": df.SGD(0.5, 0.5),
    "of 1/5": df.SGD(0.5, 0.2),
}
for (name, trainer), colour in zip(trainers.items(), COLOURS, strict=False):
    both = df.compare(task, net, 12.0, d=400, runs=8, tol=5e-3, t_eval=np.arange(13.0), trainer=trainer)
    ax.plot(both.curves.t, both.curves.train_error, color=colour, label=name)
    mean, bars = both.runs.mean("train_error"), 2 * both.runs.standard_error("train_error")
    ax.errorbar(both.runs.t, mean, yerr=bars, fmt="o", color=colour, markerfacecolor="white")
ax.set(yscale="log", xlabel="training time t: step × number of steps", ylabel="training error")
ax.legend(frameon=False)
plt.show()
