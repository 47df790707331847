"""Claims that no figure shows, judged by networks trained for them."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import CORRECTED, PRINTED, Claim, corrects, in_bound, plain

__all__ = ["identity_claims"]

LATE = 0.02
"""Fraction of the label noise that may not be fitted yet."""
ROUNDING = 1e-4
"""Relative error of losses and weights by the tolerance of training."""


def identity_claims(data: xr.Dataset) -> list[Claim]:
    """The boundary of the lazy phase, layers under weight decay, fitted noise, the limit for large δ."""
    return lazy_boundary(data) + layer_scale(data) + noise_fitted(data) + plentiful_end(data)


def lazy_boundary(data: xr.Dataset) -> list[Claim]:
    """C_w(t, 0) in the lazy phase."""
    seen = data["lazy_correlation"].values.T
    made = []
    for source, value, words in (
        (PRINTED, 0.0 * data["lazy_form"].values, "C_w(t, 0) = 0 in the lazy phase."),
        (CORRECTED, data["lazy_form"].values, "C_w(t, 0) = ρ² ∫ exp(-xα²t) dμ(x) in the lazy phase."),
    ):
        what = f"C_w(t, 0) at α²t = {plain(data['lazy_time'].values)}"
        made.append(in_bound("Lazy phase", source, words, [(seen, value)], what, "large-init-lazy"))
    return corrects("lazy-boundary", *made)


def layer_scale(data: xr.Dataset) -> list[Claim]:
    """(u² + v²)/2 of networks whose u and v were trained."""
    layers, made = data["layers"].values, []
    for source, name, words in (
        (PRINTED, "printed", "(u² + v²)/2 = √(w² + α² exp(-2λt)) under weight decay."),
        (CORRECTED, "corrected", "(u² + v²)/2 = √(w² + α⁴ exp(-2λt)) under weight decay."),
    ):
        form = data[f"layers_{name}"].values
        off = float(np.max(np.abs(form / layers - 1)))
        made.append(
            Claim(
                "Rich phase",
                source,
                words,
                f"mean {plain(np.mean(form, axis=0))} at t = "
                f"{plain(data['rich_time'].values)}, α = {data.attrs['rich_alpha']:g}",
                plain(np.mean(layers, axis=0)),
                f"at most {100 * off:.2g} % in {len(layers)} networks",
                f"holds if no network differs by more than {100 * ROUNDING:g} %, the tolerance of training",
                off <= ROUNDING,
                "large-init-rich",
            )
        )
    return corrects("layer-scale", *made)


def noise_fitted(data: xr.Dataset) -> list[Claim]:
    """χ_f, by the responses of the infinite network."""
    fitted = float(data["noise_fitted"])
    made = [
        Claim(
            "Fixed point, case (iii)",
            source,
            f"χ_f = {value:g}: {words} of the label noise is fitted as t → ∞.",
            f"∫R_f(t, s) ds → {value:g}",
            f"DMFT: {fitted:.4f} at α = {data.attrs['response_alpha']:g}, "
            f"t = {data.attrs['response_time']:g}",
            f"differs by {abs(fitted - value):.4f}",
            f"holds if it differs by at most {LATE:g}, the part not fitted yet at that time",
            abs(fitted - value) <= LATE,
            "fixed-point-interpolating",
        )
        for source, value, words in ((PRINTED, 0.0, "none"), (CORRECTED, 1.0, "all"))
    ]
    return corrects("fitted-noise", *made)


def plentiful_end(data: xr.Dataset) -> list[Claim]:
    """The limit of training with many data."""
    made = []
    end, lam = float(np.mean(data["negative_end"].values)), data.attrs["lam"]
    for source, value, words in (
        (PRINTED, 1 - lam, "δ → ∞: w(∞) = max{|w*| - λ, 0}."),
        (CORRECTED, lam - 1, "δ → ∞: w(∞) = sign(w*) max{|w*| - λ, 0}, the soft threshold of w*."),
    ):
        off = abs(end - value)
        made.append(
            Claim(
                "Rich phase",
                source,
                words,
                f"w(∞) = {value:g} for w* = -1, λ = {lam:g}",
                f"{end:.3f} at δ = {data.attrs['large_delta']:g}",
                f"differs by {off:.3f}",
                "holds if it differs by at most 2/δ (the threshold is (1 + χ_w)λ, and χ_w ~ 1/δ)",
                bool(off <= 2 / data.attrs["large_delta"]),
                "large-init-rich",
            )
        )
    return corrects("limit-sign", *made)
