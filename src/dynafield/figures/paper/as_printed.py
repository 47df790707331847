"""Figure of networks trained as the paper trained its own."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.figures.paper.parts import DMFT, FORM, MARK, key, panels, sequence
from dynafield.figures.style import COLOURS, finish

__all__ = ["draw_as_printed"]


def draw_as_printed(data: xr.Dataset) -> Any:
    """Training errors in steps, by how much steps change the test error, and the scatter between runs."""
    figure, (left, middle, right) = panels(3)
    t = data["t"].values
    for k, colour in enumerate(sequence(data.sizes["alpha"])):
        here, label = data.isel(alpha=k), rf"$\alpha = {float(data['alpha'][k]):g}$"
        left.plot(t, here["train_error_theory"], color=colour, label=label, **DMFT)
        left.plot(t, here["train_error_flow_theory"], **(FORM | {"color": colour}))
        runs = here["train_error"].values
        mean, deviation = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1)
        style = MARK | {"color": colour, "marker": "o"}
        left.errorbar(t, mean, yerr=np.minimum(deviation, 0.95 * mean), **style)
        moved = here["test_error_theory"] - here["test_error_flow_theory"]
        middle.plot(t, 1e3 * moved, color=colour, label=label, **DMFT)
        paired = here["test_error"].values - here["flow_test_error"].values
        mean, error = np.mean(paired, axis=0), 2 * np.std(paired, axis=0, ddof=1) / np.sqrt(len(paired))
        middle.errorbar(t, 1e3 * mean, yerr=1e3 * error, **style)
    left.set(xscale="log", yscale="log", ylim=(1e-6, None))
    middle.set(xscale="log")
    middle.axhline(0.0, color="0.7", linewidth=0.8)
    key(left, {"theory of steps": DMFT, "theory of the flow": FORM | {"color": "0.35"}})
    key(left, {f"networks, d = {data.attrs['d']}": {"marker": "o"} | MARK})
    left.set_title("trained as in the paper")
    middle.set_title("what the step changes")
    right.set_title("what independent targets change")
    finish(left, r"training time $t$", "train_error")
    finish(middle, r"training time $t$", r"test error, steps minus flow ($10^{-3}$)")
    draw_scatter(right, data)
    return figure


def draw_scatter(ax: Any, data: xr.Dataset) -> None:
    """Standard deviations of the test error, with exact fractions of targets and with independent ones."""
    t, p = data["spread_time"].values, data.attrs["share"]
    known = np.var(data["shares_test_error"].values, axis=0, ddof=1)
    expected = np.sqrt(known + data["share_slope"].values ** 2 * p * (1 - p) / data.attrs["d"])
    for name, words, colour, mark in (
        ("iid_test_error", "independent targets", COLOURS[1], "s"),
        ("shares_test_error", "exact fractions", COLOURS[0], "o"),
    ):
        runs = data[name].values
        deviation = np.std(runs, axis=0, ddof=1)
        bars = 2 * deviation / np.sqrt(2 * len(runs))
        ax.errorbar(t, deviation, yerr=bars, label=words, **(MARK | {"color": colour, "marker": mark}))
    ax.plot(t, expected, label="exact fractions, and a random one", **FORM)
    ax.set(xlim=(0.0, None), ylim=(0.0, 1.35 * float(np.max(expected))))
    finish(ax, r"training time $t$", "standard deviation of the test error")
