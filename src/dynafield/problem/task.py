"""What is to be learnt: sparse or dense linear regression in high dimension."""

from typing import Any

import equinox as eqx

from dynafield.errors import InputError
from dynafield.problem.checks import LARGEST, called, in_range, real, shown
from dynafield.problem.priors import Prior, check_mixture
from dynafield.problem.spectra import FINENESS, JointLaw, Spectrum, isotropic

__all__ = ["Task"]


class Task(eqx.Module):
    r"""Linear regression in high dimension.

    Labels \(y = x \cdot w^* + \sigma\xi\), inputs \(x \sim N(0, \Sigma/d)\), \(n/d \to \delta\).

    Parameters
    ----------
    delta : number or array over parameter axes
        Samples per dimension, δ = n/d > 0. Arrays broadcast with each other and with the numbers of a
        network: every entry is a problem of its own. JAX values can be differentiated.
    sigma : number or array over parameter axes
        Standard deviation σ ≥ 0 of the label noise, in the units of y.
    prior : Prior, optional
        Distribution of one entry of the target w*. None only where the spectrum has targets of its own;
        `task.prior` is then the distribution of these.
    spectrum : Spectrum, optional
        Distribution of the variances s on the diagonal of Σ. None: all variances are one.

    Raises
    ------
    InputError
        If a number is out of range, or if there is no prior, or one too many.

    Examples
    --------
    >>> task = Task(delta=0.5, sigma=0.1, prior=Bernoulli(0.1))
    """

    delta: Any
    sigma: Any
    prior: Prior
    spectrum: Spectrum | None

    def __init__(self, delta: Any, sigma: Any, prior: Any = None, spectrum: Any = None):
        self.delta = in_range("delta", real("delta", delta, lambda x: x > 0, "finite and > 0"), 1 / LARGEST)
        self.sigma = in_range("sigma", real("sigma", sigma, lambda x: x >= 0, "finite and ≥ 0"))
        if spectrum is not None and not isinstance(spectrum, Spectrum):
            raise InputError(
                "spectrum must be a Spectrum such as PowerLaw(1.5) or Spectrum.groups(…), "
                f"got {shown(spectrum)}"
            )
        self.spectrum = spectrum
        own = None if spectrum is None else spectrum.own_targets
        if own is not None:
            if prior is not None:
                raise InputError("prior must be None: this spectrum has targets of its own")
            prior = own
        if not isinstance(prior, Prior):
            raise InputError(
                f"prior must be a Prior such as Bernoulli(0.1) or a subclass of Prior, got {shown(prior)}"
            )
        check_mixture(prior)
        self.prior = prior

    @property
    def law(self) -> JointLaw:
        """The joint distribution of variances and targets."""
        return self.law_at(FINENESS[1])

    def law_at(self, fineness: int, edge: bool = False) -> JointLaw:
        """The joint distribution of variances and targets, at a given resolution.

        Parameters
        ----------
        fineness : int
            Number of strata that stand for a continuous spectrum; without effect on other spectra.
        edge : bool, default False
            Whether they crowd at the smallest variance.

        Returns
        -------
        JointLaw
            Strata of (s, w*).
        """
        if self.spectrum is None:
            return isotropic(self.prior.components)
        spectrum, name = self.spectrum, "joint_at_edge" if edge else "joint"
        words = f"{name} of the spectrum {type(spectrum).__name__}"
        return called(words, getattr(spectrum, name), self.prior.components, fineness)

    @property
    def signal(self) -> float:
        r"""\(\rho^2 = E[s\,w^{*2}]\), the variance of \(x \cdot w^*\)."""
        return self.prior.second_moment if self.spectrum is None else float(self.law.signal)

    @property
    def inputs(self) -> str:
        """The spectrum as text that begins with a comma; empty where all variances are one."""
        return "" if self.spectrum is None else f", {self.spectrum}"

    def at(self, delta: Any, sigma: Any) -> "Task":
        """The same task with another δ and σ.

        Parameters
        ----------
        delta : number or array over parameter axes
            Samples per dimension, > 0.
        sigma : number or array over parameter axes
            Standard deviation of the label noise, ≥ 0.

        Returns
        -------
        Task
            With the same prior and spectrum.
        """
        own = self.spectrum is not None and self.spectrum.own_targets is not None
        return Task(delta, sigma, None if own else self.prior, self.spectrum)
