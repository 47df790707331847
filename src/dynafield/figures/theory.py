"""Figures of fixed points, rates and their trade-off."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.errors import InputError
from dynafield.figures.errors import Band, draw_errors
from dynafield.figures.style import (
    COLOURS,
    LABELS,
    SYMBOLS,
    axes,
    error_scale,
    finish,
    headline,
    spread,
    titled,
)
from dynafield.records.axes import PARAMETERS, parameter_axes
from dynafield.records.problems import parameters, problem_words
from dynafield.records.record import Record

if TYPE_CHECKING:  # the results draw themselves with this room; it knows them by type only
    from dynafield.theory.fixed_points import FixedPoint
    from dynafield.theory.law import LimitLaw
    from dynafield.theory.lazy import LazyCurves
    from dynafield.theory.path_rates import PathRates
    from dynafield.theory.rates import ConvergenceRate
    from dynafield.theory.tradeoffs import Tradeoff

__all__ = ["curves_of", "draw_fixed_point", "draw_lazy", "draw_rate", "draw_tradeoff"]


def curves_of(record: Record) -> tuple[str, np.ndarray, list[tuple[str, tuple]]]:
    """The parameter along the last axis, its values, and a label and index for each curve."""
    values = parameters(record.task, record.net)
    names = parameter_axes(values)
    if not 1 <= len(names) <= 2:
        raise InputError(
            f"plot draws results with one or two parameter axes, got {len(names)}: select some first"
        )
    x = names[-1]
    if x not in PARAMETERS:
        raise InputError("plot needs the last axis to vary one parameter only; several vary together there")
    if len(names) == 1:
        return x, values[x], [("", ())]
    series = names[0]
    if series not in PARAMETERS:
        return x, values[x].ravel(), [(f"{series} {i}", (i,)) for i in range(record.shape[0])]
    labels = [f"{SYMBOLS[series]} = {v:g}" for v in values[series].ravel()]
    return x, values[x].ravel(), [(label, (i,)) for i, label in enumerate(labels)]


def draw_fixed_point(point: "FixedPoint", ax: Any = None) -> Any:
    """One problem: the law of w. Several: test and training error along the axis."""
    if not point.shape:
        ax = draw_law(point.law(), axes(ax))
        headline(ax, f"limit of training: {problem_words(point.task, point.net)}")
        return ax
    ax = axes(ax)
    x, values, curves = curves_of(point)
    for (label, index), colour in zip(curves, np.resize(COLOURS, len(curves)), strict=True):
        ax.plot(values, np.asarray(point.test_error)[index], color=colour, label=titled("test", label))
        train = np.asarray(point.train_error)[index]
        ax.plot(values, train, color=colour, linestyle="--", label=titled("train", label), clip_on=False)
    ax.set_xscale(spread(values))
    test = np.asarray(point.test_error)
    if spread(test) == "log":
        error_scale(ax, float(np.min(point.train_error)), float(np.max(test)))
    else:
        ax.set_ylim(bottom=0.0)
    headline(ax, f"limit of training: {problem_words(point.task, point.net)}")
    return finish(ax, x, "error at the fixed point")


def draw_law(law: "LimitLaw", ax: Any = None) -> Any:
    """The density of w, and an arrow for each point mass with its mass."""
    ax = axes(ax)
    centre = law.respond(law.mixture.mean, law.mixture.variance)
    width = np.maximum(law.width.max(), 0.05 * (1 + np.abs(centre).max()))
    w = np.linspace(centre.min() - 4 * width, centre.max() + 4 * width, 2001)
    density = law.density(w)
    if not np.any(density > 0):
        return draw_masses(law, ax)
    ax.plot(w, density, color=COLOURS[0], label="density of w(∞)")
    ax.fill_between(w, density, color=COLOURS[0], alpha=0.15, linewidth=0)
    if density.max() > 50 * np.median(density[density > 0]):
        ax.set_yscale("log")
        ax.set_ylim(density.max() * 1e-5, density.max() * 3)
    else:
        ax.set_ylim(bottom=0)
    bottom, top = ax.get_ylim()
    for place, mass in law.atoms.items():
        arrow = dict(arrowstyle="-|>", color=COLOURS[1], linewidth=1.6)
        ax.annotate("", xy=(place, top), xytext=(place, bottom), arrowprops=arrow)
        ax.plot([], [], color=COLOURS[1], label=f"point mass {mass:.3g} at {place:g}")
    return finish(ax, "coordinate w", "density")


def draw_masses(law: "LimitLaw", ax: Any) -> Any:
    """A law of point masses only: one stem each, as high as its mass."""
    places, masses = np.array(list(law.atoms)), np.array(list(law.atoms.values()))
    ax.vlines(places, 0, masses, color=COLOURS[1], linewidth=2)
    ax.plot(places, masses, "o", color=COLOURS[1], label="point masses of w(∞)")
    ax.set_ylim(0, 1.15 * masses.max())
    return finish(ax, "coordinate w", "mass")


def draw_rate(rate: "ConvergenceRate", ax: Any = None) -> Any:
    """γ along the axis with its large-α limit; for one problem what it means for the errors."""
    if not rate.shape:
        ax = draw_decay(rate.gamma, ax) if rate.exponential else draw_path_rates(rate.paths(), ax)
        told = f"slopes at late times, γ = {rate.gamma:.6g}" if rate.exponential else "rates of coordinates"
        headline(ax, f"{told}: {problem_words(rate.task, rate.net)}")
        return ax
    ax = axes(ax)
    x, values, curves = curves_of(rate)
    for (label, index), colour in zip(curves, np.resize(COLOURS, len(curves)), strict=True):
        gamma = np.asarray(rate.gamma)[index]
        ax.plot(values, gamma, color=colour, label=titled("γ", label))
        if x == "alpha":
            lazy = np.asarray(rate.large_alpha)[index]
            ax.plot(values, lazy, color=colour, linestyle=":", label=titled("large-α limit", label))
    ax.set_xscale(spread(values))
    if np.all(np.asarray(rate.gamma) > 0):
        ax.set_yscale(spread(rate.gamma))
    headline(ax, problem_words(rate.task, rate.net))
    return finish(ax, x, "gamma")


def draw_decay(gamma: float, ax: Any = None) -> Any:
    """The slopes that γ predicts for late times, up to a constant and a power of t."""
    ax = axes(ax)
    t = np.linspace(0, 5 / gamma, 201)
    ax.semilogy(t, np.exp(-gamma * t), color=COLOURS[0], label="test error: exp(-γt)")
    ax.semilogy(t, np.exp(-2 * gamma * t), color=COLOURS[1], label="training loss: exp(-2γt)")
    ax.set_title(f"slopes at late times, γ = {gamma:.6g}", fontsize=9)
    return finish(ax, "training time t", "distance from the limit,\nwithout constant and power of t")


def draw_path_rates(paths: "PathRates", ax: Any = None) -> Any:
    """The density of the rates of single coordinates."""
    ax = axes(ax)
    law = paths.law
    top = (np.abs(law.mixture.mean) + 4 * law.width).max() / (1 + paths.chi_w)
    rates = np.linspace(0, top, 2001)
    ax.plot(rates, paths.density(rates), color=COLOURS[0], label="density of path rates")
    ax.axvline(
        law.second / (1 + paths.chi_w), color=COLOURS[1], linestyle=":", label="λ: fastest decay to zero"
    )
    ax.set_ylim(bottom=0)
    return finish(ax, "rate of one coordinate", "density")


def draw_tradeoff(result: "Tradeoff", ax: Any = None) -> Any:
    """Test error against γ, coloured by α."""
    ax = axes(ax)
    alpha = np.broadcast_to(result.net.alpha, result.shape)
    gamma, error = np.asarray(result.gamma), np.asarray(result.test_error)
    _, _, curves = curves_of(result) if result.shape else ("", alpha, [("", ())])
    for label, index in curves:
        ax.plot(np.atleast_1d(gamma[index]), np.atleast_1d(error[index]), color="0.75", zorder=1)
        if label:
            end = (*index, -1)
            ax.annotate(
                label, (gamma[end], error[end]), fontsize=8, textcoords="offset points", xytext=(4, 4)
            )
    points = ax.scatter(
        gamma.ravel(), error.ravel(), c=alpha.ravel(), norm=spread(alpha), cmap="viridis", s=14, zorder=2
    )
    ax.figure.colorbar(points, ax=ax, label=LABELS["alpha"])
    ax.set_xscale("log")
    headline(ax, problem_words(result.task, result.net))
    return finish(ax, "gamma", "test_error")


def draw_lazy(curves: "LazyCurves", ax: Any = None) -> Any:
    """Train (dashed) and test error of the lazy phase against time."""
    shown = np.asarray(curves.t) > 0
    test, train = (
        Band(np.asarray(value)[shown], np.zeros(int(np.sum(shown))), 0.0, 1e-3 * np.asarray(value)[shown])
        for value in (curves.test_error, curves.train_error)
    )
    title = f"lazy phase: {problem_words(curves.task, curves.net)}"
    return draw_errors(curves, np.asarray(curves.t)[shown], test, train, title, ax)[0]
