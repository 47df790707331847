"""Parameter axes with names: which axis of a result varies which parameter."""

from typing import Any

import numpy as np

__all__ = ["PARAMETERS", "parameter_axes", "spans"]

PARAMETERS = ("delta", "sigma", "alpha", "lam")


def spans(values: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """For each parameter, the axes of the broadcast shape that it fills."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
    result = {}
    for name, value in values.items():
        first = len(shape) - np.ndim(value)
        own = enumerate(np.shape(value), start=first)
        result[name] = tuple(i for i, n in own if n == shape[i])
    return result


def parameter_axes(values: dict[str, Any]) -> tuple[str, ...]:
    """A name for each axis: that of the one parameter that fills it and no other, else `axis_i`."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
    along = spans(values)
    names = []
    for i in range(len(shape)):
        owners = [name for name, axes in along.items() if i in axes]
        alone = len(owners) == 1 and along[owners[0]] == (i,)
        names.append(owners[0] if alone else f"axis_{i}")
    return tuple(names)
