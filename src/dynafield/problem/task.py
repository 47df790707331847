"""What is to be learnt: sparse or dense linear regression in high dimension."""

from typing import Any

import equinox as eqx

from dynafield.errors import InputError
from dynafield.problem.checks import real
from dynafield.problem.priors import Prior, check_mixture
from dynafield.problem.spectra import FINENESS, JointLaw, Spectrum, isotropic

__all__ = ["Task"]


class Task(eqx.Module):
    r"""Labels \(y = x \cdot w^* + \sigma\xi\), \(x \sim N(0, \Sigma/d)\), \(n/d \to \delta\).

    `delta` and `sigma` may be arrays (they broadcast with the network's) and JAX values. `spectrum` is the
    law of the variances s on the diagonal of Σ, all one without it; where it has targets of its own, `prior`
    is None when the task is made, and the law of these targets afterwards.
    """

    delta: Any
    sigma: Any
    prior: Prior
    spectrum: Spectrum | None

    def __init__(self, delta: Any, sigma: Any, prior: Any = None, spectrum: Any = None):
        self.delta = real("delta", delta, lambda x: x > 0, "finite and > 0")
        self.sigma = real("sigma", sigma, lambda x: x >= 0, "finite and ≥ 0")
        if spectrum is not None and not isinstance(spectrum, Spectrum):
            raise InputError(
                f"spectrum must be a Spectrum such as PowerLaw(1.5) or Spectrum.groups(…), got {spectrum!r}"
            )
        self.spectrum = spectrum
        own = None if spectrum is None else spectrum.own_targets
        if own is not None:
            if prior is not None:
                raise InputError("prior must be None: this spectrum has targets of its own")
            prior = own
        if not isinstance(prior, Prior):
            raise InputError(
                f"prior must be a Prior such as Bernoulli(0.1) or a subclass of Prior, got {prior!r}"
            )
        check_mixture(prior)
        self.prior = prior

    @property
    def law(self) -> JointLaw:
        """The joint law of variances and targets."""
        return self.law_at(FINENESS[1])

    def law_at(self, fineness: int) -> JointLaw:
        """The same, with so many strata for what is continuous in it."""
        if self.spectrum is None:
            return isotropic(self.prior.components)
        return self.spectrum.joint(self.prior.components, fineness)

    @property
    def signal(self) -> float:
        r"""\(\rho^2 = E[s\,w^{*2}]\), the variance of \(x \cdot w^*\)."""
        return self.prior.second_moment if self.spectrum is None else float(self.law.signal)

    @property
    def inputs(self) -> str:
        """The spectrum in words, with a comma before; nothing where all variances are one."""
        return "" if self.spectrum is None else f", {self.spectrum}"

    def at(self, delta: Any, sigma: Any) -> "Task":
        """The same task with other numbers."""
        own = self.spectrum is not None and self.spectrum.own_targets is not None
        return Task(delta, sigma, None if own else self.prior, self.spectrum)
