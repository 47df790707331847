"""Figures of the limit of training, and of how fast it is reached."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.figures.paper.parts import (
    DMFT,
    FORM,
    MARK,
    chosen,
    draw_law,
    draw_theory,
    errors_with_bars,
    key,
    legend_beside,
    mean_and_error,
    panels,
    sequence,
)
from dynafield.figures.style import COLOURS, finish

__all__ = [
    "draw_fixed_points",
    "draw_gene_histogram",
    "draw_generalization",
    "draw_interpolating",
    "draw_over_delta",
    "draw_paths",
    "draw_rates_detail",
    "draw_rates_gaussian",
    "draw_rates_real",
    "draw_rates_theory",
    "draw_truncated",
    "draw_universality",
]

BESIDE = 1.12
"""Points of real data are moved by this factor, to be seen beside the others."""
DEEPEST = 1e-9
"""Training errors are drawn down to this."""
FROM = 0.45
"""Decays that are predicted are drawn from this part of the time at which they are matched."""
BELOW = 0.3
"""Slopes are drawn below the curves by this factor."""
SLOPE: dict[str, Any] = {"linestyle": ":", "linewidth": 1.2}
TRAINED = 1e-12
"""Part of the first training error below which the tolerance of training decides."""


def with_deviation(ax: Any, x: np.ndarray, runs: np.ndarray, **style: Any) -> None:
    """Means over runs with bars of one standard deviation, as in the paper."""
    mean, deviation = np.mean(runs, axis=-1), np.std(runs, axis=-1, ddof=1)
    ax.errorbar(x, mean, yerr=np.minimum(deviation, 0.95 * mean), **(MARK | style))


def draw_points(ax: Any, data: xr.Dataset, ends: xr.Dataset, words: str) -> None:
    """Test error against α: theory, networks (open where they have not converged), minimizers."""
    alpha, settled = ends["alpha"].values, data["settled"].values
    ax.plot(data["fine_alpha"], data["test_error_theory"], color="black", label="theory", **DMFT)
    runs, minimal = ends["test_error"].values, ends["minimizer_test_error"].values
    solid = {"markerfacecolor": COLOURS[0], "color": COLOURS[0], "marker": "o"}
    with_deviation(ax, alpha[settled], runs[settled], label=words, **solid)
    if not settled.all():
        label = rf"not converged, $\gamma t < {data.attrs['settled_from']:g}$"
        hollow = solid | {"markerfacecolor": "white"}
        with_deviation(ax, alpha[~settled], runs[~settled], label=label, **hollow)
    ax.plot(alpha, np.mean(minimal, axis=-1), color=COLOURS[1], marker="x", markersize=4, linestyle="none",
            label="minimizer, same data")  # fmt: skip
    ax.set_xscale("log")


def draw_fixed_points(data: xr.Dataset) -> Any:
    """Test error at the end against α: theory, Gaussian inputs, real data."""
    figure, (ax,) = panels(1)
    draw_points(ax, data, data, f"Gaussian, d = {data.attrs['d']}")
    real, alpha = data["real_test_error"].values, data["alpha"].values
    label, settled = f"gene expression, d = {data.attrs['real_d']}", data["real_settled"].values
    for which, face in ((settled, COLOURS[2]), (~settled, "white")):
        style = {"color": COLOURS[2], "marker": "s", "markerfacecolor": face}
        words = label if face != "white" else None
        with_deviation(ax, alpha[which] * BESIDE, real[which], label=words, **style)
    minimal = np.mean(data["real_minimizer_test_error"].values, axis=-1)
    ax.plot(alpha * BESIDE, minimal, color=COLOURS[1], marker="x", markersize=4, linestyle="none")
    ax.axhline(float(data["minimum_norm"]), **(FORM | {"linestyle": ":"}), label=r"limit $\alpha \to \infty$")
    finish(ax, "alpha", "test_error")
    legend_beside(figure, 5.4)
    return figure


def draw_errors(ax: Any, x: np.ndarray, fine: np.ndarray, data: xr.Dataset) -> None:
    """Both errors along an axis: theory as lines, networks as points."""
    for name, words, colour, mark in (
        ("test_error", "test", COLOURS[0], "o"),
        ("train_error", "train", COLOURS[1], "s"),
    ):
        theory = data[f"{name}_theory"].values
        ax.plot(fine, theory, color=colour, label=f"{words}, theory", **DMFT)
        label = f"{words}, d = {data.attrs['d']}"
        with_deviation(ax, x, data[name].values, color=colour, marker=mark, label=label)


def draw_over_delta(data: xr.Dataset) -> Any:
    """Cases (i) and (ii): errors against δ, law of the coordinates."""
    figure, (left, right) = panels(2)
    draw_errors(left, data["delta"].values, data["fine_delta"].values, data)
    left.set(xscale="log", yscale="log")
    ticks = [x for x in (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0) if data["delta"][0] * 0.9 <= x]
    left.set_xticks(ticks, [f"{x:g}" for x in ticks])
    left.minorticks_off()
    finish(left, "delta", "error")
    draw_law(right, data, rf"$\delta = {data.attrs['shown_delta']:g}$")
    return figure


def draw_interpolating(data: xr.Dataset) -> Any:
    """Case (iii): both errors against α, law of the coordinates."""
    figure, (left, middle, right) = panels(3)
    draw_points(left, data, data, f"networks, d = {data.attrs['d']}")
    finish(left, "alpha", "test_error")
    alpha, settled, runs = data["alpha"].values, data["settled"].values, data["train_error"].values
    for which, face in ((settled, COLOURS[0]), (~settled, "white")):
        logs = np.log(runs[which])
        mean, spread = np.mean(logs, axis=-1), np.std(logs, axis=-1, ddof=1)
        bars = np.exp(mean) * np.stack([1 - np.exp(-spread), np.exp(spread) - 1])
        words = f"networks, d = {data.attrs['d']}" if face != "white" else None
        style = MARK | {"color": COLOURS[0], "marker": "o", "markerfacecolor": face}
        middle.errorbar(alpha[which], np.exp(mean), yerr=bars, label=words, **style)
    fine = data["fine_alpha"].values
    gamma = np.exp(np.interp(np.log(fine), np.log(alpha), np.log(data["gamma"].values)))
    gone = data.attrs["first"] * np.exp(-2 * gamma * data.attrs["t"])
    shown = gone > float(np.min(runs))
    middle.plot(fine[shown], gone[shown], label=r"$E(0)\,e^{-2\gamma t}$, without $t^{-3/2}$", **FORM)
    middle.set(xscale="log", yscale="log")
    bottom = middle.get_ylim()[0]
    middle.axhspan(bottom, TRAINED * data.attrs["first"], facecolor="0.5", alpha=0.12, linewidth=0,
                   label="below tolerance of training")  # fmt: skip
    middle.set_ylim(bottom=bottom)
    finish(middle, "alpha", "train_error")
    left.set_title("test")
    middle.set_title("training")
    draw_law(right, data, rf"$\alpha = {data.attrs['shown_alpha']:.3g}$")
    return figure


def draw_decay(
    ax: Any, theory: xr.Dataset, finite: np.ndarray, limit: np.ndarray, words: str, deepest: float
) -> None:
    """Training error above its limit against time; networks above their own limits.

    Dashed: t^(-3/2) e^(-2γt) through the last value that is known. Dotted, below: the slope -2γ alone.
    """
    for k, colour in enumerate(sequence(theory.sizes["curve"])):
        t, gamma = theory["t"].values[k], float(theory["gamma"][k])
        value = theory["train_error_theory"].values[k] - float(theory["limit_theory"][k])
        error = theory["train_error_theory_se"].values[k]
        sure = (value > 3 * error) & (value > deepest)
        last = len(t) if np.all(sure) else int(np.argmin(sure))
        label = rf"$\alpha = {float(theory['alpha'][k]):g}$"
        draw_theory(ax, t[:last], value[:last], error[:last], colour, label)
        ahead = np.linspace(FROM * t[last - 1], t[-1], 100)
        slope = value[last - 1] * np.exp(-2 * gamma * (ahead - t[last - 1]))
        ax.plot(ahead, slope * (ahead / t[last - 1]) ** -1.5, **FORM)
        ax.plot(ahead, BELOW * slope, **SLOPE, color=colour)
        runs = finite[k] - limit[k][:, None]
        mean, _ = mean_and_error(runs, 0)
        which = [i for i in chosen(t, False, t[2], t[-1]) if mean[i] > deepest]
        errors_with_bars(ax, t[which], runs.T[which], colour)
    ax.set_yscale("log")
    highest = float(np.max(theory["train_error_theory"].values))
    ax.set_ylim(0.5 * deepest, highest * (highest / deepest) ** 0.35)  # room for the legend
    both = {r"$t^{-3/2}e^{-2\gamma t}$": FORM, r"slope $-2\gamma$ alone": SLOPE | {"color": "0.35"}}
    key(ax, {"DMFT": DMFT} | both | {words: {"marker": "o"} | MARK})
    finish(ax, r"training time $t$", "train_error")
    ax.legend(frameon=False, ncols=2)


def part(data: xr.Dataset, delta: float) -> xr.Dataset:
    """The curves of one δ."""
    return data.isel(curve=np.flatnonzero(data["delta"].values == delta))


def draw_rates_gaussian(data: xr.Dataset) -> Any:
    """Training error against time at δ = 0.5."""
    figure, (ax,) = panels(1)
    curves = part(data, 0.5)
    draw_decay(
        ax, curves, curves["train_error"].values, curves["limit"].values, f"d = {data.attrs['d']}", DEEPEST
    )
    return figure


def draw_rates_detail(data: xr.Dataset) -> Any:
    """Training error above its limit, δ = 2 and 0.5."""
    figure, axes = panels(2)
    for ax, delta in zip(axes, (2.0, 0.5), strict=True):
        curves = part(data, delta)
        deepest = 1e-6 if delta > 1 else DEEPEST
        words = f"networks, d = {data.attrs['d']}"
        draw_decay(ax, curves, curves["train_error"].values, curves["limit"].values, words, deepest)
        ax.set_ylabel(r"$C_f(t) - C_f(\infty)$")
        ax.set_title(rf"$\delta = {delta:g}$")
    return figure


def draw_rates_real(real: xr.Dataset, data: xr.Dataset) -> Any:
    """Training error on gene expression beside theory for independent inputs, and the spectrum behind."""
    figure, (left, right) = panels(2)
    curves = part(data, 0.5)
    words = f"genes, d = {real.attrs['d']}"
    draw_decay(left, curves, real["train_error"].values, real["limit"].values, words, DEEPEST)
    for k, colour in enumerate(sequence(curves.sizes["curve"])):
        t, own = curves["t"].values[k], float(np.mean(real["local_rate"].values[k]))
        mean = np.mean(real["train_error"].values[k], axis=0)
        shown = np.flatnonzero(mean > DEEPEST)
        middle = shown[int(0.75 * (len(shown) - 1))]
        ahead = np.array([t[middle], t[shown[-1]]])
        line = 0.35 * mean[middle] * np.exp(-2 * own * (ahead - t[middle]))
        ax_label = "slope of own spectrum" if k == 0 else None
        left.plot(ahead, line, color=colour, linestyle="-.", linewidth=1.2, label=ax_label)
    left.legend(frameon=False, ncols=2)
    edges = np.linspace(0.0, 6.5, 40)
    for name, words, colour in (
        ("gaussian_eigenvalues", "Gaussian inputs", COLOURS[0]),
        ("eigenvalues", "whitened genes", COLOURS[1]),
    ):
        counts, _ = np.histogram(real[name].values, edges)
        right.stairs(counts / counts.sum() / np.diff(edges), edges, color=colour, label=words)
    right.plot(real["eigenvalue"], real["marchenko_pastur"], color="black", label="Marchenko–Pastur", **DMFT)
    right.plot(real["eigenvalue"], real["corner"], label="corner of an orthogonal matrix", **FORM)
    finish(right, r"eigenvalue of $XX^\top/\delta$", "density")
    return figure


def draw_rates_theory(data: xr.Dataset) -> Any:
    """γ against α with its limits for large α."""
    figure, (ax,) = panels(1)
    for k, delta in enumerate(data["delta"].values):
        ax.plot(data["alpha"], data["gamma"][k], color=COLOURS[k], label=rf"$\delta = {delta:g}$", **DMFT)
        label = rf"$\alpha^2(1 - \delta^{{-1/2}})^2$, $\delta = {delta:g}$"
        ax.plot(data["alpha"], data["large_alpha"][k], label=label, **(FORM | {"color": COLOURS[k]}))
    ax.set(xscale="log", yscale="log", ylim=(0.5 * float(np.min(data["gamma"])), None))
    finish(ax, "alpha", "gamma")
    return figure


def draw_generalization(data: xr.Dataset) -> Any:
    """Test error at the end over α, and against γ, for little and for more label noise."""
    figure, (left, right) = panels(2)
    for k, sigma in enumerate(data["sigma"].values):
        here, style = data.isel(sigma=k), MARK | {"color": COLOURS[k], "marker": "o"}
        unit = float(here["test_error_theory"].min())
        mean, error = mean_and_error(here["test_error"].values / unit, -1)
        curve, rate = here["test_error_theory"] / unit, np.mean(here["local_rate"].values, axis=-1)
        label = rf"$\sigma = {sigma:g}$"
        left.plot(data["fine_alpha"], curve, color=COLOURS[k], label=label, **DMFT)
        left.errorbar(data["alpha"], mean, yerr=error, **style)
        right.plot(here["gamma_theory"], curve, color=COLOURS[k], label=label, **DMFT)
        right.errorbar(rate, mean, yerr=error, **style)
    key(left, {"theory": DMFT, f"networks, d = {data.attrs['d']}": {"marker": "o"} | MARK})
    for ax, name in ((left, "alpha"), (right, "gamma")):
        ax.set(xscale="log")
        finish(ax, name, "test error at the end, over its least", legend=ax is left)
    left.set_title("what is reached", fontsize="medium")
    right.set_title("against how fast", fontsize="medium")
    return figure


def draw_universality(data: xr.Dataset, points: xr.Dataset, rates: xr.Dataset) -> Any:
    """Random signs as inputs: fixed points and training errors over the theory, which is the same."""
    figure, (left, right) = panels(2)
    draw_points(left, points, data, f"binary, d = {data.attrs['d']}")
    finish(left, "alpha", "test_error")
    finite, limit = data["curve_train_error"].values, data["curve_limit"].values
    draw_decay(right, part(rates, 0.5), finite, limit, f"binary, d = {data.attrs['d']}", DEEPEST)
    return figure


def draw_gene_histogram(data: xr.Dataset) -> Any:
    """The law of the whitened features against the standard normal."""
    figure, (ax,) = panels(1)
    x, density = data["feature_value"].values, data["density"].values
    seen = density > 0
    ax.plot(x[seen], density[seen], marker=".", markersize=3, linestyle="none", color=COLOURS[0],
            label="whitened genes")  # fmt: skip
    ax.plot(x, np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi), color="black", label="standard normal", **DMFT)
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.5 * float(np.min(density[seen])))
    finish(ax, "whitened feature", "density")
    return figure


def draw_distances(ax: Any, data: xr.Dataset, prefix: str, words: str) -> None:
    """Wasserstein distance from the limit against d, that of two samples of it, and the slope of the latter.

    The fitted slope is drawn a little below.
    """
    d, floor = data["dimension"].values, np.mean(data[f"{prefix}floor"].values, axis=-1)
    for name, label, colour, mark in (
        ("distance", words, COLOURS[0], "o"),
        ("floor", "two samples of the limit", COLOURS[1], "s"),
    ):
        runs = data[f"{prefix}{name}"].values
        ax.plot(d, np.mean(runs, axis=-1), color=colour, linewidth=0.8)
        errors_with_bars(ax, d, runs, colour, mark, label)
    power = float(data[f"{prefix}floor_power"])
    middle = np.exp(np.mean(np.log(floor)) - power * np.mean(np.log(d)))
    ax.plot(d, 0.85 * middle * d**power, label=rf"fit to two samples: $d^{{{power:.2f}}}$", **FORM)
    ax.set(xscale="log", yscale="log")
    ax.set_xticks(d, [str(n) for n in d])
    low, high = ax.get_ylim()[0], 1.3 * ax.get_ylim()[1]  # room for the legend
    ax.set_ylim(top=high)
    ticks = [y for y in (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3) if low <= y <= high]
    ax.set_yticks(ticks, [f"{y:g}" for y in ticks])
    ax.minorticks_off()
    finish(ax, r"dimension $d$", r"distance $W_2$")
    ax.legend(frameon=False, loc="upper right")


def draw_paths(data: xr.Dataset) -> Any:
    """Wasserstein distance of whole paths from their law against d."""
    figure, (ax,) = panels(1)
    draw_distances(ax, data, "", "network and limit")
    return figure


def draw_truncated(data: xr.Dataset) -> Any:
    """Errors of truncated networks over time, and distances of their layers and data from their laws."""
    figure, (left, middle, right) = panels(3)
    t = data["time"].values
    for name, words, colour in (("test_error", "test", COLOURS[0]), ("train_error", "training", COLOURS[1])):
        left.plot(data["fine_time"], data[f"{name}_fine"], color=colour, label=f"{words}, DMFT", **DMFT)
        errors_with_bars(left, t[1:], data[name].values.T[1:], colour)
        untruncated = np.mean(data[f"plain_{name}"].values, axis=0)
        left.plot(t, untruncated, **(FORM | {"color": colour}))
    left.set(yscale="log")
    size = f"d = {data.attrs['d']}"
    key(
        left,
        {f"networks, {size}": {"marker": "o"} | MARK, f"no truncation, {size}": FORM | {"color": "0.35"}},
    )
    finish(left, r"training time $t$", "error")
    draw_distances(middle, data, "layers_", "network and limit")
    draw_distances(right, data, "data_", "network and limit")
    left.set_title(rf"truncated at $M = {data.attrs['M']:g}$")
    middle.set_title(r"layers $u$, $v$ at four times, and $w^*$")
    right.set_title(r"label noise $\xi$ and $f$ at four times")
    return figure
