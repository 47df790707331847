"""Claims on where training ends, judged by data."""

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
    ratio_of,
    told,
)

__all__ = ["ends", "gap", "laws"]

LEVEL = 1.63
"""Times 1/√N: what the distance of distribution functions of N independent draws exceeds in 1 case of 100."""


def ends(
    points: xr.Dataset | None, regularized: xr.Dataset | None, ridgeless: xr.Dataset | None
) -> list[Claim]:
    """The three cases, as far as their data are there."""
    made = []
    cases = (
        (regularized, "case (i)", "λ > 0: training ends at the lasso", "fixed-point-regularized"),
        (ridgeless, "case (ii)", "λ = 0, δ > 1: training ends at least squares", "fixed-point-ridgeless"),
    )
    for data, case, words, figure in cases:
        if data is not None:
            names = ("train_error", "test_error")
            pairs = [(data[name].values, data[f"{name}_expected"].values) for name in names]
            over = f"test error over δ = {plain(data['delta'].values)}"
            made.append(end_claim(f"Fixed point, {case}", words, pairs, over, figure))
    if points is not None:
        settled = points["settled"].values
        expected = points["test_error_expected"].values
        pairs = [
            (points["test_error"].values[settled], expected[settled]),
            (points["minimizer_test_error"].values, expected),
        ]
        over = f"test error over α = {plain(points['alpha'].values)}"
        words = "λ = 0, δ < 1: training ends at the interpolator of least J (networks that have converged, "
        made.append(
            end_claim(
                "Fixed point, case (iii)", words + "and minimizers)", pairs, over, "fixed-point-interpolating"
            )
        )
        made += fitted_noise(points)
    return made


def fitted_noise(points: xr.Dataset) -> list[Claim]:
    """χ_f of case (iii): the share of the label noise that is fitted."""
    seen, error = ratio_of(points["noise_fitted"].values[0])
    return [
        Claim(
            "Fixed point, case (iii)",
            source,
            f"χ_f = {value:g}: that share of the label noise is fitted",
            f"{value:g}",
            f"ξ·f/(nσ²) = {seen:.3f} ± {error:.3f}",
            f"{abs(seen - value) / error:.1f} standard errors",
            f"holds within {MOST:g} standard errors",
            abs(seen - value) <= MOST * error,
            "fixed-point-interpolating",
        )
        for source, value in ((PRINTED, 0.0), (CORRECTED, 1.0))
    ]


def laws(data: xr.Dataset, case: str, figure: str) -> list[Claim]:
    """Distribution function of the coordinates against the limit law, and the gap the print would have."""
    w, grid = data["weights"].values, data["w"].values
    apart = np.abs(grid) > 1.5 * (grid[1] - grid[0])  # a point mass at 0 is a jump there
    seen = np.searchsorted(np.sort(w.ravel()), grid, side="right") / w.size
    distance = float(np.max(np.abs(seen - data["cdf"].values)[apart]))
    most = LEVEL / w.size**0.5
    made = [
        Claim(
            "Law of coordinates",
            PAPER,
            f"{case}: coordinates of w(∞) follow the limit law",
            "distance 0 of distribution functions",
            f"largest distance {distance:.4f}",
            f"{distance / most:.2f} of the bound",
            f"holds if below {LEVEL}/√N = {most:.4f}, N = {w.size}",
            distance <= most,
            figure,
        )
    ]
    threshold = float(data["threshold"]) if "threshold" in data else 0.0
    if threshold == 0:
        return made
    exact = data["minimizer_weights"].values
    runs = np.mean((np.abs(exact) > 0) & (np.abs(exact) < threshold), axis=-1)
    inner, error = ratio_of(runs)
    cdf = np.interp([-threshold, threshold], grid, data["cdf"].values)
    expected = float(cdf[1] - cdf[0]) - float(data["mass_at_zero"])
    for source, value, words in (
        (PRINTED, 0.0, "no coordinate with 0 < |w| < (1 + χ_w)λ"),
        (CORRECTED, expected, "the threshold is for w* - (1 + χ_w)z/δ, not for w"),
    ):
        far = abs(inner - value) / error
        made.append(
            Claim(
                "Law of coordinates",
                source,
                f"{case}: {words}",
                f"share {value:.4f} of small coordinates",
                f"{inner:.4f} ± {error:.4f}",
                f"{far:.1f} standard errors",
                f"holds within {MOST:g} standard errors",
                far <= MOST,
                figure,
            )
        )
    return made


def gap(data: xr.Dataset, case: str, figure: str) -> Claim:
    """Test over training error."""
    ratio = data["test_error"].values / data["train_error"].values
    expected = (1 + data["chi_w"].values) ** 2
    worst, percent = in_errors(np.log(ratio), np.log(expected))
    percent = 100 * float(np.mean(np.abs(np.exp(np.mean(np.log(ratio), axis=-1)) / expected - 1)))
    return Claim(
        "Train-test gap",
        PAPER,
        f"{case}: test error / training error = (1 + χ_w)²",
        plain(expected),
        plain(np.exp(np.mean(np.log(ratio), axis=-1))),
        told(worst, percent),
        WORST,
        worst <= MOST,
        figure,
    )
