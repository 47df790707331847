"""One look for all figures."""

from typing import Any

__all__ = ["COLOURS", "DEPTH", "LABELS", "SHADES", "SYMBOLS", "axes", "finish"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
"""Told apart with every kind of colour vision (the palette of Okabe and Ito)."""
SHADES = {
    "lazy": "#0b6e99",
    "plateau": "#c9c9c9",
    "grokking": "#d1495b",
    "rich": "#3a7d44",
    "search": "#edae49",
    "descent": "#6a4c93",
    "crossover": "#ffffff",
}
"""Colours of the stages, the same in all figures."""
DEPTH = 1e-5
"""Training errors are drawn down to this share of the largest error, or the test error would be flat."""
SYMBOLS = {"delta": "δ", "sigma": "σ", "alpha": "α", "lam": "λ"}
LABELS = {
    "alpha": r"initial scale $\alpha$",
    "delta": r"samples per dimension $\delta = n/d$",
    "sigma": r"label noise $\sigma$",
    "lam": r"weight decay $\lambda$",
    "test_error": r"test error $C_w + \sigma^2$",
    "train_error": r"training error $C_f$",
    "gamma": r"convergence rate $\gamma$",
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
        ax.legend(frameon=False, fontsize="small")
    return ax
