"""Results as text and as HTML: one table of rows serves both."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["as_html", "as_text", "show"]


def show(value: Any, digits: int = 10) -> str:
    """A number with its digits, an array by its shape and range, anything else as text."""
    if isinstance(value, str):
        return value
    try:
        array = np.asarray(value)
    except Exception:  # a value JAX is still tracing has no numbers yet
        return f"traced, shape {np.shape(value)}"
    if array.dtype.kind not in "fiub":
        kinds = list(dict.fromkeys(array.ravel().tolist()))
        return f"{kinds[0]}" if len(kinds) == 1 else f"shape {array.shape}, " + ", ".join(map(str, kinds))
    if array.ndim == 0:
        return f"{array.item():.{digits}g}" if array.dtype.kind == "f" else str(array.item())
    shape = "×".join(map(str, array.shape))
    known = array[~np.isnan(array)] if array.dtype.kind == "f" else array
    if known.size == 0:
        return f"[{shape}] nan"
    return f"[{shape}] {np.min(known):.6g} … {np.max(known):.6g}"


def as_text(title: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """A title and aligned (name, value, meaning) rows."""
    names = max(len(name) for name, _, _ in rows)
    values = max(len(value) for _, value, _ in rows)
    lines = [f"  {name:<{names}}  {value:<{values}}  {meaning}".rstrip() for name, value, meaning in rows]
    return "\n".join([title, *lines])


def as_html(title: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """A title and rows as a table for notebooks."""
    cells = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{html.escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><caption>{html.escape(title)}</caption><tbody>{cells}</tbody></table>"
