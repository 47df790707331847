"""Claims on the stages of training, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    PRINTED,
    Claim,
    bound,
    in_bound,
    mean_of,
    plain,
    together,
)
from dynafield.studies.paper.parts import crossing

__all__ = ["activation", "agreement", "decay", "descent", "grokking", "lazy", "training_error"]

RISE = 1.01
"""A training error that ends this much above its least is not monotone."""
EARLY = 10.0
"""The lazy phase is looked at up to this α²t."""
TIMES = 4
"""Times at which each curve is compared with networks."""
LEAST = 1e-2
"""Share of the first error above which they are: smaller training errors are not self-averaging at this d."""
MOVED = 0.05
"""And by how much of it they have changed: at t ≈ 0 targets in fixed proportions leave no scatter."""
SHARES = (0.5, 0.25)
"""Of the first training error, whose times tell of the descent."""


def agreement(data: xr.Dataset, name: str) -> Claim:
    """DMFT curves against networks: the equations the paper is about."""
    comparisons = []
    for error in ("train_error", "test_error"):
        runs = np.moveaxis(data[error].values, 1, -1)
        few = np.linspace(5, runs.shape[1] - 1, TIMES).astype(int)
        theory, own = (data[f"{error}_theory{end}"].values[:, few] for end in ("", "_se"))
        moved = np.abs(theory - data[f"{error}_theory"].values[:, :1]) > MOVED * theory.max()
        large = moved & (theory > LEAST * theory.max())
        comparisons.append((runs[:, few][large], theory[large], own[large]))
    distance, count = together(comparisons), sum(len(theory) for _, theory, _ in comparisons)
    return Claim(
        "DMFT equations",
        PAPER,
        f"`{name}`: finite networks follow the two-time equations",
        f"{count} errors of {data.sizes['curve']} curves",
        f"means of {data.sizes['run']} networks, d = {data.attrs['d']}",
        distance.words,
        distance.rule,
        distance.holds,
        name,
    )


def half_way(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the half-way times of DMFT, and those times of every network of the largest α."""
    level = 0.5 * (float(data["plateau"]) + float(data["end"]))
    errors = []
    for k, time in enumerate(data["half_way"].values):
        t, curve = data["t"].values[k], data["test_error_theory"].values[k]
        slope = np.interp(time, t, np.gradient(curve, t))
        errors.append(np.interp(time, t, data["test_error_theory_se"].values[k]) / abs(slope))
    t = data["t"].values[-1]
    return np.array(errors), np.array([crossing(t, run, level) for run in data["test_error"].values[-1]])


def grokking(data: xr.Dataset) -> list[Claim]:
    """The time of the step, as printed and with its shift."""
    time, (error, finite) = data["half_way"].values, half_way(data)
    leading, alpha = 2 * np.log(data["alpha"].values) / data["lam"].values, plain(data["alpha"].values)
    shift, far = time - leading, 100 * (time / leading - 1)
    drift, drift_error = abs(shift[-1] - shift[-2]), float(np.hypot(error[-1], error[-2]))
    settles = drift <= max(4 * drift_error, 0.01 * shift[-1]) and bool(np.all(np.diff(time / leading) < 0))
    seen = finite[np.isfinite(finite)]
    mean, spread = mean_of(seen)
    apart = abs(mean - time[-1]) / float(np.hypot(spread, error[-1]))
    most, late = bound(len(seen), 1), len(finite) - len(seen)
    return [
        Claim(
            "Grokking time",
            PRINTED,
            "a caption: against t/log α the step sits at 2/λ",
            f"{plain(leading)} at α = {alpha}",
            f"DMFT: {plain(time)}",
            f"{plain(far)} % later",
            "holds if within 10 % at the largest α",
            bool(abs(far[-1]) <= 10),
            "grokking",
        ),
        Claim(
            "Grokking time",
            PAPER,
            "the step comes at 2 log(α)/λ + Θ(1): a shift that settles, so that the ratio tends to 1 like "
            "1/log α",
            f"one shift at α = {alpha}",
            "DMFT: " + ", ".join(f"{s:.2f} ± {e:.2f}" for s, e in zip(shift, error, strict=True)),
            f"last change {drift:.2f} ± {drift_error:.2f}",
            "holds if the last change is within 4 standard errors or 1 % and the ratio falls with α",
            bool(settles),
            "large-init-rich",
        ),
        Claim(
            "Grokking time",
            PAPER,
            "networks grok when the infinite one does, at the largest α",
            f"{time[-1]:.1f} ± {error[-1]:.1f}",
            f"{mean:.1f} ± {spread:.1f} ({len(seen)} networks; {late} never get half-way)",
            f"{apart:.1f} standard errors",
            f"holds within {most:.1f} standard errors, if at most one in ten never gets there",
            bool(apart <= most and late <= 0.1 * len(finite)),
            "grokking",
        ),
    ]


def lazy(data: xr.Dataset) -> list[Claim]:
    """Early curves fall onto the closed form of the lazy phase."""
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
            "Lazy collapse",
            PAPER,
            f"for large α both errors are functions of α²t alone, up to α²t = {EARLY:g}: "
            "Marchenko–Pastur averages",
            f"0, but for terms of order α⁻², here {order:.1g} E(0) at the largest α",
            f"DMFT is off by {plain(gaps)} E(0) at α = {plain(alpha)}",
            f"{gaps[-1]:.1g} E(0) (its error: {own:.1g})",
            "holds if at the largest α within 4 times that order or 4 of the errors of DMFT",
            bool(gaps[-1] <= max(4 * order, 4 * own)),
            "large-init-lazy",
        ),
        Claim(
            "Lazy collapse",
            PAPER,
            "and networks follow it, at the largest α",
            f"{sum(len(f) for _, f in pairs)} errors",
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
            [crossing(t, curve, share * start) for share in SHARES]
            for t, curve in zip(data["t"].values, data["train_error_theory"].values, strict=True)
        ]
    )
    growth = np.diff(times, axis=0) / np.diff(np.log(1 / alpha))[:, None]
    change = np.abs(growth[-1] / growth[-2] - 1)
    finite = np.array(
        [
            [[crossing(t, run, share * run[0]) for run in runs] for share in SHARES]
            for t, runs in zip(data["t"].values, data["train_error"].values, strict=True)
        ]
    )
    networks = in_bound(
        "Descent time",
        PAPER,
        "and networks take the same times",
        [(finite.reshape(-1, finite.shape[-1]), times.ravel())],
        "to ½ and ¼ of the training error, α by α",
        "small-init",
    )
    return [
        Claim(
            "Descent time",
            PAPER,
            "for small α training descends on the time scale log(1/α)",
            "times to ½ and ¼ of the training error grow by the same for each factor of α",
            f"DMFT: growth per log(1/α) {plain(growth[-2])}, then {plain(growth[-1])}; t/log(1/α) at ½: "
            f"{plain(times[:, 0] / np.log(1 / alpha))}",
            f"{plain(100 * change, 2)} %",
            "holds if growth changes by less than 5 % for the last factor",
            bool(np.all(change < 0.05)),
            "small-init-descent",
        ),
        networks,
    ]


def activation(data: xr.Dataset) -> list[Claim]:
    """Which of the false coordinates become active, by both rules."""
    truth, corrected, printed = (
        data["active"].sel(rule=rule).values.astype(bool) for rule in ("truth", "corrected", "printed")
    )
    made = []
    for source, rule, words in (
        (PRINTED, printed, "without weight decay a coordinate activates when ∫|g| = 2 log(1/α)"),
        (CORRECTED, corrected, "without weight decay a coordinate activates when |∫g| = 2 log(1/α)"),
    ):
        wrong = float(np.sum(rule != truth)) / max(1.0, float(np.sum(truth)))
        made.append(
            Claim(
                "Descent time",
                source,
                words,
                f"{100 * np.mean(rule):.1f} % of the false coordinates active",
                f"{100 * np.mean(truth):.1f} % (t ≤ 150, α = 0.001, {truth.shape[-1]} coordinates of each of "
                f"{len(truth)} networks)",
                f"{int(np.sum(rule != truth))} judged wrongly, {int(np.sum(truth))} active",
                "holds if fewer are judged wrongly than a tenth of those active",
                wrong < 0.1,
                "small-init",
            )
        )
    return made


def training_error(data: xr.Dataset) -> list[Claim]:
    """Where the training error ceases to be monotone."""
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
            f"the training error ceases to be monotone near α = 0.3 (λ = {data.attrs['lam']:g}, "
            "which the paper does not print)",
            f"DMFT: rises by {100 * (RISE - 1):.0f} % from α = {theory:.2f} on",
            f"networks: from {mean:.2f} ± {error:.2f} on",
            f"{abs(theory - 0.3):.2f} from 0.3",
            "holds if both lie between 0.2 and 0.45",
            0.2 <= theory <= 0.45 and 0.2 <= mean <= 0.45,
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
    off = np.abs(curves - curves[0])
    product = lam[1:] * np.array([float(t[np.argmax(row >= 0.5 * np.max(row))]) for row in off[1:]])
    return [
        Claim(
            "Small λ",
            PAPER,
            "little weight decay is like none until t ~ 1/λ",
            f"DMFT: half of the distance it makes is there at λt = {plain(product)} for λ = {plain(lam[1:])}",
            f"up to t = 0.1/λ {plain(100 * np.array(shares[0]), 2)} % of it (DMFT), "
            f"{plain(100 * np.array(shares[1]), 2)} % (networks)",
            f"at most {100 * np.max(shares):.1f} %",
            "holds if below 10 % and half of it comes between λt = 0.3 and 10",
            bool(np.max(shares) < 0.1 and np.all((product > 0.3) & (product < 10))),
            "small-decay",
        )
    ]
