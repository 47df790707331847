"""Claims on other inputs, on real data and on the law of whole paths, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    MOST,
    PAPER,
    PRINTED,
    WORST,
    Claim,
    end_claim,
    in_errors,
    plain,
    told,
)

__all__ = ["genes", "path_laws", "signs"]

LEAST = 1e-2
"""Share of the first training error down to which curves are compared: finite spectra part below it."""
SLACK = 0.1
"""Relative difference of a slope read off a curve that counts as agreement: it is not yet asymptotic."""


def signs(data: xr.Dataset, points: xr.Dataset | None, rates: xr.Dataset | None) -> list[Claim]:
    """Random signs as inputs."""
    made = []
    if points is not None:
        settled, expected = points["settled"].values, points["test_error_expected"].values
        pairs = [(data["test_error"].values[settled], expected[settled])]
        over = f"test error over α = {plain(points['alpha'].values[settled])}"
        words = "inputs ±1/√d end at the same errors as Gaussian ones"
        made.append(end_claim("Universality", words, pairs, over, "universality"))
        both = [np.log(one["local_rate"].values) for one in (data, points)]
        mean = [np.mean(one, axis=-1) for one in both]
        error = np.hypot(*(np.std(one, axis=-1, ddof=1) / np.sqrt(one.shape[-1]) for one in both))
        worst = float(np.max(np.abs(mean[0] - mean[1]) / error))
        made.append(
            Claim(
                "Universality",
                PAPER,
                "and converge at the same rates",
                f"Gaussian: {plain(np.exp(mean[1]))}",
                f"binary: {plain(np.exp(mean[0]))}",
                told(worst, 100 * float(np.mean(np.abs(np.exp(mean[0] - mean[1]) - 1)))),
                WORST,
                worst <= MOST,
                "universality",
            )
        )
    if rates is not None:
        which = np.flatnonzero(rates["delta"].values == 0.5)
        theory = rates["train_error_theory"].values[which]
        own = rates["train_error_theory_se"].values[which]
        runs = np.moveaxis(data["curve_train_error"].values, 1, -1)
        large = theory > LEAST * theory.max()
        large[:, ::2] = False
        worst, percent = in_errors(runs[large], theory[large], own[large])
        made.append(
            Claim(
                "Universality",
                PAPER,
                "and follow the same learning curves (DMFT)",
                f"training errors of 4 curves down to {LEAST:g} of the first",
                f"means of {runs.shape[-1]} networks",
                told(worst, percent),
                WORST,
                worst <= MOST,
                "universality",
            )
        )
    return made


def genes(points: xr.Dataset | None, real: xr.Dataset | None) -> list[Claim]:
    """Gene expression: ends, rates, and the spectrum that explains them."""
    made = []
    if points is not None:
        settled, expected = points["settled"].values, points["test_error_expected"].values
        pairs = [(points["real_test_error"].values[settled], expected[settled])]
        over = f"test error over α = {plain(points['alpha'].values[settled])}"
        words = "gene expression ends at the errors of independent inputs"
        made.append(end_claim("Real data", words, pairs, over, "fixed-points"))
    if real is None:
        return made
    gamma, own = real["gamma"].values, np.mean(real["local_rate"].values, axis=-1)
    far = 100 * (own / gamma - 1)
    made.append(
        Claim(
            "Real data",
            PAPER,
            "gene expression converges at the rates of independent inputs (the paper sees that "
            "it does not quite)",
            f"γ = {plain(gamma)}",
            plain(own),
            f"{plain(far, 2)} % faster",
            "holds if within 10 %",
            bool(np.all(np.abs(far) <= 10)),
            "rates-real",
        )
    )
    late = np.flatnonzero(gamma * real["t"].values[:, -1] > 5)
    ratio = []
    for k in late:
        t, log_error = real["t"].values[k], np.log(real["train_error"].values[k])
        start = int(0.8 * len(t))
        slope = -(log_error[:, -1] - log_error[:, start]) / (t[-1] - t[start]) / 2
        ratio.append(slope / real["local_rate"].values[k, : len(slope)])
    mean = np.mean(ratio, axis=1)
    made.append(
        Claim(
            "Real data",
            CORRECTED,
            "its rates are those of its own spectrum, λ_min(XKXᵀ)/δ, which is narrower",
            f"slope / rate = 1 at α = {plain(real['alpha'].values[late])}",
            plain(mean),
            f"{plain(100 * (mean - 1), 2)} %",
            f"holds if within {100 * SLACK:g} % (the slope is not yet asymptotic)",
            bool(np.all(np.abs(mean - 1) <= SLACK)),
            "rates-real",
        )
    )
    low, high = (float(f(real["eigenvalues"].values)) for f in (np.min, np.max))
    edges = float(real["eigenvalue"][0]), float(real["eigenvalue"][-1])
    made.append(
        Claim(
            "Real data",
            CORRECTED,
            "whitening narrows the spectrum of XXᵀ/δ inside that of Marchenko–Pastur",
            f"{edges[0]:.3f} to {edges[1]:.2f}",
            f"{low:.3f} to {high:.2f}",
            "",
            "holds if both edges lie inside",
            low > edges[0] and high < edges[1],
            "rates-real",
        )
    )
    runs = real["local_rate"].values
    made.append(
        Claim(
            "Real data",
            PAPER,
            "rates increase with α all the same",
            "increasing",
            f"{100 * float(np.mean(np.diff(runs, axis=0) > 0)):.0f} % of steps increase",
            "",
            "holds if all do",
            bool(np.all(np.diff(runs, axis=0) > 0)),
            "rates-real",
        )
    )
    left = real["centred_error"].values
    trained = float(np.max(real["train_error"].values[-1][:, -1]))
    for source, words, values in (
        (PRINTED, "columns centred over the chosen samples: labels can be interpolated", left),
        (CORRECTED, "columns normalized over the cohort: labels can be interpolated", np.array([trained])),
    ):
        made.append(
            Claim(
                "Real data",
                source,
                words,
                "training error 0",
                f"up to {float(np.max(values)):.2g}",
                "",
                "holds if below 1e-8",
                float(np.max(values)) < 1e-8,
                "rates-real",
            )
        )
    return made


def path_laws(data: xr.Dataset) -> list[Claim]:
    """The theorem: whole paths approach their law."""
    mean, floor = (np.mean(data[name].values, axis=-1) for name in ("distance", "floor"))
    d = data["dimension"].values
    error = np.std(data["distance"].values, axis=-1, ddof=1) / np.sqrt(data.sizes["run"])
    x, y = np.log(d), np.log(mean)
    weight = (mean / error) ** 2
    centre = np.sum(weight * x) / np.sum(weight)
    slope = float(np.sum(weight * (x - centre) * y) / np.sum(weight * (x - centre) ** 2))
    slope_error = float(1 / np.sqrt(np.sum(weight * (x - centre) ** 2)))
    excess = float(mean[-1] / floor[-1])
    return [
        Claim(
            "Law of whole paths",
            PAPER,
            "W₂ between the coordinates of a network at four times, with their "
            "targets, and the DMFT law shrinks as d grows",
            f"to the distance of two draws: {plain(floor)} at d = {plain(d, 4)}",
            plain(mean),
            f"power of d: {slope:.2f} ± {slope_error:.2f}; {excess:.2f} of the floor at the largest d",
            f"holds if the power is negative by {MOST:g} standard errors and the last within 20 % of the "
            f"floor",
            slope < -MOST * slope_error and excess < 1.2,
            "paths",
        )
    ]
