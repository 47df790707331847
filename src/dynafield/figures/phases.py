"""Figures of the stages of training."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, DEPTH, SHADES, axes, finish
from dynafield.figures.theory import curves_of, spread, titled
from dynafield.records.problems import described

if TYPE_CHECKING:
    from dynafield.dmft.activation import Activation
    from dynafield.studies.grokking import Grokking
    from dynafield.studies.phases import Overlay, Reading
    from dynafield.studies.regimes import RegimeMap
    from dynafield.theory.infinite_data import InfiniteDataCurves
    from dynafield.theory.phases import Phases
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

NARROW = 0.1
"""Names of stages that take less than this share of the axis are written upwards."""


def draw_phases(
    found: "Phases",
    seen: "Reading",
    overlays: "list[Overlay]",
    active: "tuple[Activation, dict[bool, np.ndarray]] | None",
    ax: Any = None,
) -> Any:
    """Both errors against log t over shaded stages, closed forms dotted; below, active shares."""
    below = None
    if ax is None and active is not None:
        import matplotlib.pyplot as plt

        _, (ax, below) = plt.subplots(
            2, 1, figsize=(6.4, 5.4), sharex=True, layout="constrained", height_ratios=(3, 2)
        )
    ax = axes(ax, (6.4, 4.0))
    ax.plot(seen.t, seen.test_error, color=COLOURS[0], label="test error")
    ax.plot(seen.t, seen.train_error, color=COLOURS[1], linestyle="--", label="training error")
    for k, overlay in enumerate(overlays):
        style = dict(linestyle=":", color="black", linewidth=2)
        ax.plot(overlay.t, overlay.test_error, label="closed forms" if k == 0 else None, **style)
        if overlay.train_error is not None:
            ax.plot(overlay.t, overlay.train_error, **style)
    for measure in found.measured:
        if measure.name == "grokking_time" and np.isfinite(measure.value):
            ax.axvline(measure.value, color=SHADES["grokking"], linewidth=1, label="half-way, measured")
            if (lead := 2 * np.log(found.net.alpha) / found.net.lam) > 0:
                ax.axvline(lead, color=SHADES["grokking"], linewidth=1, linestyle="--", label="2 log(α)/λ")
        if measure.name == "best_stop":
            least = np.interp(measure.value, seen.t, seen.test_error)
            ax.plot(measure.value, least, "o", color=COLOURS[0], markersize=5, label="best stop")
    ax.set_xscale("log")
    ax.set_yscale("log")
    top = float(max(np.max(seen.test_error), np.max(seen.train_error)))
    bottom = max(float(np.min(seen.train_error)), DEPTH * top)
    ax.set_ylim(0.7 * bottom, 3 * top)
    ax.set_xlim(seen.t[0], seen.t[-1])
    shade([stage[:3] for stage in found.stages], ax, named=True)
    task = f"δ = {found.task.delta:g}, σ = {found.task.sigma:g}, {found.task.prior}{found.task.inputs}"
    ax.set_title(f"{found.regime}: {described(found.net)}, {task}", fontsize=8)
    finish(ax, "training time t", "error")
    if below is not None and active is not None:
        draw_activation(active[0], below)
        for k, expected in enumerate(active[1].values()):
            label = "closed form, fields of t = 0" if k == 0 else None
            below.plot(seen.t, expected, color="black", linestyle=":", linewidth=2, label=label)
        below.legend(frameon=False, fontsize=9)
        shade([stage[:3] for stage in found.stages], below, named=False)
        ax.set_xlabel("")
    return ax


def shade(stages: list[tuple[str, float, float]], ax: Any, named: bool) -> None:
    """Stages (name, start, end) as shaded stretches of time, with their names along the top."""
    first, last = ax.get_xlim()
    for name, start, end in stages:
        low, high = max(start, first), min(end, last)
        if low >= high:
            continue
        ax.axvspan(low, high, color=SHADES[name], alpha=0.12, linewidth=0)
        share = np.log(high / low) / np.log(last / first)
        if named and share > 0.04:
            ax.text(np.sqrt(low * high), 0.985, name, fontsize=8, ha="center", va="top",
                    rotation=0 if share > NARROW else 90, transform=ax.get_xaxis_transform())  # fmt: skip


def draw_activation(active: "Activation", ax: Any = None) -> Any:
    """Shares of true and false coordinates that are active, with bands of two standard errors."""
    ax = axes(ax)
    seen = active.time[np.isfinite(active.time) & (active.time > 0)]
    first = 0.5 * float(np.min(seen)) if len(seen) else 1e-3 * active.t_max
    t = np.geomspace(min(first, 0.5 * active.t_max), active.t_max, 300)
    for true, name, colour in ((True, "true (w* ≠ 0)", COLOURS[3]), (False, "false (w* = 0)", COLOURS[1])):
        share, error = active.active(t, true)
        if np.all(np.isnan(share)):
            continue
        ax.plot(t, share, color=colour, label=name)
        ax.fill_between(t, share - 2 * error, share + 2 * error, color=colour, alpha=0.2, linewidth=0)
    ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.02)
    return finish(ax, "training time t", f"share with |w| ≥ {active.level:g}")


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
    ax.set_title(f"δ → ∞, {curves.prior}, α = {net.alpha:g}, λ = {net.lam:g}, depth {net.depth}", fontsize=9)
    return finish(ax, "training time t", "error")


def draw_grokking(result: "Grokking", ax: Any = None) -> Any:
    """Test errors against t - 2 log(α)/λ: they fall on one curve."""
    import matplotlib as mpl

    ax = axes(ax)
    alphas, lam = np.ravel(result.net.alpha), float(result.net.lam)
    colours = mpl.colormaps["viridis_r"](np.linspace(0.1, 1, len(alphas)))
    for k, (alpha, colour) in enumerate(zip(alphas, colours, strict=True)):
        label = f"α = {alpha:g}, half-way at {np.asarray(result.shift)[k]:.2f}"
        ax.plot(result.offset, np.asarray(result.test_error)[k], color=colour, label=label)
    ax.axhline(0.5 * (result.plateau + result.end), color="0.6", linestyle=":", linewidth=1, label="half-way")
    task = result.task
    ax.set_title(
        f"{task.prior}{task.inputs}, δ = {task.delta:g}, σ = {task.sigma:g}, λ = {lam:g}", fontsize=9
    )
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
    ax.set_title(
        f"stage and test error at t = {result.t_max:g}: δ = {result.task.delta:g}, "
        f"σ = {result.task.sigma:g}, {result.task.prior}{result.task.inputs}, depth {result.net.depth}",
        fontsize=8,
    )
    finish(ax, "alpha", "lam", legend=False)
    ax.legend(handles=patches, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return ax
