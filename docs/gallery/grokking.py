"""Grokking

A large initial scale with weight decay: the data are fitted at once by a linear model that generalizes badly,
and the test error falls only when the decay has brought the scale down to that of the targets.
"""

import matplotlib.pyplot as plt

import dynafield as df

task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
net = df.DiagonalNetwork(alpha=10.0, lam=0.2)

curves = df.solve(task, net, t_max=100.0, tol=1e-2)
found = curves.phases()
print(found)
found.plot()
plt.show()
