"""Numbers, ranges, priors, models and trainers from what a command line or a file can hold."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from dynafield.errors import InputError
from dynafield.problem import models, priors
from dynafield.problem.checks import checked_path, text_of
from dynafield.problem.model import Model
from dynafield.problem.networks import DiagonalNetwork, Network, TruncatedDiagonalNetwork
from dynafield.problem.optimizers import Optax
from dynafield.problem.priors import Prior
from dynafield.problem.spectra import PowerLaw, Spectrum
from dynafield.problem.task import Task
from dynafield.problem.trainers import SGD, GradientDescent, GradientFlow, HeavyBall, Trainer

__all__ = [
    "number",
    "numbers",
    "read_model",
    "read_prior",
    "read_spectrum",
    "read_task",
    "read_trainer",
    "trainer_facts",
    "trainer_of",
]


LONGEST_RANGE = 1_000_000
"""Numbers of a range."""
LARGEST_FILE = 100_000_000
"""Bytes of a file of numbers."""


def number(name: str, text: str) -> float:
    """One number, or InputError naming the option."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, got {text!r}") from None


def numbers(name: str, text: str) -> Any:
    """A float, or an array from `0.1,0.2` or `first:last:count[:log]`."""
    if ":" in text:
        parts = text.split(":")
        if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3] != "log"):
            raise InputError(f"{name} range must be FIRST:LAST:COUNT or FIRST:LAST:COUNT:log, got {text!r}")
        first, last, count = (number(name, part) for part in parts[:3])
        if not (1 <= count <= LONGEST_RANGE and count == int(count) and np.isfinite(last - first)):
            raise InputError(
                f"{name} range must have finite ends and a count ≥ 1, at most {LONGEST_RANGE}, got {text!r}"
            )
        if len(parts) == 4 and not (first > 0 and last > 0):
            raise InputError(f"{name} log range must have positive limits, got {text!r}")
        return (np.geomspace if len(parts) == 4 else np.linspace)(first, last, int(count))
    if "," in text:
        return np.array([number(name, part) for part in text.split(",")])
    return number(name, text)


def read_values(path: str, what: str = "prior") -> Any:
    """Numbers from a text file, an ordinary one of some size."""
    named = checked_path(what, path)
    try:
        if named.exists() and not named.is_file():
            raise InputError(f"{what} empirical:FILE must name an ordinary file, got {path!r}")
        if named.exists() and named.stat().st_size > LARGEST_FILE:
            raise InputError(f"{what} empirical:FILE must have at most {LARGEST_FILE} bytes, got {path!r}")
        return np.loadtxt(named, ndmin=1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} empirical:FILE must name a readable file of numbers: {error}") from None


def read_prior(text: str, files: bool = True) -> Prior:
    """A prior from its text, for example bernoulli:0.1; `files` allows empirical:FILE, which reads one."""
    return read_as("prior", text, lambda: prior_of(text, files))


def read_as(what: str, text: Any, read: Callable[[], Any]) -> Any:
    """What is read from a text; a refusal names it."""
    try:
        return read()
    except InputError as error:
        if str(error).startswith(what):
            raise
        raise InputError(f"{what} {text!r}: {error}") from None


def prior_of(text: str, files: bool) -> Prior:
    """A prior from its text, or InputError."""
    name, _, rest = text_of("prior", text).partition(":")
    parts = [part for part in rest.split(",") if part]
    if name == "empirical" and rest and files:
        return priors.Empirical(read_values(rest).ravel())
    if name == "discrete" and parts:
        pairs = [part.partition("@") for part in parts]
        values, probs = ([number("prior", pair[i]) for pair in pairs] for i in (0, 2))
        return priors.Discrete(values, probs)
    kinds = {
        "bernoulli": priors.Bernoulli,
        "gaussian": priors.Gaussian,
        "gauss-bernoulli": priors.GaussBernoulli,
    }
    if name in kinds and 1 <= len(parts) <= (1 if name == "gaussian" else 2):
        return kinds[name](*(number("prior", part) for part in parts))
    last = ", discrete:VALUE@PROB,… or empirical:FILE" if files else " or discrete:VALUE@PROB,…"
    raise InputError(
        f"prior must be bernoulli:P[,VALUE], gaussian:STD, gauss-bernoulli:P[,STD]{last}, got {text!r}"
    )


def read_spectrum(text: str | None, files: bool = True) -> Spectrum | None:
    """A spectrum from its text, for example power:1.5; `files` allows empirical:FILE, which reads one."""
    if text is None or text == "":
        return None
    return read_as("spectrum", text, lambda: spectrum_of_text(text, files))


def spectrum_of_text(text: str, files: bool) -> Spectrum:
    """A spectrum from its text, or InputError."""
    name, _, rest = text.partition(":")
    parts = [part for part in rest.split(",") if part]
    if name == "power" and 1 <= len(parts) <= 3:
        return PowerLaw(*(number("spectrum", part) for part in parts))
    if name == "groups" and parts and all("@" in part for part in parts):
        pairs = [part.partition("@") for part in parts]
        return Spectrum.groups([(number("spectrum", pair[2]), number("spectrum", pair[0])) for pair in pairs])
    if name == "empirical" and rest and files:
        values = read_values(rest, "spectrum")
        if values.ndim == 2 and values.shape[1] == 2:
            return Spectrum.empirical(values[:, 0], values[:, 1])
        return Spectrum.empirical(values.ravel())
    last = " or empirical:FILE (variances, or variances and targets in two columns)" if files else ""
    raise InputError(
        f"spectrum must be power:EXPONENT[,CUTOFF[,SOURCE]], groups:S@FRACTION,S@FRACTION,…{last}, "
        f"got {text!r}"
    )


def read_task(delta: Any, sigma: Any, prior: str, spectrum: str | None, files: bool = True) -> Task:
    """A task from its numbers and texts; a spectrum with targets of its own needs no prior."""
    inputs = read_spectrum(spectrum, files)
    own = inputs is not None and inputs.own_targets is not None
    return Task(delta, sigma, None if own else read_prior(prior, files), inputs)


def read_model(name: str | None, task: Task, given: dict[str, Any]) -> Model:
    """A diagonal network, or the flow of this name, by those of its numbers that are given."""
    if name is None:
        kind = "a diagonal network"
        allowed, make = ("alpha", "lam", "depth", "M"), network
    elif name in FLOWS:
        kind, (allowed, make) = f"flow {name}", FLOWS[name]
    else:
        raise InputError(f"flow must be one of {', '.join(FLOWS)}, got {name!r}")
    for other in given:
        if other not in allowed:
            raise InputError(f"{other} must not be given: {kind} has {', '.join(allowed)}")
    if name == "phase-retrieval":
        given = given | {"size": np.sqrt(task.prior.second_moment)}
    return make(**given)


def network(alpha: Any = 0.5, lam: Any = 0.0, depth: int = 2, M: float | None = None) -> Network:
    """A diagonal network, truncated where there is a bound."""
    return DiagonalNetwork(alpha, lam, depth) if M is None else TruncatedDiagonalNetwork(alpha, lam, depth, M)


FLOWS = {
    "ridge": (("lam",), models.ridge_flow),
    "logistic": (("lam",), models.logistic_flow),
    "huber": (("lam", "bend"), models.huber_flow),
    "phase-retrieval": (("overlap",), models.phase_retrieval_flow),
}
"""The flows that have a name, with their numbers."""


def read_trainer(step: float | None, momentum: float | None, batch: float | None, **more: Any) -> Trainer:
    """The trainer that a step, a momentum and a batch fraction describe.

    `more` are other options of `GradientDescent`; None and False mean that one is not given.
    """
    given: dict[str, Any] = {"momentum": momentum, "batch_fraction": batch} | more
    given = {name: value for name, value in given.items() if value is not None and value is not False}
    if step is None:
        heat = given.pop("temperature", 0.0)
        for name in given:
            raise InputError(f"{name} needs a step: give one as well")
        return GradientFlow(temperature=heat)
    if set(given) == {"momentum"}:
        return HeavyBall(step, given["momentum"])
    if set(given) == {"batch_fraction"}:
        return SGD(step, given["batch_fraction"])
    return GradientDescent(step, **given)


KINDS = (GradientFlow, GradientDescent, HeavyBall, SGD, Optax)
"""Trainers that a file may name."""


def trainer_facts(trainer: Any, end: float) -> dict[str, Any]:
    """A trainer as attributes of a file: what is not default; a schedule as its steps up to `end`."""
    facts: dict[str, Any] = {"trainer": type(trainer).__name__}
    for field in (one for one in dataclasses.fields(trainer) if one.name not in ("tx", "tol")):
        value = getattr(trainer, field.name)
        if field.name == "step" and trainer.scheduled:
            value = trainer.sizes(len(trainer.times(end)) - 1)
        if field.default is dataclasses.MISSING or value != field.default:
            facts[f"trainer_{field.name}"] = int(value) if isinstance(value, bool) else value
    return facts


def trainer_of(facts: dict[str, Any]) -> Trainer:
    """The trainer that `trainer_facts` described; KeyError for one that is not known."""
    kind = {one.__name__: one for one in KINDS}[facts["trainer"]]
    known = {
        name.removeprefix("trainer_"): value
        for name, value in facts.items()
        if name.startswith("trainer_") and name != "trainer_tol"  # where older files have that of simulate
    }
    given = {name: read_fact(name, value) for name, value in known.items()}
    return kind(**({"tx": None} if kind is Optax else {}), **given)


def read_fact(name: str, value: Any) -> Any:
    """A number of a file: a schedule has several, some are true or false, one is a name."""
    if name == "nesterov":
        return bool(value)
    if name == "name":
        return str(value)
    return float(value) if np.ndim(value) == 0 else np.asarray(value, float)
