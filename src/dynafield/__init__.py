"""dynafield: exact learning curves of gradient training in the high-dimensional limit.

Names are imported on first use, so that `import dynafield` costs nothing. JAX computes in double precision
from then on: arguments that it makes before the first call, as in `jax.grad(f)(0.3)`, would lose digits.
Compiled code is kept in the user's cache, so that later processes start faster; DYNAFIELD_KEEP_COMPILED=0
turns that off.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from dynafield.compiled import keep_compiled_code
from dynafield.version import __version__

keep_compiled_code()
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)
else:
    os.environ.setdefault("JAX_ENABLE_X64", "1")

if TYPE_CHECKING:
    from dynafield.dmft.activation import Activation
    from dynafield.dmft.curves import Curves
    from dynafield.dmft.derivatives import CurveDerivative
    from dynafield.dmft.flow_curves import FlowCurves
    from dynafield.dmft.solve import solve
    from dynafield.endpoints.message_passing import MessagePassing, amp
    from dynafield.endpoints.minimizers import Minimizer, basis_pursuit, minimizer
    from dynafield.endpoints.state_evolution import StateEvolution, state_evolution
    from dynafield.errors import FileError, InputError, SolveError
    from dynafield.loading import load
    from dynafield.problem.flows import Flow
    from dynafield.problem.laws import FromNormals
    from dynafield.problem.model import Datum, Model
    from dynafield.problem.models import (
        diagonal_flow,
        huber_flow,
        logistic_flow,
        phase_retrieval_flow,
        ridge_flow,
    )
    from dynafield.problem.networks import DiagonalNetwork, Network, TruncatedDiagonalNetwork
    from dynafield.problem.optimizers import Optax
    from dynafield.problem.priors import (
        Bernoulli,
        Components,
        Discrete,
        Empirical,
        GaussBernoulli,
        Gaussian,
        GaussianMixture,
        Prior,
    )
    from dynafield.problem.spectra import JointLaw, PowerLaw, Spectrum, spectrum_of
    from dynafield.problem.task import Task
    from dynafield.problem.trainers import SGD, GradientDescent, GradientFlow, HeavyBall
    from dynafield.regressor.classifier import DiagonalNetworkClassifier
    from dynafield.regressor.estimator import DiagonalNetworkRegressor
    from dynafield.simulation.flow_runs import FlowRuns
    from dynafield.simulation.learning_path import learning_path, train
    from dynafield.simulation.path_record import LearningPath
    from dynafield.simulation.runs import Runs
    from dynafield.simulation.simulate import simulate, training_data
    from dynafield.studies.comparison import Comparison, compare
    from dynafield.studies.grokking import Grokking, grokking
    from dynafield.studies.optimization import optimize
    from dynafield.studies.optimum import Optimum
    from dynafield.studies.paper.reproduction import Reproduction, reproduce
    from dynafield.studies.phases import phases, plot_phases
    from dynafield.studies.regimes import RegimeMap, regime_map
    from dynafield.studies.scaling import Exponent, ScalingLaw, scaling_law
    from dynafield.studies.study import Study
    from dynafield.studies.sweep import sweep
    from dynafield.theory.fixed_points import FixedPoint, fixed_point
    from dynafield.theory.infinite_data import InfiniteDataCurves, infinite_data_curves, infinite_data_paths
    from dynafield.theory.lazy import LazyCurves, lazy_curves
    from dynafield.theory.phases_record import Measure, Phases, Stage
    from dynafield.theory.rates import ConvergenceRate, convergence_rate
    from dynafield.theory.search import SearchPhase, search_phase
    from dynafield.theory.tradeoffs import Tradeoff, tradeoff

__all__ = [
    "Activation",
    "Bernoulli",
    "Comparison",
    "Components",
    "ConvergenceRate",
    "CurveDerivative",
    "Curves",
    "Datum",
    "DiagonalNetwork",
    "DiagonalNetworkClassifier",
    "DiagonalNetworkRegressor",
    "Discrete",
    "Empirical",
    "Exponent",
    "FileError",
    "FixedPoint",
    "Flow",
    "FlowCurves",
    "FlowRuns",
    "FromNormals",
    "GaussBernoulli",
    "Gaussian",
    "GaussianMixture",
    "GradientDescent",
    "GradientFlow",
    "Grokking",
    "HeavyBall",
    "InfiniteDataCurves",
    "InputError",
    "JointLaw",
    "LazyCurves",
    "LearningPath",
    "Measure",
    "MessagePassing",
    "Minimizer",
    "Model",
    "Network",
    "Optax",
    "Optimum",
    "Phases",
    "PowerLaw",
    "Prior",
    "RegimeMap",
    "Reproduction",
    "Runs",
    "SGD",
    "ScalingLaw",
    "SearchPhase",
    "SolveError",
    "Spectrum",
    "Stage",
    "StateEvolution",
    "Study",
    "Task",
    "Tradeoff",
    "TruncatedDiagonalNetwork",
    "__version__",
    "amp",
    "basis_pursuit",
    "compare",
    "convergence_rate",
    "diagonal_flow",
    "fixed_point",
    "grokking",
    "huber_flow",
    "infinite_data_curves",
    "infinite_data_paths",
    "lazy_curves",
    "learning_path",
    "load",
    "logistic_flow",
    "minimizer",
    "optimize",
    "phase_retrieval_flow",
    "phases",
    "plot_phases",
    "regime_map",
    "reproduce",
    "ridge_flow",
    "scaling_law",
    "search_phase",
    "simulate",
    "solve",
    "spectrum_of",
    "state_evolution",
    "sweep",
    "tradeoff",
    "train",
    "training_data",
]

HOMES = {
    "dynafield.dmft.activation": ("Activation",),
    "dynafield.dmft.curves": ("Curves",),
    "dynafield.dmft.derivatives": ("CurveDerivative",),
    "dynafield.dmft.flow_curves": ("FlowCurves",),
    "dynafield.dmft.solve": ("solve",),
    "dynafield.endpoints.message_passing": ("MessagePassing", "amp"),
    "dynafield.endpoints.minimizers": ("Minimizer", "basis_pursuit", "minimizer"),
    "dynafield.endpoints.state_evolution": ("StateEvolution", "state_evolution"),
    "dynafield.errors": ("FileError", "InputError", "SolveError"),
    "dynafield.loading": ("load",),
    "dynafield.problem.flows": ("Flow",),
    "dynafield.problem.laws": ("FromNormals",),
    "dynafield.problem.model": ("Datum", "Model"),
    "dynafield.problem.models": (
        "diagonal_flow",
        "huber_flow",
        "logistic_flow",
        "phase_retrieval_flow",
        "ridge_flow",
    ),
    "dynafield.problem.networks": ("DiagonalNetwork", "Network", "TruncatedDiagonalNetwork"),
    "dynafield.problem.priors": (
        "Bernoulli",
        "Components",
        "Discrete",
        "Empirical",
        "GaussBernoulli",
        "Gaussian",
        "GaussianMixture",
        "Prior",
    ),
    "dynafield.problem.spectra": ("JointLaw", "PowerLaw", "Spectrum", "spectrum_of"),
    "dynafield.problem.task": ("Task",),
    "dynafield.problem.optimizers": ("Optax",),
    "dynafield.problem.trainers": ("GradientDescent", "GradientFlow", "HeavyBall", "SGD"),
    "dynafield.regressor.classifier": ("DiagonalNetworkClassifier",),
    "dynafield.regressor.estimator": ("DiagonalNetworkRegressor",),
    "dynafield.simulation.flow_runs": ("FlowRuns",),
    "dynafield.simulation.learning_path": ("learning_path", "train"),
    "dynafield.simulation.path_record": ("LearningPath",),
    "dynafield.simulation.runs": ("Runs",),
    "dynafield.simulation.simulate": ("simulate", "training_data"),
    "dynafield.studies.comparison": ("Comparison", "compare"),
    "dynafield.studies.grokking": ("Grokking", "grokking"),
    "dynafield.studies.paper.reproduction": ("Reproduction", "reproduce"),
    "dynafield.studies.optimization": ("optimize",),
    "dynafield.studies.optimum": ("Optimum",),
    "dynafield.studies.phases": ("phases", "plot_phases"),
    "dynafield.studies.regimes": ("RegimeMap", "regime_map"),
    "dynafield.studies.scaling": ("Exponent", "ScalingLaw", "scaling_law"),
    "dynafield.studies.study": ("Study",),
    "dynafield.studies.sweep": ("sweep",),
    "dynafield.theory.fixed_points": ("FixedPoint", "fixed_point"),
    "dynafield.theory.infinite_data": ("InfiniteDataCurves", "infinite_data_curves", "infinite_data_paths"),
    "dynafield.theory.lazy": ("LazyCurves", "lazy_curves"),
    "dynafield.theory.phases_record": ("Measure", "Phases", "Stage"),
    "dynafield.theory.rates": ("ConvergenceRate", "convergence_rate"),
    "dynafield.theory.search": ("SearchPhase", "search_phase"),
    "dynafield.theory.tradeoffs": ("Tradeoff", "tradeoff"),
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return importlib.import_module("dynafield.datasets")
    for home, names in HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'dynafield' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
