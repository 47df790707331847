"""Claims on small α, judged by data: the search phase, its plateau, and activation times."""

import numpy as np
import scipy.stats
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    LEVEL,
    PAPER,
    PRINTED,
    Claim,
    corrects,
    in_bound,
    plain,
)

__all__ = ["search_claims"]

SEARCH, FIGURE = "Search phase", "small-init"
ORDER = 0.05
"""Distance from 2 of a measured power of α: its next term is of relative order α² exp(2|h|t)."""
APART = 0.01
"""Difference of two times, in units of log(1/α), that counts as none: half a time step at the largest α."""
WRONG = 0.05
"""Fraction of wrong times, among the coordinates that become active, that a rule may have."""
NEXT = 0.2
"""Distance of a power of log(1/α) from its limit: the next term, 1/log(1/α) at the largest α."""


def search_claims(data: xr.Dataset) -> list[Claim]:
    """The search phase, and the activation of single coordinates."""
    phase = [search_distribution(data), search_paths(data), *plateau(data)]
    return phase + corrects("activation", *activation(data), other_level(data))


def search_distribution(data: xr.Dataset) -> Claim:
    """Distribution functions of W, at each λ and time, for coordinates with and without a target."""
    W, false = data["search_weights"], data["search_target"].values == 0
    grid, cdf = data["search_grid"].values, data["search_cdf"].values
    ratios, worst = [], []
    for pick, expected in ((false, cdf[0]), (~false, cdf[1])):
        count = int(np.sum(pick))
        each = LEVEL / (2 * W.sizes["search_lam"] * W.sizes["search_time"])
        most = float(scipy.stats.kstwobign.isf(each)) / count**0.5
        far = []
        for i, j in np.ndindex(W.sizes["search_lam"], W.sizes["search_time"]):
            sample = np.sort(W.values[i, :, j][pick])
            seen = np.searchsorted(sample, grid[i, j], side="right") / count
            far.append(float(np.max(np.abs(seen - expected))))
        worst.append(max(far))
        ratios.append(max(far) / most)
    return Claim(
        SEARCH,
        PAPER,
        "W = w/α² has the distribution of exp(-λt) sinh(ht), h = w* - z(0)/δ, for w* = 0 and for w* ≠ 0.",
        "distance 0 of distribution functions",
        f"largest distance {worst[0]:.4f} (w* = 0), {worst[1]:.4f} (w* ≠ 0) at t = "
        f"{plain(data['search_time'].values)}, λ = {plain(data['search_lam'].values)}, "
        f"α = {data['search_alpha'].values[-1]:g}",
        f"{ratios[0]:.2f} and {ratios[1]:.2f} times the bound",
        f"holds if none of the {2 * len(far)} distances exceeds its bound (probability {LEVEL:g} by chance)",
        max(ratios) <= 1,
        FIGURE,
    )


def search_paths(data: xr.Dataset) -> Claim:
    """Distance of W from its form on the same data, over α."""
    off, alpha = data["search_off"].mean("search_run").values, data["search_alpha"].values
    power = np.log(off[:, 0] / off[:, -1]) / np.log(alpha[0] / alpha[-1])
    far = float(np.max(np.abs(power - 2)))
    return Claim(
        SEARCH,
        PAPER,
        "W = exp(-λt) sinh(ht) for every coordinate, with h of the same data, up to O(α²).",
        "distance ∝ α²",
        f"relative distance {plain(off[:, -1], 2)} of W at α = {alpha[-1]:g}, t = "
        f"{plain(data['search_time'].values)}, λ = {plain(data['search_lam'].values)}; "
        f"powers of α {plain(power, 4)}",
        f"powers differ from 2 by at most {far:.2g}",
        f"holds if all powers are within {ORDER:g} of 2",
        far <= ORDER,
        FIGURE,
    )


def plateau(data: xr.Dataset) -> list[Claim]:
    """Decrease of both errors in the search phase."""
    moved, alpha = data["search_moved"], data["search_alpha"].values
    mean = moved.mean("search_run")
    first, last = (mean.isel(search_alpha=k).values for k in (0, -1))
    power = 2 + np.log(first / last) / np.log(alpha[0] / alpha[-1])
    far = float(np.max(np.abs(power - 2)))
    runs = moved.isel(search_alpha=-1).transpose(..., "search_run")
    form = data["search_moved_form"].values
    what = "(E(t)/E(0) - 1)/α² of training and test error, by λ and t"
    words = "The training error changes by -2α²E[hW] and the test error by -2α²E[w*W]."
    return [
        Claim(
            SEARCH,
            PAPER,
            "Both errors keep their first value up to O(α²): a plateau.",
            "E(t)/E(0) - 1 ∝ α²",
            f"{plain(last[:, 0, -1] * alpha[-1] ** 2)} at α = {alpha[-1]:g}, "
            f"{plain(first[:, 0, -1] * alpha[0] ** 2)} at α = {alpha[0]:g} "
            f"(train, test; t = {data['search_time'].values[-1]:g}, λ = 0)",
            f"powers of α differ from 2 by at most {far:.2g}",
            f"holds if all powers are within {ORDER:g} of 2",
            bool(far <= ORDER),
            FIGURE,
        ),
        in_bound(SEARCH, PAPER, words, [(runs, form)], what, FIGURE),
    ]


def activation(data: xr.Dataset) -> list[Claim]:
    """Times at which |w| = ½, by both rules: with and without a target, each λ, all α together."""
    true = data["active_target"].values != 0
    truth = data["active_time"].sel(level=0.5).values
    made = []
    for source, rule, words in (
        (PRINTED, "printed", "∫|g| - λt = 2 log(1/α)"),
        (CORRECTED, "corrected", "|∫g| - λt = 2 log(1/α)"),
    ):
        time = data["rule_time"].sel(rule=rule).values
        never = np.isnan(time) & np.isnan(truth)
        wrong = ~never & ~(np.abs(time - truth) <= APART)
        bad, known, active = (
            np.array([[np.sum(what[i][:, pick]) for pick in (true, ~true)] for i in range(len(truth))])
            for what in (wrong, np.isfinite(time), np.isfinite(truth))
        )
        fraction = float(np.max(bad / np.maximum(active, 1)))
        made.append(
            Claim(
                "Descent time",
                source,
                f"A coordinate first reaches |w| = ½ when {words}, with or without a target.",
                f"{plain(known, 4)} coordinates become active (w* ≠ 0, w* = 0 at λ = 0; w* ≠ 0, w* = 0 at "
                f"λ = {data['active_lam'].values[-1]:g})",
                f"{plain(active, 4)}, by t = {data.attrs['active_units']:g} log(1/α), "
                f"α = {plain(data['active_alpha'].values)}, {len(true)} networks of d = "
                f"{data.attrs['active_d']}",
                f"{plain(bad, 4)} times are wrong by more than {APART:g} log(1/α)",
                f"holds if of each kind at most {100 * WRONG:g} % of the times are wrong; a coordinate "
                "that is "
                "active by the rule alone, or not by it, counts as wrong",
                fraction <= WRONG,
                FIGURE,
            )
        )
    return made


def other_level(data: xr.Dataset) -> Claim:
    """How much earlier |w| = 0.1 is reached than the rule says, for coordinates active at every α."""
    true, units = data["active_target"].values != 0, np.log(1 / data["active_alpha"].values)
    small = data["active_time"].sel(level=0.1).values
    early = np.moveaxis(data["rule_time"].sel(rule="corrected").values - small, 1, -1)
    always = np.all(np.isfinite(early), axis=-1)
    kinds = [early[always & kind] for kind in (true, ~true)]
    median = [np.median(kind, axis=0) for kind in kinds]
    power = [np.median(np.log(kind[:, 0] / kind[:, -1])) / np.log(units[-1] / units[0]) for kind in kinds]
    far = float(np.max(np.abs(np.array(power) - 1)))
    return Claim(
        "Descent time",
        CORRECTED,
        "Any size of order one gives the same rule: |w| = 0.1 is reached O(1) earlier, little against "
        "log(1/α).",
        "distance from |∫g| - λt = 2 log(1/α) ∝ 1/log(1/α)",
        f"medians {plain(median[0])} (w* ≠ 0), {plain(median[1])} (w* = 0) log(1/α) at "
        f"α = {plain(data['active_alpha'].values)}, of {plain([len(kind) for kind in kinds])} coordinates",
        f"powers of log(1/α), medians over coordinates: {plain(-np.array(power))}",
        f"holds if both powers are within {NEXT:g} of -1, for coordinates active at every α",
        far <= NEXT,
        FIGURE,
    )
