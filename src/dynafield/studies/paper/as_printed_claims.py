"""Claims on networks trained the way the paper trained its own, judged by data."""

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
    from_theory,
    plain,
    together,
)

__all__ = ["as_printed_claims"]

TOPIC, FIGURE = "The paper's training", "as-printed"
ERRORS = ("train_error", "test_error")
COMPARED = np.array([0.5, 1.0, 2.0, 5.0])
"""Times at which errors in steps are compared with those of the flow."""
STABLE, UNSTABLE, LARGE = (1.7, 1.8), 2.1, (3.0, 10.0, 30.0)
"""Values of α below the bound of stability and above it, and those of the figures of large α."""


def as_printed_claims(data: xr.Dataset) -> list[Claim]:
    """Steps of 0.1, independent targets, and where such steps are stable."""
    moved, scattered = corrects("step-effect", *steps(data)), corrects("random-targets", *targets(data))
    return [ends(data), *moved, *scattered, *corrects("step-size", *stability(data))]


def ends(data: xr.Dataset) -> Claim:
    """Networks trained the paper's way, in the limit, against the fixed point of the flow."""
    runs, expected = data["end_test_error"].values, data["end_expected"].values
    distance = from_theory(runs, expected)
    deviation = np.std(runs, axis=-1, ddof=1)
    return Claim(
        TOPIC,
        PAPER,
        "Networks trained the paper's way (steps of 0.1, independent targets) converge to the errors of "
        "theory.",
        f"test error {plain(expected)} at α = {plain(data['alpha'].values)}",
        f"{plain(np.mean(runs, axis=-1))} ± {plain(deviation, 2)} (one standard deviation), "
        f"{runs.shape[-1]} networks of d = {data.attrs['d']} at t = {data.attrs['end']:g}",
        distance.words,
        distance.rule,
        distance.holds,
        FIGURE,
    )


def one_mode(step: float, top: float) -> float:
    """Largest difference between steps and flow in one mode of curvature up to `top` [eq:step_bias]."""
    k, x = np.arange(1, 60), np.linspace(0.0, top, 2001)[:, None]
    return float(np.max(np.abs((1 - step * x) ** (2 * k) - np.exp(-2 * step * x * k))))


def steps(data: xr.Dataset) -> list[Claim]:
    """Steps minus flow, of networks on the same data and of theory; and a bound on it."""
    some, pairs, most = data.sel(t=COMPARED, method="nearest"), [], []
    for name in ERRORS:
        moved = some[name].values - some[f"flow_{name}"].values
        theory = some[f"{name}_theory"].values - some[f"{name}_flow_theory"].values
        own = np.hypot(some[f"{name}_theory_se"].values, some[f"{name}_flow_theory_se"].values)
        pairs.append((np.moveaxis(moved, 1, -1), theory, own))
        whole = np.abs(data[f"{name}_theory"].values - data[f"{name}_flow_theory"].values)
        most.append(np.max(whole, axis=-1) / data.attrs["first"])
    distance, (moved, theory, _), alpha = together(pairs), pairs[-1], data["alpha"].values
    bound = np.array([one_mode(data.attrs["step"], a**2 * data.attrs["curvature"]) for a in alpha])
    return [
        Claim(
            TOPIC,
            CORRECTED,
            "Steps of 0.1 change the errors of networks by as much as the theory of steps differs from the "
            "flow.",
            f"change of the test error at t = {COMPARED[-1]:g}, α = {plain(alpha)}: {plain(theory[:, -1])}",
            f"{plain(np.mean(moved, axis=-1)[:, -1])}, on the same data",
            distance.words,
            distance.rule,
            distance.holds,
            FIGURE,
        ),
        Claim(
            TOPIC,
            CORRECTED,
            "Where steps of 0.1 are stable, they change errors by less than they can change one linear mode.",
            f"bound by one mode: {plain(100 * bound, 2)} % of the first error at α = {plain(alpha)}",
            f"theory alone: training error {plain(100 * most[0], 2)} %, test {plain(100 * most[1], 2)} %",
            f"at most {float(np.max(np.array(most) / bound)):.2f} times the bound",
            "holds if the change is below the bound at every α and t",
            bool(np.all(np.array(most) < bound)),
            FIGURE,
        ),
    ]


def targets(data: xr.Dataset) -> list[Claim]:
    """Independent targets: scatter of the test error by the fraction of nonzero targets, and its mean."""
    exact, iid = data["shares_test_error"].values, data["iid_test_error"].values
    share, slope = data["iid_share"].values, data["share_slope"].values
    p, d, times = data.attrs["share"], data.attrs["d"], data["spread_time"].values
    count, where = len(exact), f"t = {plain(times)}"
    seen, known = (np.var(one, axis=0, ddof=1) for one in (iid, exact))
    expected = known + slope**2 * p * (1 - p) / d  # [eq:random_shares]
    limits = [float(scipy.stats.f.isf(q, count - 1, count - 1)) for q in chances(1 - LEVEL, len(times))]
    centred = share - np.mean(share)
    found = centred @ iid / (centred @ centred)
    rest = iid - np.mean(iid, axis=0) - np.outer(centred, found)
    error = np.sqrt(np.sum(rest**2, axis=0) / (count - 2) / (centred @ centred))
    most = float(scipy.stats.t.isf(LEVEL / (2 * len(times)), count - 2))
    off = np.abs(found - slope) / error
    apart = np.abs(np.mean(iid, axis=0) - np.mean(exact, axis=0)) / np.sqrt((seen + known) / count)
    normal = float(scipy.stats.norm.isf(LEVEL / (2 * len(times))))
    shown = f"{count} networks of d = {d}, α = {data.attrs['spread_alpha']:g}"
    return [
        Claim(
            TOPIC,
            CORRECTED,
            "Independent targets widen the scatter of test errors, as their random fraction of nonzeros "
            "explains.",
            f"standard deviations {plain(np.sqrt(expected / known))} times those of fixed fractions at "
            f"{where}",
            f"{plain(np.sqrt(seen / known))} times, {shown}",
            f"variances divided by those expected: {plain(seen / expected)}",
            f"holds if all lie between {limits[0]:.2f} and {limits[1]:.2f} (F distribution, probability "
            f"{LEVEL:g} by "
            "chance)",
            bool(np.all((seen / expected > limits[0]) & (seen / expected < limits[1]))),
            FIGURE,
        ),
        Claim(
            TOPIC,
            CORRECTED,
            "The test error grows with the fraction of nonzero targets, as theory says.",
            f"slopes {plain(slope)} at {where}",
            f"{plain(found)} ± {plain(error, 2)}",
            f"at most {float(np.max(off)):.1f} standard errors",
            f"holds if no difference exceeds {most:.1f} standard errors (probability {LEVEL:g} by chance)",
            bool(np.all(off <= most)),
            FIGURE,
        ),
        Claim(
            TOPIC,
            CORRECTED,
            "Independent targets leave the mean of the test error unchanged.",
            plain(np.mean(exact, axis=0), 4),
            plain(np.mean(iid, axis=0), 4),
            f"at most {float(np.max(apart)):.1f} standard errors",
            f"holds if no difference exceeds {normal:.1f} standard errors (probability {LEVEL:g} by chance)",
            bool(np.all(apart <= normal)),
            FIGURE,
        ),
    ]


def chances(sure: float, count: int) -> tuple[float, float]:
    """Upper tail probabilities of an interval that holds all of several numbers with probability `sure`."""
    tail = (1 - sure) / (2 * count)
    return 1 - tail, tail


def stability(data: xr.Dataset) -> list[Claim]:
    """Stability of steps of 0.1 at large α."""
    bound = float(np.sqrt(2 / (data.attrs["step"] * data.attrs["curvature"])))  # [eq:stable_scale]
    lost = data["stopped"].sel(above=list(LARGE)).values
    below, above = data["growth"].sel(above=list(STABLE)).values, data["growth"].sel(above=UNSTABLE).values
    recovered = int(np.sum(~data["stopped"].sel(above=UNSTABLE).values.astype(bool)))
    runs = lost.shape[-1]
    return [
        Claim(
            TOPIC,
            PRINTED,
            "Steps of 0.1 were used throughout, also for the figures of large α.",
            f"training at α = {plain(LARGE)} does not diverge",
            f"{int(np.sum(lost))} of {lost.size} networks overflow",
            f"{plain(np.sum(lost, axis=-1))} of {runs} networks overflow at each α",
            "holds if none overflows",
            bool(not np.any(lost)),
            FIGURE,
        ),
        Claim(
            TOPIC,
            CORRECTED,
            f"Steps of 0.1 are stable while ηα²(1 + δ^(-1/2))² < 2: at δ = 0.5 while α < {bound:.2f}.",
            f"the training error falls at every step at α = {plain(STABLE)} and grows at some at α = "
            f"{UNSTABLE:g}",
            f"largest factor of one step: {plain(np.max(below, axis=-1))}; at α = {UNSTABLE:g} "
            f"{float(np.min(above)):.3g} to {float(np.max(above)):.3g} "
            f"({recovered} of {runs} networks recover, where the curvature is smaller)",
            f"the factor differs from 1 by {plain([*(np.max(below, axis=-1) - 1), np.min(above) - 1], 2)}",
            f"holds if the factor is below 1 in all {below.size} networks, above 1 in all {above.size}, "
            "and the "
            "bound lies between",
            bool(np.all(below < 1) and np.all(above > 1) and max(STABLE) < bound < UNSTABLE),
            FIGURE,
        ),
    ]
