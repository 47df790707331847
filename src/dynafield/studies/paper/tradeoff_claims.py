"""Claims on what α decides at the end of training, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import CORRECTED, PAPER, PRINTED, Claim, bound, from_theory, plain

__all__ = ["limit_claims", "tradeoff_claims"]

NEAR = 0.01
"""Relative distance from a limit that counts as being there."""


def steps_of(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Changes of runs (α, run) from one α to the next larger on the same data, in standard errors; and what
    they must exceed to count."""
    steps = np.diff(values, axis=0)
    mean, error = np.mean(steps, axis=-1), np.std(steps, axis=-1, ddof=1) / np.sqrt(steps.shape[-1])
    return mean / error, bound(steps.shape[-1], len(steps))


def tradeoff_claims(data: xr.Dataset) -> list[Claim]:
    """Whether smaller α generalizes better, and the trade-off with speed: little noise, and more."""
    scales, figure = plain(data["alpha"].values), "generalization"
    made = []
    for source, sigma, words in (
        (PRINTED, 0.3, "smaller α generalizes better (no condition): at σ = 0.3 too"),
        (CORRECTED, 0.1, "smaller α generalizes better for sparse targets and little noise (σ = 0.1)"),
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
                f"from one α to the next larger by {plain(apart, 2)} standard errors",
                f"holds if the error grows with α at every step by more than {most:.1f} standard errors",
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
            "with more noise (σ = 0.3) there is a best α, near 0.6: smaller and larger ones are worse",
            f"least error at α = {best:.2f}",
            f"networks: errors change by {plain(apart, 2)} standard errors along α = {scales}",
            agrees.words,
            f"holds if the error falls to α = 0.58 and grows beyond by more than {most:.1f} standard errors, "
            f"and means are within {agrees.most:.1f} of theory",
            bool(np.all(apart[:2] < -most) and apart[2] > most and agrees.holds and 0.5 < best < 0.7),
            figure,
        )
    )
    return made + speed_claims(data)


def speed_claims(data: xr.Dataset) -> list[Claim]:
    """Error against rate: a trade-off with little noise, a turning point with more."""
    made = []
    for source, sigma, words in (
        (
            PAPER,
            0.1,
            "better solutions are harder to find: smaller α, lower test error, lower rate (σ = 0.1)",
        ),
        (
            CORRECTED,
            0.3,
            "the trade-off has a turning point with more noise (σ = 0.3): below it training is slower and "
            "worse",
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
                f"spectra of the networks' data: {plain(np.mean(here['local_rate'].values, axis=-1))}",
                f"rates grow by {plain(rate, 2)} standard errors, test errors by {plain(error, 2)}",
                f"holds if rates grow with α at every step, in theory too, and errors "
                f"{'grow' if source == PAPER else 'fall at the first one'}, by more than {most:.1f} standard "
                "errors",
                bool(np.all(rate > most) and np.all(theory > 0) and np.all(falls)),
                "generalization",
            )
        )
    return made


def limit_claims(data: xr.Dataset) -> list[Claim]:
    """Both limits of γ, with the exception."""
    return [large_limit(data), *small_limit(data), steady_rate(data)]


def large_limit(data: xr.Dataset) -> Claim:
    """γ of large α, over its limit."""
    ratio = data["large_ratio"].values
    off = float(np.max(np.abs(ratio[:, -1] - 1)))
    return Claim(
        "Convergence rate",
        PAPER,
        "γ → α²(1 - δ^(-1/2))² as α → ∞",
        f"ratio 1 at α = {plain(data['large_alpha'].values)}",
        f"theory alone: {plain(ratio[0], 6)} at δ = 0.5, {plain(ratio[1], 6)} at δ = 2",
        f"{off:.1e} at the largest α",
        f"holds if within {NEAR:g}, nearer at every step",
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
            "γ → 0 as α → 0, in all cases",
            "γ falls to zero",
            f"theory alone: δ = 0.5 {plain(small[0])}, δ = 2 {plain(small[1])}; "
            f"σ = 0, δ = 2, targets ±1: {plain(dense)} at α = {shown}",
            f"last over first: {plain([*fall, dense_fall], 2)}",
            "holds if γ falls at every step, to less than a tenth, in all three",
            falls and dense_fall < 0.1,
            "rates-theory",
        ),
        Claim(
            "Convergence rate",
            CORRECTED,
            "γ → 0 as α → 0, but for σ = 0, δ > 1 and targets without zeros",
            f"γ falls to zero at δ = 0.5 and 2; to {limit:.4g} without noise, δ = 2, targets ±1",
            f"theory alone: last over first {plain(fall, 2)}; {plain(dense, 4)}",
            f"{off:.1e} from that limit",
            f"holds if γ falls at every step, to less than a tenth, and without noise ends within {NEAR:g} "
            "of its limit",
            falls and off < NEAR,
            "rates-theory",
        ),
    ]


def steady_rate(data: xr.Dataset) -> Claim:
    """The same exception on finite data."""
    local = data["dense_local_rate"].values
    apart = float(np.max(np.abs(local / local[0] - 1)))
    return Claim(
        "Convergence rate",
        CORRECTED,
        "on finite data of that kind the slowest mode stays as fast as α → 0",
        f"one rate at α = {plain(data['small_alpha'].values)}",
        f"smallest eigenvalues of XKXᵀ/δ: {plain(np.mean(local, axis=-1), 4)}, "
        f"{local.shape[-1]} data sets of d = {data.attrs['d']}",
        f"at most {100 * apart:.2g} %",
        f"holds if within {100 * NEAR:g} %",
        apart < NEAR,
        "rates-theory",
    )
