"""How much the data would have to change for a verdict to change."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from dynafield.errors import InputError
from dynafield.studies.paper.claims import Claim
from dynafield.studies.paper.verdicts import GROUPS, Group

__all__ = ["judged_with_turns", "turns"]

FACTORS = (1.001, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 20.0, 1e3, 1e8)
"""Factors that numbers are multiplied or divided by, smallest first."""
GOLDEN = 0.5 * (np.sqrt(5.0) - 1)


class Change(NamedTuple):
    """One variable of one experiment, and how it is changed by a factor."""

    experiment: str
    variable: str
    words: str
    """With a place for the factor."""
    apply: Callable[[np.ndarray, float], np.ndarray]


def negated(values: np.ndarray, factor: float) -> np.ndarray:
    """Truth values, of which the fraction `factor` - 1 is negated, spread without a period."""
    places = np.arange(values.size) * GOLDEN % 1.0
    return values.astype(bool) ^ (places < factor - 1).reshape(values.shape)


def tilted(axis: int, sign: int) -> Callable[[np.ndarray, float], np.ndarray]:
    """Multiply by powers of the factor that grow from zero to `sign` along an axis."""

    def apply(values: np.ndarray, factor: float) -> np.ndarray:
        shape = [1] * values.ndim
        shape[axis] = values.shape[axis]
        return values * factor ** (sign * np.linspace(0.0, 1.0, values.shape[axis])).reshape(shape)

    return apply


def scaled(sign: int) -> Callable[[np.ndarray, float], np.ndarray]:
    """Multiply or divide by the factor."""
    return lambda values, factor: values * factor**sign


def changes(experiment: str, variable: str, values: xr.DataArray) -> Iterator[Change]:
    """What is tried on a variable: all of it by the same factor, or by one that grows along an axis."""
    if values.dtype.kind in "biu" and bool(np.all((values.values == 0) | (values.values == 1))):
        yield Change(experiment, variable, f"{variable} negated in one entry of {{0:.0f}}", negated)
        return
    if not np.issubdtype(values.dtype, np.floating):
        return
    for sign, mark in ((1, "×"), (-1, "÷")):
        yield Change(experiment, variable, f"{variable} {mark} {{1:g}}", scaled(sign))
        for axis, name in enumerate(values.dims):
            if values.shape[axis] > 1 and not str(name).startswith("run"):
                words = f"{variable} {mark} 1 to {{1:g}} along {name}"
                yield Change(experiment, variable, words, tilted(axis, sign))


def matters(group: Group, data: Mapping[str, xr.Dataset], experiment: str, variable: str) -> bool:
    """Whether a group of claims depends on a variable: without it the claims differ, or cannot be judged."""
    try:
        after = group.claims({**data, experiment: data[experiment].drop_vars(variable)})
    except KeyError:
        return True
    return after != group.claims(data)


def tried(group: Group, data: Mapping[str, xr.Dataset]) -> list[Change]:
    """All changes of the variables that a group of claims depends on, except error bars of theory."""
    return [
        change
        for name in (*group.needs, *group.asks)
        if name in data
        for variable, values in data[name].data_vars.items()
        if not str(variable).endswith("_se") and matters(group, data, name, str(variable))
        for change in changes(name, str(variable), values)
    ]


def turns(group: Group, data: Mapping[str, xr.Dataset]) -> list[str]:
    """For each claim of the group that holds: the change by the smallest factor that makes it fail."""
    right = group.claims(data)
    found = ["" for _ in right]
    if not any(claim.holds for claim in right):
        return found
    ways = tried(group, data)
    for factor in FACTORS:
        for change in ways:
            after = judged_after(group, data, change, factor)
            for k, (before, now) in enumerate(zip(right, after, strict=len(after) == len(right))):
                if before.holds and not now.holds and not found[k]:
                    found[k] = change.words.format(max(1.0, 1 / (factor - 1)), factor)
        if all(word or not claim.holds for word, claim in zip(found, right, strict=True)):
            break
    return found


def judged_after(group: Group, data: Mapping[str, xr.Dataset], change: Change, factor: float) -> list[Claim]:
    """The claims after a variable is changed; none where the changed numbers cannot be judged."""
    one = data[change.experiment]
    values = one[change.variable]
    new = one.assign({change.variable: (values.dims, change.apply(values.values, factor))})
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return group.claims({**data, change.experiment: new})
        except (ValueError, IndexError):
            return []


def judged_with_turns(data: Mapping[str, xr.Dataset]) -> list[Claim]:
    """The table of claims, each that holds with the smallest change that makes it fail."""
    made = []
    for group in GROUPS:
        try:
            claims = group.claims(data)
        except KeyError as error:
            raise InputError(
                f"the data of {', '.join(group.needs)} have no {error}: another version made them; run "
                "without "
                "redraw to compute them again"
            ) from None
        made += [
            dataclasses.replace(claim, turns=words)
            for claim, words in zip(claims, turns(group, data), strict=True)
        ]
    return made
