"""Claims on the stages of training, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    MOST,
    PAPER,
    PRINTED,
    Claim,
    crossing,
    in_errors,
    plain,
    ratio_of,
)

__all__ = ["activation", "agreement", "decay", "descent", "grokking", "lazy", "training_error"]

RISE = 1.01
"""A training error that ends this much above its least is not monotone."""
EARLY = 10.0
"""The lazy phase is looked at up to this α²t."""


def agreement(data: xr.Dataset, name: str) -> Claim:
    """DMFT curves against networks: the equations the paper is about."""
    worst, percent = 0.0, []
    for error in ("train_error", "test_error"):
        runs = np.moveaxis(data[error].values, 1, -1)
        few = np.linspace(5, runs.shape[1] - 1, 8).astype(int)
        theory = data[f"{error}_theory"].values[:, few]
        large = theory > 1e-2 * theory.max()  # smaller ones are known in absolute terms only
        own = data[f"{error}_theory_se"].values[:, few]
        one, part = in_errors(runs[:, few][large], theory[large], own[large])
        worst, percent = max(worst, one), [*percent, part]
    size = f"d = {data.attrs['d']}, {data.attrs['runs']} networks"
    return Claim(
        "DMFT equations",
        PAPER,
        f"`{name}`: finite networks follow the two-time equations",
        f"both errors of {data.sizes['curve']} curves at 8 times",
        size,
        f"worst {worst:.1f} standard errors, mean {np.mean(percent):.1f} %",
        f"holds if the worst is within {MOST:g} standard errors",
        worst <= MOST,
        name,
    )


def half_way(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """2 log(α)/λ, the half-way times of DMFT with their errors, and those of networks (mean curves)."""
    level = 0.5 * (float(data["plateau"]) + float(data["end"]))
    alpha, lam = data["alpha"].values, data["lam"].values
    found, errors, finite = [], [], []
    for k in range(len(alpha)):
        t, curve = data["t"].values[k], data["test_error_theory"].values[k]
        time = crossing(t, curve, level)
        slope = np.interp(time, t, np.gradient(curve, t))
        found.append(time)
        errors.append(np.interp(time, t, data["test_error_theory_se"].values[k]) / abs(slope))
        finite.append([crossing(t, run, level) for run in data["test_error"].values[k]])
    return 2 * np.log(alpha) / lam, np.array(found), np.array(errors), np.array(finite)


def grokking(data: xr.Dataset) -> list[Claim]:
    """The time of the step, as printed and with its shift."""
    leading, time, error, finite = half_way(data)
    shift, alpha = time - leading, plain(data["alpha"].values)
    far = 100 * (time / leading - 1)
    drift, drift_error = abs(shift[-1] - shift[-2]), float(np.hypot(error[-1], error[-2]))
    made = [
        Claim(
            "Grokking time",
            PRINTED,
            "the step is half-way at t = 2 log(α)/λ",
            f"{plain(leading)} at α = {alpha}",
            plain(time),
            f"{plain(far)} % later",
            "holds if within 10 % at the largest α",
            bool(abs(far[-1]) <= 10),
            "grokking",
        ),
        Claim(
            "Grokking time",
            CORRECTED,
            "it is half-way at 2 log(α)/λ plus a shift that settles, so that the ratio "
            "tends to 1 like 1/log α",
            f"one shift at α = {alpha}",
            " ".join(f"{s:.2f} ± {e:.2f}" for s, e in zip(shift, error, strict=True)),
            f"last change {drift:.2f}",
            f"holds if the last change is within {MOST:g} standard errors or 1 % and the ratio falls with α",
            bool(drift <= max(MOST * drift_error, 0.01 * shift[-1]) and np.all(np.diff(time / leading) < 0)),
            "large-init-rich",
        ),
    ]
    seen = finite[-1][np.isfinite(finite[-1])]
    if len(seen) > 1:
        mean, spread = ratio_of(seen)
        z = abs(mean - time[-1]) / np.hypot(spread, error[-1])
        made.append(
            Claim(
                "Grokking time",
                PAPER,
                "networks grok when the infinite one does, at the largest α",
                f"{time[-1]:.1f} ± {error[-1]:.1f}",
                f"{mean:.1f} ± {spread:.1f} ({len(seen)} networks)",
                f"{z:.1f} standard errors",
                f"holds within {MOST:g} standard errors",
                bool(z <= MOST),
                "grokking",
            )
        )
    return made


def lazy(data: xr.Dataset) -> list[Claim]:
    """Early curves fall onto the closed form of the lazy phase."""
    alpha = data["alpha"].values
    unit = float(data["test_error_theory"].values[0, 0])
    early = (alpha[:, None] ** 2 * data["t"].values) <= EARLY
    gaps, worst = np.zeros(len(alpha)), 0.0
    for j, name in enumerate(("train_error", "test_error")):
        form = data["lazy_at"].values[..., j]
        off = np.abs(data[f"{name}_theory"].values - form) / unit
        gaps = np.maximum(gaps, np.max(np.where(early, off, 0.0), axis=1))
        few = np.flatnonzero(early[-1])[5::8]
        worst = max(worst, in_errors(data[name].values[-1].T[few], form[-1, few])[0])
    se = max(
        float(np.max(data[f"{n}_theory_se"].values[-1][early[-1]])) for n in ("train_error", "test_error")
    )
    bound = float(np.max(gaps[0]) * (alpha[0] / alpha[-1]) ** 2)
    return [
        Claim(
            "Lazy collapse",
            PAPER,
            f"for large α both errors are functions of α²t alone, up to α²t = {EARLY:g}: "
            "Marchenko–Pastur averages",
            f"0, with corrections of order α⁻²: from {gaps[0]:.2g} E(0) to {bound:.1g} "
            f"E(0) over α = {plain(alpha)}",
            f"DMFT is off by {plain(gaps)} E(0)",
            f"networks at the largest α: worst {worst:.1f} standard errors",
            f"holds if at the largest α DMFT is off by no more than 4 times that or {MOST:g} of its own "
            f"errors, and "
            f"networks by no more than {MOST:g} of theirs",
            bool(gaps[-1] <= max(4 * bound, MOST * se / unit) and worst <= MOST),
            "large-init-lazy",
        )
    ]


def descent(data: xr.Dataset) -> list[Claim]:
    """Times of descent grow like log(1/α)."""
    alpha = data["alpha"].values
    start = float(data["train_error_theory"].values[0, 0])
    times = np.array(
        [
            [crossing(t, curve, share * start) for share in (0.75, 0.5, 0.25)]
            for t, curve in zip(data["t"].values, data["train_error_theory"].values, strict=True)
        ]
    )
    growth = np.diff(times, axis=0) / np.diff(np.log(1 / alpha))[:, None]
    change = np.abs(growth[-1] / growth[-2] - 1)
    ratio = times[:, 1] / np.log(1 / alpha)
    return [
        Claim(
            "Descent time",
            PAPER,
            "for small α training descends on the time scale log(1/α)",
            "times to ¾, ½ and ¼ of the training error grow by the same for each factor of α",
            f"growth per log(1/α): {plain(growth[-2])}, then {plain(growth[-1])}; t/log(1/α) at ½: "
            f"{plain(ratio)}",
            f"{plain(100 * change, 2)} %",
            "holds if growth changes by less than 15 % for the last factor",
            bool(np.all(change < 0.15)),
            "small-init-descent",
        )
    ]


def activation(data: xr.Dataset) -> list[Claim]:
    """Which of the false coordinates become active, by both rules."""
    truth, corrected, printed = (data["active"].sel(rule=r).values for r in ("truth", "corrected", "printed"))
    made = []
    for source, rule, words in (
        (PRINTED, printed, "a coordinate activates when ∫|g| - λt = 2 log(1/α)"),
        (CORRECTED, corrected, "a coordinate activates when |∫g| - λt = 2 log(1/α)"),
    ):
        made.append(
            Claim(
                "Descent time",
                source,
                words,
                f"{100 * np.mean(rule):.1f} % of the false coordinates active",
                f"{100 * np.mean(truth):.1f} % (t ≤ 150, α = 0.001, d = 1000, {len(truth)} networks)",
                f"{100 * float(np.mean(rule - truth)):.1f} %",
                "holds if within 1 % of the coordinates",
                bool(np.all(np.abs(rule - truth) <= 0.01)),
                "small-init",
            )
        )
    return made


def training_error(data: xr.Dataset) -> list[Claim]:
    """Where the training error ceases to be monotone."""
    alpha = data["alpha"].values
    rises = [
        values[:, -1] / values.min(axis=1)
        for values in (data["train_error_theory"].values, data["train_error"].mean("run").values)
    ]
    places = [float(np.exp(crossing(np.log(alpha), rise, RISE))) for rise in rises]
    return [
        Claim(
            "Monotonicity",
            PAPER,
            "the training error ceases to be monotone near α = 0.3",
            f"DMFT: rises by {100 * (RISE - 1):.0f} % from α = {places[0]:.2f} on",
            f"networks: from {places[1]:.2f} on",
            "",
            "holds if both lie between 0.2 and 0.45",
            all(0.2 <= place <= 0.45 for place in places),
            "dynamics",
        )
    ]


def decay(data: xr.Dataset) -> list[Claim]:
    """Little weight decay is like none until t ~ 1/λ."""
    t, lam = data["t"].values[0], data["lam"].values
    curves, runs = data["test_error_theory"].values, data["test_error"].mean("run").values
    shares = []
    for values in (curves, runs):
        off = np.abs(values - values[0])
        shares.append([float(np.max(off[k, t <= 0.1 / lam[k]]) / np.max(off[k])) for k in range(1, len(lam))])
    late = [
        float(t[np.argmax(np.abs(c - curves[0]) >= 0.5 * np.max(np.abs(c - curves[0])))]) for c in curves[1:]
    ]
    product = lam[1:] * np.array(late)
    return [
        Claim(
            "Small λ",
            PAPER,
            "little weight decay is like none until t ~ 1/λ",
            f"DMFT: up to t = 0.1/λ {plain(100 * np.array(shares[0]), 2)} % of the distance there comes to "
            f"be; half "
            f"of it at λt = {plain(product)}",
            f"networks: {plain(100 * np.array(shares[1]), 2)} %",
            f"λ = {plain(lam[1:])}",
            "holds if below 10 % and half of it between λt = 0.3 and 10",
            bool(np.max(shares) < 0.1 and np.all((product > 0.3) & (product < 10))),
            "small-decay",
        )
    ]
