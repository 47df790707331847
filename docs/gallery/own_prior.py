"""A prior of your own

Double-exponential targets, written as a mixture of Gaussians, between Gaussian and sparse ones of the same
mean square: the test error where training ends against weight decay. The sparser the targets, the more is
gained. Dots: the best decay.
"""

import matplotlib.pyplot as plt
import numpy as np

import dynafield as df
from dynafield.figures.style import COLOURS


class Laplace(df.data.Prior):
    """Double-exponential entries of mean square 2 scale²: a Gaussian of Rayleigh-distributed width."""

    scale: float

    def mixture(self) -> df.data.Components:
        """Eighty widths with the weights of that distribution."""
        x, w = np.polynomial.legendre.leggauss(80)
        r = 4.5 * (x + 1)  # widths from 0 to 9
        weight = w * r * np.exp(-(r**2) / 2)
        return df.data.Components(weight / weight.sum(), np.zeros_like(r), self.scale * r)


lam = np.geomspace(0.01, 2, 50)
kinds = df.Gaussian(1.0), Laplace(0.5**0.5), df.GaussBernoulli(0.1, 10**0.5)
priors = dict(zip(("Gaussian", "Laplace", "sparse"), kinds, strict=True))
ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
for (name, prior), colour in zip(priors.items(), COLOURS, strict=False):
    error = df.fixed_point(df.Task(0.8, 0.3, prior), df.DiagonalNetwork(1.0, lam)).test_error
    best = np.argmin(error)
    ax.plot(lam, error, color=colour, label=name)
    ax.plot(lam[best], error[best], "o", color=colour)
ax.set(xscale="log", xlabel="weight decay λ", ylabel="test error")
ax.legend(frameon=False)
plt.show()
