"""Claims on δ → ∞, judged by data: the equation, its closed forms, its times and its rates."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import CORRECTED, PAPER, PRINTED, Claim, corrects, in_bound, placed, plain
from dynafield.studies.paper.places import (
    INFINITE_DESCENT,
    INFINITE_GROKKING,
    INFINITE_LAZY,
    INFINITE_SEARCH,
)

__all__ = ["infinite_data_claims"]

TOPIC = "Infinite data"
ROOT = 0.1
"""Distance from ½ of the power of δ: the next term is smaller by δ^(-½) only."""
ORDER = 0.05
"""Distance from 2 of the last power of α."""
SHIFT = 0.01
"""Distance of a shift in time from its limit: above rounding of crossings, far below one."""
NEAR = 0.01
"""Relative distance of a rate: its next term is exp(-6) at the times at which it is taken."""


def infinite_data_claims(data: xr.Dataset) -> list[Claim]:
    """All claims on infinitely many data."""
    return [
        many_data(data),
        *closed_forms(data),
        *placed(INFINITE_DESCENT, activation(data), speeds(data)),
        *placed(INFINITE_GROKKING, grokking(data)),
        *corrects("rich-rate", *approach(data)),
    ]


def many_data(data: xr.Dataset) -> Claim:
    """Networks with many data against the equation of δ → ∞."""
    mean, many = data["path_distance"].mean("run").values, data["many"].values
    power = np.log(mean[:, 0] / mean[:, -1]) / np.log(many[-1] / many[0])
    far = float(np.max(np.abs(power - 0.5)))
    return Claim(
        TOPIC,
        PAPER,
        "δ → ∞: every coordinate follows its own scalar equation, for small and for large α.",
        "distance of w(t) from the equation ∝ δ^(-½)",
        f"{plain(mean[0])} (α = {data.attrs['small_alpha']:g}), {plain(mean[1])} "
        f"(α = {data.attrs['large_alpha']:g}) at δ = {plain(many)}, λ = {data.attrs['lam']:g}",
        f"powers of δ: {plain(-power)}",
        f"holds if both powers are within {ROOT:g} of -½",
        far <= ROOT,
        "",
    )


def closed_forms(data: xr.Dataset) -> list[Claim]:
    """Lazy, search and descent phase in closed form."""
    made = []
    for name, place, scale, sign, words, figure in (
        ("lazy", INFINITE_LAZY, "large", -1, "w = w*(1 - exp(-α²t))", "large-init-lazy"),
        ("search", INFINITE_SEARCH, "small", 1, "w = α² exp(-λt) sinh(w*t)", "small-init"),
        (
            "descent",
            INFINITE_DESCENT,
            "small",
            1,
            "w = Δ/(1 + C exp(-Δt)) at all times",
            "small-init-descent",
        ),
    ):
        off, alpha = data["form_off"].sel(form=name).values, data[scale].values
        power = np.diff(np.log(off)) / np.diff(np.log(alpha))
        far = abs(float(power[-1]) - 2 * sign)
        unit = " in units of α²" if name == "search" else ""
        made += placed(
            place,
            Claim(
                TOPIC,
                PAPER,
                f"δ → ∞, {name} phase: {words}.",
                f"distance ∝ α^{2 * sign}",
                f"distance {plain(off)}{unit} at α = {plain(alpha)}, inputs without correlations",
                f"powers of α: {plain(power)}",
                f"holds if the last power is within {ORDER:g} of {2 * sign}",
                far <= ORDER,
                figure,
            ),
        )
    return made


def activation(data: xr.Dataset) -> Claim:
    """The half-way time of the equation against 2 log(1/α)/Δ."""
    gap = data["chosen"].values - data["wait_lam"].values[:, None]
    leading = 2 * np.log(1 / data["wait"].values)[None, :, None] / gap[:, None, :]
    time = data["half_time"].values
    shift, expected = time - leading, np.log(2 * gap) / gap
    far = float(np.max(np.abs(shift[:, -1] - expected)))
    return Claim(
        TOPIC,
        PAPER,
        "δ → ∞: a coordinate becomes active at 2 log(1/α)/(|w*| - λ), up to a shift of order one.",
        f"t = {plain(leading[:, -1])} and shifts log(2Δ)/Δ: {plain(expected)} (w* = "
        f"{plain(data['chosen'].values)}; λ = {plain(data['wait_lam'].values)})",
        f"the equation: |w| = Δ/2 at {plain(time[:, -1], 4)}, α = {data['wait'].values[-1]:g}",
        f"shifts differ by at most {far:.1e}; ratios of times up to {np.max(time / leading):.3f} at "
        f"α = {data['wait'].values[0]:g}, {np.max(time[:, -1] / leading[:, -1]):.3f} at the smallest",
        f"holds if the shifts at the smallest α differ from log(2Δ)/Δ by at most {SHIFT:g}",
        far <= SHIFT,
        "small-init-descent",
    )


def speeds(data: xr.Dataset) -> Claim:
    """Activation of networks with many data."""
    expected = data["chosen"].values - data.attrs["lam"]
    words = "With many data, coordinates of finite networks become active at 2 log(1/α)/(|w*| - λ)."
    what = f"Δ = 2 log(1/α)/t, δ = {data['many'].values[-1]:g}"
    return in_bound(TOPIC, PAPER, words, [(data["speed"].values, expected)], what, "small-init-descent")


def grokking(data: xr.Dataset) -> Claim:
    """The transition from w* to w* - λ for large α."""
    alpha = data["grokking"].values
    shift = data["grokking_time"].values - 2 * np.log(alpha) / data.attrs["lam"]
    change = float(np.ptp(shift))
    return Claim(
        TOPIC,
        PAPER,
        "δ → ∞: the rich phase begins at 2 log(α)/λ + Θ(1).",
        f"the same shift at α = {plain(alpha)}",
        f"the equation: half-way from w* to w* - λ, shifts {plain(shift, 4)}, w* = 1, "
        f"λ = {data.attrs['lam']:g}",
        f"shifts differ by at most {change:.1e}",
        f"holds if they differ by at most {SHIFT:g}",
        change <= SHIFT,
        "grokking",
    )


def approach(data: xr.Dataset) -> list[Claim]:
    """Rates of convergence in the rich phase, as printed and corrected."""
    lam, rate = data.attrs["lam"], data["approach_rate"].values
    gap = data["target"].values - lam
    made = []
    for source, expected, words in (
        (PRINTED, np.abs(gap), "exp(-|Δ|τ)"),
        (
            CORRECTED,
            np.where(gap > 0, np.minimum(gap, 2 * lam), -gap),
            "exp(-min(Δ, 2λ)τ) if Δ > 0, otherwise like exp(-|Δ|τ)",
        ),
    ):
        far = float(np.max(np.abs(rate / expected - 1)))
        made.append(
            Claim(
                "Rich phase",
                source,
                f"δ → ∞, rich phase: coordinates approach their limits like {words}.",
                f"rates {plain(expected)} for Δ = {plain(gap)}, λ = {lam:g}",
                f"{plain(rate, 4)}, inputs without correlations, α = {data.attrs['large_alpha']:g}",
                f"rates differ by at most {100 * far:.2g} %",
                f"holds if they differ by at most {100 * NEAR:g} %",
                far <= NEAR,
                "large-init-rich",
            )
        )
    return made
