"""dynafield: exact learning curves of gradient training in the high-dimensional limit.

What most people need is here; the rest is in named submodules: `models` (flows and networks), `data`
(distributions of targets, spectra of inputs), `datasets` (real data), `theory` (closed forms), `endpoints`
(limits of training on given data), `studies` (many problems at once), `results` (what functions return),
`errors`. Names are imported on first use, so that `import dynafield` costs nothing. JAX computes in double
precision from then on: arguments that it makes before the first call, as in `jax.grad(f)(0.3)`, would lose
digits. Compiled code is kept in the user's cache, so that later processes start faster;
DYNAFIELD_KEEP_COMPILED=0 turns that off.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from dynafield.compiled import keep_compiled_code
from dynafield.lazy import names_on_first_use
from dynafield.version import __version__

keep_compiled_code()
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)
else:
    os.environ.setdefault("JAX_ENABLE_X64", "1")

if TYPE_CHECKING:
    from dynafield import data as data
    from dynafield import datasets as datasets
    from dynafield import endpoints as endpoints
    from dynafield import errors as errors
    from dynafield import models as models
    from dynafield import results as results
    from dynafield import studies as studies
    from dynafield import theory as theory
    from dynafield.dmft.solve import solve
    from dynafield.errors import InputError, SolveError
    from dynafield.loading import load
    from dynafield.problem.flows import Flow
    from dynafield.problem.networks import DiagonalNetwork
    from dynafield.problem.optimizers import Optax
    from dynafield.problem.priors import Bernoulli, Discrete, Empirical, GaussBernoulli, Gaussian
    from dynafield.problem.task import Task
    from dynafield.problem.trainers import SGD, GradientDescent, GradientFlow, HeavyBall
    from dynafield.regressor.classifier import DiagonalNetworkClassifier
    from dynafield.regressor.estimator import DiagonalNetworkRegressor
    from dynafield.simulation.learning_path import learning_path, train
    from dynafield.simulation.simulate import simulate
    from dynafield.studies.comparison import compare
    from dynafield.studies.optimization import optimize
    from dynafield.studies.paper.reproduction import reproduce
    from dynafield.studies.phases import phases
    from dynafield.studies.sweep import sweep
    from dynafield.theory.fixed_points import fixed_point
    from dynafield.theory.rates import convergence_rate
    from dynafield.theory.tradeoffs import tradeoff

__all__ = [
    "Bernoulli",
    "DiagonalNetwork",
    "DiagonalNetworkClassifier",
    "DiagonalNetworkRegressor",
    "Discrete",
    "Empirical",
    "Flow",
    "GaussBernoulli",
    "Gaussian",
    "GradientDescent",
    "GradientFlow",
    "HeavyBall",
    "InputError",
    "Optax",
    "SGD",
    "SolveError",
    "Task",
    "__version__",
    "compare",
    "convergence_rate",
    "fixed_point",
    "learning_path",
    "load",
    "optimize",
    "phases",
    "reproduce",
    "simulate",
    "solve",
    "sweep",
    "tradeoff",
    "train",
]

HOMES = {
    "dynafield.dmft.solve": ("solve",),
    "dynafield.errors": ("InputError", "SolveError"),
    "dynafield.loading": ("load",),
    "dynafield.problem.flows": ("Flow",),
    "dynafield.problem.networks": ("DiagonalNetwork",),
    "dynafield.problem.optimizers": ("Optax",),
    "dynafield.problem.priors": ("Bernoulli", "Discrete", "Empirical", "GaussBernoulli", "Gaussian"),
    "dynafield.problem.task": ("Task",),
    "dynafield.problem.trainers": ("GradientDescent", "GradientFlow", "HeavyBall", "SGD"),
    "dynafield.regressor.classifier": ("DiagonalNetworkClassifier",),
    "dynafield.regressor.estimator": ("DiagonalNetworkRegressor",),
    "dynafield.simulation.learning_path": ("learning_path", "train"),
    "dynafield.simulation.simulate": ("simulate",),
    "dynafield.studies.comparison": ("compare",),
    "dynafield.studies.optimization": ("optimize",),
    "dynafield.studies.paper.reproduction": ("reproduce",),
    "dynafield.studies.phases": ("phases",),
    "dynafield.studies.sweep": ("sweep",),
    "dynafield.theory.fixed_points": ("fixed_point",),
    "dynafield.theory.rates": ("convergence_rate",),
    "dynafield.theory.tradeoffs": ("tradeoff",),
}

SUBMODULES = ("data", "datasets", "endpoints", "errors", "models", "results", "studies", "theory")

named = names_on_first_use(__name__, HOMES | {"dynafield.studies.phases": ("phases", "plot_phases")})


def __getattr__(name: str) -> Any:
    if name in SUBMODULES:
        return importlib.import_module(f"dynafield.{name}")
    if name.startswith("_") or name in __all__:
        value = globals()[name] = named(name)
        return value
    return moved(name)


def moved(name: str) -> Any:
    """A public name that was here before it had a submodule of its own."""
    from dynafield.deprecation import warn_of

    for home in SUBMODULES:
        module = importlib.import_module(f"dynafield.{home}")
        if name in module.__all__:
            warn_of(f"df.{name} is now df.{home}.{name}")
            return getattr(module, name)
    return named(name)


def __dir__() -> list[str]:
    return sorted([*__all__, *SUBMODULES])
