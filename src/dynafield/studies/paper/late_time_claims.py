"""Claims on late times without weight decay, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import CORRECTED, PAPER, PRINTED, Claim, corrects, in_bound, placed, plain
from dynafield.studies.paper.places import RATE, RESPONSES

__all__ = ["late_time_claims"]

SLACK = 0.03
"""Relative difference of a slope measured on a curve or a network that counts as agreement."""
EXACT = 0.005
"""The same in closed forms at late times, whose slopes still have corrections of relative order 1/(γt)²."""
ALIKE = 1e-3
"""Relative difference of the rates of two kinds of coordinates that counts as none, where the flow is linear
and all but the slowest mode are gone."""
POWER = 1.5
"""Of t, beside the exponential."""
AGES = (1.0, 2.5)
"""Values of γτ between which slopes of R_w are taken: later it is too near its limit for sampled paths."""
MEMORY_AGES = (2.0, 3.5)
"""The same for R_f, which has no limit."""
LOSS_TIMES = (2.5, 4.0)
"""Values of γt between which slopes of the loss are taken."""
TOPIC, FIGURE = "Late times", "rates-detail"


def late_time_claims(data: xr.Dataset) -> list[Claim]:
    """Responses for δ < 1, the loss at δ = 2, and the rates of single coordinates."""
    of_responses = corrects("response-rate", *response_slopes(data), network_responses(data))
    memory = placed(RESPONSES, memory_slope(data))
    of_losses = placed(RATE, loss_slope(data), network_losses(data))
    single = corrects("single-rates", *coordinate_rates(data), no_root(data))
    return [*of_responses, *memory, *of_losses, *single]


def slope(x: np.ndarray, log: np.ndarray, ends: tuple[float, float]) -> float:
    """-d log/dx between the points nearest to both values."""
    first, last = (int(np.argmin(np.abs(x - end))) for end in ends)
    return float(-(log[last] - log[first]) / (x[last] - x[first]))


def late_slopes(data: xr.Dataset, name: str) -> np.ndarray:
    """Slopes over γ of logarithms at late times, their power of t taken out, over the last third."""
    x, start = data["late"].values, 2 * data.sizes["late"] // 3
    log = data[name].values + POWER * np.log(x)
    return -(log[..., -1] - log[..., start]) / (x[-1] - x[start])


def response_slopes(data: xr.Dataset) -> list[Claim]:
    """Decay of R_w of the infinite network, its limit subtracted or not."""
    age, limit = data["age"].values, float(data["response_limit"])
    exact = float(late_slopes(data, "response_late")[0, 0])
    form = slope(age, np.log(data["response_form"].values - limit), AGES)
    there, made = f"γt from {AGES[0]:g} to {AGES[1]:g}", []
    for source, left_out, name, words in (
        (PRINTED, 0.0, "R_w", "δ < 1: R_w(t) = exp(-γt + o(1)) decays to zero."),
        (
            CORRECTED,
            limit,
            "R_w - R_w(∞)",
            "δ < 1: R_w(t) - R_w(∞) decays like exp(-γt), times a power of t.",
        ),
    ):
        seen = slope(age, np.log(data["response"].values - left_out), AGES) / form
        off = abs(seen - 1)
        made.append(
            Claim(
                TOPIC,
                source,
                words,
                f"δ = 0.5, α = {data.attrs['response_alpha']:g}: R_w(∞) = {limit:.4f}; R_w - R_w(∞) by its "
                f"Laplace transform has slope/γ = {exact:.5f} at γt ≈ {data['late'].values[-1]:g}, t^(-3/2) "
                f"taken out, and {form:.3f} for {there}",
                f"DMFT, {name}: slope divided by that of the transform {seen:.4f}, {there}",
                f"slopes differ by {100 * off:.2g} %",
                f"holds if the slope of DMFT differs from that of the transform by at most {100 * SLACK:g} "
                "%, "
                f"and the late slope of the transform from γ by at most {100 * EXACT:g} %",
                off <= SLACK and abs(exact - 1) <= EXACT,
                FIGURE,
            )
        )
    return made


def network_responses(data: xr.Dataset) -> Claim:
    """R_w of converged finite networks; means of sums over a spectrum differ from their limits by O(1/d)."""
    which, limit = slice(0, 9, 4), float(data["response_limit"])
    d = data["dimension"].values
    limits, above = (
        (d[1] * runs[1] - d[0] * runs[0]) / (d[1] - d[0])
        for runs in (data["network_limit"].values, data["network_response"].values)
    )
    pairs = [(limits, limit), (above.T[which], data["response_form"].values[which] - limit)]
    words = "δ < 1: the response of converged finite networks has the same limit and the same decay."
    ages = plain(data["age"].values[which])
    what = f"R_w(∞) = {limit:.4f}; R_w - R_w(∞) at γt = {ages} (networks of d = {d[0]}, {d[1]}, extrapolated)"
    return in_bound(TOPIC, CORRECTED, words, pairs, what, FIGURE)


def memory_slope(data: xr.Dataset) -> Claim:
    """R_f of the infinite network."""
    age = data["age"].values
    seen = slope(age, np.log(data["memory"].values) + POWER * np.log(age), MEMORY_AGES)
    exact = float(late_slopes(data, "response_late")[0, 1])
    off = abs(seen - 1)
    return Claim(
        TOPIC,
        PAPER,
        "R_f decays at the same rate γ as R_w.",
        f"slope/γ = 1, t^(-3/2) taken out; at late times {exact:.5f} by its Laplace transform",
        f"DMFT, δ = 0.5: {seen:.4f} for γt from {MEMORY_AGES[0]:g} to {MEMORY_AGES[1]:g}",
        f"the slope differs by {100 * off:.2g} %",
        f"holds if the slope of DMFT is within {100 * SLACK:g} % of γ, and the late one within "
        f"{100 * EXACT:g} %",
        off <= SLACK and abs(exact - 1) <= EXACT,
        FIGURE,
    )


def loss_slope(data: xr.Dataset) -> Claim:
    """The loss of the infinite network at δ = 2."""
    t = data["loss_time"].values
    ends = [int(np.argmin(np.abs(t - end))) for end in LOSS_TIMES]
    loss, error = data["loss"].values, data["loss_se"].values / data["loss"].values
    seen = np.array([slope(t, np.log(row) + POWER * np.log(t), LOSS_TIMES) / 2 for row in loss])
    bars = np.hypot(error[:, ends[0]], error[:, ends[1]]) / (2 * (t[ends[1]] - t[ends[0]]))
    worst = float(np.max(np.abs(seen - 1)))
    return Claim(
        TOPIC,
        PAPER,
        "δ = 2: the loss of the infinite network decays with rate 2γ, besides a power of t.",
        f"slope/2γ = 1 at σ = 0, α = {plain(data['alpha'].values)}, t^(-3/2) taken out",
        f"DMFT: {plain(seen, 4)} (error bars {plain(bars, 2)}), γt from {t[ends[0]]:g} to {t[ends[1]]:g}",
        f"slopes differ by at most {100 * worst:.2g} %",
        f"holds if every slope is within {100 * SLACK:g} % of 2γ and error bars are smaller than that",
        bool(worst <= SLACK and np.max(bars) <= SLACK),
        FIGURE,
    )


def network_losses(data: xr.Dataset) -> Claim:
    """The loss of finite networks at δ = 2, by their own slowest modes."""
    here, t = data.sel(delta=2.0), data["trained_time"].values
    log = np.log(here["excess"].values)
    ratio = -(log[:, 1] - log[:, 0]) / (t[1] - t[0]) / 2 / here["own_rate"].values
    middle = float(np.median(ratio))
    return Claim(
        TOPIC,
        PAPER,
        "δ = 2: the loss of a finite network decays with twice the rate of its slowest mode, λ_min(XKXᵀ)/δ "
        "→ γ.",
        "slope/2λ_min → 1 from above",
        f"median {middle:.4f} (quartiles {plain(np.quantile(ratio, (0.25, 0.75)), 4)}) of {len(ratio)} "
        f"networks, d = {data.attrs['trained_d']}, σ = 0.1, γt from {t[0]:g} to {t[1]:g}",
        f"the median differs from 1 by {100 * abs(middle - 1):.2g} %",
        f"holds if it differs by at most {100 * SLACK:g} % (some networks have two slow modes)",
        abs(middle - 1) <= SLACK,
        FIGURE,
    )


def coordinate_rates(data: xr.Dataset) -> list[Claim]:
    """Rates of large and of small weights, λ = 0."""
    large, small = (data["path_slope"].sel(size=size) for size in ("large", "small"))
    ratio = np.median((large / small).transpose("delta", "flow", "network").values, axis=-1)
    kappa = data["path_kappa"].values
    grown = np.median(kappa[..., 0] / kappa[..., 1], axis=-1)
    t = data["trained_time"].values
    seen = (
        f"median ratio of the rates of large and small weights: {plain(ratio[:, 0], 4)} in "
        f"{data.sizes['network']} networks "
        f"of d = {data.attrs['trained_d']} at δ = {plain(data['delta'].values)}, γt from {t[0]:g} to "
        f"{t[1]:g}; {plain(ratio[:, 1], 6)} at γt = {data.attrs['linear_from']:g} (linear flow)"
    )
    trained, linear = (float(np.max(np.abs(ratio[:, k] - 1))) for k in (0, 1))
    return [
        Claim(
            TOPIC,
            PRINTED,
            "λ = 0: each coordinate converges at a rate of its own, slower for smaller weights.",
            f"p + κ(1 - R_f(p)) = 0: faster where κ is larger, here by factors {plain(grown)}",
            seen,
            f"ratios differ from 1 by {100 * trained:.2g} %, in the linear flow by {100 * linear:.1g} %",
            f"holds if large weights are faster by more than {100 * SLACK:g} %, in training or in the "
            "linear flow",
            bool(np.any(np.min(ratio, axis=0) > 1 + SLACK)),
            FIGURE,
        ),
        Claim(
            TOPIC,
            CORRECTED,
            "λ = 0: all coordinates converge at the same rate.",
            "ratio 1",
            seen,
            f"ratios differ from 1 by {100 * trained:.2g} %, in the linear flow by {100 * linear:.1g} %",
            f"holds if the ratios differ from 1 by at most {100 * SLACK:g} % in training and "
            f"{100 * ALIKE:g} % in the "
            "linear flow",
            trained <= SLACK and linear <= ALIKE,
            FIGURE,
        ),
    ]


def no_root(data: xr.Dataset) -> Claim:
    """Responses of single coordinates of the infinite network."""
    lowest, least = data["lowest_u"].values, data.attrs["response_alpha"] ** 2
    slopes = late_slopes(data, "coordinate_late")
    worst = float(np.max(np.abs(slopes - 1)))
    return Claim(
        TOPIC,
        CORRECTED,
        "λ = 0: u(p) = -κ has no root to the right of -γ, and the response of every coordinate decays at γ.",
        f"u(p) ≥ u(-γ) > -κ(0) = -{least:g}; slope/γ = 1 for every w",
        f"theory alone: u(-γ) = {plain(lowest)} at δ = {plain(data['delta'].values)}; slopes/γ "
        f"{plain(slopes, 5)} for w = {plain(data['weight'].values)}, γt ≈ {data['late'].values[-1]:g}",
        f"slopes differ from γ by at most {100 * worst:.1g} %",
        f"holds if u(-γ) + κ(0) > 0 and slopes differ from γ by at most {100 * EXACT:g} %",
        bool(np.all(lowest + least > 0) and worst <= EXACT),
        FIGURE,
    )
