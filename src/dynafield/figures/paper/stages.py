"""Figures of the stages of training."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.figures.paper.parts import (
    DMFT,
    FORM,
    MARK,
    draw_learning,
    errors_with_bars,
    key,
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
    "draw_small_decay",
    "draw_small_init",
    "draw_small_init_descent",
    "draw_timescales",
]

TIME = r"training time $t$"
GROKKING = r"$t / \log\alpha$"
DESCENT = r"$t / \log(1/\alpha)$"


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
        key(ax, {f"simulation, d = {data.attrs['d']}": {"marker": "o"} | MARK})
        ax.set_title(rf"$\alpha = {alpha:g}$, $\lambda = {lam:g}$")
        finish(ax, TIME, "error")
        ax.legend(frameon=False, loc="lower left")
    return figure


def draw_dynamics(data: xr.Dataset) -> Any:
    """Training errors against time."""
    figure = draw_learning(data, lambda t, a, lam: t, TIME, ("train_error",), limits=(1e-2, 150.0))
    figure.set_size_inches(4.6, 2.75)
    figure.axes[0].get_legend().remove()
    figure.legend(loc="outside right upper", frameon=False)
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
    figure = draw_learning(data, lambda t, a, lam: t / np.log(a), GROKKING, limits=(0.0, 50.0), log=False)
    for ax in figure.axes:
        mark_step(ax, data)
    return figure


def mark_step(ax: Any, data: xr.Dataset) -> None:
    """The place 2/λ of the step for α → ∞."""
    ax.axvline(2 / float(data["lam"][0]), color="0.3", linestyle=":", linewidth=1, label=r"$2/\lambda$")


def draw_large_init_rich(data: xr.Dataset) -> Any:
    """Both errors against t - 2 log(α)/λ."""
    end = (-20.0, 50.0)
    return draw_learning(
        data, lambda t, a, lam: t - 2 * np.log(a) / lam, r"$t - 2\log(\alpha)/\lambda$", limits=end,
        log=False,
    )  # fmt: skip


def draw_grokking(data: xr.Dataset) -> Any:
    """Test errors against t/log α; each half-way place is marked."""
    figure = draw_learning(
        data, lambda t, a, lam: t / np.log(a), GROKKING, ("test_error",), limits=(0.0, 50.0), log=False
    )
    ax = figure.axes[0]
    half = 0.5 * (float(data["plateau"]) + float(data["end"]))
    for k, colour in enumerate(sequence(data.sizes["curve"])):
        place = float(data["half_way"][k]) / np.log(float(data["alpha"][k]))
        label = "half-way" if k == 0 else None
        ax.plot(place, half, marker="D", color=colour, markersize=5, linestyle="none", label=label)
    mark_step(ax, data)
    ax.legend(frameon=False, ncols=2)
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
    """Test errors for several λ; their distance from λ = 0 against λt."""
    figure, (left, right) = panels(2)
    t = data["t"].values[0]
    plain, unit = data["test_error_theory"].values[0], float(data["test_error_theory"].values[0, 0])
    for k, colour in enumerate(["black", *sequence(data.sizes["curve"] - 1)]):
        lam, curve = float(data["lam"][k]), data["test_error_theory"].values[k]
        left.plot(t[1:], curve[1:], color=colour, label=rf"$\lambda = {lam:g}$", **DMFT)
        few = np.arange(5, len(t), 10)
        errors_with_bars(left, t[few], data["test_error"].values[k].T[few], colour)
        if lam > 0:
            right.plot(lam * t[1:], np.abs(curve - plain)[1:] / unit, color=colour, **DMFT)
            mean = np.mean(data["test_error"].values, axis=1)
            right.plot(lam * t[few], np.abs(mean[k] - mean[0])[few] / unit, color=colour, marker="o", **MARK)
    right.axvline(1.0, **FORM, label=r"$t = 1/\lambda$")
    right.set(xscale="log", yscale="log", ylim=(1e-4, 1.0), xlim=(1e-3, 1e2))
    left.set_xscale("log")
    key(left, {"DMFT": DMFT})
    key(left, {f"simulation, d = {data.attrs['d']}": {"marker": "o"} | MARK})
    finish(left, TIME, "test_error")
    finish(right, r"$\lambda t$", r"distance from $\lambda = 0$, in units of $E(0)$")
    return figure
