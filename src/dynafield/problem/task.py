"""What is to be learnt: sparse or dense linear regression in high dimension."""

from typing import Any

import equinox as eqx

from dynafield.errors import InputError
from dynafield.problem.checks import real
from dynafield.problem.priors import Prior, check_mixture

__all__ = ["Task"]


class Task(eqx.Module):
    r"""Labels \(y = x \cdot w^* + \sigma\xi\), \(x \sim N(0, I/d)\), \(n/d \to \delta\).

    `delta` and `sigma` may be arrays (they broadcast with the network's) and JAX values.
    """

    delta: Any
    sigma: Any
    prior: Prior

    def __init__(self, delta: Any, sigma: Any, prior: Any):
        self.delta = real("delta", delta, lambda x: x > 0, "finite and > 0")
        self.sigma = real("sigma", sigma, lambda x: x >= 0, "finite and ≥ 0")
        if not isinstance(prior, Prior):
            raise InputError(
                f"prior must be a Prior such as Bernoulli(0.1) or a subclass of Prior, got {prior!r}"
            )
        check_mixture(prior)
        self.prior = prior
