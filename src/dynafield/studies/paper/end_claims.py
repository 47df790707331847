"""Claims on where training ends, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import CORRECTED, PAPER, PRINTED, Claim, from_theory, in_bound, plain

__all__ = ["ends", "gap", "laws", "minimizers"]

LEVEL = 1.63
"""Times 1/√N: what the distance of distribution functions of N independent draws exceeds in 1 case of 100."""
CLOSE = 0.01
"""Distance from the minimizer, in units of its size, at which training has ended."""


def ends(
    points: xr.Dataset | None, regularized: xr.Dataset | None, ridgeless: xr.Dataset | None
) -> list[Claim]:
    """Errors in the three cases, as far as their data are there."""
    made = []
    cases = (
        (regularized, "case (i)", "λ > 0", "fixed-point-regularized"),
        (ridgeless, "case (ii)", "λ = 0, δ > 1", "fixed-point-ridgeless"),
    )
    for data, case, problem, figure in cases:
        if data is not None:
            names = ("train_error", "test_error")
            pairs = [(data[name].values, data[f"{name}_expected"].values) for name in names]
            over = f"test error over δ = {plain(data['delta'].values)}"
            words = f"{problem}: training ends at the errors of the fixed point"
            made.append(in_bound(f"Fixed point, {case}", PAPER, words, pairs, over, figure))
    if points is not None:
        settled, expected = points["settled"].values, points["test_error_expected"].values
        pairs = [
            (points["test_error"].values[settled], expected[settled]),
            (points["minimizer_test_error"].values, expected),
        ]
        over = f"test error over α = {plain(points['alpha'].values)}"
        words = "λ = 0, δ < 1: training ends at the error of the fixed point (networks that have converged, "
        figure = "fixed-point-interpolating"
        made.append(
            in_bound("Fixed point, case (iii)", PAPER, words + "and minimizers)", pairs, over, figure)
        )
    return made


def minimizers(data: xr.Dataset, case: str, problem: str, figure: str) -> Claim:
    """Networks against the minimizers of their own data, coordinate by coordinate."""
    w, exact = data["weights"].values, data["minimizer_weights"].values
    off = np.sqrt(np.mean((w - exact) ** 2, axis=-1) / np.mean(exact**2, axis=-1))
    return Claim(
        f"Fixed point, {case}",
        PAPER,
        f"training ends at {problem}",
        "distance 0 from it in w, on the same data",
        f"{float(np.mean(off)):.2g} of its size at t = 1000",
        f"at most {100 * float(np.max(off)):.2g} %",
        f"holds if within {100 * CLOSE:g} %",
        bool(np.max(off) < CLOSE),
        figure,
    )


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
    small = np.mean((np.abs(exact) > 0) & (np.abs(exact) < threshold), axis=-1)
    cdf = np.interp([-threshold, threshold], grid, data["cdf"].values)
    expected = float(cdf[1] - cdf[0]) - float(data["mass_at_zero"])
    for source, value, words in (
        (PRINTED, 0.0, "no coordinate with 0 < |w| < (1 + χ_w)λ"),
        (CORRECTED, expected, "the threshold is for w* - (1 + χ_w)z/δ, not for w"),
    ):
        what = "share with 0 < |w| < (1 + χ_w)λ"
        made.append(
            in_bound("Law of coordinates", source, f"{case}: {words}", [(small, value)], what, figure)
        )
    return made


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
        f"{case}: test error / training error = (1 + χ_w)²",
        plain(expected),
        plain(seen),
        distance.words,
        distance.rule,
        distance.holds,
        figure,
    )
