"""What the page says, in HTML. All text is escaped, since some of it comes from links."""

from html import escape
from typing import Any

import numpy as np

from dynafield.figures.style import SYMBOLS

__all__ = ["best", "duration", "message", "number", "numbers", "place", "with_error"]

BETTER = {
    "": "best {0} = {1}",
    "lower": "smaller {0} is better down to {1}",
    "upper": "larger {0} is better up to {1}",
}
"""Where the best value of a number is: inside its range, or at one of its ends."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits of an exponent."""
PLAIN = (1e-4, 1e5)
"""Numbers of this size are written without a power of ten."""


def message(text: str, kind: str = "") -> str:
    """A line of text in a box whose colour depends on the kind: error, hint, busy, done or quiet."""
    return f'<div class="message {kind}">{escape(text)}</div>' if text else ""


def place(text: str) -> str:
    """Words in place of a picture, as high as that."""
    return f'<div class="place"><span>{escape(text)}</span></div>'


def power(exponent: int) -> str:
    """A power of ten."""
    return f"10{str(exponent).translate(SUPERSCRIPTS)}"


def number(x: float, digits: int = 4) -> str:
    """A number with some significant digits, as people write it: 0.0618, 3.1 × 10⁻⁷, ∞."""
    if not np.isfinite(x):
        return "∞" if x > 0 else "-∞" if x < 0 else "unknown"
    if x == 0 or PLAIN[0] <= abs(x) < PLAIN[1]:
        return np.format_float_positional(x, digits, fractional=False, trim="-")
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return power(int(exponent)) if mantissa == "1" else f"{mantissa} × {power(int(exponent))}"


def with_error(x: float, error: float) -> str:
    """A number and its error, both down to the second digit of the error: 0.06178 ± 0.00012."""
    if not (np.isfinite(error) and error > 0):
        return number(x)
    scale = 0 if PLAIN[0] <= abs(x) < PLAIN[1] else int(np.floor(np.log10(max(abs(x), error))))
    places = max(0, 1 - int(np.floor(np.log10(error / 10.0**scale))))
    text = f"{x / 10.0**scale:.{places}f} ± {error / 10.0**scale:.{places}f}"
    return text if scale == 0 else f"({text}) × {power(scale)}"


def duration(seconds: float) -> str:
    """A duration: 40 ms, 2.4 s, 3 min 5 s."""
    if seconds < 0.995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def best(found: dict[str, Any]) -> str:
    """The best value of a number at the end of training, and the test error there."""
    symbol, error = SYMBOLS[found["name"]], f"test error {number(found['test_error'])}"
    if found["value"] is None:
        return f"at the end every {symbol} is as good: {error}"
    return f"{BETTER[found['end']].format(symbol, number(found['value'], 3))}, {error}"


def row(name: str, value: str, meaning: str = "") -> str:
    """A row of the table."""
    return f"<tr><th>{escape(name)}</th><td>{escape(value)}</td><td>{escape(meaning)}</td></tr>"


def body(rows: list[str], fresh: bool) -> str:
    """Rows of the table, greyed unless they belong to the present setting."""
    return f'<tbody class="{"fresh" if fresh else "stale"}">{"".join(rows)}</tbody>' if rows else ""


def curve_rows(curve: dict[str, Any]) -> list[str]:
    """Numbers of a curve."""
    t, value, error, seen = curve["best"]
    when, what = "best time to stop", f"test error {with_error(value, 2 * error)}"
    least = f"not seen to rise up to T; least {what} at t = {number(t)}"
    told = row(when, number(t), what) if seen else row(when, "none up to T", least)
    rows = [told]
    for name, what in (("test_error", "test error at T"), ("train_error", "training error at T")):
        value, error = float(curve[name][-1]), float(curve[f"{name}_se"][-1])
        rows.append(row(what, with_error(value, 2 * error), "± two standard errors"))
    return rows


def limit_rows(limits: dict[str, Any]) -> list[str]:
    """Numbers that formulas give, and why some are missing."""
    rows = []
    if "test_error" in limits:
        rows.append(row("test error, t → ∞", number(limits["test_error"], 6), f"{limits['case']} limit"))
        rows.append(row("training error, t → ∞", number(limits["train_error"])))
        if limits["zero"] > 0:
            rows.append(row("P(w = 0), t → ∞", number(limits["zero"])))
    if "gamma" in limits:
        rows.append(row("rate γ", number(limits["gamma"], 6), "the loss falls as exp(-2γt)"))
    for name, start, end, formula, *_ in limits["stages"]:
        rows.append(row(f"stage: {name}", f"{number(start)} to {number(end)}", formula))
    return rows + [row("not shown", "", text) for text in limits["troubles"]]


def numbers(
    limits: dict[str, Any] | None, curve: dict[str, Any] | None, fresh: tuple[bool, bool] = (True, True)
) -> str:
    """The table of numbers; `fresh` says whether limits and curve belong to the present setting."""
    parts = body(curve_rows(curve), fresh[1]) if curve is not None else ""
    parts += body(limit_rows(limits), fresh[0]) if limits is not None else ""
    return f'<table class="numbers">{parts}</table>' if parts else ""
