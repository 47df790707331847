r"""The largest curvature in the limit of training, which bounds the step of gradient descent.

Curvatures are the eigenvalues of \(K^{1/2}X^\top XK^{1/2}/\delta\), \(K = \mathrm{diag}(\kappa)\). The
largest is the least value of \(x(m) = \tfrac1m + \tfrac1\delta E[\tfrac{q}{1-qm}]\), \(q = s\kappa\), over
\(0 < m < 1/\max q\) [eq:largest_curvature]. Weights have Gaussian tails, so that q has no bound in the limit:
its largest value among d coordinates takes the place of one.
"""

import jax.numpy as jnp
import numpy as np

from dynafield.theory.law import LimitLaw

__all__ = ["largest_curvature"]

NODES, REACH = 201, 8.0
"""Nodes per stratum, and standard deviations that they cover."""
NEAREST = 1e-7
"""How near m comes to its limit, relatively."""


def largest_curvature(law: LimitLaw, delta: float, d: int) -> float:
    """The typical largest curvature of d coordinates at one fixed point."""
    mixture = law.mixture
    normal = np.linspace(-REACH, REACH, NODES)
    rule = np.exp(-0.5 * normal**2)
    weight = (mixture.weight[:, None] * rule / np.sum(rule)).ravel()
    y = mixture.mean[:, None] + law.width[:, None] * normal
    q = (mixture.variance[:, None] * slopes(law, law.respond(y, mixture.variance[:, None]))).ravel()
    order = np.argsort(q)
    above = np.cumsum(weight[order][::-1])[::-1]
    order = order[above > np.log(2) / d]  # the median of the largest of d
    weight, q = weight[order], q[order]
    largest = float(np.max(q))
    if largest == 0:
        return 0.0
    close = 1 - np.geomspace(NEAREST, 1 - 1e-4, 400)
    m = close / largest
    terms = [1 / one + float(np.sum(weight * q / (1 - q * one))) / delta for one in m]
    return float(np.min(terms))


def slopes(law: LimitLaw, w: np.ndarray) -> np.ndarray:
    """κ(w); |w| at depth 2 once weight decay has taken α away."""
    if law.case == "regularized":
        return np.abs(w)
    return np.asarray(law.mirror.slope(law.mirror.coordinate_of_weight(jnp.asarray(w))))
