"""All tables, written to docs/benchmarks.md: `python -m benchmarks.run [NAME …]`; with names, those are printed.

The attack and the faults take long and stand on a page of their own, docs/robustness.md: they run only when
they are named.
"""

import argparse
import os
import platform
import sys
import time
import traceback
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
    "libraries",
    "own_data",
    "sweeps",
    "explorer",
)
NAMED_ONLY = ("attack", "faults")
"""Sections that are no part of the page."""


def made(name):
    """One section, also printed, or None where it failed; what it alone needs is imported for it alone."""
    began = time.monotonic()
    try:
        text = import_module(f"benchmarks.{name}").section()
    except Exception:
        traceback.print_exc()
        print(f"{name} failed; the others go on", file=sys.stderr, flush=True)
        return None
    print(text, flush=True)
    print(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes", file=sys.stderr, flush=True)
    return text


def main(names):
    """The whole page, written if all of it is there; with names, those sections are printed only."""
    sections = [made(name) for name in names or SECTIONS]
    failed = [name for name, text in zip(names or SECTIONS, sections, strict=True) if text is None]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; {PAGE.name} is as it was")
    if names:
        return
    head = f"""# Benchmarks

How long things take, and how much faster or slower they are than named other ways to compute the same. The tables are made by
`make bench`. Ratios are measured side by side in one run. The seconds are those of one small machine
({os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, jax {jax.__version__}, CPU) and
are meant for comparison with each other.
"""
    PAGE.write_text("\n".join([head, *sections]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SECTIONS + NAMED_ONLY))
    given = parser.parse_args().names
    unknown = [name for name in given if name not in SECTIONS + NAMED_ONLY]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}: take {', '.join(SECTIONS + NAMED_ONLY)}")
    main(given)
