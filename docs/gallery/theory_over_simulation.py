"""Theory over simulation

The exact curves of the infinite network, from a large and a small initial scale, and networks of dimension
300 trained on data. From the small scale learning begins later and ends at a lower test error.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df

task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
net = df.DiagonalNetwork(alpha=np.array([2.0, 0.1]))

both = df.compare(task, net, t_max=40.0, d=300, runs=8, tol=5e-3)
print(both)
both.plot()
plt.show()
