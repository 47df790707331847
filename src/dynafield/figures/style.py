"""One look for all figures."""

from typing import Any

__all__ = ["COLOURS", "LABELS", "axes", "finish"]

COLOURS = ("#0b6e99", "#d1495b", "#edae49", "#3a7d44", "#6a4c93", "#555555")
LABELS = {
    "alpha": "initial scale α",
    "delta": "samples per dimension δ = n/d",
    "sigma": "label noise σ",
    "lam": "weight decay λ",
    "test_error": "test error C_w + σ²",
    "train_error": "training error C_f",
    "gamma": "convergence rate γ",
}


def axes(ax: Any = None, size: tuple[float, float] = (5.2, 3.6)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def finish(ax: Any, x: str, y: str, legend: bool = True) -> Any:
    """Labels, a quiet grid, a legend if there is anything in it."""
    ax.set_xlabel(LABELS.get(x, x))
    ax.set_ylabel(LABELS.get(y, y))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=9)
    return ax
