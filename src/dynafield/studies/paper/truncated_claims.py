"""Claims on truncated networks, judged by networks in which the truncation is active."""

import numpy as np
import xarray as xr

from dynafield.studies.paper.claims import (
    CORRECTED,
    PAPER,
    PRINTED,
    Claim,
    corrects,
    in_bound,
    plain,
    together,
)
from dynafield.studies.paper.data_claims import approach

__all__ = ["truncated_claims"]

TOPIC, FIGURE = "Truncated networks", "truncated"
ROUNDING = 1e-9
"""Relative difference of two ways to differentiate in double precision."""
TRAINING = 1e-2
"""Change of weights that the tolerance of training, 1e-3, may cause."""


def truncated_claims(data: xr.Dataset) -> list[Claim]:
    """Curves, distributions of layers and of data, and the equations as printed and corrected."""
    layers = (
        "The layers (u, v) of a truncated network at four times, with their targets, approach their DMFT "
        "distribution in W₂ as d grows."
    )
    outputs = (
        "The label noise and f at four times, over the data, approach their DMFT distribution in W₂ as n "
        "grows."
    )
    return [
        curves(data),
        approach(data, "layers_", TOPIC, layers, FIGURE),
        approach(data, "data_", TOPIC, outputs, FIGURE),
        *forms(data),
        *corrects("truncated-range", *inactive(data)),
        *corrects("truncated-response", *fitted_noise(data)),
    ]


def curves(data: xr.Dataset) -> Claim:
    """Both errors against DMFT. Networks without truncation must differ, or nothing was tested."""
    later = data["time"].values > 0

    def apart(prefix: str) -> list[tuple[np.ndarray, ...]]:
        return [
            (
                data[f"{prefix}{name}"].values.T[later],
                data[f"{name}_theory"].values[later],
                data[f"{name}_theory_se"].values[later],
            )
            for name in ("train_error", "test_error")
        ]

    near, far = together(apart("")), together(apart("plain_"))
    shown = [float(data[name][..., -1].mean()) for name in ("test_error", "plain_test_error")]
    return Claim(
        TOPIC,
        PAPER,
        f"Finite networks with an active truncation (M = {data.attrs['M']:g}) follow the truncated DMFT "
        "equations.",
        f"DMFT: test error {float(data['test_error_theory'][-1]):.4f} at t = {float(data['time'][-1]):g}",
        f"networks: {shown[0]:.4f}; without truncation {shown[1]:.4f}",
        f"{near.words}; without truncation {far.worst:.1f} standard errors",
        f"{near.rule}, and networks without truncation exceed it",
        near.holds and not far.holds,
        FIGURE,
    )


def forms(data: xr.Dataset) -> list[Claim]:
    """Equations of v, and the derivative of w that responses are made of."""
    made = []
    speed, derivative = ("v_speed", "truncated-velocity"), ("w_by_v", "truncated-derivative")
    for (name, erratum), source, words in (
        (speed, PRINTED, "dv/dt = -(-λv + v^(L-1) g η'(v^L))/2 is the gradient flow of the loss."),
        (speed, CORRECTED, "dv/dt = -(λv - v^(L-1) g η'(v^L))/2 is the gradient flow of the loss."),
        (derivative, PRINTED, "∂w/∂v = -v^(L-1) η'(v)^(L-1)."),
        (derivative, CORRECTED, "∂w/∂v = -v^(L-1) η'(v^L)."),
    ):
        exact = data[name].values
        form = data[f"{name}_{'printed' if source == PRINTED else 'corrected'}"].values
        off = float(np.sqrt(np.mean((form - exact) ** 2) / np.mean(exact**2)))
        made += corrects(
            erratum,
            Claim(
                TOPIC,
                source,
                words,
                f"root mean square {np.sqrt(np.mean(form**2)):.3g} by the formula",
                f"{np.sqrt(np.mean(exact**2)):.3g} by automatic differentiation, in a network at "
                f"t = {data.attrs['moving']:g}",
                f"they differ by {plain(100 * off, 2)} %",
                f"holds if the relative difference is below {ROUNDING:g}, which is rounding",
                off <= ROUNDING,
                FIGURE,
            ),
        )
    return made


def inactive(data: xr.Dataset) -> list[Claim]:
    """Where the truncation changes nothing."""
    made = []
    for source, words, power, place in (
        (PRINTED, "The truncation can be ignored while |u|, |v| ≤ M.", 1, 0),
        (CORRECTED, "The truncation can be ignored while |u|^L, |v|^L ≤ M.", 2, 1),
    ):
        here = data.isel(bound=place)
        moved = float(np.max(np.abs(here["bounded_weights"].values - data["unbounded_weights"].values)))
        reached, M = float(here["largest_layer"]) ** power, float(here["bound"])
        made.append(
            Claim(
                TOPIC,
                source,
                words,
                f"the same weights as without truncation, since {reached:.3f} ≤ M = {M:g}",
                f"largest difference of weights {moved:.2g} in {here.sizes['few']} networks",
                f"weights differ by at most {moved:.2g}",
                f"holds if they differ by at most {TRAINING:g}, ten times the tolerance of training, and the "
                "condition is met",
                bool(moved <= TRAINING and reached <= M),
                FIGURE,
            )
        )
    return made


def fitted_noise(data: xr.Dataset) -> list[Claim]:
    """The sign of R_f, by the fraction of the label noise that is fitted: E[ξf]/σ² = ∫R_f ds."""
    seen, fitted = data["noise_share"].values.T, data["noise_share_theory"].values
    what = f"∫R_f(t, s) ds at t = {plain(data['moment'].values)}"
    return [
        in_bound(TOPIC, source, words, [(seen, sign * fitted)], what, FIGURE)
        for source, sign, words in (
            (PRINTED, -1.0, "∂f/∂z_f ends with +R_w, so R_f < 0: label noise is fitted with the wrong sign."),
            (
                CORRECTED,
                1.0,
                "∂f/∂z_f ends with -R_w, so R_f > 0: its integral is the fraction of label noise that is "
                "fitted.",
            ),
        )
    ]
