"""All tables, written to docs/benchmarks.md: `python -m benchmarks.run [engine | curves | steps | flows | finite | fixed_points | sweeps | explorer]`."""

import os
import platform
import sys
from pathlib import Path

import jax

from benchmarks import curves, engine, explorer, finite, fixed_points, flows, steps, sweeps

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
SECTIONS = {
    "fixed_points": fixed_points.section,
    "engine": engine.section,
    "curves": curves.section,
    "steps": steps.section,
    "flows": flows.section,
    "finite": finite.section,
    "sweeps": sweeps.section,
    "explorer": explorer.section,
}


def main(names):
    """The whole page; with names, those sections are printed only."""
    if names:
        for name in names:
            print(SECTIONS[name]())
        return
    head = f"""# Benchmarks

Made by `make bench`. Ratios are measured side by side in one run; the seconds are of one small machine
({os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, jax {jax.__version__}, CPU) and only
mean something beside each other.
"""
    PAGE.write_text("\n".join([head, *(section() for section in SECTIONS.values())]))
    print(PAGE.read_text())


if __name__ == "__main__":
    main(sys.argv[1:])
