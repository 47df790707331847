"""Claims on the stages of training, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    PRINTED,
    Claim,
    bound,
    corrects,
    in_bound,
    mean_of,
    plain,
    together,
)
from dynafield.studies.paper.parts import crossing

__all__ = ["activation", "agreement", "decay", "descent", "grokking", "lazy", "training_error"]

RISE = 1.01
"""Ratio of the last training error to the smallest one, above which the curve is not monotone."""
EARLY = 10.0
"""Largest α²t of the lazy phase."""
TIMES = 4
"""Times at which each curve is compared with networks."""
LEAST = 1e-2
"""Smallest error that is compared, relative to the first: smaller training errors scatter too much."""
MOVED = 0.05
"""Smallest change of the error that is compared: at t ≈ 0 targets in fixed proportions leave no scatter."""
FRACTIONS = (0.5, 0.25)
"""Of the first training error: the times at which they are reached measure the descent."""


def agreement(data: xr.Dataset, name: str) -> list[Claim]:
    """DMFT curves against finite networks."""
    comparisons = []
    for error in ("train_error", "test_error"):
        runs = np.moveaxis(data[error].values, 1, -1)
        few = np.linspace(5, runs.shape[1] - 1, TIMES).astype(int)
        theory, own = (data[f"{error}_theory{end}"].values[:, few] for end in ("", "_se"))
        moved = np.abs(theory - data[f"{error}_theory"].values[:, :1]) > MOVED * theory.max()
        large = moved & (theory > LEAST * theory.max())
        comparisons.append((runs[:, few][large], theory[large], own[large]))
    distance, count = together(comparisons), sum(len(theory) for _, theory, _ in comparisons)
    return [
        Claim(
            "DMFT equations",
            PAPER,
            f"`{name}`: finite networks follow the DMFT equations.",
            f"DMFT: {count} errors on {data.sizes['curve']} pairs of curves",
            f"means of {data.sizes['run']} networks, d = {data.attrs['d']}",
            distance.words,
            distance.rule,
            distance.holds,
            name,
        )
    ]


def half_way(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Error bars of the half-way times of DMFT, and the half-way time of every network at the largest α."""
    level = 0.5 * (float(data["plateau"]) + float(data["end"]))
    errors = []
    for k, time in enumerate(data["half_way"].values):
        t, curve = data["t"].values[k], data["test_error_theory"].values[k]
        slope = np.interp(time, t, np.gradient(curve, t))
        errors.append(np.interp(time, t, data["test_error_theory_se"].values[k]) / abs(slope))
    t = data["t"].values[-1]
    return np.array(errors), np.array([crossing(t, run, level) for run in data["test_error"].values[-1]])


def grokking(data: xr.Dataset) -> list[Claim]:
    """The time of the transition, as printed and with its shift."""
    time, (error, finite) = data["half_way"].values, half_way(data)
    leading, alpha = 2 * np.log(data["alpha"].values) / data["lam"].values, plain(data["alpha"].values)
    shift, far = time - leading, 100 * (time / leading - 1)
    drift, drift_error = abs(shift[-1] - shift[-2]), float(np.hypot(error[-1], error[-2]))
    settles = drift <= max(4 * drift_error, 0.01 * shift[-1]) and bool(np.all(np.diff(time / leading) < 0))
    seen = finite[np.isfinite(finite)]
    mean, spread = mean_of(seen)
    apart = abs(mean - time[-1]) / float(np.hypot(spread, error[-1]))
    most, late = bound(len(seen), 1), len(finite) - len(seen)
    made = [
        Claim(
            "Grokking time",
            PRINTED,
            "The transition sits at t/log(α) = 2/λ.",
            f"t = {plain(leading)} at α = {alpha}",
            f"DMFT: half-way at t = {plain(time)}",
            f"later by {plain(far)} %",
            "holds if the times differ by at most 10 % at the largest α",
            bool(abs(far[-1]) <= 10),
            "grokking",
        ),
        Claim(
            "Grokking time",
            PAPER,
            "The transition comes at 2 log(α)/λ + Θ(1): the shift settles as α grows.",
            f"the same shift at α = {alpha}",
            "DMFT: " + ", ".join(f"{s:.2f} ± {e:.2f}" for s, e in zip(shift, error, strict=True)),
            f"the shift changes by {drift:.2f} ± {drift_error:.2f} at the last step of α",
            "holds if the last change is at most 4 standard errors or 1 %, and time/(2 log(α)/λ) falls "
            "with α",
            bool(settles),
            "large-init-rich",
        ),
        Claim(
            "Grokking time",
            PAPER,
            "At the largest α finite networks make the transition when the infinite network does.",
            f"DMFT: half-way at t = {time[-1]:.1f} ± {error[-1]:.1f}",
            f"{mean:.1f} ± {spread:.1f} ({len(seen)} networks; {late} never get half-way)",
            f"{apart:.1f} standard errors",
            f"holds if the times differ by at most {most:.1f} standard errors and at most one network in ten "
            "never gets half-way",
            bool(apart <= most and late <= 0.1 * len(finite)),
            "grokking",
        ),
    ]
    return corrects("grokking-time", *made)


def lazy(data: xr.Dataset) -> list[Claim]:
    """Early curves against the closed form of the lazy phase."""
    alpha = data["alpha"].values
    unit = float(data["test_error_theory"].values[0, 0])
    early = (alpha[:, None] ** 2 * data["t"].values) <= EARLY
    gaps, own, pairs = np.zeros(len(alpha)), 0.0, []
    for j, name in enumerate(("train_error", "test_error")):
        form = data["lazy_at"].values[..., j]
        off = np.abs(data[f"{name}_theory"].values - form) / unit
        gaps = np.maximum(gaps, np.max(np.where(early, off, 0.0), axis=1))
        own = max(own, float(np.max(data[f"{name}_theory_se"].values[-1][early[-1]])) / unit)
        few = np.flatnonzero(early[-1])
        few = few[np.linspace(5, len(few) - 1, TIMES).astype(int)]
        large = few[form[-1, few] > LEAST * unit]
        pairs.append((data[name].values[-1].T[large], form[-1, large]))
    order = gaps[0] * (alpha[0] / alpha[-1]) ** 2
    networks = together(pairs)
    return [
        Claim(
            "Lazy phase",
            PAPER,
            f"For large α both errors depend on α²t alone (up to α²t = {EARLY:g}) and are the closed form of "
            "the lazy phase.",
            f"distance 0 up to terms of order α⁻², here {order:.1g} E(0) at the largest α",
            f"DMFT: distance {plain(gaps)} E(0) at α = {plain(alpha)}",
            f"{gaps[-1]:.1g} E(0) at the largest α (error of DMFT: {own:.1g})",
            "holds if the distance at the largest α is at most 4 times that order or 4 errors of DMFT",
            bool(gaps[-1] <= max(4 * order, 4 * own)),
            "large-init-lazy",
        ),
        Claim(
            "Lazy phase",
            PAPER,
            "Finite networks follow the closed form of the lazy phase at the largest α.",
            f"closed form: {sum(len(f) for _, f in pairs)} errors",
            f"means of {data.sizes['run']} networks",
            networks.words,
            networks.rule,
            networks.holds,
            "large-init-lazy",
        ),
    ]


def descent(data: xr.Dataset) -> list[Claim]:
    """Times of descent grow like log(1/α)."""
    alpha = data["alpha"].values
    start = float(data["train_error_theory"].values[0, 0])
    times = np.array(
        [
            [crossing(t, curve, fraction * start) for fraction in FRACTIONS]
            for t, curve in zip(data["t"].values, data["train_error_theory"].values, strict=True)
        ]
    )
    growth = np.diff(times, axis=0) / np.diff(np.log(1 / alpha))[:, None]
    change = np.abs(growth[-1] / growth[-2] - 1)
    finite = np.array(
        [
            [[crossing(t, run, fraction * run[0]) for run in runs] for fraction in FRACTIONS]
            for t, runs in zip(data["t"].values, data["train_error"].values, strict=True)
        ]
    )
    networks = in_bound(
        "Descent time",
        PAPER,
        "Finite networks descend at the same times as the infinite network.",
        [(finite.reshape(-1, finite.shape[-1]), times.ravel())],
        "times to ½ and ¼ of the training error, for each α",
        "small-init",
    )
    return [
        Claim(
            "Descent time",
            PAPER,
            "For small α training descends on the timescale log(1/α).",
            "times to ½ and ¼ of the first training error grow linearly in log(1/α)",
            f"DMFT: growth per log(1/α) {plain(growth[-2])}, then {plain(growth[-1])}; t/log(1/α) at ½: "
            f"{plain(times[:, 0] / np.log(1 / alpha))}",
            f"the growth changes by {plain(100 * change, 2)} % at the last step of α",
            "holds if both changes are below 5 %",
            bool(np.all(change < 0.05)),
            "small-init-descent",
        ),
        networks,
    ]


def activation(data: xr.Dataset) -> list[Claim]:
    """Which of the coordinates with target zero become active, by both rules."""
    truth, corrected, printed = (
        data["active"].sel(rule=rule).values.astype(bool) for rule in ("truth", "corrected", "printed")
    )
    made = []
    for source, rule, words in (
        (PRINTED, printed, "Without weight decay a coordinate becomes active when ∫|g| = 2 log(1/α)."),
        (CORRECTED, corrected, "Without weight decay a coordinate becomes active when |∫g| = 2 log(1/α)."),
    ):
        wrong = float(np.sum(rule != truth)) / max(1.0, float(np.sum(truth)))
        made.append(
            Claim(
                "Descent time",
                source,
                words,
                f"{100 * np.mean(rule):.1f} % of the coordinates with target zero become active",
                f"{100 * np.mean(truth):.1f} % (t ≤ 150, α = 0.001, {truth.shape[-1]} coordinates of each of "
                f"{len(truth)} networks)",
                f"the rule is wrong for {int(np.sum(rule != truth))} coordinates; {int(np.sum(truth))} are "
                "active",
                "holds if it is wrong for fewer than a tenth of the number of active ones",
                wrong < 0.1,
                "small-init",
            )
        )
    return corrects("activation", *made)


def training_error(data: xr.Dataset) -> list[Claim]:
    """The α at which the training error stops being monotone."""
    alpha = np.log(data["alpha"].values)

    def place(curves: np.ndarray) -> float:
        return float(np.exp(crossing(alpha, curves[:, -1] / curves.min(axis=-1), RISE)))

    theory = place(data["train_error_theory"].values)
    finite = np.array([place(run) for run in np.moveaxis(data["train_error"].values, 1, 0)])
    mean, error = mean_of(finite[np.isfinite(finite)])
    return [
        Claim(
            "Monotonicity",
            PAPER,
            f"The training error stops being monotone near α = 0.3 (λ = {data.attrs['lam']:g}; the paper "
            "does "
            "not give its λ).",
            f"DMFT: the error rises by {100 * (RISE - 1):.0f} % or more from α = {theory:.2f} on",
            f"networks: from {mean:.2f} ± {error:.2f} on",
            f"DMFT differs by {abs(theory - 0.3):.2f} from 0.3",
            "holds if both values lie between 0.2 and 0.45",
            0.2 <= theory <= 0.45 and 0.2 <= mean <= 0.45,
            "dynamics",
        )
    ]


def decay(data: xr.Dataset) -> list[Claim]:
    """Weak weight decay has no effect before t ~ 1/λ."""
    t, lam = data["t"].values[0], data["lam"].values
    curves, runs = data["test_error_theory"].values, data["test_error"].mean("run").values
    early = []
    for values in (curves, runs):
        off = np.abs(values - values[0])
        early.append([float(np.max(off[k, t <= 0.1 / lam[k]]) / np.max(off[k])) for k in range(1, len(lam))])
    off = np.abs(curves - curves[0])
    product = lam[1:] * np.array([float(t[np.argmax(row >= 0.5 * np.max(row))]) for row in off[1:]])
    return [
        Claim(
            "Small λ",
            PAPER,
            "Weak weight decay has no effect before t ~ 1/λ.",
            f"DMFT: half of the effect on the test error is reached at λt = {plain(product)} for "
            f"λ = {plain(lam[1:])}",
            f"effect up to t = 0.1/λ, in percent of the largest: {plain(100 * np.array(early[0]), 2)} "
            "(DMFT), "
            f"{plain(100 * np.array(early[1]), 2)} (networks)",
            f"at most {100 * np.max(early):.1f} % of the effect before t = 0.1/λ",
            "holds if this is below 10 % and half of the effect is reached between λt = 0.3 and 10",
            bool(np.max(early) < 0.1 and np.all((product > 0.3) & (product < 10))),
            "small-decay",
        )
    ]
