"""What the page says in HTML; all text is escaped, for some of it comes from links."""

from html import escape
from typing import Any

import numpy as np

from dynafield.figures.style import SYMBOLS

__all__ = ["best", "message", "numbers"]

BETTER = {
    "": "best {0} = {1:.3g}",
    "lower": "smaller {0} is better down to {1:.3g}",
    "upper": "larger {0} is better up to {1:.3g}",
}
"""Where the best value of a number is: inside its range, or at an end."""


def message(text: str, kind: str = "") -> str:
    """A line of text."""
    return f'<div class="message {kind}">{escape(text)}</div>' if text else ""


def best(found: dict[str, Any]) -> str:
    """The best value of a number at the end of training, and the test error there."""
    symbol, error = SYMBOLS[found["name"]], f"test error {found['test_error']:.4g}"
    if found["value"] is None:
        return f"at the end every {symbol} is as good: {error}"
    return f"{BETTER[found['end']].format(symbol, found['value'])}, {error}"


def row(name: str, value: str, meaning: str = "") -> str:
    """A row of the table."""
    return f"<tr><th>{escape(name)}</th><td>{escape(value)}</td><td>{escape(meaning)}</td></tr>"


def time(t: float) -> str:
    """A time, or never."""
    return f"{t:.4g}" if np.isfinite(t) else "∞"


def numbers(limits: dict[str, Any] | None, curve: dict[str, Any] | None) -> str:
    """The table of numbers."""
    rows = []
    if curve is not None:
        t, value, error, seen = curve["best"]
        last = "" if seen else "; still falling at T, within error bars"
        rows.append(row("best time to stop", f"{t:.4g}", f"test error {value:.4g} ± {2 * error:.2g}{last}"))
        for name, what in (("test_error", "test error at T"), ("train_error", "training error at T")):
            value, error = float(curve[name][-1]), float(curve[f"{name}_se"][-1])
            rows.append(row(what, f"{value:.4g}", f"± {2 * error:.2g} (two estimated errors)"))
    if limits is not None:
        if "test_error" in limits:
            rows.append(row("test error, t → ∞", f"{limits['test_error']:.6g}", f"{limits['case']} limit"))
            rows.append(row("training error, t → ∞", f"{limits['train_error']:.4g}"))
            if limits["zero"] > 0:
                rows.append(row("P(w = 0), t → ∞", f"{limits['zero']:.4g}"))
        if "gamma" in limits:
            rows.append(row("rate γ", f"{limits['gamma']:.6g}", "the loss falls as exp(-2γt)"))
        for name, start, end, formula, *_ in limits["stages"]:
            rows.append(row(f"stage: {name}", f"{time(start)} … {time(end)}", formula))
        rows += [row("no formula", "", text) for text in limits["troubles"]]
    return f'<table class="numbers">{"".join(rows)}</table>'
