"""Old ways to call a function, which still work, with a warning."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["old_calls", "warn_of"]

OURS = {"dynafield", "jaxtyping", "beartype"}
"""Packages whose frames are not those of a caller; the last two check types in tests."""

Function = TypeVar("Function", bound=Callable[..., Any])


def warn_of(message: str) -> None:
    """Tell the first caller outside this library that something will go in version 1.0."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{message}; the old way will be removed in version 1.0", FutureWarning, stacklevel=level)


def old_calls(**renamed: str) -> Callable[[Function], Function]:
    """Let a function be called as before version 0.9.

    Arguments that are keyword-only now may be given by position, in their order. `renamed` has the new name
    of every argument that was renamed, by its old name.
    """

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters.values()
        names = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
        positional = [one.name for one in parameters if one.name not in names]

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            kept, extra = given[: len(positional)], given[len(positional) :]
            if len(extra) > len(names):
                raise TypeError(
                    f"{function.__name__}() takes {len(positional)} arguments by position, got {len(given)}"
                )
            if extra:
                said = ", ".join(f"{name}=…" for name in names[: len(extra)])
                warn_of(f"{function.__name__}: give {said} by name")
            for name, value in zip(names, extra, strict=False):
                if name in named:
                    raise TypeError(f"{function.__name__}() got {name} twice")
                named[name] = value
            for old, new in renamed.items():
                if old in named:
                    if new in named:
                        raise TypeError(f"{function.__name__}() got both {old} and {new}: give {new} only")
                    warn_of(f"{function.__name__}: {old} is now called {new}")
                    named[new] = named.pop(old)
            return function(*kept, **named)

        return call  # type: ignore[return-value]

    return decorate
