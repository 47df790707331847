"""Claims on message passing and its state evolution, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    KOLMOGOROV,
    PAPER,
    PRINTED,
    Claim,
    corrects,
    distribution_bound,
    placed,
    plain,
    together,
)
from dynafield.studies.paper.places import AMP, STATE_EVOLUTION

__all__ = ["message_passing_claims"]

TOPIC = "Message passing"
EXACT = 1e-9
"""Relative difference of two programs for one fixed point: each is accurate to 1e-8 or better."""
ARRIVED = 1e-7
"""Distance from the minimizer at which an iteration has arrived that changes by less than 1e-10."""
MOST = 0.8
"""Fraction of the data sets on which it must converge: damping is limited, and may not be enough."""


def message_passing_claims(data: xr.Dataset) -> list[Claim]:
    """Iterates, their entries, the map to the fixed point of training, and convergence."""
    iterates = placed(AMP, followed(data), entries(data))
    fixed = placed(STATE_EVOLUTION, mapped(data))
    return [*iterates, *fixed, *corrects("message-passing", *converged(data))]


def followed(data: xr.Dataset) -> Claim:
    """Errors, noise and Onsager coefficients of every iterate against state evolution."""
    pairs = [
        (np.moveaxis(data[name].values, 1, -1), data[f"{name}_evolution"].values)
        for name in ("tau", "b", "C_w")
    ]
    distance, (runs, theory) = together(pairs), pairs[-1]
    count, few = len(theory[0]), [0, 2, 11]
    shown = (
        [f"{plain(rows[few])}" for rows in theory],
        [f"{plain(rows[few])}" for rows in np.mean(runs, axis=-1)],
    )
    return Claim(
        TOPIC,
        PAPER,
        "The iterates of message passing follow state evolution.",
        f"errors of iterates 1, 3, 12 in cases (i), (ii), (iii): {'; '.join(shown[0])}",
        f"{'; '.join(shown[1])}, {runs.shape[-1]} data sets of d = {data.attrs['d']}",
        f"{distance.words} (error, noise and Onsager coefficient of {count} iterates)",
        distance.rule,
        distance.holds,
        "",
    )


def entries(data: xr.Dataset) -> Claim:
    """The entries of an iterate against their distribution by state evolution."""
    apart = np.abs(data["place"].values) > 1e-9  # a point mass at 0 is a jump there
    off = np.max(np.abs(data["entries"].values - data["entries_evolution"].values)[:, apart], axis=1)
    number = data.attrs["d"] * data.attrs["runs"]
    most = distribution_bound(number)
    return Claim(
        TOPIC,
        PAPER,
        f"The entries of iterate {data.attrs['iterate']} have the distribution of η(w* + τG; t).",
        "distance 0 of distribution functions in cases (i), (ii), (iii)",
        f"largest distances {plain(off)}",
        f"{float(np.max(off)) / most:.2f} times the bound",
        f"holds if all distances are below {KOLMOGOROV}/√N = {most:.4f}, N = {number}",
        bool(np.max(off) <= most),
        "",
    )


def mapped(data: xr.Dataset) -> Claim:
    """The fixed point of state evolution against that of training."""
    ends, known = data["fixed"].values, data["mapped"].values
    off = float(np.max(np.abs(ends - known) / np.where(known == 0, 1.0, known)))
    rows = "; ".join(plain(row, 6) for row in known)
    return Claim(
        TOPIC,
        PAPER,
        "The fixed point of state evolution is that of training: b = χ_w/(1 + χ_w), τ² = (C_w + σ²)/δ, "
        "t = (1 + χ_w)λ or R_w.",
        f"b, τ², t in cases (i), (ii), (iii): {rows}",
        f"theory alone: {'; '.join(plain(row, 6) for row in ends)}",
        f"relative differences at most {off:.1e}",
        f"holds if all are below {EXACT:g}",
        off < EXACT,
        "",
    )


def converged(data: xr.Dataset) -> list[Claim]:
    """Whether the iteration converges without damping, and to what."""
    names = ("damping", "converged", "distance")
    free, shifted = ([data[f"{p}{name}"].values for name in names] for p in ("", "shifted_"))
    undamped = [np.sum((one[0] == 1) & (one[1] == 1), axis=-1) for one in (free, shifted)]
    rest = [np.asarray(one[1], bool) for one in (free, shifted)]
    far = max(
        float(np.max(one[2][there], initial=0.0)) for one, there in zip((free, shifted), rest, strict=True)
    )
    count, cases = free[0].size, free[0].shape[0]
    told = (
        f"{int(np.sum(rest[0]))} and {int(np.sum(rest[1]))} of {count} data sets converge (independent "
        "inputs, inputs with a mean)"
    )
    return [
        Claim(
            TOPIC,
            PRINTED,
            "The iteration converges to the minimizer, whatever the inputs are.",
            f"it converges on {count} data sets of independent inputs and {count} of inputs with a mean",
            f"without damping on {plain(undamped[0])} and {plain(undamped[1])} of {count // cases} in each "
            "case",
            f"no convergence on {2 * count - int(np.sum(undamped))} of {2 * count}",
            "holds if it converges on all of them without damping",
            bool(np.sum(undamped) == 2 * count),
            "",
        ),
        Claim(
            TOPIC,
            CORRECTED,
            "The fixed points of the iteration are the minimizers, whatever the inputs are. To converge it "
            "may have to be "
            "damped.",
            "distance 0 from the minimizer of the same data where it converges",
            f"relative distance at most {far:.1e}; {told}; smallest damping factors "
            f"{plain([np.min(free[0]), np.min(shifted[0])])}",
            f"relative distance at most {far:.1e}",
            f"holds if it converges on at least {100 * MOST:g} % of the data sets, always to within "
            f"{ARRIVED:g}",
            bool(far < ARRIVED and np.mean(rest) >= MOST),
            "",
        ),
    ]
