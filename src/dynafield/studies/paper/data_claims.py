"""Claims on other inputs, on real data and on the distribution of whole paths, judged by data."""

import numpy as np
import scipy.stats
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    PRINTED,
    Claim,
    bound,
    corrects,
    from_theory,
    in_bound,
    mean_of,
    plain,
    together,
)
from dynafield.studies.paper.rate_claims import ASYMPTOTIC, final_slopes

__all__ = ["approach", "gene_ends", "gene_tails", "genes", "path_distribution", "sign_curves", "sign_ends"]

LEAST = 1e-2
"""Smallest training error that is compared, relative to the first: finite spectra differ below it."""
TIMES = 4
"""Times at which curves are compared."""
FINITE = 0.1
"""Relative difference between a slope of finite networks and its limit that counts as agreement."""
HEAVY = 5.0
"""Ratio of the number of far entries to that of the normal distribution above which tails are heavier."""
NEAR = 0.05
"""Distance of distribution functions of eigenvalues that counts as agreement at n = 100."""


def sign_ends(data: xr.Dataset, points: xr.Dataset) -> list[Claim]:
    """Random signs as inputs: errors in the limit of training, and rates."""
    settled, expected = points["settled"].values, points["test_error_expected"].values
    pairs = [(data["test_error"].values[settled], expected[settled])]
    over = f"test error over α = {plain(points['alpha'].values[settled])}"
    words = "With inputs ±1/√d the test error converges to that of the same theory."
    both = [np.log(one["local_rate"].values) for one in (data, points)]
    mean = [np.mean(one, axis=-1) for one in both]
    own = np.std(both[1], axis=-1, ddof=1) / np.sqrt(both[1].shape[-1])
    distance = from_theory(both[0], mean[1], own)
    distance = distance._replace(percent=100 * float(np.mean(np.abs(np.exp(mean[0] - mean[1]) - 1))))
    return [
        in_bound("Universality", PAPER, words, pairs, over, "universality"),
        Claim(
            "Universality",
            PAPER,
            "With inputs ±1/√d training converges at the same rates.",
            f"Gaussian inputs: {plain(np.exp(mean[1]))}",
            f"inputs ±1/√d: {plain(np.exp(mean[0]))}",
            distance.words,
            distance.rule,
            distance.holds,
            "universality",
        ),
    ]


def sign_curves(data: xr.Dataset, rates: xr.Dataset) -> list[Claim]:
    """Random signs as inputs: learning curves."""
    which = np.flatnonzero(rates["delta"].values == 0.5)
    runs, comparisons = data["curve_train_error"].values, []
    for k, row in zip(which, runs, strict=True):
        theory, own = (rates[f"train_error_theory{end}"].values[k] for end in ("", "_se"))
        last = int(np.argmin(theory > LEAST * theory[0])) or len(theory)
        few = np.unique(np.linspace(1, last - 1, TIMES).astype(int))
        comparisons.append((row[:, few].T, theory[few], own[few]))
    distance, count = together(comparisons), sum(len(theory) for _, theory, _ in comparisons)
    return [
        Claim(
            "Universality",
            PAPER,
            "With inputs ±1/√d the learning curves are the same.",
            f"DMFT: {count} training errors, down to {LEAST:g} times the first one",
            f"means of {runs.shape[1]} networks",
            distance.words,
            distance.rule,
            distance.holds,
            "universality",
        )
    ]


def gene_ends(points: xr.Dataset) -> list[Claim]:
    """Gene expression: errors in the limit of training."""
    settled, expected = points["real_settled"].values, points["test_error_expected"].values
    pairs = [(points["real_test_error"].values[settled], expected[settled])]
    over = f"test error over α = {plain(points['alpha'].values[settled])}"
    words = "On gene expression the test error converges to that of independent inputs."
    return [in_bound("Real data", PAPER, words, pairs, over, "fixed-points")]


def genes(real: xr.Dataset) -> list[Claim]:
    """Gene expression: rates, and the spectrum that explains them."""
    spectra = corrects("whitening", *gene_rates(real), *gene_spectrum(real))
    return spectra + corrects("columns", *gene_columns(real))


def gene_rates(real: xr.Dataset) -> list[Claim]:
    """Faster than independent inputs of the same size, increasing in α, and given by their own spectra."""
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
            "On gene expression training converges faster than the theory of independent inputs says.",
            f"γ = {plain(gamma)}; Gaussian inputs of the same size: {plain(same)}",
            f"rates {plain(own)}",
            f"{plain(100 * (own / gamma - 1), 2)} % faster than γ, {plain(100 * (own / same - 1), 2)} % "
            f"than Gaussian inputs",
            f"holds if it is faster than on Gaussian inputs by more than {most:.1f} standard errors",
            faster > most * error,
            "rates-real",
        ),
        Claim(
            "Real data",
            CORRECTED,
            "The rates on gene expression are given by their own spectrum: the smallest eigenvalue of "
            "XKXᵀ/δ.",
            f"slope of the loss / (2 · eigenvalue) = 1 at α = {plain(real['alpha'].values[late])}",
            plain(slopes),
            f"differs from 1 by {plain(100 * np.abs(slopes - 1), 2)} %",
            f"holds if it differs by at most {100 * FINITE:g} % (times are not yet asymptotic)",
            bool(np.all(np.abs(slopes - 1) <= FINITE)),
            "rates-real",
        ),
        Claim(
            "Real data",
            PAPER,
            "On gene expression the rate increases with α, as in theory.",
            "the rate grows from each α to the next",
            f"the rate falls in {int(np.sum(steps <= 0))} of {steps.size} steps of α",
            f"smallest step {float(np.min(steps)):.2g}",
            "holds if it falls in none",
            bool(np.all(steps > 0)),
            "rates-real",
        ),
    ]


def gene_spectrum(real: xr.Dataset) -> list[Claim]:
    """Eigenvalues: independent inputs, or a corner of an orthogonal matrix."""
    values = np.sort(real["eigenvalues"].values.ravel())
    place, density = real["eigenvalue"].values, real["corner"].values
    seen = np.searchsorted(values, place, side="right") / len(values)
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(place))])
    distance, inside = float(np.max(np.abs(seen - cdf))), place[density > 0]
    least, gaussian = (np.log(real[f"{name}eigenvalues"].values.min(axis=-1)) for name in ("", "gaussian_"))
    larger, error = mean_of(least - gaussian)
    most = bound(len(least), 1)
    edges = real["corner_edge"].values / float(real["independent_edge"])
    cohorts = plain(real["cohort"].values, 4)
    return [
        Claim(
            "Real data",
            PAPER,
            "Whitening with a finite cohort makes the smallest eigenvalue of the covariance larger.",
            f"smallest eigenvalue of independent inputs of the same size: {plain(np.exp(np.mean(gaussian)))}",
            plain(np.exp(np.mean(least))),
            f"larger by {100 * (np.exp(larger) - 1):.0f} % on average",
            f"holds if it is larger by more than {most:.1f} standard errors",
            larger > most * error,
            "rates-real",
        ),
        Claim(
            "Real data",
            CORRECTED,
            "With more features than samples, whitened data are a corner of an orthogonal matrix (Jacobi "
            "spectrum).",
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
            "Columns centred over the chosen samples: labels can be interpolated.",
            real["centred_error"].values,
        ),
        (CORRECTED, "Columns normalized over the whole cohort: labels can be interpolated.", trained),
    ):
        most = float(np.max(values))
        made.append(
            Claim(
                "Real data",
                source,
                words,
                "training error 0",
                f"{float(np.mean(values)):.2g} on average",
                f"training error at most {most:.2g}",
                "holds if every training error is below 1e-8",
                most < 1e-8,
                "rates-real",
            )
        )
    return made


def gene_tails(data: xr.Dataset) -> list[Claim]:
    """Tails of the whitened features against those of the normal distribution."""
    kurtosis, error = mean_of(data["feature_kurtosis"].values)
    count, far = data.sizes["feature"], data.attrs["far"]
    most, normal, beyond = bound(count, 1), 2 * float(scipy.stats.norm.sf(far)), float(data["beyond"])
    return [
        Claim(
            "Real data",
            PAPER,
            "Whitened features have heavier tails than the normal distribution.",
            f"normal: fourth moment 3, {100 * normal:.4f} % beyond {far:g} standard deviations",
            f"fourth moment {kurtosis:.2f} ± {error:.2f} over {count} features, {100 * beyond:.3f} % beyond",
            f"fourth moment {(kurtosis - 3) / error:.1f} standard errors above 3, {beyond / normal:.0f} "
            "times as "
            "many entries beyond",
            f"holds if the moment is above 3 by more than {most:.1f} standard errors and more than "
            f"{HEAVY:g} times "
            "as many entries lie beyond",
            bool(kurtosis - 3 > most * error and beyond > HEAVY * normal),
            "gene-histogram",
        )
    ]


def path_distribution(data: xr.Dataset) -> list[Claim]:
    """Whole paths approach their distribution: W₂ is no larger than between two samples of it."""
    words = (
        "The coordinates of a network at four times, with their targets, approach their DMFT distribution in "
        "W₂ as d grows."
    )
    return [approach(data, "", "Distribution of paths", words, "paths")]


def approach(data: xr.Dataset, prefix: str, topic: str, words: str, figure: str) -> Claim:
    """Whether a sample of finite networks approaches its distribution in W₂, by distances in the data."""
    d = data["dimension"].values
    squares = {name: data[f"{prefix}{name}"].values ** 2 for name in ("distance", "floor", "between")}
    excess = squares["distance"] - 0.5 * (squares["floor"] + squares["between"])
    mean, floor = (np.mean(data[f"{prefix}{name}"].values, axis=-1) for name in ("distance", "floor"))
    left, error = mean_of(excess[-1])
    most = bound(excess.shape[-1], 1)
    falls = bool(np.all(np.diff(mean) < 0))
    return Claim(
        topic,
        PAPER,
        words,
        f"W₂ between two samples of the distribution: {plain(floor)} at d = {plain(d, 4)}",
        f"W₂ between network and distribution: {plain(mean)}",
        f"W₂² exceeds chance by {left:.1e} ± {error:.1e} at the largest d",
        f"holds if W₂ falls with every d and the excess is within {most:.1f} standard errors of 0",
        bool(falls and abs(left) <= most * error),
        figure,
    )
