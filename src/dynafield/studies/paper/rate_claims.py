"""Claims on how fast training ends, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import CORRECTED, MOST, PAPER, PRINTED, WORST, Claim, plain, told

__all__ = ["monotone_rates", "rate_claims"]


def limit_of(d: np.ndarray, runs: np.ndarray) -> tuple[float, float]:
    """Rates over dimensions and runs, extrapolated in d^(-2/3) (the edge of a spectrum): value and error."""
    mean = np.mean(runs, axis=-1)
    error = np.std(runs, axis=-1, ddof=1) / np.sqrt(runs.shape[-1])
    design = np.stack([np.ones(len(d)), d ** (-2 / 3)], axis=1) / error[:, None]
    covariance = np.linalg.inv(design.T @ design)
    return float((covariance @ design.T @ (mean / error))[0]), float(np.sqrt(covariance[0, 0]))


def rate_claims(data: xr.Dataset) -> list[Claim]:
    """γ for δ = 0.5 and 2 by the spectra of growing data, and what stands beside the exponential."""
    made = []
    for delta in (0.5, 2.0):
        which = np.flatnonzero(data["delta"].values == delta)
        gamma = data["gamma"].values[which]
        found = [limit_of(data["dimension"].values, data["local_rate"].values[k]) for k in which]
        value, error = (np.array(part) for part in zip(*found, strict=True))
        worst = float(np.max(np.abs(value - gamma) / error))
        percent = 100 * float(np.mean(np.abs(value / gamma - 1)))
        dimensions = plain(data["dimension"].values, 4)
        made.append(
            Claim(
                "Convergence rate",
                PAPER,
                f"δ = {delta:g}: the loss decays with rate 2γ of the theory",
                f"γ = {plain(gamma)} at α = {plain(data['alpha'].values[which])}",
                f"{plain(value)}, smallest eigenvalues of XKXᵀ/δ for d = {dimensions}, extrapolated",
                told(worst, percent),
                WORST,
                worst <= MOST,
                "rates-detail",
            )
        )
    late = np.log(data["late"].values)
    power = float(np.polyfit(late[-20:], data["late_loss"].values[-20:], 1)[0])
    for source, value, words in (
        (PRINTED, 0.0, "loss = exp(-2γt + o(1)): no power of t beside the exponential"),
        (CORRECTED, -1.5, "loss = exp(-2γt + o(t)): the edge of the spectrum brings t^(-3/2)"),
    ):
        made.append(
            Claim(
                "Convergence rate",
                source,
                words,
                f"power {value:g}",
                f"power {power:.3f} (closed form of the lazy phase, γt from {np.exp(late[-20]):.0f} to "
                f"{np.exp(late[-1]):.0f})",
                f"{abs(power - value):.3f}",
                "holds if the power is within 0.05",
                abs(power - value) <= 0.05,
                "rates-detail",
            )
        )
    return made


def monotone_rates(theory: xr.Dataset, rates: xr.Dataset | None) -> list[Claim]:
    """γ grows with α; its derivative as printed and in total."""
    least = float(np.min(np.diff(np.log(theory["gamma"].values), axis=1)))
    seen, share = "not measured", 1.0
    if rates is not None:
        runs = rates["local_rate"].values.reshape(2, -1, *rates["local_rate"].shape[1:])
        share = float(np.mean(np.diff(runs, axis=1) > 0))
        seen = f"spectra of finite data: {100 * share:.1f} % of steps in α increase the rate"
    made = [
        Claim(
            "Monotonicity",
            PAPER,
            "γ increases with α, for δ = 2 and 0.5",
            f"least step of log γ: {least:.2g}",
            seen,
            "",
            "holds if no step is downward",
            least > 0 and share == 1.0,
            "rates-theory",
        )
    ]
    total, fixed = (theory[name].values for name in ("dgamma_dalpha", "dgamma_dalpha_fixed_law"))
    alpha, gamma = theory["alpha"].values, theory["gamma"].values
    steps = np.diff(gamma, axis=1) / np.diff(alpha)
    middle = 0.5 * (alpha[1:] + alpha[:-1])
    for source, formula, words in (
        (PRINTED, fixed, "dγ/dα by the formula of the proof, which holds the law of w fixed"),
        (CORRECTED, total, "dγ/dα with the law of w moving along"),
    ):
        at = np.array([np.interp(middle, alpha, row) for row in formula])
        worst = np.max(np.abs(at / steps - 1), axis=1)
        k = int(np.argmin(np.abs(alpha - 0.5)))
        made.append(
            Claim(
                "Monotonicity",
                source,
                words,
                f"{formula[1, k]:.4f} at δ = 0.5, α = {alpha[k]:.3g}",
                f"differences of γ: {np.interp(alpha[k], middle, steps[1]):.4f}",
                f"worst {100 * worst[1]:.2g} % at δ = 0.5, {100 * worst[0]:.2g} % at δ = 2",
                "holds if within 1 % everywhere",
                bool(np.all(worst < 0.01)),
                "rates-theory",
            )
        )
    return made
