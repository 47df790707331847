"""Figures of the stages of training."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.errors import THIN, Band, draw_band, mark_least, test_panel
from dynafield.figures.style import (
    COLOURS,
    SHADES,
    axes,
    error_scale,
    finish,
    headline,
    spread,
    titled,
)
from dynafield.figures.theory import curves_of
from dynafield.records.problems import problem_words

if TYPE_CHECKING:
    from dynafield.dmft.results.activation import Activation
    from dynafield.studies.grokking_times import Grokking
    from dynafield.studies.regimes import RegimeMap
    from dynafield.theory.infinite_data import InfiniteDataCurves
    from dynafield.theory.phases_record import Active, Phases, Seen
    from dynafield.theory.search import SearchPhase

__all__ = [
    "draw_activation",
    "draw_grokking",
    "draw_infinite_data",
    "draw_phases",
    "draw_regimes",
    "draw_search",
    "shade",
]

DOTTED: dict[str, Any] = {"linestyle": ":", "color": "black", "linewidth": 2}
"""Closed forms."""
TINY = 0.04
"""Names of stages that take less than this fraction of the axis are in the legend."""
NARROW = 0.1
"""Names of stages that take less than this fraction of the axis are written upwards."""


def draw_phases(found: "Phases", ax: Any = None) -> Any:
    """Both errors against log t over shaded stages, closed forms dotted; without a curve, these alone.

    Unless `ax` is given there are further panels below: the test error on a linear scale, and how many
    coordinates are active, if that is known.
    """
    if found.seen is None:
        return draw_closed_forms(found, axes(ax, (6.4, 4.0)))
    seen, active = found.seen, found.active
    panels = phase_panels(active is not None) if ax is None else [ax]
    ax = panels[0]
    draw_seen(ax, seen, COLOURS)
    draw_forms(found, ax, ("test_error", "train_error"))
    for measure in found.measured:
        if measure.name == "grokking_time" and np.isfinite(measure.value):
            ax.axvline(measure.value, color=SHADES["grokking"], linewidth=1, label="half-way, measured")
            if (lead := 2 * np.log(found.net.alpha) / found.net.lam) > 0:
                ax.axvline(lead, color=SHADES["grokking"], linewidth=1, linestyle="--", label="2 log(α)/λ")
        if measure.name == "best_stop" and measure.value < seen.t[-1]:  # at the end it is not seen yet
            least = np.interp(measure.value, seen.t, seen.test_error)
            ax.plot(measure.value, least, "o", color=COLOURS[0], markersize=5, label="best stop")
    both = np.concatenate([seen.test_error, seen.train_error])
    error_scale(ax, float(np.min(both)), float(np.max(both)))
    ax.set_ylim(top=4 * float(np.max(both)))  # room for the names of stages
    ax.set_xscale("log")
    ax.set_xlim(seen.t[0], seen.t[-1])
    shade([stage[:3] for stage in found.stages], ax, named=True)
    headline(ax, f"{found.regime}: {problem_words(found.task, found.net)}")
    finish(ax, "training time t", "error")
    if len(panels) > 1:
        draw_linear(found, seen, panels[1])
    if len(panels) > 2 and active is not None:
        draw_active(found, active, panels[2])
    for panel in panels[:-1]:
        panel.set_xlabel("")
    return ax


def phase_panels(active: bool) -> list[Any]:
    """Two panels with one axis of time, or three if active coordinates are shown."""
    import matplotlib.pyplot as plt

    rows = (3, 2, 2) if active else (3, 2)
    size = (6.4, 7.4 if active else 5.8)
    return list(
        plt.subplots(len(rows), 1, figsize=size, sharex=True, layout="constrained", height_ratios=rows)[1]
    )


def draw_seen(ax: Any, seen: "Seen", colours: tuple[str, ...]) -> None:
    """Both errors with bands of two estimated errors, thin below what the tolerance resolves."""
    thin = False
    for value, error, words, colour, line in (
        (seen.test_error, seen.test_error_se, "test error", colours[0], "-"),
        (seen.train_error, seen.train_error_se, "training error", colours[1], "--"),
    ):
        floor = np.maximum(seen.floor, 2 * error)
        thin = draw_band(ax, seen.t, Band(value, 2 * error, floor, 0.0), colour, line, words) or thin
    if thin:
        ax.plot([], [], color="0.4", label="below tol" if seen.floor else "not resolved", **THIN)


def draw_linear(found: "Phases", seen: "Seen", ax: Any) -> None:
    """The test error on a linear scale over shaded stages, with its least value and closed forms."""
    error = seen.test_error_se
    curve = Band(seen.test_error, 2 * error, seen.floor, 4 * error).at(())
    draw_band(ax, seen.t, curve, COLOURS[0], "-", "test error")
    mark_least(ax, seen.t, curve, COLOURS[0])
    finish(ax, "training time t", "test error")
    test_panel(ax, ())
    draw_forms(found, ax, ("test_error",))
    shade([stage[:3] for stage in found.stages], ax, named=False)


def draw_forms(found: "Phases", ax: Any, names: tuple[str, ...]) -> None:
    """Closed forms of errors in their stages, dotted."""
    for k, form in enumerate(found.forms):
        for name in names:
            label = "closed forms" if k == 0 and name == names[0] else None
            ax.plot(form.t, getattr(form, name), label=label, **DOTTED)


def draw_closed_forms(found: "Phases", ax: Any) -> Any:
    """The stages and their closed forms, where no curve was solved."""
    draw_forms(found, ax, ("test_error", "train_error"))
    ax.set_xscale("log")
    ax.set_xlim(1e-5 * found.horizon, found.horizon)
    values = np.concatenate([np.append(form.test_error, form.train_error) for form in found.forms] or [[1.0]])
    values = values[np.isfinite(values)]
    error_scale(ax, float(np.min(values)), float(np.max(values)))
    ax.set_ylim(top=4 * float(np.max(values)))  # room for the names of stages
    shade([stage[:3] for stage in found.stages], ax, named=True)
    headline(ax, f"{found.regime}: {problem_words(found.task, found.net)}")
    return finish(ax, "training time t", "error")


def draw_active(found: "Phases", active: "Active", ax: Any) -> None:
    """Fractions of active coordinates over shaded stages, with closed forms."""
    draw_fractions(active.t, (active.true, active.true_se), (active.false, active.false_se), active.level, ax)
    for k, expected in enumerate((active.true_expected, active.false_expected)):
        ax.plot(active.t, expected, label="closed form, fields of t = 0" if k == 0 else None, **DOTTED)
    ax.legend(frameon=False, fontsize="small")
    shade([stage[:3] for stage in found.stages], ax, named=False)


def shade(stages: list[tuple[str, float, float]], ax: Any, named: bool) -> None:
    """Stages (name, start, end) as shaded stretches of time, with their names along the top."""
    first, last = ax.get_xlim()
    for name, start, end in stages:
        low, high = max(start, first), min(end, last)
        if low >= high:
            continue
        share = np.log(high / low) / np.log(last / first)
        label = name if named and share <= TINY else None  # no room for its name: to the legend
        ax.axvspan(low, high, color=SHADES[name], alpha=0.12, linewidth=0, label=label)
        if named and share > TINY:
            ax.text(np.sqrt(low * high), 0.985, name, fontsize=8, ha="center", va="top",
                    rotation=0 if share > NARROW else 90, transform=ax.get_xaxis_transform())  # fmt: skip


def draw_activation(active: "Activation", ax: Any = None) -> Any:
    """Fractions of true and false coordinates that are active, with bands of two standard errors."""
    ax = axes(ax)
    t = np.geomspace(active.first_time, active.t_max, 300)
    draw_fractions(t, active.active(t, True), active.active(t, False), active.level, ax)
    if active.problem:
        headline(ax, active.problem)
    return ax


def draw_fractions(t: np.ndarray, true: Any, false: Any, level: float, ax: Any) -> None:
    """Fractions of coordinates, each a pair of values and standard errors; NaN where there are none."""
    kinds = ((true, "true (w* ≠ 0)", COLOURS[3]), (false, "false (w* = 0)", COLOURS[1]))
    for (fraction, error), name, colour in kinds:
        if not np.all(np.isnan(fraction)):
            ax.plot(t, fraction, color=colour, label=name)
            band = (fraction - 2 * error, fraction + 2 * error)
            ax.fill_between(t, *band, color=colour, alpha=0.2, linewidth=0)
    ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.02)
    finish(ax, "training time t", f"fraction with |w| ≥ {level:g}")


def draw_search(result: "SearchPhase", ax: Any = None) -> Any:
    """One problem: densities of the fields. Several: probabilities along the axis."""
    ax = axes(ax)
    if result.shape:
        x, values, curves = curves_of(result)
        lines = (("true_growing", "true grow", "-"), ("false_growing", "false grow", "--"),
                 ("ordering", "true faster than false", ":"))  # fmt: skip
        for (label, index), colour in zip(curves, np.resize(COLOURS, len(curves)), strict=True):
            for name, what, line in lines:
                probability = np.asarray(getattr(result, name))[index]
                if not np.all(np.isnan(probability)):
                    ax.plot(values, probability, color=colour, linestyle=line, label=titled(what, label))
        ax.set_xscale(spread(values))
        ax.set_ylim(-0.02, 1.02)
        headline(ax, f"search phase: {problem_words(result.task, result.net)}")
        return finish(ax, x, "probability")
    law = result.law()
    fields, true = law.fields, law.true
    reach = np.max(np.abs(fields.mean) + 4 * fields.std)
    h = np.linspace(-reach, reach, 801)
    for kind, name, colour in ((True, "true", COLOURS[3]), (False, "false", COLOURS[1])):
        if np.any(true == kind):
            ax.plot(h, law.field_density(h, kind), color=colour, label=f"{name} coordinates")
    if law.threshold > 0:
        for sign in (-1, 1):
            label = "threshold of growth" if sign > 0 else None
            ax.axvline(sign * law.threshold, color="0.3", linestyle=":", label=label)
    headline(ax, f"search phase: {problem_words(result.task, result.net)}")
    return finish(ax, "field w* - z(0)/δ", "density")


def draw_infinite_data(curves: "InfiniteDataCurves", ax: Any = None) -> Any:
    """The exact error, and its closed forms."""
    ax = axes(ax)
    ax.plot(curves.t, curves.test_error, color="0.75", linewidth=4, label="exact")
    for (name, values), colour in zip(curves.forms.items(), COLOURS, strict=False):
        ax.plot(curves.t, values, color=colour, linestyle="--", label=name)
    top = float(np.max(curves.test_error))
    ax.set_ylim(-0.05 * top, 1.3 * top)
    ax.set_xscale("log")
    net = curves.net
    numbers = f"σ = {curves.sigma:g}, α = {net.alpha:g}, λ = {net.lam:g}, depth {net.depth}"
    headline(ax, f"δ → ∞, {curves.prior}, {numbers}")
    return finish(ax, "training time t", "error")


def draw_grokking(result: "Grokking", ax: Any = None) -> Any:
    """Test errors against t - 2 log(α)/λ: they fall on one curve."""
    import matplotlib as mpl

    ax = axes(ax)
    alphas = np.ravel(result.net.alpha)
    colours = mpl.colormaps["viridis_r"](np.linspace(0.1, 1, len(alphas)))
    for k, (alpha, colour) in enumerate(zip(alphas, colours, strict=True)):
        label = f"α = {alpha:g}, half-way at {np.asarray(result.shift)[k]:.2f}"
        curve = np.asarray(result.test_error)[k]
        ax.plot(result.offset, curve, color=colour, label=label)
        if result.test_error_se is not None:
            error = 2 * np.asarray(result.test_error_se)[k]
            ax.fill_between(result.offset, curve - error, curve + error, color=colour, alpha=0.2, linewidth=0)
    ax.axhline(0.5 * (result.plateau + result.end), color="0.6", linestyle=":", linewidth=1, label="half-way")
    ax.set_ylim(0.0, 1.15 * float(np.nanmax(result.test_error)))
    headline(ax, f"grokking: {problem_words(result.task, result.net)}")
    return finish(ax, "t - 2 log(α)/λ", "test_error")


def draw_regimes(result: "RegimeMap", ax: Any = None) -> Any:
    """The (α, λ) plane coloured by stage, with contours of the test error."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ax = axes(ax, (6.0, 4.4))
    names = list(SHADES)
    alpha, lam = np.ravel(result.net.alpha), np.ravel(result.net.lam)
    number = np.vectorize(names.index)(np.asarray(result.stage))
    ax.pcolormesh(alpha, lam, number.T, cmap=ListedColormap(list(SHADES.values())), vmin=-0.5,
                  vmax=len(names) - 0.5, alpha=0.45, shading="nearest")  # fmt: skip
    ax.set_xscale(spread(alpha))
    ax.set_yscale(spread(lam))
    if min(len(alpha), len(lam)) > 1:
        error = np.asarray(result.test_error).T
        ax.clabel(ax.contour(alpha, lam, error, levels=8, colors="black", linewidths=0.8), fontsize=7)
    present = [name for name in names if np.any(number == names.index(name))]
    patches = [Patch(facecolor=SHADES[name], alpha=0.45, edgecolor="0.7", label=name) for name in present]
    told = problem_words(result.task, result.net)
    headline(ax, f"stage and test error at t = {result.t_max:g}: {told}", size=8.0)
    finish(ax, "alpha", "lam", legend=False)
    ax.legend(handles=patches, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return ax
