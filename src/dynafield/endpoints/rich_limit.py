r"""The limit \(\alpha \to \infty\) of training on given data with weight decay, in
\(\tau = t - 2\log(\alpha)/\lambda\) [eq:rich_limit].

\(w = e^{-\lambda\tau}\sinh X^\top\nu\), \(\delta\nu' = y - Xw\): no α is left. For \(\tau \to -\infty\) the
network interpolates, with the scale \(e^{-\lambda\tau}\) in place of α²; any start there is forgotten faster
than exponentially.
"""

import numpy as np
import scipy.integrate
from jaxtyping import Float

from dynafield.endpoints.interpolation import interpolate
from dynafield.errors import SolveError

__all__ = ["rich_limit"]

START = 400.0
"""The scale at which it starts: memory of that is smaller than exp(-START μ/λ), μ the least curvature."""


def rich_limit(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    lam: float,
    tau: Float[np.ndarray, " k"],
    rtol: float = 1e-10,
) -> Float[np.ndarray, "k d"]:
    """Weights at increasing times τ, of n < d data; the first must lie after the start."""
    delta, first = len(y) / X.shape[1], -np.log(START) / lam

    def rate(now: float, nu: np.ndarray) -> np.ndarray:
        return (y - X @ (np.exp(-lam * now) * np.sinh(X.T @ nu))) / delta  # δν' = y - Xw [eq:rich_limit]

    def slope(now: float, nu: np.ndarray) -> np.ndarray:
        return -(X * (np.exp(-lam * now) * np.cosh(X.T @ nu))) @ X.T / delta

    start = interpolate(X, y, float(np.sqrt(START)), 2).nu
    found = scipy.integrate.solve_ivp(
        rate, (first, float(tau[-1])), start, "BDF", tau, jac=slope, rtol=rtol, atol=1e-2 * rtol
    )
    if not found.success:
        raise SolveError(f"the limit of large alpha was not followed up to the last time: {found.message}")
    return np.exp(-lam * tau)[:, None] * np.sinh(found.y.T @ X)
