"""Stored numbers of the default view, so that the first thing seen is not an empty frame.

`python -m dynafield.explorer.first_view` computes them anew; a test compares them with the present code.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from dynafield.explorer.setting import Setting, View

__all__ = ["stored_view"]

FILE = Path(__file__).with_name("first_view.json")
"""Where the numbers are kept."""
ARRAYS = {
    "curve": (
        "t", "test_error", "test_error_se", "train_error", "train_error_se", "edges", "moments", "histograms"
    ),
    "limits": ("edges", "mass"),
    "line": ("x", "y"),
}  # fmt: skip
"""What is kept as arrays."""


def stored_view(view: View) -> dict[str, dict[str, Any]] | None:
    """Answers of `jobs.curve`, `jobs.limits` and `jobs.along` for the default view; None for another one."""
    if (view.setting.alone, view.axis) != (Setting(), View().axis):
        return None
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    for part, names in ARRAYS.items():
        arrays = {name: np.asarray(kept[part][name], float) for name in names}
        kept[part] |= arrays | {"setting": Setting()}
    return kept


def short(value: Any) -> Any:
    """Numbers with five digits, arrays as lists."""
    if isinstance(value, np.ndarray | list | tuple):
        return [short(x) for x in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def store() -> None:
    """Compute the numbers of the default view and keep them, with the last histogram only."""
    from dynafield.explorer.jobs import along, curve, limits

    quiet = lambda part, words: None  # noqa: E731
    found = {
        "curve": curve(Setting(), False, report=quiet) | {"preview": True},
        "limits": limits(Setting(), report=quiet),
        "line": along(Setting(), View().axis, report=quiet),
    }
    for name in ("moments", "histograms"):
        found["curve"][name] = found["curve"][name][-1:]
    kept = {
        part: {name: short(value) for name, value in numbers.items() if name != "setting"}
        for part, numbers in found.items()
    }
    FILE.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store()
