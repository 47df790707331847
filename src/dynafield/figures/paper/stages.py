"""Figures of the stages of training."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.figures.paper.parts import (
    DMFT,
    FORM,
    MARK,
    draw_learning,
    draw_theory,
    errors_with_bars,
    key,
    legend_beside,
    mean_and_error,
    number,
    panels,
    sequence,
)
from dynafield.figures.phases import shade
from dynafield.figures.style import COLOURS, finish

__all__ = [
    "draw_descent",
    "draw_dynamics",
    "draw_grokking",
    "draw_large_init",
    "draw_large_init_grokking",
    "draw_large_init_lazy",
    "draw_large_init_rich",
    "draw_phase_limits",
    "draw_small_decay",
    "draw_small_init",
    "draw_small_init_descent",
    "draw_timescales",
]

TIME = r"training time $t$"
GROKKING = r"$t / \log\alpha$"
DESCENT = r"$t / \log(1/\alpha)$"
CHANGE = 1e-2
"""Changes of the test error below this are on a linear scale."""
START = 3.0
"""α²t at which most of the test error of the lazy phase is gone."""


def draw_timescales(large: xr.Dataset, small: xr.Dataset) -> Any:
    """Both errors of a large and of a small α, over shaded stages."""
    figure, axes = panels(2)
    for ax, data in zip(axes, (large, small), strict=True):
        k = int(data.attrs["staged_curve"])
        t = data["t"].values[k]
        for name, words, colour, mark in (
            ("test_error", "test error, DMFT", COLOURS[0], "o"),
            ("train_error", "training error, DMFT", COLOURS[1], "s"),
        ):
            ax.plot(t[1:], data[f"{name}_theory"].values[k, 1:], color=colour, label=words, **DMFT)
            few = np.unique(np.linspace(1, len(t) - 1, 15).astype(int))
            errors_with_bars(ax, t[few], data[name].values[k].T[few], colour, mark)
        ax.set_xscale("log")
        ax.set_yscale("log")
        top = float(np.max(data["test_error_theory"]))
        ax.set_ylim(max(1e-7, 0.5 * float(np.min(data["train_error_theory"][k]))), 80 * top)
        ax.set_xlim(t[1], t[-1])
        names = (str(name) for name in data["stage"].values)
        shade(list(zip(names, data["stage_start"].values, data["stage_end"].values, strict=True)), ax, True)
        alpha, lam = float(data["alpha"][k]), float(data["lam"][k])
        if lam == 0:
            single = data["train_error"].values[k, 0, 1:]
            ax.plot(t[1:], single, color="0.45", linewidth=0.8, label="one network", zorder=1)
        if lam > 0:
            ax.axvline(2 * np.log(alpha) / lam, color="0.3", linewidth=0.8, linestyle=":",
                       label=r"$2\log(\alpha)/\lambda$")  # fmt: skip
        key(ax, {f"networks, d = {data.attrs['d']}": {"marker": "o"} | MARK})
        ax.set_title(rf"$\alpha = {alpha:g}$, $\lambda = {lam:g}$")
        finish(ax, TIME, "error")
        ax.legend(frameon=False, loc="lower left")
    return figure


def draw_dynamics(data: xr.Dataset) -> Any:
    """Training errors against time."""
    figure = draw_learning(data, lambda t, a, lam: t, TIME, ("train_error",), limits=(1e-2, 150.0))
    legend_beside(figure)
    return figure


def draw_large_init(data: xr.Dataset) -> Any:
    """Both errors against time."""
    return draw_learning(data, lambda t, a, lam: t, TIME)


def draw_large_init_lazy(data: xr.Dataset) -> Any:
    """Both errors against α²t, with the solution of the lazy phase."""
    place = data["lazy_time"].values
    forms = {name: (place, data[f"lazy_{name}"].values) for name in ("train_error", "test_error")}
    return draw_learning(
        data, lambda t, a, lam: a**2 * t, r"$\alpha^2 t$", limits=(0.02, 50.0), forms=forms,
        form_name="Marchenko–Pastur",
    )  # fmt: skip


def draw_large_init_grokking(data: xr.Dataset) -> Any:
    """Both errors against t/log α."""
    figure = draw_learning(
        data, lambda t, a, lam: t / np.log(a), GROKKING, limits=(0.0, 50.0), log=False, late=True
    )
    for ax in figure.axes:
        mark_step(ax, data)
    figure.axes[-1].legend(frameon=False)
    return figure


def mark_step(ax: Any, data: xr.Dataset) -> None:
    """The place 2/λ of the step for α → ∞."""
    ax.axvline(2 / float(data["lam"][0]), color="0.3", linestyle=":", linewidth=1, label=r"$2/\lambda$")


def draw_large_init_rich(data: xr.Dataset) -> Any:
    """Both errors against t - 2 log(α)/λ."""
    end = (-20.0, 50.0)
    return draw_learning(
        data, lambda t, a, lam: t - 2 * np.log(a) / lam, r"$t - 2\log(\alpha)/\lambda$", limits=end,
        log=False, late=True,
    )  # fmt: skip


def draw_grokking(data: xr.Dataset) -> Any:
    """Test errors against t/log α; each half-way place is marked."""
    figure = draw_learning(
        data,
        lambda t, a, lam: t / np.log(a),
        GROKKING,
        ("test_error",),
        limits=(0.0, 50.0),
        log=False,
        late=True,
    )
    ax = figure.axes[0]
    half = 0.5 * (float(data["plateau"]) + float(data["end"]))
    for k, colour in enumerate(sequence(data.sizes["curve"])):
        place = float(data["half_way"][k]) / np.log(float(data["alpha"][k]))
        label = "half-way" if k == 0 else None
        ax.plot(place, half, marker="D", color=colour, markersize=5, linestyle="none", label=label)
    mark_step(ax, data)
    legend_beside(figure)
    return figure


def draw_descent(data: xr.Dataset) -> Any:
    """Training errors against t/log(1/α)."""
    return draw_learning(
        data, lambda t, a, lam: t / np.log(1 / a), DESCENT, ("train_error",), limits=(0.0, 6.0), log=False
    )


def draw_small_init(data: xr.Dataset) -> Any:
    """Both errors against time."""
    return draw_learning(data, lambda t, a, lam: t, TIME, limits=(0.3, float(np.max(data["t"]))))


def draw_small_init_descent(data: xr.Dataset) -> Any:
    """Both errors against t/log(1/α)."""
    return draw_learning(
        data,
        lambda t, a, lam: t / np.log(1 / a),
        DESCENT,
        limits=(0.05, float(np.max(data["t"][0])) / np.log(10.0)),
    )


def draw_small_decay(data: xr.Dataset) -> Any:
    """Test errors for several λ; what λ changes, with its sign, against λt."""
    figure, (left, right) = panels(2)
    t, few = data["t"].values[0], np.arange(5, data.sizes["time"], 10)
    theory, errors = data["test_error_theory"].values, data["test_error_theory_se"].values
    runs, unit = data["test_error"].values, float(theory[0, 0])
    for k, colour in enumerate(["black", *sequence(data.sizes["curve"] - 1)]):
        lam = float(data["lam"][k])
        label = rf"$\lambda = {lam:g}$"
        draw_theory(left, t[1:], theory[k, 1:], errors[k, 1:], colour, label)
        errors_with_bars(left, t[few], runs[k].T[few], colour)
        if lam > 0:
            off, width = (theory[k] - theory[0])[1:] / unit, 2 * np.hypot(errors[k], errors[0])[1:] / unit
            right.plot(lam * t[1:], off, color=colour, label=label, **DMFT)
            right.fill_between(lam * t[1:], off - width, off + width, color=colour, alpha=0.25, linewidth=0)
            mean, error = mean_and_error((runs[k] - runs[0]) / unit, 0)
            style = MARK | {"color": colour, "marker": "o"}
            right.errorbar(lam * t[few], mean[few], yerr=error[few], **style)
    right.axhline(0.0, color="0.6", linewidth=0.8)
    right.axvline(1.0, **FORM, label=r"$t = 1/\lambda$")
    right.set_xscale("log")
    right.set_yscale("symlog", linthresh=CHANGE, linscale=0.6)
    ticks = [-0.1, -0.01, 0.0, 0.01]
    right.set_yticks(ticks, [f"{y:g}" for y in ticks])
    right.set(ylim=(-0.5, 0.06), xlim=(1e-3, 1e2))
    for y, words in ((2e-3, "worse than without"), (-2.5e-3, "better than without")):
        right.text(80.0, y, words, ha="right", va="center", fontsize=7, color="0.35")
    left.set_xscale("log")
    key(left, {"DMFT": DMFT})
    key(left, {f"networks, d = {data.attrs['d']}": {"marker": "o"} | MARK})
    finish(left, TIME, "test_error")
    finish(right, r"$\lambda t$", r"change of test error, over $E(0)$")
    right.legend(frameon=False, loc="lower left")
    return figure


def draw_phase_limits(data: xr.Dataset) -> Any:
    """Test errors of large and small α in their own times, over the limits; how far they are from them."""
    figure, (left, right) = panels(2)
    few, runs = data.sizes["network"], data.sizes["run"]
    for ax, axis, x, phase, words in (
        (left, "large_alpha", "tau", "rich", r"$t - 2\log(\alpha)/\lambda$"),
        (right, "small_alpha", "s", "descent", DESCENT),
    ):
        place, alphas = data[x].values, data[axis].values
        curves = np.mean(data[f"{phase}_test_error"].values, axis=1)
        if phase == "rich":  # without the lazy phase, a spike on this axis
            late = alphas**2 * (place[:, None] + 2 * np.log(alphas) / data.attrs["rich_lam"]) > START
            curves = np.where(late.T, curves, np.nan)
        limit = np.mean(data[f"{phase}_test_limit"].values[: few if phase == "rich" else runs], axis=0)
        for alpha, curve, colour in zip(alphas, curves, sequence(len(alphas)), strict=True):
            ax.plot(place, curve, color=colour, label=rf"$\alpha = {number(alpha)}$", **DMFT)
        ax.plot(place, limit, label="limit equation", **FORM)
        ax.set(ylim=(0.0, 1.6 * float(np.nanmax(curves))), xlim=(place[0], place[-1]))
        finish(ax, words, "test_error")
        ax.legend(frameon=False, loc="lower left")
    alpha, distance = data["large_alpha"].values, np.mean(data["rich_distance"].values, axis=-1)
    logs = np.log(1 / data["small_alpha"].values)
    off = np.mean(data["descent_test_error"].values - data["descent_test_limit"].values[:runs], axis=1)
    apart = np.mean(np.abs(off), axis=-1)
    for ax, x, seen, form, words in (
        (left, alpha**2, distance, np.mean(data["rich_memory"].values, axis=-1), r"$\alpha^2$"),
        (right, 1 / logs, apart, apart[-1] * logs[-1] / logs, r"$1/\log(1/\alpha)$"),
    ):
        inset = ax.inset_axes((0.58, 0.7, 0.4, 0.21))
        inset.plot(x, form, **FORM)
        inset.plot(x, seen, color=COLOURS[0], marker="o", **MARK)
        inset.tick_params(labelsize=6)
        inset.set_xlabel(words, fontsize=6, labelpad=1)
        inset.set_title("distance from the limit", fontsize=6, pad=2)
        if ax is left:
            inset.set_yscale("log")
        else:
            inset.set(xlim=(0.0, 1.1 * float(np.max(x))), ylim=(0.0, 1.1 * float(np.max(seen))))
    return figure
