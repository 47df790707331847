"""Does learning features change exponents?

Features with variances falling as 1/k², targets with two source exponents β, four samples per dimension, no
noise: excess error against time for a linear model and for a network of small α. Where small variances have
the larger targets (β = 0.3) both fall alike, and where they have the smaller ones (β = 1) the network, which
has to wait for its small weights to grow, is the slower one. Numbers are fitted exponents; at β = 0.3 they
are larger than expected, since there are no features beyond rank 100 to be left unlearnt.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df

nets = {"linear": df.models.ridge_flow(), "network, α = 0.1": df.DiagonalNetwork(0.1)}
_, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
for ax, beta in zip(panels, (0.3, 1.0), strict=True):
    task = df.Task(
        delta=4.0, sigma=0.0, prior=df.Gaussian(1.0), spectrum=df.data.PowerLaw(2.0, 100, source=beta)
    )
    law = df.studies.scaling_law(task, nets, times=np.geomspace(0.1, 10, 13), tol=1e-2)
    law.plot(ax)
    ax.set_title(f"β = {beta}: expected {beta:.2f} and {law.expected()['rich', 'time']:.2f}", fontsize=9)
plt.show()
