"""Claims on late times under weight decay, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    KOLMOGOROV,
    PAPER,
    PRINTED,
    Claim,
    bound,
    corrects,
    distribution_bound,
    from_theory,
    placed,
    plain,
)
from dynafield.studies.paper.places import ACTIVE_RATES, ZERO_RATES

__all__ = ["decay_rate_claims"]

TOPIC = "Rates under weight decay"
SLOWER = 0.6
"""Largest ratio of two local rates: 1 for an exponential, ½ per doubling of t for any power of t."""
STILL = 0.02
"""Relative change of the fields at late times, where they move like a power of t."""
FINITE = 2.0
"""Times 1/d: corrections of finite size to mean responses, which are the same at d = 100 to 800."""
REAL = 1e-6
"""Relative size of an imaginary part that counts as none."""
NEAR = 0.01
"""Relative distance from a limit that counts as agreement."""


def decay_rate_claims(data: xr.Dataset) -> list[Claim]:
    """The loss, the rates of single coordinates, and their responses."""
    loss = [*subexponential(data), slowest(data)]
    rates = [*rate_distributions(data), *paths(data), relaxation(data)]
    answers = [*poles(data), responses(data), alone(data)]
    return [*loss, *corrects("active-rates", *rates), *corrects("active-pole", *answers)]


def falling(gap: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Local exponential rates of a loss, -d log(loss)/dt, between its times."""
    return -np.diff(np.log(gap)) / np.diff(t)


def subexponential(data: xr.Dataset) -> list[Claim]:
    """Local exponential rates of the loss above its limit: infinite network, finite ones."""
    t, early = data["time"].values, data["early"].values
    gaps = data["gap"].values
    infinite, finite = falling(data["gap_theory"].values, early), falling(np.mean(gaps, axis=0), t)
    agrees = from_theory(gaps[:, : len(early)].T, data["gap_theory"].values, data["gap_error"].values)
    left, last = float(infinite[-1] / infinite[0]), finite[1:] / finite[:-1]
    figure = "fixed-point-regularized"
    return [
        Claim(
            TOPIC,
            PAPER,
            "With weight decay the loss of the infinite network converges subexponentially.",
            "the local rate -d log(L - L(∞))/dt falls to zero",
            f"DMFT: {plain(infinite)} over t = {plain(early)}; networks: {agrees.words}",
            f"the local rate falls to {left:.2f} of its value when t is doubled twice",
            f"holds if it falls at every doubling, to less than {SLOWER:g} of its value after two (1 for an "
            f"exponential, ¼ for a power of t), and no network mean differs by more than {agrees.most:.1f} "
            "standard errors",
            bool(np.all(np.diff(infinite) < 0) and left < SLOWER and agrees.holds),
            figure,
        ),
        Claim(
            TOPIC,
            PAPER,
            "The loss of finite networks falls like a power of t, near t⁻³, before their finite size "
            "matters.",
            "the local rate is halved when t is doubled",
            f"local rates {plain(finite)} over t = {plain(t)}, {len(gaps)} networks of d = {data.attrs['d']}",
            f"ratios of successive rates {plain(last)}; last power "
            f"{float(finite[-1] * t[-2] / np.log(2)):.2f}",
            f"holds if all ratios are below 1 and the last two below {SLOWER:g} (1 for an exponential, ½ for "
            "a power of t)",
            bool(np.all(last < 1) and np.all(last[-2:] < SLOWER)),
            figure,
        ),
    ]


def slowest(data: xr.Dataset) -> Claim:
    """The slowest rate of a finite network, over its dimension."""
    d, density = data["dimension"].values, float(data["slowest_density"])
    seen = np.log(data["slowest"].values)
    expected = -np.euler_gamma - np.log(density * d)  # of the least of d draws with a density at zero
    off = from_theory(seen, expected)
    return Claim(
        TOPIC,
        PAPER,
        "There are arbitrarily slow coordinates: the slowest rate of a network falls like 1/d.",
        f"geometric mean of the smallest of d draws: {plain(np.exp(expected))} at d = {plain(d, 4)}",
        f"{plain(np.exp(np.mean(seen, axis=1)))}, {seen.shape[1]} data sets each",
        f"at most {off.worst:.1f} standard errors",
        off.rule,
        off.holds,
        "fixed-point-regularized",
    )


def rate_distributions(data: xr.Dataset) -> list[Claim]:
    """Distribution functions of the rates at minimizers against theory."""
    rate, zero, at = data["rate"].values, data["zero"].values, data["rate_at"].values
    most, made = distribution_bound(rate.size), []
    for name, pick, place, words in (
        ("zero", zero, ZERO_RATES, "Coordinates with limit zero: the distribution of their rates λ - |g|."),
        (
            "active",
            ~zero,
            ACTIVE_RATES,
            "Active coordinates: the distribution of their local rates |w|/(1 + χ_w).",
        ),
    ):
        seen = np.searchsorted(np.sort(rate[pick]), at, side="right") / rate.size
        distance = float(np.max(np.abs(seen - data[f"cdf_{name}"].values)))
        made += placed(
            place,
            Claim(
                TOPIC,
                PAPER,
                words,
                "distance 0 of distribution functions, including P(w = 0) and P(w ≠ 0)",
                f"largest distance {distance:.4f} at minimizers, "
                f"{len(rate)} data sets of d = {rate.shape[1]}",
                f"{distance / most:.2f} times the bound",
                f"holds if the distance is below {KOLMOGOROV}/√N = {most:.4f}, N = {rate.size}",
                distance <= most,
                "fixed-point-regularized",
            ),
        )
    return made


def paths(data: xr.Dataset) -> list[Claim]:
    """Rates of single coordinates of trained networks."""
    slope, rate, zero = (data[name].values for name in ("slope", "local_rate", "ends_at_zero"))
    start = data["window"].values
    off = [float(np.median(np.abs(slope[:, k][zero] / rate[zero] - 1))) for k in range(len(start))]
    ratio = [float(np.median(slope[:, k][~zero] / rate[~zero])) for k in range(len(start))]
    late = f"from t = {start[-1]:g} to {2 * start[-1]:g}"
    decaying = placed(
        ZERO_RATES,
        Claim(
            TOPIC,
            PAPER,
            "Coordinates with limit zero decay at the rate λ - |g|.",
            f"slope of log|w| {late}, g at the minimizer of the same data",
            f"{int(np.sum(zero))} coordinates of {len(zero)} trained networks",
            f"median difference {100 * off[-1]:.2g} % ({100 * off[0]:.2g} % at half the time)",
            f"holds if it is below {100 * STILL:g} %, by which the fields still move, and less than half of "
            "that at half the time",
            off[-1] < STILL and off[-1] < off[0] / 2,
            "fixed-point-regularized",
        ),
    )
    return [
        *decaying,
        Claim(
            TOPIC,
            PRINTED,
            "Active coordinates approach their limits like exp(-|w|t/(1 + χ_w)).",
            f"slope of log|w - w(∞)| {late}, divided by |w|/(1 + χ_w): 1",
            f"median {ratio[-1]:.3f} in trained networks ({ratio[0]:.3f} at half the time)",
            f"{100 * abs(ratio[-1] - 1):.0f} %: coordinates follow the noise, which is subexponential",
            f"holds if the median differs from 1 by less than {100 * STILL:g} %",
            abs(ratio[-1] - 1) < STILL,
            "fixed-point-regularized",
        ),
    ]


def relaxation(data: xr.Dataset) -> Claim:
    """The mean relaxation time of an active coordinate after a perturbation."""
    seen, expected = np.log(data["relaxation"].values), 1 + float(data["chi_w"])
    off = from_theory(seen, np.log(expected))
    return Claim(
        TOPIC,
        CORRECTED,
        "|w|/(1 + χ_w) is a local rate: after a perturbation an active coordinate relaxes in a mean time "
        "(1 + χ_w)/|w|.",
        f"1 + χ_w = {expected:.4g}",
        f"|w| times the integral of the response: {float(np.exp(np.mean(seen))):.4g}",
        f"{off.worst:.1f} standard errors",
        off.rule,
        off.holds,
        "fixed-point-regularized",
    )


def poles(data: xr.Dataset) -> list[Claim]:
    """The root of p + |w|(1 - R_f(p)) = 0: whether it is real, and its limit for small |w|."""
    size, rate = data["size"].values, data["pole_rate"].values
    width = data["pole_width"].values / rate
    ratio = rate * (1 + float(data["chi_w"])) / size
    off, small = np.abs(ratio - 1), size <= 0.01
    share, d = data["share"].values, data["dimension"].values
    steps = -np.diff(share, axis=0)
    apart = np.mean(steps, axis=1) / (np.std(steps, axis=1, ddof=1) / steps.shape[1] ** 0.5)
    most = bound(steps.shape[1], len(steps))
    return [
        Claim(
            TOPIC,
            PRINTED,
            "p + |w|(1 - R_f(p)) = 0 has a real root for every active coordinate, its rate.",
            "imaginary part 0",
            f"|Im p|/|Re p| = {plain(width, 2)} at |w| = {plain(size)}, continued through the branch cut",
            f"|Im p|/|Re p| up to {float(np.max(width)):.2f}",
            f"holds if |Im p|/|Re p| is below {REAL:g} for all |w|",
            bool(np.all(width < REAL)),
            "",
        ),
        Claim(
            TOPIC,
            CORRECTED,
            "Where |w| has a density the continuous spectrum absorbs the pole: a perturbation of one "
            "coordinate "
            "spreads over more and more modes as d grows.",
            "largest weight of one mode → 0",
            f"{plain(np.mean(share, axis=1))} at d = {plain(d, 4)}, 0.2 < |w| < 0.9",
            f"it falls by {plain(apart, 2)} standard errors from each d to the next",
            f"holds if it falls by more than {most:.1f} standard errors each time",
            bool(np.all(apart > most)),
            "",
        ),
        Claim(
            TOPIC,
            CORRECTED,
            "What is left of the pole is a resonance at -|w|/(1 + χ_w), sharp as |w| → 0.",
            "ratio of the real part to -|w|/(1 + χ_w) → 1, relative width → 0",
            f"theory alone: ratio {plain(ratio, 4)} at |w| = {plain(size)}",
            f"at the smallest |w| the ratio differs from 1 by {float(off[0]):.1e}; width "
            f"{float(width[0]):.1e}",
            f"holds if both are below {NEAR:g} at the smallest |w| and fall with |w| below 0.01",
            bool(
                max(off[0], width[0]) < NEAR
                and np.all(np.diff(off[small]) > 0)
                and np.all(np.diff(width[small]) > 0)
            ),
            "",
        ),
    ]


def responses(data: xr.Dataset) -> Claim:
    """Response of an active coordinate to a perturbation, networks against theory."""
    seen, theory = data["left"].values, data["left_theory"].values
    gap = seen - theory
    error = np.std(gap, axis=-1, ddof=1) / gap.shape[-1] ** 0.5
    d, most = int(data["dimension"].values[-1]), bound(gap.shape[-1], gap[..., 0].size)
    beyond = np.maximum(np.abs(np.mean(gap, axis=-1)) - FINITE / d, 0.0) / error
    percent = 100 * np.mean(np.abs(np.mean(gap, axis=-1)) / np.mean(theory, axis=-1))
    times = data["delay"].values
    return Claim(
        TOPIC,
        CORRECTED,
        "The response of an active coordinate has the Laplace transform 1/(p + |w|(1 - R_f(p))), for every "
        "|w|.",
        f"response at t = {plain(times)}: {plain(np.mean(theory, axis=-1)[0])} for |w| < 0.05, "
        f"{plain(np.mean(theory, axis=-1)[2])} for 0.2 < |w| < 0.5",
        f"{plain(np.mean(seen, axis=-1)[0])}; {plain(np.mean(seen, axis=-1)[2])}, d = {d}",
        f"on average {percent:.1f} %",
        f"holds if no difference exceeds {most:.1f} standard errors plus {FINITE:g}/d, a correction of "
        "finite "
        "size",
        bool(np.max(beyond) <= most),
        "",
    )


def alone(data: xr.Dataset) -> Claim:
    """A coordinate whose |w| is far from all others has a real pole, and a mode of its own."""
    ratio, size = np.log(data["alone_mode"].values / data["alone_pole"].values), data["alone_size"].values
    off = from_theory(ratio, 0.0)
    own = data["alone_pole"].values / size
    return Claim(
        TOPIC,
        CORRECTED,
        "There is a real pole only where |w| lies apart from all others: p = -|w|(1 - A(-|w|)/δ), a rate "
        "above "
        "|w|.",
        f"rate {float(np.mean(own)):.3f} |w| at |w| = {float(np.mean(size)):.2f}, a single target of "
        f"{data.attrs['alone']:g}",
        f"eigenvalue {float(np.mean(data['alone_mode'].values / size)):.3f} |w|, "
        f"{100 * float(np.mean(data['alone_share'].values)):.0f} % of a perturbation, {len(ratio)} data sets",
        f"logarithms differ by {float(np.mean(ratio)):.4f} ± "
        f"{float(np.std(ratio, ddof=1) / len(ratio) ** 0.5):.4f}",
        off.rule,
        off.holds,
        "",
    )
