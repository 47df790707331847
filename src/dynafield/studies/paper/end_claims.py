"""Claims on the limit of training, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    KOLMOGOROV,
    PAPER,
    PRINTED,
    Claim,
    corrects,
    distribution_bound,
    from_theory,
    in_bound,
    plain,
)

__all__ = ["end_claims", "ends", "fitted", "interpolating_ends"]

FOLLOWED = 1e-12
"""Fraction of the first training error below which the tolerance of training decides."""
CLOSE = 0.01
"""Distance from the minimizer, relative to its norm, at which training has converged."""


def ends(data: xr.Dataset, case: str, problem: str, figure: str) -> list[Claim]:
    """Errors over δ in the limit of training."""
    pairs = [(data[name].values, data[f"{name}_expected"].values) for name in ("train_error", "test_error")]
    over = f"test error over δ = {plain(data['delta'].values)}"
    words = f"{problem}: the errors converge to those of the fixed point."
    return [in_bound(f"Fixed point, {case}", PAPER, words, pairs, over, figure)]


def interpolating_ends(data: xr.Dataset) -> list[Claim]:
    """Errors over α in the limit of training, λ = 0, δ < 1."""
    settled, expected = data["settled"].values, data["test_error_expected"].values
    pairs = [
        (data["test_error"].values[settled], expected[settled]),
        (data["minimizer_test_error"].values, expected),
    ]
    over = f"test error over α = {plain(data['alpha'].values)}"
    words = "λ = 0, δ < 1: the test error of converged networks and of minimizers is that of the fixed point."
    return [in_bound("Fixed point, case (iii)", PAPER, words, pairs, over, "fixed-point-interpolating")]


def end_claims(data: xr.Dataset, case: str, problem: str, figure: str) -> list[Claim]:
    """One case: the minimizer, the distribution of coordinates, and the train-test gap if there is one."""
    made = [minimizers(data, case, problem, figure), *laws(data, case, figure)]
    return [*made, gap(data, case, figure)] if "chi_w" in data else made


def minimizers(data: xr.Dataset, case: str, problem: str, figure: str) -> Claim:
    """Networks against the minimizers of their own data, coordinate by coordinate."""
    w, exact = data["weights"].values, data["minimizer_weights"].values
    off = np.sqrt(np.mean((w - exact) ** 2, axis=-1) / np.mean(exact**2, axis=-1))
    return Claim(
        f"Fixed point, {case}",
        PAPER,
        f"Training converges to {problem}.",
        "distance 0 of the weights on the same data",
        f"{100 * float(np.mean(off)):.2g} % of their norm on average, at t = 1000",
        f"at most {100 * float(np.max(off)):.2g} %",
        f"holds if every distance is below {100 * CLOSE:g} %",
        bool(np.max(off) < CLOSE),
        figure,
    )


def laws(data: xr.Dataset, case: str, figure: str) -> list[Claim]:
    """Distribution of the coordinates, and the coordinates below the threshold that the paper excludes."""
    w, grid = data["weights"].values, data["w"].values
    apart = np.abs(grid) > 1.5 * (grid[1] - grid[0])  # a point mass at 0 is a jump there
    seen = np.searchsorted(np.sort(w.ravel()), grid, side="right") / w.size
    distance = float(np.max(np.abs(seen - data["cdf"].values)[apart]))
    most = distribution_bound(w.size)
    made = [
        Claim(
            "Distribution of coordinates",
            PAPER,
            f"{case.capitalize()}: the coordinates of w(∞) follow the limiting distribution.",
            "distance 0 of distribution functions",
            f"largest distance {distance:.4f}, {w.size} coordinates",
            f"{distance / most:.2f} times the bound",
            f"holds if the distance is below {KOLMOGOROV}/√N = {most:.4f}, N = {w.size}",
            distance <= most,
            figure,
        )
    ]
    threshold = float(data["threshold"]) if "threshold" in data else 0.0
    if threshold == 0:
        return made
    exact = data["minimizer_weights"].values
    small = np.mean((np.abs(exact) > 0) & (np.abs(exact) < threshold), axis=-1)
    cdf = np.interp([-threshold, threshold], grid, data["cdf"].values)
    expected = float(cdf[1] - cdf[0]) - float(data["mass_at_zero"])
    for source, value, words in (
        (PRINTED, 0.0, "no coordinate has 0 < |w| < (1 + χ_w)λ."),
        (CORRECTED, expected, "the threshold (1 + χ_w)λ applies to |w* - (1 + χ_w)z/δ|, not to |w|."),
    ):
        what = "fraction of coordinates with 0 < |w| < (1 + χ_w)λ"
        made.append(
            in_bound(
                "Distribution of coordinates",
                source,
                f"{case.capitalize()}: {words}",
                [(small, value)],
                what,
                figure,
            )
        )
    return corrects("threshold", *made)


def fitted(data: xr.Dataset) -> list[Claim]:
    """Training errors without weight decay at δ < 1: below exp(-2γt), or rounding of the runs."""
    most = np.maximum(np.exp(-2 * data["gamma"].values * data.attrs["t"]), FOLLOWED)
    share = data["train_error"].values / data.attrs["first"]
    worst, mean = np.max(share, axis=-1), np.mean(data["train_error"].values, axis=-1)
    return [
        Claim(
            "Fixed point, case (iii)",
            PAPER,
            "λ = 0, δ < 1: the training error goes to zero.",
            f"0; exp(-2γt) at t = {data.attrs['t']:g}, α = {plain(data['alpha'].values)}: "
            f"{plain(np.exp(-2 * data['gamma'].values * data.attrs['t']), 2)}",
            f"{plain(mean, 2)} on average over {share.shape[-1]} networks",
            f"at most {plain(worst, 2)} times the first error",
            f"holds if every error is below exp(-2γt) times the first one, or below {FOLLOWED:g} times it "
            "where "
            "that is less (weights are followed to 1e-6)",
            bool(np.all(worst <= most)),
            "fixed-point-interpolating",
        )
    ]


def gap(data: xr.Dataset, case: str, figure: str) -> Claim:
    """Test over training error."""
    ratio = np.log(data["test_error"].values / data["train_error"].values)
    expected = (1 + data["chi_w"].values) ** 2
    distance, seen = from_theory(ratio, np.log(expected)), np.exp(np.mean(ratio, axis=-1))
    percent = 100 * float(np.mean(np.abs(seen / expected - 1)))
    distance = distance._replace(percent=percent)
    return Claim(
        "Train-test gap",
        PAPER,
        f"{case.capitalize()}: test error / training error = (1 + χ_w)².",
        plain(expected),
        plain(seen),
        distance.words,
        distance.rule,
        distance.holds,
        figure,
    )
