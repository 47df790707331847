"""The report of a reproduction: one page that opens offline, with all figures and the tables of claims."""

import base64
import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dynafield.figures.report_style import STYLE
from dynafield.writing import write_whole

__all__ = ["write_report"]

Row = Mapping[str, Any]
"""A claim or a correction in plain types."""
DETAILS = {"theory": "theory", "measured": "measured", "difference": "difference", "rule": "rule"}
"""Columns that every table of claims has: the heading and what stands below it."""
TURNS = {"fails if data change by": "turns"}
"""The column of claims that hold."""
PREDICTED = {"it predicts" if key == "theory" else key: key for key in DETAILS}
"""The same columns for statements as printed."""
SHRINK = 0.78
"""Width of a figure on the page, in pixels of its picture: the same size of letters in all figures."""
READING = (
    "Every verdict is computed from the data of this run by the rule in its row. Where the paper needs a "
    "correction, the statement as printed and the corrected one are both judged. The column “fails if data "
    "change by” says how sensitive a verdict is: the smallest factor, of those tried, that makes the claim "
    "fail when it multiplies or divides one variable, as a whole or growing along one axis. Claims that "
    "share "
    "networks or data sets are not independent: one unlucky data set shows in several of them. Numbers of "
    "sections, equations and figures are counted in the source of the paper."
)
WEIGHTS = {
    "conclusion changes": "The conclusion changes",
    "wrong value": "A time, a rate or another value is wrong",
    "misprint": "A sign, a power, a limit or an index is misprinted",
}
"""Kinds of errors, heaviest first, as headings."""


def write_report(
    path: Path,
    paper: Mapping[str, str],
    about: Sequence[str],
    claims: Sequence[Row],
    notation: Sequence[Row],
    figures: Sequence[Any],
    failed: Mapping[str, str],
) -> Path:
    """Write the page.

    `paper` has "title" and "authors"; `claims` and `notation` (corrections that no data can judge) are
    mappings; `figures` are (name, heading, picture, caption, data files); `failed` are messages by name.
    """
    shown = {name for name, *_ in figures}
    holding = [c for c in claims if c["holds"] and c["source"] == "paper"]
    printed = [c for c in claims if not c["holds"] and c["source"] == "as printed"]
    corrected = [c for c in claims if c["holds"] and c["source"] == "corrected"]
    rest = [c for c in claims if c["holds"] == (c["source"] == "as printed")]
    title = html.escape(paper["title"])
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}, reproduced</title><style>{STYLE}</style></head><body>",
        f'<header><p class="kicker">Figures and claims of a paper, reproduced</p><h1>{title}</h1>'
        f'<p class="authors">{html.escape(paper["authors"])}</p></header>',
        *(f'<p class="quiet">{html.escape(line)}</p>' for line in about),
        *failures(failed),
        tiles(claims),
        f'<p class="reading">{READING}</p>',
        section("unexpected", "Verdicts that differ from what was expected", unexpected(rest, shown)),
        section("holding", f"Claims that hold ({len(holding)})", by_topic(holding, shown)),
        section("printed", f"Statements as printed that do not hold ({len(printed)})", as_printed(printed)),
        section("corrected", f"Corrections that hold ({len(corrected)})", by_correction(corrected, shown)),
        section("notation", f"Corrections of notation ({len(notation)})", of_notation(notation)),
        '<h2 id="figures">Figures</h2>' if figures else "",
        *(figure(*one) for one in figures),
        "</body></html>",
    ]
    return write_whole(path, "\n".join(parts).encode())


def failures(failed: Mapping[str, str]) -> list[str]:
    """What failed, in red, with its message."""
    if not failed:
        return []
    rows = [f"<li><b>{html.escape(name)}</b>: {html.escape(text)}</li>" for name, text in failed.items()]
    return ['<div class="broken"><h2>Failed</h2><ul>', *rows, "</ul></div>"]


def tiles(claims: Sequence[Row]) -> str:
    """How many claims of each kind hold, as links to their tables."""
    made = []
    for source, words, place in (
        ("paper", "claims of the paper hold", "holding"),
        ("as printed", "statements that need a correction hold as printed", "printed"),
        ("corrected", "corrected or added statements hold", "corrected"),
    ):
        some = [claim for claim in claims if claim["source"] == source]
        count = f"{sum(claim['holds'] for claim in some)} of {len(some)}"
        kinds = ""
        if source == "as printed":
            weights = [(name, sum(c["weight"] == name for c in some)) for name in WEIGHTS]
            kinds = f'<span class="quiet">{", ".join(f"{name}: {n}" for name, n in weights if n)}</span>'
        made.append(f'<a class="tile" href="#{place}"><b>{count}</b> {words} {kinds}</a>')
    return f'<nav class="tiles">{"".join(made)}</nav>'


def section(name: str, heading: str, content: str) -> str:
    """A heading with its table; nothing if there is none."""
    return f'<h2 id="{name}">{heading}</h2>\n{content}' if content else ""


def text(value: Any) -> str:
    """Words as HTML: names between backticks as code, numbers kept together with their signs."""
    words = re.sub(r"`(.*?)`", r"<code>\1</code>", html.escape(str(value)))
    return re.sub(r"(?<=\b\w) = | (?=%)", lambda found: found.group().replace(" ", "&nbsp;"), words)


def link(row: Row, shown: set[str]) -> str:
    """Where a claim stands in the paper, and the figure of this page that shows it."""
    name = html.escape(row["figure"])
    drawn = f' <span class="quiet">Drawn below: <a href="#{name}">{name}</a>.</span>' if name in shown else ""
    return f"{text(row['place'])}.{drawn}" if row["place"] else drawn


def cell(name: str, content: str) -> str:
    """One cell, which knows its heading for narrow screens."""
    return f'<td data-label="{name}">{content}</td>'


def row_of(row: Row, cells: Mapping[str, str], columns: Mapping[str, str]) -> str:
    """One claim: first cells of its own, then columns of its facts, then the verdict."""
    kind = "holds" if row["holds"] else "fails"
    every = dict(cells) | {heading: text(row[key]) for heading, key in columns.items()}
    tds = "".join(cell(name, content) for name, content in every.items())
    verdict = f'<td class="verdict" data-label="verdict">{text(row["verdict"])}</td>'
    return f'<tr class="{kind}">{tds}{verdict}</tr>'


def table(kind: str, headings: Iterable[str], bodies: Iterable[str]) -> str:
    """A table with its headings; rows are given."""
    head = "".join(f'<th scope="col" class="c-{name.split()[0]}">{name}</th>' for name in headings)
    return "\n".join(
        [f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>', *bodies, "</tbody></table>"]
    )


def grouped(
    claims: Sequence[Row], key: str, heading: Callable[[Row], str], row: Callable[[Row], str], width: int
) -> list[str]:
    """Rows under headings, one for each value of a key, in the order in which these come first."""
    made = []
    for value in dict.fromkeys(claim[key] for claim in claims):
        some = [claim for claim in claims if claim[key] == value]
        made.append(f'<tr class="group"><th colspan="{width}" scope="rowgroup">{heading(some[0])}</th></tr>')
        made += [row(claim) for claim in some]
    return made


def by_topic(claims: Sequence[Row], shown: set[str]) -> str:
    """Claims of the paper that hold, under their topics."""
    if not claims:
        return ""
    columns = DETAILS | TURNS
    names = ["claim", "in the paper", *columns, "verdict"]

    def row(claim: Row) -> str:
        cells = {"claim": text(claim["statement"]), "in the paper": link(claim, shown)}
        return row_of(claim, cells, columns)

    return table("claims", names, grouped(claims, "topic", lambda c: text(c["topic"]), row, len(names)))


def as_printed(claims: Sequence[Row]) -> str:
    """Statements as printed with their corrections, heaviest first."""
    if not claims:
        return ""
    names = ["as printed", "correct", "in the paper", *PREDICTED, "verdict"]
    order = list(WEIGHTS)
    ranked = sorted(claims, key=lambda c: order.index(c["weight"]))

    def row(claim: Row) -> str:
        cells = {
            "as printed": f"{text(claim['printed'])}"
            f'<span class="judged">Judged as: {text(claim["statement"])}</span>',
            "correct": text(claim["corrected"]),
            "in the paper": f"{text(claim['place'])}.",
        }
        return row_of(claim, cells, PREDICTED)

    def heading(claim: Row) -> str:
        count = sum(c["weight"] == claim["weight"] for c in claims)
        return f"{WEIGHTS[claim['weight']]} ({count})"

    return table("printed", names, grouped(ranked, "weight", heading, row, len(names)))


def by_correction(claims: Sequence[Row], shown: set[str]) -> str:
    """Corrections in full, each with the statements that were judged."""
    if not claims:
        return ""
    columns = DETAILS | TURNS
    names = ["corrected statement", *columns, "verdict"]

    def heading(claim: Row) -> str:
        said = f'<span class="said">As printed: {text(claim["printed"])}</span>' if claim["printed"] else ""
        return (
            f'<span class="where">{link(claim, shown)} '
            f'<span class="badge">{text(claim["weight"])}</span></span>'
            f'{said}<span class="said">Correct: {text(claim["corrected"])}</span>'
        )

    def row(claim: Row) -> str:
        return row_of(claim, {"corrected statement": text(claim["statement"])}, columns)

    return table("corrected", names, grouped(claims, "erratum", heading, row, len(names)))


def unexpected(claims: Sequence[Row], shown: set[str]) -> str:
    """Claims that fail where they should hold, and statements to be corrected that hold as printed."""
    if not claims:
        return ""
    names = ["claim", "in the paper", *DETAILS, "verdict"]
    rows = [
        row_of(
            claim,
            {
                "claim": f"{text(claim['statement'])} ({text(claim['source'])})",
                "in the paper": link(claim, shown),
            },
            DETAILS,
        )
        for claim in claims
    ]
    return table("unexpected", names, rows)


def of_notation(corrections: Sequence[Row]) -> str:
    """Corrections that no data can judge."""
    if not corrections:
        return ""
    columns = {"as printed": "printed", "correct": "corrected", "in the paper": "place"}
    rows = [
        f"<tr>{''.join(cell(name, text(one[key])) for name, key in columns.items())}</tr>"
        for one in corrections
    ]
    return table("notation", columns, rows)


def figure(name: str, heading: str, picture: Path, caption: str, sources: Sequence[str]) -> str:
    """A picture within the page, with its caption and the files of its data."""
    content = picture.read_bytes()
    encoded, width = base64.b64encode(content).decode(), int.from_bytes(content[16:20], "big")  # of a PNG
    files = ", ".join(f"<code>{html.escape(source)}</code>" for source in sources)
    return (
        f'<figure id="{name}"><h3>{html.escape(heading)}</h3><img alt="{html.escape(name)}" '
        f'width="{SHRINK * width:.0f}" src="data:image/png;base64,{encoded}">'
        f"<figcaption>{html.escape(caption)} "
        f'<span class="quiet">Data: {files}.</span></figcaption></figure>'
    )
