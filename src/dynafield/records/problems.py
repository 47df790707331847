"""A task and a network as labelled data, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dynafield.errors import FileError
from dynafield.problem import priors
from dynafield.problem.checks import index_of
from dynafield.problem.flows import Flow, SavedFlow
from dynafield.problem.model import at_problem
from dynafield.problem.networks import DiagonalNetwork, Network, TruncatedDiagonalNetwork
from dynafield.problem.priors import GaussianMixture, Prior
from dynafield.problem.spectra import EmpiricalSpectrum, Groups, PowerLaw, Spectrum
from dynafield.problem.task import Task
from dynafield.records.axes import PARAMETERS, parameter_axes, spans
from dynafield.records.text import show

__all__ = [
    "add_problem",
    "described",
    "model_facts",
    "parameters",
    "problem_at",
    "problem_words",
    "read_model",
    "read_problem",
]


MARKS = {"delta": "δ", "sigma": "σ", "alpha": "α", "lam": "λ"}
"""Parameters as they are written."""


def parameters(task: Task, net: Any) -> dict[str, np.ndarray]:
    """The numbers of a problem by name: δ and σ, and those of a model, such as α and λ of a network."""
    values = dict(delta=task.delta, sigma=task.sigma) | net.numbers()
    return {name: np.asarray(value) for name, value in values.items()}


def problem_at(task: Task, net: Any, index: tuple[int, ...]) -> tuple[Task, Any]:
    """One problem of several, in plain numbers."""
    values = parameters(task, net)
    shape = np.broadcast_shapes(*(v.shape for v in values.values()))
    place = np.unravel_index(index_of(index, shape), shape)
    one = {name: float(np.broadcast_to(v, shape)[place]) for name, v in values.items()}
    alone = task.at(one.pop("delta"), one.pop("sigma"))
    return alone, SavedFlow(net.name, one) if isinstance(net, SavedFlow) else at_problem(net, shape, place)


def described(net: Any) -> str:
    """A network or a flow in a few words."""
    if not isinstance(net, Network):
        return net.name
    bound = f" M={net.M:g}" if isinstance(net, TruncatedDiagonalNetwork) else ""
    return f"α={show(net.alpha, 6)} λ={show(net.lam, 6)} depth {net.depth}{bound}"


def problem_words(task: Task, net: Any) -> str:
    """Prior, inputs, model, and those numbers of a problem that do not vary, as the title of a figure."""
    if isinstance(net, Network):
        model = [f"depth {net.depth}"]
        model += [f"M = {net.M:g}"] if isinstance(net, TruncatedDiagonalNetwork) else []
    else:
        model = [net.name]
    fixed = [
        f"{MARKS.get(name, name)} = {value.item():.4g}"
        for name, value in parameters(task, net).items()
        if not value.ndim and f"{MARKS.get(name, name)}=" not in model[0]  # a flow's name may say it
    ]
    return ", ".join([f"{task.prior}{task.inputs}", *fixed, *model])


def add_problem(data: xr.Dataset, task: Task, net: Any) -> xr.Dataset:
    """`data` with the parameters as coordinates and the prior as variables."""
    values = parameters(task, net)
    axes, along = parameter_axes(values), spans(values)
    shape = np.broadcast_shapes(*(v.shape for v in values.values()))
    for name, value in values.items():
        dims = tuple(axes[i] for i in along[name])
        data.coords[name] = (dims, value.reshape([shape[i] for i in along[name]]))
    data.attrs |= {"axes": " ".join(axes)} | model_facts(net)
    kind = type(task.prior)
    ours = kind.__module__ == priors.__name__
    data.attrs["prior"] = kind.__name__ if ours else f"own {kind.__name__}"
    for field, value in vars(task.prior).items() if ours else ():
        entries = np.asarray(value)
        data[f"prior_{field}"] = ((f"prior_{field}_entry",) * entries.ndim, entries)
    for field, value in task.prior.components._asdict().items():
        data[f"mixture_{field}"] = ("mixture_component", value)
    return data if task.spectrum is None else add_spectrum(data, task)


def model_facts(net: Any) -> dict[str, Any]:
    """What a file says of a network or flow, but for its numbers."""
    if not isinstance(net, Network):
        return {"network": Flow.__name__, "flow": net.name, "numbers": " ".join(net.numbers())}
    bound = {"M": net.M} if isinstance(net, TruncatedDiagonalNetwork) else {}
    return {"network": type(net).__name__, "depth": net.depth} | bound


def add_spectrum(data: xr.Dataset, task: Task) -> xr.Dataset:
    """`data` with the variances of the features; a spectrum of the user's own is kept as its strata."""
    spectrum = task.spectrum
    if isinstance(spectrum, PowerLaw):
        numbers = {name: value for name, value in vars(spectrum).items() if value is not None}
        return data.assign_attrs(
            {"spectrum": "power law"} | {f"spectrum_{k}": float(v) for k, v in numbers.items()}
        )
    if isinstance(spectrum, EmpiricalSpectrum):
        data["spectrum_variance"] = ("spectrum_feature", spectrum.values)
        if spectrum.w_star is not None:
            data["spectrum_target"] = ("spectrum_feature", spectrum.w_star)
        return data.assign_attrs(spectrum="empirical", spectrum_rotated=int(spectrum.rotated))
    if isinstance(spectrum, Groups) and spectrum.priors is None:
        data["spectrum_share"] = ("spectrum_group", spectrum.shares)
        data["spectrum_variance"] = ("spectrum_group", spectrum.values)
        return data.assign_attrs(spectrum="groups")
    for field, value in task.law._asdict().items():
        data[f"spectrum_{field}"] = ("spectrum_stratum", np.asarray(value, float))
    return data.assign_attrs(spectrum="strata")


def read_spectrum(data: xr.Dataset) -> Spectrum | None:
    """The spectrum as saved; groups with priors of their own as one group for each component."""
    kind, facts = data.attrs.get("spectrum"), data.attrs
    if kind is None:
        return None
    if kind == "power law":
        names = ("exponent", "cutoff", "source", "mean")
        return PowerLaw(
            **{name: float(facts[f"spectrum_{name}"]) for name in names if f"spectrum_{name}" in facts}
        )
    if kind == "empirical":
        target = data["spectrum_target"].values if "spectrum_target" in data else None
        return EmpiricalSpectrum(data["spectrum_variance"].values, target, bool(facts["spectrum_rotated"]))
    if kind == "groups":
        return Groups(list(zip(data["spectrum_share"].values, data["spectrum_variance"].values, strict=True)))
    if kind != "strata":
        raise FileError(f"spectrum must be power law, groups, empirical or strata, the file has {kind}")
    columns = [data[f"spectrum_{name}"].values for name in ("weight", "variance", "mean", "std")]
    return Groups([(p, s, GaussianMixture([1.0], [m], [b])) for p, s, m, b in zip(*columns, strict=True)])


def read_prior(data: xr.Dataset) -> Prior:
    """The prior as saved; one of the user's own comes back as its mixture, which is all we use."""
    name = data.attrs["prior"]
    kind = getattr(priors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Prior)):
        return GaussianMixture(*(data[f"mixture_{f}"].values for f in ("weight", "mean", "std")))
    fields = {field: data[f"prior_{field}"].values for field in kind.__dataclass_fields__}
    return kind(**{k: v.item() if v.ndim == 0 else v for k, v in fields.items()})


def read_problem(data: xr.Dataset) -> tuple[Task, Any]:
    """Task and network from what `add_problem` wrote; of a flow, its name."""
    axes, flow = data.attrs["axes"].split(), data.attrs["network"] == Flow.__name__
    values = {}
    own_numbers = data.attrs.get("numbers", "").split()
    for name in (*PARAMETERS[:2], *own_numbers) if flow else PARAMETERS:
        stored = data[name]
        first = min((axes.index(axis) for axis in stored.dims), default=len(axes))
        own = [stored.sizes.get(axis, 1) for axis in axes[first:]]
        values[name] = stored.values.reshape(own) if own else stored.item()
    spectrum = read_spectrum(data)
    own = spectrum is not None and spectrum.own_targets is not None
    task = Task(values["delta"], values["sigma"], None if own else read_prior(data), spectrum)
    return task, read_model(data.attrs, values)


def read_model(facts: Mapping[str, Any], numbers: Mapping[str, Any]) -> Any:
    """The network of the class that the file names; of a flow, its name and numbers."""
    kind = facts["network"]
    if kind == Flow.__name__:
        return SavedFlow(facts["flow"], {name: numbers[name] for name in facts.get("numbers", "").split()})
    alpha, lam, depth = numbers["alpha"], numbers["lam"], int(facts["depth"])
    if kind == DiagonalNetwork.__name__:
        return DiagonalNetwork(alpha, lam, depth)
    if kind == TruncatedDiagonalNetwork.__name__:
        return TruncatedDiagonalNetwork(alpha, lam, depth, facts["M"])
    known = f"{DiagonalNetwork.__name__} or {TruncatedDiagonalNetwork.__name__}"
    raise FileError(f"network must be {known}, the file has {kind}")
