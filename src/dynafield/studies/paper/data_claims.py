"""Claims on other inputs, on real data and on the law of whole paths, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    PRINTED,
    Claim,
    bound,
    from_theory,
    in_bound,
    mean_of,
    plain,
    together,
)
from dynafield.studies.paper.rate_claims import ASYMPTOTIC, final_slopes

__all__ = ["genes", "path_laws", "signs"]

LEAST = 1e-2
"""Share of the first training error down to which curves are compared: finite spectra part below it."""
TIMES = 4
"""Times at which curves are compared."""
FINITE = 0.1
"""Relative difference of a slope of finite networks from the rate they tend to that counts as agreement."""
NEAR = 0.05
"""Distance of distribution functions of eigenvalues that counts as agreement at n = 100."""


def signs(data: xr.Dataset, points: xr.Dataset | None, rates: xr.Dataset | None) -> list[Claim]:
    """Random signs as inputs."""
    made = []
    if points is not None:
        settled, expected = points["settled"].values, points["test_error_expected"].values
        pairs = [(data["test_error"].values[settled], expected[settled])]
        over = f"test error over α = {plain(points['alpha'].values[settled])}"
        words = "inputs ±1/√d end at the errors of the same theory"
        made.append(in_bound("Universality", PAPER, words, pairs, over, "universality"))
        both = [np.log(one["local_rate"].values) for one in (data, points)]
        mean = [np.mean(one, axis=-1) for one in both]
        own = np.std(both[1], axis=-1, ddof=1) / np.sqrt(both[1].shape[-1])
        distance = from_theory(both[0], mean[1], own)
        distance = distance._replace(percent=100 * float(np.mean(np.abs(np.exp(mean[0] - mean[1]) - 1))))
        made.append(
            Claim(
                "Universality",
                PAPER,
                "and converge at the same rates",
                f"Gaussian: {plain(np.exp(mean[1]))}",
                f"binary: {plain(np.exp(mean[0]))}",
                distance.words,
                distance.rule,
                distance.holds,
                "universality",
            )
        )
    if rates is not None:
        which = np.flatnonzero(rates["delta"].values == 0.5)
        runs, comparisons = data["curve_train_error"].values, []
        for k, row in zip(which, runs, strict=True):
            theory, own = (rates[f"train_error_theory{end}"].values[k] for end in ("", "_se"))
            last = int(np.argmin(theory > LEAST * theory[0])) or len(theory)
            few = np.unique(np.linspace(1, last - 1, TIMES).astype(int))
            comparisons.append((row[:, few].T, theory[few], own[few]))
        distance, count = together(comparisons), sum(len(theory) for _, theory, _ in comparisons)
        made.append(
            Claim(
                "Universality",
                PAPER,
                "and follow the same learning curves",
                f"DMFT: {count} training errors down to {LEAST:g} of the first",
                f"means of {runs.shape[1]} networks",
                distance.words,
                distance.rule,
                distance.holds,
                "universality",
            )
        )
    return made


def genes(points: xr.Dataset | None, real: xr.Dataset | None) -> list[Claim]:
    """Gene expression: ends, rates, and the spectrum that explains them."""
    made = []
    if points is not None:
        settled, expected = points["real_settled"].values, points["test_error_expected"].values
        pairs = [(points["real_test_error"].values[settled], expected[settled])]
        over = f"test error over α = {plain(points['alpha'].values[settled])}"
        words = "gene expression ends at the errors of independent inputs"
        made.append(in_bound("Real data", PAPER, words, pairs, over, "fixed-points"))
    return made if real is None else made + gene_rates(real) + gene_spectrum(real) + gene_columns(real)


def gene_rates(real: xr.Dataset) -> list[Claim]:
    """Faster than independent inputs of the same size, increasing in α, and as their own spectra have it."""
    gamma, own = real["gamma"].values, np.mean(real["local_rate"].values, axis=-1)
    same = np.mean(real["gaussian_local_rate"].values, axis=-1)
    ratio = np.mean(np.log(real["local_rate"].values / real["gaussian_local_rate"].values), axis=0)
    faster, error = mean_of(ratio)
    most = bound(len(ratio), 1)
    steps = np.diff(real["local_rate"].values, axis=0)
    late = np.flatnonzero(gamma * real["t"].values[:, -1] > ASYMPTOTIC)
    slopes = np.array(
        [
            np.mean(
                final_slopes(real["t"].values[k], real["train_error"].values[k], 0.0)
                / real["local_rate"].values[k]
            )
            for k in late
        ]
    )
    return [
        Claim(
            "Real data",
            PAPER,
            "gene expression converges faster than the theory of independent inputs",
            f"γ = {plain(gamma)}; Gaussian inputs of the same size: {plain(same)}",
            plain(own),
            f"{plain(100 * (own / gamma - 1), 2)} % faster than γ, {plain(100 * (own / same - 1), 2)} % "
            f"than Gaussian",
            f"holds if faster than Gaussian on average by {most:.1f} standard errors",
            faster > most * error,
            "rates-real",
        ),
        Claim(
            "Real data",
            CORRECTED,
            "its rates are those of its own spectrum, the smallest eigenvalue of XKXᵀ/δ",
            f"slope of the loss / rate = 1 at α = {plain(real['alpha'].values[late])}",
            plain(slopes),
            f"{plain(100 * np.abs(slopes - 1), 2)} %",
            f"holds if within {100 * FINITE:g} % (not yet asymptotic)",
            bool(np.all(np.abs(slopes - 1) <= FINITE)),
            "rates-real",
        ),
        Claim(
            "Real data",
            PAPER,
            "rates increase with α all the same",
            "no step downward",
            f"{int(np.sum(steps <= 0))} of {steps.size} steps lower the rate",
            f"least step {float(np.min(steps)):.2g}",
            "holds if none does",
            bool(np.all(steps > 0)),
            "rates-real",
        ),
    ]


def gene_spectrum(real: xr.Dataset) -> list[Claim]:
    """The law of the eigenvalues: that of independent inputs, or that of a corner of an orthogonal matrix."""
    values = np.sort(real["eigenvalues"].values.ravel())
    place, density = real["eigenvalue"].values, real["corner"].values
    seen = np.searchsorted(values, place, side="right") / len(values)
    law = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(place))])
    distance, inside = float(np.max(np.abs(seen - law))), place[density > 0]
    least, gaussian = (np.log(real[f"{name}eigenvalues"].values.min(axis=-1)) for name in ("", "gaussian_"))
    larger, error = mean_of(least - gaussian)
    most = bound(len(least), 1)
    edges = real["corner_edge"].values / float(real["independent_edge"])
    cohorts = plain(real["cohort"].values, 4)
    return [
        Claim(
            "Real data",
            PAPER,
            "whitening by a finite cohort moves the spectrum towards one, and its smallest eigenvalue up",
            f"independent inputs of the same size: {plain(np.exp(np.mean(gaussian)))}",
            plain(np.exp(np.mean(least))),
            f"larger by {100 * (np.exp(larger) - 1):.0f} % on average",
            f"holds if larger by more than {most:.1f} standard errors",
            larger > most * error,
            "rates-real",
        ),
        Claim(
            "Real data",
            CORRECTED,
            "how far: with more features than samples they are a corner of an orthogonal matrix (Jacobi)",
            f"eigenvalues of XXᵀ/δ from {inside[0]:.3f} to {inside[-1]:.2f}; for large α rates grow by "
            f"{plain(100 * (edges - 1), 2)} % for cohorts of {cohorts} samples",
            f"{values[0]:.3f} to {values[-1]:.2f}",
            f"distribution functions differ by {distance:.3f}",
            f"holds if they differ by less than {NEAR:g}",
            distance < NEAR,
            "rates-real",
        ),
    ]


def gene_columns(real: xr.Dataset) -> list[Claim]:
    """Whether labels can be interpolated, by how columns are normalized."""
    trained = real["train_error"].values[-1][:, -1]
    made = []
    for source, words, values in (
        (
            PRINTED,
            "columns centred over the chosen samples: labels can be interpolated",
            real["centred_error"].values,
        ),
        (CORRECTED, "columns normalized over the cohort: labels can be interpolated", trained),
    ):
        most = float(np.max(values))
        made.append(
            Claim(
                "Real data",
                source,
                words,
                "training error 0",
                f"{float(np.mean(values)):.2g} on average",
                f"at most {most:.2g}",
                "holds if below 1e-8",
                most < 1e-8,
                "rates-real",
            )
        )
    return made


def path_laws(data: xr.Dataset) -> list[Claim]:
    """The theorem: whole paths approach their law; beyond what two draws of it differ by, nothing is left."""
    d = data["dimension"].values
    squares = {name: data[name].values ** 2 for name in ("distance", "floor", "between")}
    excess = squares["distance"] - 0.5 * (squares["floor"] + squares["between"])
    mean, floor = (np.mean(data[name].values, axis=-1) for name in ("distance", "floor"))
    left, error = mean_of(excess[-1])
    most = bound(excess.shape[-1], 1)
    falls = bool(np.all(np.diff(mean) < 0))
    words = (
        "the coordinates of a network at four times, with their targets, approach the DMFT law in W₂ as d "
        "grows"
    )
    return [
        Claim(
            "Law of whole paths",
            PAPER,
            words,
            f"two draws of the law: {plain(floor)} at d = {plain(d, 4)}",
            f"network and law: {plain(mean)}",
            f"W₂² beyond chance at the largest d: {left:.1e} ± {error:.1e}",
            f"holds if W₂ falls at every step of d and this is within {most:.1f} standard errors of 0",
            bool(falls and abs(left) <= most * error),
            "paths",
        )
    ]
