"""All tables, written to docs/benchmarks.md: `python -m benchmarks.run [engine | derivatives | curves | steps | flows | finite | fixed_points | spectra | own_data | sweeps | explorer]`."""

import os
import platform
import sys
from importlib import import_module
from pathlib import Path

import jax

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
SECTIONS = (
    "fixed_points",
    "spectra",
    "engine",
    "derivatives",
    "curves",
    "steps",
    "flows",
    "finite",
    "own_data",
    "sweeps",
    "explorer",
)


def made(name):
    """One section; what it alone needs is imported for it alone."""
    return import_module(f"benchmarks.{name}").section()


def main(names):
    """The whole page; with names, those sections are printed only."""
    if names:
        for name in names:
            print(made(name))
        return
    head = f"""# Benchmarks

How long things take, and how much faster or slower they are than named other ways to compute the same. The tables are made by
`make bench`. Ratios are measured side by side in one run. The seconds are those of one small machine
({os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, jax {jax.__version__}, CPU) and
are meant for comparison with each other.
"""
    PAGE.write_text("\n".join([head, *(made(name) for name in SECTIONS)]))
    print(PAGE.read_text())


if __name__ == "__main__":
    main(sys.argv[1:])
