"""A task and a network as labelled data, and back."""

from typing import Any

import numpy as np
import xarray as xr

from dynafield.errors import FileError
from dynafield.problem import priors
from dynafield.problem.networks import DiagonalNetwork, Network, TruncatedDiagonalNetwork
from dynafield.problem.priors import GaussianMixture, Prior
from dynafield.problem.task import Task
from dynafield.records.axes import PARAMETERS, parameter_axes, spans

__all__ = ["add_problem", "parameters", "read_problem"]


def parameters(task: Task, net: Network) -> dict[str, np.ndarray]:
    """The four numbers of a problem by name."""
    values = (task.delta, task.sigma, net.alpha, net.lam)
    return {name: np.asarray(value) for name, value in zip(PARAMETERS, values, strict=True)}


def add_problem(data: xr.Dataset, task: Task, net: Network) -> xr.Dataset:
    """`data` with the parameters as coordinates and the prior as variables."""
    values = parameters(task, net)
    axes, along = parameter_axes(values), spans(values)
    shape = np.broadcast_shapes(*(v.shape for v in values.values()))
    for name, value in values.items():
        dims = tuple(axes[i] for i in along[name])
        data.coords[name] = (dims, value.reshape([shape[i] for i in along[name]]))
    data.attrs |= {"axes": " ".join(axes), "network": type(net).__name__, "depth": net.depth}
    if isinstance(net, TruncatedDiagonalNetwork):
        data.attrs["M"] = net.M
    kind = type(task.prior)
    ours = kind.__module__ == priors.__name__
    data.attrs["prior"] = kind.__name__ if ours else f"own {kind.__name__}"
    for field, value in vars(task.prior).items() if ours else ():
        entries = np.asarray(value)
        data[f"prior_{field}"] = ((f"prior_{field}_entry",) * entries.ndim, entries)
    for field, value in task.prior.components._asdict().items():
        data[f"mixture_{field}"] = ("mixture_component", value)
    return data


def read_prior(data: xr.Dataset) -> Prior:
    """The prior as saved; one of the user's own comes back as its mixture, which is all we use."""
    name = data.attrs["prior"]
    kind = getattr(priors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Prior)):
        return GaussianMixture(*(data[f"mixture_{f}"].values for f in ("weight", "mean", "std")))
    fields = {field: data[f"prior_{field}"].values for field in kind.__dataclass_fields__}
    return kind(**{k: v.item() if v.ndim == 0 else v for k, v in fields.items()})


def read_problem(data: xr.Dataset) -> tuple[Task, Network]:
    """Task and network from what `add_problem` wrote."""
    axes = data.attrs["axes"].split()
    values = {}
    for name in PARAMETERS:
        stored = data[name]
        first = min((axes.index(axis) for axis in stored.dims), default=len(axes))
        own = [stored.sizes.get(axis, 1) for axis in axes[first:]]
        values[name] = stored.values.reshape(own) if own else stored.item()
    task = Task(values["delta"], values["sigma"], read_prior(data))
    return task, read_network(data, values["alpha"], values["lam"])


def read_network(data: xr.Dataset, alpha: Any, lam: Any) -> Network:
    """The network of the class that the file names."""
    kind, depth = data.attrs["network"], int(data.attrs["depth"])
    if kind == DiagonalNetwork.__name__:
        return DiagonalNetwork(alpha, lam, depth)
    if kind == TruncatedDiagonalNetwork.__name__:
        return TruncatedDiagonalNetwork(alpha, lam, depth, data.attrs["M"])
    known = f"{DiagonalNetwork.__name__} or {TruncatedDiagonalNetwork.__name__}"
    raise FileError(f"network must be {known}, the file has {kind}")
