"""Claims on the peak of the test error at δ = 1, judged by data."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    Claim,
    bound,
    corrects,
    from_theory,
    in_bound,
    plain,
)

__all__ = ["double_descent_claims"]

TOPIC, FIGURE = "Double descent", "fixed-point-ridgeless"
NEAR = 0.02
"""Relative distance from a limit that counts as agreement: corrections are of order 1 - δ."""


def double_descent_claims(data: xr.Dataset) -> list[Claim]:
    """The peak with noise and its form, and its absence without noise or with weight decay."""
    delta = data["delta"].values
    over = f"test error over δ = {plain(delta)}"
    errors, theory = (data[name].sel(kind="plain").values for name in ("test_error", "test_error_expected"))
    words = "λ = 0, with label noise: the test error is that of the fixed point on both sides of δ = 1."
    agrees = in_bound(TOPIC, PAPER, words, [(errors, theory)], over, FIGURE)
    return corrects("double-descent", agrees, peak(data), form(data), quiet(data), decayed(data))


def rises(errors: np.ndarray) -> np.ndarray:
    """Changes of the mean error from one δ to the next, in standard errors of the difference."""
    mean, square = np.mean(errors, axis=-1), np.var(errors, axis=-1, ddof=1) / errors.shape[-1]
    return np.diff(mean) / np.sqrt(square[1:] + square[:-1])


def peak(data: xr.Dataset) -> Claim:
    """Whether errors rise towards δ = 1 from both sides."""
    delta, errors = data["delta"].values, data["test_error"].sel(kind="plain").values
    left, right = rises(errors[delta < 1]), -rises(errors[delta > 1])
    most = bound(errors.shape[-1], len(left) + len(right))
    mean = np.mean(errors, axis=-1)
    return Claim(
        TOPIC,
        PAPER,
        "With label noise and without weight decay the test error has a peak at δ = 1.",
        "it rises towards δ = 1 from both sides",
        f"{plain(mean)} over δ = {plain(delta)}",
        f"towards δ = 1 the error grows by {plain(left, 2)} standard errors from below and "
        f"{plain(right[::-1], 2)} from above",
        f"holds if the last of these steps exceeds {most:.1f} standard errors on both sides",
        bool(left[-1] > most and right[0] > most),
        FIGURE,
    )


def form(data: xr.Dataset) -> Claim:
    """How the error diverges."""
    below, above, near = (data[name].values for name in ("below", "above", "near"))
    off = float(np.max(np.abs(np.stack([below, above])[..., -1] - 1)))
    return Claim(
        TOPIC,
        CORRECTED,
        "The test error diverges like σ²/|δ - 1| on both sides of δ = 1, for every α.",
        f"test error · |δ - 1|/σ² → 1 at |δ - 1| = {plain(near)}",
        f"theory alone: from below {'; '.join(plain(row, 4) for row in below)} at α = "
        f"{plain(data['alpha'].values)}, from above {plain(above[0], 4)}",
        f"differs from 1 by {off:.1e} at the smallest |δ - 1|",
        f"holds if it differs by less than {NEAR:g}",
        off < NEAR,
        FIGURE,
    )


def quiet(data: xr.Dataset) -> Claim:
    """No label noise: no peak."""
    errors, theory = (
        data[name].sel(kind="noiseless").values for name in ("test_error", "test_error_expected")
    )
    left, delta = data["delta"].values < 1, data["delta"].values
    distance, falls = from_theory(errors[left], theory[left]), rises(errors[left])
    exact, most = float(np.max(errors[~left])), bound(errors.shape[-1], len(falls))
    return Claim(
        TOPIC,
        PAPER,
        "Without label noise there is no peak: the test error falls to zero at δ = 1 and stays zero.",
        f"{plain(theory)} over δ = {plain(delta)}",
        f"{plain(np.mean(errors[left], axis=-1))}; at most {exact:.1e} for δ > 1",
        f"{distance.words}; below δ = 1 the error changes by {plain(falls, 2)} standard errors per step",
        f"holds if no difference exceeds {distance.most:.1f} standard errors, the error falls by more than "
        f"{most:.1f} standard errors at every step below δ = 1, and is below 1e-12 for δ > 1",
        bool(distance.holds and np.all(falls < -most) and exact < 1e-12),
        FIGURE,
    )


def decayed(data: xr.Dataset) -> Claim:
    """Weight decay: no peak."""
    errors, theory = (data[name].sel(kind="decay").values for name in ("test_error", "test_error_expected"))
    plainly = np.mean(data["test_error"].sel(kind="plain").values, axis=-1)
    distance, mean = from_theory(errors, theory), np.mean(errors, axis=-1)
    steps, most = rises(errors), bound(errors.shape[-1], len(errors) - 1)
    middle = np.argsort(np.abs(data["delta"].values - 1))[:2]
    return Claim(
        TOPIC,
        CORRECTED,
        f"Weight decay (λ = {data.attrs['decay']:g}) removes the peak: the test error falls with δ through "
        "δ = 1.",
        f"{plain(theory)} over δ = {plain(data['delta'].values)}",
        f"{plain(mean)}, {errors.shape[-1]} data sets of d = {data.attrs['d']}",
        f"{distance.words}; next to δ = 1 the error without weight decay is "
        f"{plain(plainly[middle] / mean[middle], 2)} times as large",
        f"holds if no difference exceeds {distance.most:.1f} standard errors, theory falls at every step, "
        "and "
        f"the measured error never grows by more than {most:.1f} standard errors",
        bool(distance.holds and np.all(np.diff(theory) < 0) and np.all(steps < most)),
        FIGURE,
    )
