"""Names that a module imports on first use, so that importing the module costs nothing."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["names_on_first_use"]


def names_on_first_use(module: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names come from other modules: {module: names}."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def found(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home_of[name]), name)

    return found
