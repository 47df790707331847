"""How hard a compiler works: large programs that run for a moment are compiled with less effort."""

import os
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import jax
import jax.core

__all__ = ["lightly_compiled"]

LIGHT = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
"""Half the time to compile on processors, and no slower code (measured on the marches of `dmft`)."""


@lru_cache(maxsize=1)
def options() -> dict[str, Any]:
    """What this version of the compiler knows of these options; nothing on an accelerator.

    What the environment says in `XLA_FLAGS` is left as it is.
    """
    if jax.default_backend() != "cpu":
        return {}
    chosen = {name: value for name, value in LIGHT.items() if name not in os.environ.get("XLA_FLAGS", "")}
    try:
        jax.jit(lambda x: x, compiler_options=chosen)(0.0)
    except Exception:  # options come and go with versions, and each has its own error
        return {}
    return chosen


def lightly_compiled(function: Callable[..., Any], static: int | tuple[int, ...]) -> Callable[..., Any]:
    """A function compiled on its first call; arguments of numbers `static` are part of the program.

    Inside a program or a derivative of somebody else's it is compiled as they wish. `programs()` counts how
    often it was compiled.
    """

    @lru_cache(maxsize=2)
    def compiled(alone: bool) -> Any:
        return jax.jit(function, static_argnums=static, compiler_options=options() if alone else None)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(arguments))
        return compiled(not traced)(*arguments)

    call.programs = lambda: compiled(True)._cache_size()  # type: ignore[attr-defined]
    return call
