"""Which optimizer generalizes better?

Adam, sign descent and gradient descent with batches of a fifth, from the same start on the same sparse task:
test error against training error, so that every point compares them where they fit the data equally well.
Adam and sign descent give every entry steps of the same size, and lose what makes small initializations find
sparse weights. Lines: infinite network; marks: d = 400, eight runs of the same optimizers.
"""

import matplotlib.pyplot as plt
import numpy as np
import optax

import dynafield as df
from dynafield.figures.style import COLOURS

task = df.Task(delta=0.6, sigma=0.1, prior=df.Bernoulli(0.1))
net = df.DiagonalNetwork(alpha=0.2)
trainers = {
    "Adam": (df.Optax(optax.adam(0.02)), 120),
    "sign descent": (df.Optax(optax.sign_sgd(0.01)), 150),
    "batches of 1/5": (df.SGD(0.3, 0.2), 150),
}

ax = plt.subplots(figsize=(6, 3.8), layout="constrained")[1]
for (name, (trainer, steps)), colour in zip(trainers.items(), COLOURS, strict=False):
    end = steps * trainer.step
    at = trainer.rounded(np.linspace(0.05, 1.0, 14) * end)
    both = df.compare(task, net, end, d=400, runs=8, tol=2e-2, t_eval=at, trainer=trainer)
    ax.plot(both.curves.train_error, both.curves.test_error, color=colour, label=name)
    train, test = both.runs.mean("train_error"), both.runs.mean("test_error")
    bars = 2 * both.runs.standard_error("test_error")
    ax.errorbar(train, test, yerr=bars, fmt="o", color=colour, markerfacecolor="white")
ax.set(xscale="log", xlabel="training error, falling to the right", ylabel="test error")
ax.invert_xaxis()
ax.legend(frameon=False)
plt.show()
