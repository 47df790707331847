"""Generalization against speed

The test error where training ends against how fast it gets there, as the initial scale runs from 0.001 to 10,
for three numbers of samples. Better solutions are found more slowly, but the slowest need not be the best.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df

deltas = np.array([[0.3], [0.5], [0.7]])
task = df.Task(delta=deltas, sigma=0.1, prior=df.Bernoulli(0.1))

df.tradeoff(task, alphas=np.geomspace(1e-3, 10, 50)).plot()
plt.show()
