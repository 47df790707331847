"""Claims on how α decides the limit of training and its rate, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    PRINTED,
    Claim,
    bound,
    corrects,
    from_theory,
    placed,
    plain,
)
from dynafield.studies.paper.places import LARGE_ALPHA_RATE

__all__ = ["limit_claims", "tradeoff_claims"]

NEAR = 0.01
"""Relative distance from a limit that counts as agreement."""


def steps_of(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Changes of runs (α, run) from one α to the next larger one on the same data, in standard errors; and
    the bound above which a change is significant."""
    steps = np.diff(values, axis=0)
    mean, error = np.mean(steps, axis=-1), np.std(steps, axis=-1, ddof=1) / np.sqrt(steps.shape[-1])
    return mean / error, bound(steps.shape[-1], len(steps))


def tradeoff_claims(data: xr.Dataset) -> list[Claim]:
    """Whether smaller α generalizes better, and the trade-off with speed: little noise, and more."""
    scales, figure = plain(data["alpha"].values), "generalization"
    made = []
    for source, sigma, words in (
        (PRINTED, 0.3, "Smaller α generalizes better without conditions: also at σ = 0.3."),
        (CORRECTED, 0.1, "Smaller α generalizes better for sparse targets and little noise (σ = 0.1)."),
    ):
        here = data.sel(sigma=sigma)
        apart, most = steps_of(here["test_error"].values)
        made.append(
            Claim(
                "Generalization",
                source,
                words,
                f"test error {plain(here['test_error_expected'].values, 4)} at α = {scales}",
                f"{plain(np.mean(here['test_error'].values, axis=-1), 4)}, "
                f"{here.sizes['run']} networks of d = {data.attrs['d']}",
                f"from one α to the next, the error changes by {plain(apart, 2)} standard errors",
                f"holds if the error grows by more than {most:.1f} standard errors from each α to the next",
                bool(np.all(apart > most)),
                figure,
            )
        )
    noisy = data.sel(sigma=0.3)
    apart, most = steps_of(noisy["test_error"].values)
    agrees = from_theory(noisy["test_error"].values, noisy["test_error_expected"].values)
    best = float(data["fine_alpha"].values[int(np.argmin(noisy["test_error_theory"].values))])
    made.append(
        Claim(
            "Generalization",
            CORRECTED,
            "With more noise (σ = 0.3) there is a best α near 0.6. Smaller and larger α are worse.",
            f"least error at α = {best:.2f}",
            f"from one α to the next, the error changes by {plain(apart, 2)} standard errors, α = {scales}",
            agrees.words,
            f"holds if the error falls up to α = 0.58 and grows beyond it, each time by more than {most:.1f} "
            f"standard errors, and no mean differs from theory by more than {agrees.most:.1f}",
            bool(np.all(apart[:2] < -most) and apart[2] > most and agrees.holds and 0.5 < best < 0.7),
            figure,
        )
    )
    return corrects("generalization", *made) + speed_claims(data)


def speed_claims(data: xr.Dataset) -> list[Claim]:
    """Error against rate: a trade-off with little noise, a turning point with more."""
    made = []
    for source, sigma, words in (
        (
            PAPER,
            0.1,
            "Better solutions are harder to find: smaller α gives a lower test error and a lower rate "
            "(σ = 0.1).",
        ),
        (
            CORRECTED,
            0.3,
            "With more noise (σ = 0.3) the trade-off has a turning point. Below it, smaller α is slower and "
            "worse.",
        ),
    ):
        here = data.sel(sigma=sigma)
        (error, most), (rate, _) = (
            steps_of(values) for values in (here["test_error"].values, np.log(here["local_rate"].values))
        )
        theory = np.diff(here["gamma_theory"].values)
        falls = error > most if source == PAPER else np.array([error[0] < -most])
        made.append(
            Claim(
                "Trade-off",
                source,
                words,
                f"γ = {plain(here['gamma_expected'].values)} at α = {plain(data['alpha'].values)}",
                f"from the spectra of the data: {plain(np.mean(here['local_rate'].values, axis=-1))}",
                f"from one α to the next, rates change by {plain(rate, 2)} standard errors and test errors "
                "by "
                f"{plain(error, 2)}",
                f"holds if rates grow from each α to the next, in theory too, and errors "
                f"{'grow' if source == PAPER else 'fall at the first step'}, by more than {most:.1f} "
                "standard "
                "errors",
                bool(np.all(rate > most) and np.all(theory > 0) and np.all(falls)),
                "generalization",
            )
        )
    return corrects("trade-off", *made)


def limit_claims(data: xr.Dataset) -> list[Claim]:
    """Both limits of γ, with the exception to the second."""
    large = placed(LARGE_ALPHA_RATE, large_limit(data))
    return large + corrects("small-alpha-rate", *small_limit(data), steady_rate(data))


def large_limit(data: xr.Dataset) -> Claim:
    """γ of large α, over its limit."""
    ratio = data["large_ratio"].values
    off = float(np.max(np.abs(ratio[:, -1] - 1)))
    return Claim(
        "Convergence rate",
        PAPER,
        "γ → α²(1 - δ^(-1/2))² as α → ∞.",
        f"ratio 1 at α = {plain(data['large_alpha'].values)}",
        f"theory alone: {plain(ratio[0], 6)} at δ = 0.5, {plain(ratio[1], 6)} at δ = 2",
        f"relative difference {off:.1e} at the largest α",
        f"holds if the ratio comes nearer to 1 with every α and is within {NEAR:g} of it at the largest",
        bool(off < NEAR and np.all(np.diff(np.abs(ratio - 1), axis=1) <= 1e-9)),
        "rates-theory",
    )


def small_limit(data: xr.Dataset) -> list[Claim]:
    """γ of small α, as printed and with the exception."""
    small, dense, limit = data["small_gamma"].values, data["dense_gamma"].values, float(data["dense_limit"])
    fall = small[:, -1] / small[:, 0]
    falls = bool(np.all(np.diff(small, axis=1) < 0) and np.all(fall < 0.1))
    dense_fall, off = float(dense[-1] / dense[0]), float(abs(dense[-1] / limit - 1))
    shown = plain(data["small_alpha"].values)
    return [
        Claim(
            "Convergence rate",
            PRINTED,
            "γ → 0 as α → 0, in all cases.",
            "γ falls to zero",
            f"theory alone: δ = 0.5 {plain(small[0])}, δ = 2 {plain(small[1])}; "
            f"σ = 0, δ = 2, targets ±1: {plain(dense)} at α = {shown}",
            f"γ at the smallest α over γ at the largest: {plain([*fall, dense_fall], 2)}",
            "holds if γ falls with every α, to less than a tenth, in all three cases",
            falls and dense_fall < 0.1,
            "rates-theory",
        ),
        Claim(
            "Convergence rate",
            CORRECTED,
            "γ → 0 as α → 0, except for σ = 0, δ > 1 and targets without zeros.",
            f"γ falls to zero at δ = 0.5 and 2; to {limit:.4g} without noise, δ = 2, targets ±1",
            f"theory alone: γ at the smallest α over γ at the largest {plain(fall, 2)}; without noise "
            f"γ = {plain(dense, 4)}",
            f"relative difference {off:.1e} from that limit",
            f"holds if γ falls with every α, to less than a tenth, and comes within {NEAR:g} of its limit "
            "without noise",
            falls and off < NEAR,
            "rates-theory",
        ),
    ]


def steady_rate(data: xr.Dataset) -> Claim:
    """The exception on finite data."""
    local = data["dense_local_rate"].values
    apart = float(np.max(np.abs(local / local[0] - 1)))
    return Claim(
        "Convergence rate",
        CORRECTED,
        "For σ = 0, δ > 1 and targets without zeros, the slowest mode on finite data keeps its rate as α → "
        "0.",
        f"the same rate at α = {plain(data['small_alpha'].values)}",
        f"smallest eigenvalues of XKXᵀ/δ: {plain(np.mean(local, axis=-1), 4)}, "
        f"{local.shape[-1]} data sets of d = {data.attrs['d']}",
        f"rates differ by at most {100 * apart:.2g} %",
        f"holds if they differ by less than {100 * NEAR:g} %",
        apart < NEAR,
        "rates-theory",
    )
