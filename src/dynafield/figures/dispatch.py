"""Which function draws which record: `record.plot()` comes here."""

import importlib
from typing import Any

from dynafield.errors import InputError

__all__ = ["draw_record"]

DRAWINGS = {
    ("Activation", "plot"): "phases.draw_activation",
    ("Comparison", "plot"): "comparison.draw_both",
    ("ConvergenceRate", "plot"): "theory.draw_rate",
    ("CurveDerivative", "plot"): "dmft.draw_derivative",
    ("Curves", "plot"): "dmft.draw_curves",
    ("FixedPoint", "plot"): "theory.draw_fixed_point",
    ("FlowCurves", "plot"): "dmft.draw_curves",
    ("Grokking", "plot"): "phases.draw_grokking",
    ("InfiniteDataCurves", "plot"): "phases.draw_infinite_data",
    ("LazyCurves", "plot"): "theory.draw_lazy",
    ("LearningPath", "plot"): "learning_path.draw_learning_path",
    ("LearningPath", "plot_weights"): "learning_path.draw_weights",
    ("MessagePassing", "plot"): "endpoints.draw_iterations",
    ("Minimizer", "plot"): "endpoints.draw_minimizer",
    ("Optimum", "plot"): "optimization.draw_optimum",
    ("Phases", "plot"): "phases.draw_phases",
    ("RegimeMap", "plot"): "phases.draw_regimes",
    ("RunsRecord", "plot"): "simulation.draw_runs",
    ("ScalingLaw", "plot"): "scaling.draw_scaling",
    ("SearchPhase", "plot"): "phases.draw_search",
    ("StateEvolution", "plot"): "endpoints.draw_iterations",
    ("Tradeoff", "plot"): "theory.draw_tradeoff",
}
"""Functions of (record, ax) in this room, by the class of the record, or one that it inherits, and method."""


def draw_record(record: Any, ax: Any = None, what: str = "plot") -> Any:
    """Draw a record on `ax`, or on new axes, and return them."""
    for kind in type(record).__mro__:
        if (kind.__name__, what) in DRAWINGS:
            module, function = DRAWINGS[kind.__name__, what].split(".")
            return getattr(importlib.import_module(f"dynafield.figures.{module}"), function)(record, ax)
    raise InputError(f"{type(record).__name__} has no picture: give it a method plot(self, ax=None)")
