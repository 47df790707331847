"""The paper's figures, drawn from their data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynafield.figures.style import COLOURS, axes, finish
from dynafield.figures.theory import draw_rate

if TYPE_CHECKING:
    from dynafield.theory.fixed_points import FixedPoint
    from dynafield.theory.rates import ConvergenceRate

__all__ = ["draw_fixed_points", "draw_rates_theory"]


def caption(record: Any) -> str:
    """The numbers a reader needs, in one line."""
    task = record.task
    delta = ", ".join(f"{d:g}" for d in np.ravel(task.delta))
    return f"λ = 0, δ = {delta}, σ = {task.sigma:g}, {task.prior}, depth {record.net.depth}"


def draw_rates_theory(rate: "ConvergenceRate") -> Any:
    """`rates-theory`: γ against α with the limits α²(1 - δ^(-1/2))²."""
    ax = draw_rate(rate)
    ax.set_title(f"Convergence rate\n{caption(rate)}", fontsize=9)
    return ax.figure


def draw_fixed_points(point: "FixedPoint") -> Any:
    """`fixed-points`, theory line: test error at the fixed point against α."""
    ax = axes()
    ax.plot(point.net.alpha, point.test_error, color=COLOURS[0], label="theory, minimum J")
    delta, noise = point.task.delta, point.task.sigma**2
    ridge = (1 - delta) * point.task.prior.second_moment + noise / (1 - delta)
    ax.axhline(ridge, color=COLOURS[1], linestyle=":", label="minimum norm, the limit α → ∞")
    ax.set_xscale("log")
    ax.set_title(f"Test error where training ends\n{caption(point)}", fontsize=9)
    return finish(ax, "alpha", "test_error").figure
