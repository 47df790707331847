"""Scaling laws: excess errors with their fitted powers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, axes, finish, headline
from dynafield.records.problems import described

if TYPE_CHECKING:
    from dynafield.studies.scaling import ScalingLaw

__all__ = ["draw_scaling"]

NAMES = {
    "time": "training time t",
    "samples": "samples per dimension δ",
    "compute": "compute tδ (steps × batch × d / d², step 1)",
}


def draw_scaling(law: "ScalingLaw", ax: Any = None) -> Any:
    """One panel for each of time, samples and compute there is, or the first of them into `ax`."""
    import matplotlib.pyplot as plt

    panels = law.along
    if ax is not None or len(panels) < 2:
        ax = panel(law, panels[0] if panels else "time", axes(ax))
        headline(ax, words(law))
        return ax
    _, every = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 4.0), layout="constrained", sharey=True
    )
    for one, along in zip(every, panels, strict=True):
        panel(law, along, one)
    headline(every[0], words(law), whole=True)
    return every


def words(law: "ScalingLaw") -> str:
    """The task and the models, for a title."""
    nets = "; ".join(f"{name}: {described(net)}" for name, net in law.nets.items())
    return f"{law.task.prior}{law.task.inputs}, σ = {float(law.task.sigma):g}. {nets}"


def panel(law: "ScalingLaw", along: str, ax: Any) -> Any:
    """Excess error against one of them: points with error bars, lines for the fits."""
    for net, colour in zip(law.nets, np.resize(COLOURS, len(law.nets)), strict=True):
        x, excess, error = law.curve(net, along)
        shown = np.isfinite(excess) & (excess > 0)
        ax.errorbar(x[shown], excess[shown], np.minimum(error, 0.99 * excess)[shown], fmt=".", color=colour)
        fit = law.exponents.get((net, along))
        label = net if fit is None else f"{net}: −{fit.value:.2f} ± {fit.error:.2f}"
        place = x if fit is None else np.geomspace(fit.low, fit.high, 50)
        ax.plot(place, excess if fit is None else fit.at(place), color=colour, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    return finish(ax, NAMES[along], "excess test error $E_{test} - \\sigma^2$")
