"""Claims on the limit equations of the descent phase and of the rich phase, and on the approach to them."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import PAPER, Claim, from_theory, plain

__all__ = ["descent_limit_claims", "infinite_descent", "infinite_rich", "rich_limit_claims"]

ENDED = 1e-8
"""Distance of weights that counts as rounding."""
DESCENDED = np.array([1.5, 2.0, 3.0, 4.0, 6.0])
"""Times t/log(1/α) at which the infinite network is compared."""
GROKKED = np.array([5.0, 10.0, 20.0, 30.0, 40.0])
"""Times t - 2 log(α)/λ at which the infinite network is compared."""
FIGURE = "phase-limits"


def descent_limit_claims(data: xr.Dataset) -> list[Claim]:
    """The limit α → 0, approached by networks, and what it converges to."""
    return [descent_order(data), descent_end(data)]


def rich_limit_claims(data: xr.Dataset) -> list[Claim]:
    """The limit α → ∞, approached by networks."""
    return [rich_memory(data)]


def descent_order(data: xr.Dataset) -> Claim:
    """How fast finite networks approach the limit of small α."""
    unit, shown = float(np.mean(data["descent_test_limit"].values[:, 0])), []
    logs = np.log(1 / data["small_alpha"].values)
    for name in ("train", "test"):
        limit = data[f"descent_{name}_limit"].values[: data.sizes["run"]]
        off = np.mean(data[f"descent_{name}_error"].values - limit, axis=1)
        shown.append(np.mean(np.abs(off), axis=-1) / unit)
    scaled = np.array(shown) * logs
    change, left_out = np.abs(scaled[:, -1] / scaled[:, -2] - 1), 1 / logs[-2]
    return Claim(
        "Descent limit",
        PAPER,
        "For α → 0 the errors depend on t/log(1/α) alone and follow the limit equation of incremental "
        "learning.",
        f"distance from the limit of order 1/log(1/α) at α = {plain(data['small_alpha'].values)}",
        f"means of {data.sizes['run']} networks: {plain(shown[0])} E(0) (training), {plain(shown[1])} E(0) "
        "(test) from the limit on the same data, on average over time",
        f"distance times log(1/α): {plain(scaled[0])} (training), {plain(scaled[1])} (test)",
        f"holds if this product changes by less than 1/log(1/α) = {100 * left_out:.0f} %, the next order, at "
        "the last step of α",
        bool(np.all(change < left_out)),
        FIGURE,
    )


def descent_end(data: xr.Dataset) -> Claim:
    """The limit of the descent."""
    off = np.max(data["descent_end"].values, axis=0)
    return Claim(
        "Descent limit",
        PAPER,
        "The descent converges to the interpolator of least ℓ1 norm (λ = 0) and to the lasso (λ > 0).",
        "the last weights of the limit process are those of linear programming and of the lasso",
        f"{data.sizes['run']} data sets of d = {data.attrs['d']}, λ = 0 and {data.attrs['rich_lam']:g}",
        f"weights differ by at most {plain(off, 2)}",
        f"holds if they differ by less than {ENDED:g}",
        bool(np.all(off < ENDED)),
        FIGURE,
    )


def rich_memory(data: xr.Dataset) -> Claim:
    """How fast finite networks approach the limit of large α."""
    alpha, distance = data["large_alpha"].values, data["rich_distance"].values
    ratio = np.mean(distance / data["rich_memory"].values, axis=-1)
    change, left_out = abs(ratio[-1] / ratio[-2] - 1), alpha[-2] ** -2
    return Claim(
        "Rich limit",
        PAPER,
        "For α → ∞ the rich phase is one function of t - 2 log(α)/λ, which starts at the limit of the lazy "
        "phase.",
        f"distance at t = 2 log(α)/λ: the memory of the start, α⁻² exp(-μ(α² - 1)/λ) in a mode of curvature "
        f"μ, {plain(np.mean(data['rich_memory'].values, axis=-1))} at α = {plain(alpha)}",
        f"weights of {distance.shape[-1]} networks: {plain(np.mean(distance, axis=-1))}",
        f"measured / predicted distance: {plain(ratio)}",
        f"holds if the ratio changes by less than α⁻² = {100 * left_out:.0f} % at the last step of α",
        bool(change < left_out),
        FIGURE,
    )


def infinite_descent(data: xr.Dataset, small: xr.Dataset) -> list[Claim]:
    """The infinite network, extrapolated in 1/log(1/α) from its two smallest α."""
    fine, coarse = (small.isel(curve=np.argsort(small["alpha"].values)[k]) for k in (0, 1))
    near, far = (float(np.log(1 / one["alpha"])) for one in (fine, coarse))
    share, parts = far / (near - far), []
    for name in ("train", "test"):
        last, before = (
            [np.interp(log * DESCENDED, one["t"], one[f"{name}_error_theory{end}"]) for end in ("", "_se")]
            for one, log in ((fine, near), (coarse, far))
        )
        own = np.hypot((1 + share) * last[1], share * before[1])
        parts.append((f"descent_{name}_limit", last[0] + share * (last[0] - before[0]), own))
    words = (
        f"DMFT at α = {float(coarse['alpha']):g} and {float(fine['alpha']):g}, extrapolated in 1/log(1/α)",
        "t/log(1/α)",
    )
    return [same_curve(data, "s", DESCENDED, parts, "Descent limit", words)]


def infinite_rich(data: xr.Dataset, large: xr.Dataset) -> list[Claim]:
    """The infinite network of the largest α."""
    curve = large.isel(curve=int(np.argmax(large["alpha"].values)))
    t = 2 * float(np.log(curve["alpha"])) / float(curve["lam"]) + GROKKED
    parts = [
        (
            f"rich_{name}_limit",
            *(np.interp(t, curve["t"], curve[f"{name}_error_theory{end}"]) for end in ("", "_se")),
        )
        for name in ("train", "test")
    ]
    words = (f"DMFT at α = {float(curve['alpha']):g}", "t - 2 log(α)/λ")
    return [same_curve(data, "tau", GROKKED, parts, "Rich limit", words)]


def same_curve(
    data: xr.Dataset, axis: str, times: np.ndarray, parts: list[Any], topic: str, words: tuple[str, str]
) -> Claim:
    """Mean of the limit over data sets against theory: for each part the variable, theory and its error."""
    places = np.searchsorted(data[axis].values, times)
    runs = np.concatenate([data[name].values[:, places].T for name, _, _ in parts])
    theory, own = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    apart, last = from_theory(runs, theory, own), len(times)
    return Claim(
        topic,
        PAPER,
        f"The infinite network follows the same limit equation for α → {'0' if axis == 's' else '∞'}.",
        f"{words[0]}: test error {plain(theory[-last:])} at {words[1]} = {plain(times)}",
        f"limit equation: {plain(np.mean(runs, axis=-1)[-last:])}, mean of {runs.shape[-1]} data sets",
        apart.words,
        apart.rule,
        apart.holds,
        FIGURE,
    )
