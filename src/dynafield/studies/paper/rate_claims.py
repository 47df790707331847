"""Claims on the rate of convergence without weight decay, judged by data."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import CORRECTED, PAPER, PRINTED, Claim, bound, corrects, plain

__all__ = ["ASYMPTOTIC", "final_slopes", "monotone_rates", "rate_claims"]

ASYMPTOTIC = 5.0
"""Smallest γt at which the slope of a curve is taken."""
SLACK = 0.03
"""Relative difference of a slope read off a curve, its power of t taken out, that counts as agreement."""


def limit_of(d: np.ndarray, runs: np.ndarray) -> tuple[float, float]:
    """Rates over dimensions and runs, extrapolated in d^(-2/3) (the edge of a spectrum): value and error."""
    mean = np.mean(runs, axis=-1)
    error = np.std(runs, axis=-1, ddof=1) / np.sqrt(runs.shape[-1])
    design = np.stack([np.ones(len(d)), d ** (-2 / 3)], axis=1) / error[:, None]
    covariance = np.linalg.inv(design.T @ design)
    return float((covariance @ design.T @ (mean / error))[0]), float(np.sqrt(covariance[0, 0]))


def final_slopes(t: np.ndarray, errors: np.ndarray, power: float) -> Any:
    """Half the slope of -log(error · t^power) over the last fifth of the times; errors over the last axis."""
    start = int(0.8 * len(t))
    log = np.log(errors) + power * np.log(np.maximum(t, 1e-300))
    return -(log[..., -1] - log[..., start]) / (t[-1] - t[start]) / 2


def rate_claims(data: xr.Dataset) -> list[Claim]:
    """γ for δ = 0.5 and 2 by spectra of data of growing size, by slopes of losses, and the power of t."""
    made = []
    for delta in (0.5, 2.0):
        which = np.flatnonzero(data["delta"].values == delta)
        gamma = data["gamma"].values[which]
        found = [limit_of(data["dimension"].values, data["local_rate"].values[k]) for k in which]
        value, error = (np.array(part) for part in zip(*found, strict=True))
        worst = float(np.max(np.abs(value - gamma) / error))
        most = bound(data.sizes["run_of_rate"], len(which))  # errors are themselves those of few runs
        percent = 100 * float(np.mean(np.abs(value / gamma - 1)))
        dimensions = plain(data["dimension"].values, 4)
        made.append(
            Claim(
                "Convergence rate",
                PAPER,
                f"δ = {delta:g}: on finite data the rate of the slowest mode of training, the smallest "
                "eigenvalue of XKXᵀ/δ, tends to γ.",
                f"γ = {plain(gamma)} at α = {plain(data['alpha'].values[which])}",
                f"{plain(value)} (d = {dimensions}, extrapolated)",
                f"at most {worst:.1f} standard errors, on average {percent:.1f} %",
                f"holds if no difference exceeds {most:.1f} standard errors",
                worst <= most,
                "rates-detail",
            )
        )
    return made + loss_slopes(data) + powers(data)


def loss_slopes(data: xr.Dataset) -> list[Claim]:
    """Slopes of the curves themselves, where they come near their asymptotes."""
    late = data["gamma"].values * data["t"].values[:, -1] > ASYMPTOTIC
    which = np.flatnonzero(late & (data["delta"].values < 1))
    ratio = [
        final_slopes(data["t"].values[k], data["train_error_theory"].values[k], 1.5) / float(data["gamma"][k])
        for k in which
    ]
    worst = float(np.max(np.abs(np.array(ratio) - 1)))
    return [
        Claim(
            "Convergence rate",
            PAPER,
            "δ = 0.5: the loss of the infinite network decays with rate 2γ, besides a power of t.",
            f"slope/2γ = 1 at α = {plain(data['alpha'].values[which])}",
            f"DMFT: {plain(ratio)}",
            f"slopes differ by at most {100 * worst:.1f} %",
            f"holds if every slope is within {100 * SLACK:g} % of 2γ",
            worst <= SLACK,
            "rates-gaussian",
        )
    ]


def powers(data: xr.Dataset) -> list[Claim]:
    """The power of t that multiplies the exponential, in the closed form of the lazy phase."""
    late = np.log(data["late"].values)
    power = float(np.polyfit(late[-20:], data["late_loss"].values[-20:], 1)[0])
    span = f"γt from {np.exp(late[-20]):.0f} to {np.exp(late[-1]):.0f}"
    made = [
        Claim(
            "Convergence rate",
            source,
            words,
            f"power {value:g} of t",
            f"power {power:.3f} (theory alone: closed form of the lazy phase, {span})",
            f"powers differ by {abs(power - value):.3f}",
            "holds if the powers differ by at most 0.05",
            abs(power - value) <= 0.05,
            "rates-detail",
        )
        for source, value, words in (
            (PRINTED, 0.0, "L(t) - L(∞) = exp(-2γt + o(1)): no power of t multiplies the exponential."),
            (
                CORRECTED,
                -1.5,
                "L(t) - L(∞) = exp(-2γt + o(t)): the edge of the spectrum brings a factor t^(-3/2).",
            ),
        )
    ]
    return corrects("power-of-time", *made)


def monotone_rates(theory: xr.Dataset, rates: xr.Dataset | None = None) -> list[Claim]:
    """γ increases with α; its derivative as printed and corrected."""
    least = float(np.min(np.diff(np.log(theory["gamma"].values), axis=1)))
    seen, down = "not measured", 0
    if rates is not None:
        runs = rates["local_rate"].values.reshape(2, -1, *rates["local_rate"].shape[1:])
        steps = np.diff(runs, axis=1)
        down = int(np.sum(steps <= 0))
        seen = f"spectra of finite data: the rate falls in {down} of {steps.size} steps of α"
    made = [
        Claim(
            "Monotonicity",
            PAPER,
            "γ increases with α, for δ = 2 and for δ = 0.5.",
            "γ grows from each α to the next",
            seen,
            f"smallest step of log γ: {least:.2g}",
            "holds if neither γ nor a measured rate falls in any step",
            least > 0 and down == 0,
            "rates-theory",
        )
    ]
    alpha, gamma = theory["alpha"].values, theory["gamma"].values
    steps, middle = np.diff(gamma, axis=1) / np.diff(alpha), 0.5 * (alpha[1:] + alpha[:-1])
    for source, name, words in (
        (
            PRINTED,
            "dgamma_dalpha_fixed_law",
            "dγ/dα is given by the formula of the proof, which holds the distribution of w fixed.",
        ),
        (
            CORRECTED,
            "dgamma_dalpha",
            "dγ/dα is the total derivative, in which the distribution of w depends on α.",
        ),
    ):
        formula = theory[name].values
        at = np.array([np.interp(middle, alpha, row) for row in formula])
        worst = np.max(np.abs(at / steps - 1), axis=1)
        k = int(np.argmin(np.abs(alpha - 0.5)))
        made.append(
            Claim(
                "Monotonicity",
                source,
                words,
                f"{formula[1, k]:.4f} at δ = 0.5, α = {alpha[k]:.3g}",
                f"theory alone: difference quotient {np.interp(alpha[k], middle, steps[1]):.4f}",
                f"at most {100 * worst[1]:.2f} % at δ = 0.5 and {100 * worst[0]:.2f} % at δ = 2",
                "holds if they differ by less than 1 % at every α",
                bool(np.all(worst < 0.01)),
                "rates-theory",
            )
        )
    return corrects("rate-derivative", *made)
