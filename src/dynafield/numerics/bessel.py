"""Ratios of modified Bessel functions, where the functions themselves overflow."""

import numpy as np
from jaxtyping import Float
from scipy.special import kve

__all__ = ["bessel_ratio"]

DIRECT = 50.0
"""Orders up to which the functions are divided; from there the recurrence goes up, which is stable."""


def bessel_ratio(order: Float[np.ndarray, "*s"], x: Float[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
    r"""\(K_{\nu+1}(x)/K_\nu(x)\) for ν ≥ -1/2 and x > 0, by \(r_\nu = 2\nu/x + 1/r_{\nu-1}\) for large ν."""
    steps = np.maximum(np.ceil(order - DIRECT), 0).astype(int)
    low = order - steps
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = kve(low + 1, x) / kve(low, x)
        # K_ν(x) ~ Γ(ν)(2/x)^ν/2 where it overflows
        ratio = np.where(np.isfinite(ratio), ratio, 2 * low / x)
        for step in range(1, int(np.max(steps, initial=0)) + 1):
            ratio = np.where(step <= steps, 2 * (low + step) / x + 1 / ratio, ratio)
    return ratio
