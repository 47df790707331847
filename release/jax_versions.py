"""Constraints for pip with the oldest or the newest JAX that pyproject.toml allows.

`python release/jax_versions.py oldest` writes the tested versions with that JAX; packages built on JAX are
left free, because their tested versions may need a newer one. Only the standard library is needed.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FREE = (
    "jax",
    "jaxlib",
    "equinox",
    "diffrax",
    "lineax",
    "optimistix",
    "jaxtyping",
    "optax",
    "ml_dtypes",
    "numpy",
    "scipy",
)
"""Packages that are not held to their tested versions; pip takes the newest that fit."""


def jax_bounds(pyproject: str) -> tuple[str, str]:
    """The oldest version of JAX that is allowed, and the whole rule."""
    (rule,) = [d for d in tomllib.loads(pyproject)["project"]["dependencies"] if re.match(r"jax\b", d)]
    oldest = re.search(r">=\s*([\d.]+)", rule)
    assert oldest is not None, rule
    return oldest[1], rule


def constraints(which: str, pyproject: str, tested: str) -> list[str]:
    """Lines of a file of constraints."""
    oldest, rule = jax_bounds(pyproject)
    lines = [
        line
        for line in tested.splitlines()
        if line
        and not line.startswith("#")
        and re.split(r"[=<>! ;]", line)[0].lower().replace("-", "_") not in FREE
    ]
    return [*lines, f"jax=={oldest}.*" if which == "oldest" else rule]


if __name__ == "__main__":
    if sys.argv[1:] not in (["oldest"], ["newest"]):
        sys.exit("which JAX: oldest or newest?")
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "constraints.txt"))
    print("\n".join(constraints(sys.argv[1], *texts)))
