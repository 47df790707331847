"""What functions return: results that print, plot, save, load, and become xarray data sets or data frames."""

from typing import TYPE_CHECKING

from dynafield.lazy import names_on_first_use

if TYPE_CHECKING:
    from dynafield.dmft.differentiation.derivatives import CurveDerivative
    from dynafield.dmft.results.activation import Activation
    from dynafield.dmft.results.curves import Curves
    from dynafield.dmft.results.flow_curves import FlowCurves
    from dynafield.endpoints.evolution import StateEvolution
    from dynafield.endpoints.message_passing import MessagePassing
    from dynafield.endpoints.minimizers import Minimizer
    from dynafield.simulation.flow_runs import FlowRuns
    from dynafield.simulation.path_record import LearningPath
    from dynafield.simulation.runs import Runs
    from dynafield.studies.comparison import Comparison
    from dynafield.studies.grokking_times import Grokking
    from dynafield.studies.optimum import Optimum
    from dynafield.studies.paper.reproduction import Reproduction
    from dynafield.studies.regimes import RegimeMap
    from dynafield.studies.scaling import Exponent, ScalingLaw
    from dynafield.theory.fixed_points import FixedPoint
    from dynafield.theory.infinite_data import InfiniteDataCurves
    from dynafield.theory.lazy import LazyCurves
    from dynafield.theory.phases_record import Measure, Phases, Stage
    from dynafield.theory.rates import ConvergenceRate
    from dynafield.theory.search import SearchPhase
    from dynafield.theory.tradeoffs import Tradeoff

__all__ = [
    "Activation",
    "Comparison",
    "ConvergenceRate",
    "CurveDerivative",
    "Curves",
    "Exponent",
    "FixedPoint",
    "FlowCurves",
    "FlowRuns",
    "Grokking",
    "InfiniteDataCurves",
    "LazyCurves",
    "LearningPath",
    "Measure",
    "MessagePassing",
    "Minimizer",
    "Optimum",
    "Phases",
    "RegimeMap",
    "Reproduction",
    "Runs",
    "ScalingLaw",
    "SearchPhase",
    "Stage",
    "StateEvolution",
    "Tradeoff",
]

__getattr__ = names_on_first_use(
    __name__,
    {
        "dynafield.dmft.results.activation": ("Activation",),
        "dynafield.dmft.results.curves": ("Curves",),
        "dynafield.dmft.differentiation.derivatives": ("CurveDerivative",),
        "dynafield.dmft.results.flow_curves": ("FlowCurves",),
        "dynafield.endpoints.evolution": ("StateEvolution",),
        "dynafield.endpoints.message_passing": ("MessagePassing",),
        "dynafield.endpoints.minimizers": ("Minimizer",),
        "dynafield.simulation.flow_runs": ("FlowRuns",),
        "dynafield.simulation.path_record": ("LearningPath",),
        "dynafield.simulation.runs": ("Runs",),
        "dynafield.studies.comparison": ("Comparison",),
        "dynafield.studies.grokking_times": ("Grokking",),
        "dynafield.studies.optimum": ("Optimum",),
        "dynafield.studies.paper.reproduction": ("Reproduction",),
        "dynafield.studies.regimes": ("RegimeMap",),
        "dynafield.studies.scaling": ("Exponent", "ScalingLaw"),
        "dynafield.theory.fixed_points": ("FixedPoint",),
        "dynafield.theory.infinite_data": ("InfiniteDataCurves",),
        "dynafield.theory.lazy": ("LazyCurves",),
        "dynafield.theory.phases_record": ("Measure", "Phases", "Stage"),
        "dynafield.theory.rates": ("ConvergenceRate",),
        "dynafield.theory.search": ("SearchPhase",),
        "dynafield.theory.tradeoffs": ("Tradeoff",),
    },
)
