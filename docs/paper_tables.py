"""The tables of `paper.md`: `python docs/paper_tables.py results-full/claims.json`, or the corrections alone.

Tables of claims come from the file that `dynafield reproduce` writes, the table of corrections from the
library.
"""

import json
import sys
from pathlib import Path

from dynafield.studies.paper.corrections import CORRECTIONS, WEIGHTS

PAGE = Path(__file__).parent / "paper.md"
HOLD, FAIL, CORRECT = (
    "### Claims of the paper that hold",
    "### Statements as printed that do not hold",
    "### Corrections that hold",
)
LIST = "## Corrections"


def cell(text):
    """Words for a cell of a table."""
    return text.replace("|", "∣").replace("*", r"\*")


def table(headings, rows):
    """A table in Markdown."""
    lines = [headings, ["---"] * len(headings), *([cell(text) for text in row] for row in rows)]
    return [f"|{'|'.join(f' {text} ' if text != '---' else text for text in line)}|" for line in lines]


def claims(found):
    """Headings of the tables of claims with their rows, by what the claims are."""
    place, turns = "in the paper", "fails if data change by"

    def words(claim):
        return f"{claim['topic']}. {claim['statement']}"

    def held(source):
        return [
            (c["place"], words(c), c["difference"], c["turns"].replace("_", r"\_"))
            for c in found
            if c["holds"] and c["source"] == source
        ]

    order = list(WEIGHTS)
    failed = sorted(
        (c for c in found if not c["holds"] and c["source"] == "as printed"),
        key=lambda c: order.index(c["weight"]),
    )
    shown = [(c["weight"], c["place"], words(c), c["difference"]) for c in failed]
    return {
        HOLD: ([place, "claim", "difference", turns], held("paper")),
        FAIL: (["weight", place, "statement", "difference"], shown),
        CORRECT: ([place, "statement", "difference", turns], held("corrected")),
    }


def corrections():
    """Heading of the list of corrections with its rows."""
    rows = [(c.place, c.printed or "(nothing)", c.corrected, c.weight) for c in CORRECTIONS.values()]
    return {LIST: (["in the paper", "as printed", "correct", "weight"], rows)}


def rewritten(page, tables):
    """The page with the first table below each heading replaced, and the number of claims in headings."""
    lines = page.split("\n")
    for heading, (columns, rows) in tables.items():
        here = next(k for k, line in enumerate(lines) if line.split(" (")[0] == heading)
        first = next(k for k in range(here, len(lines)) if lines[k].startswith("|"))
        last = next(
            k for k in range(first, len(lines) + 1) if k == len(lines) or not lines[k].startswith("|")
        )
        if heading != LIST:
            lines[here] = f"{heading} ({len(rows)})"
        lines[first:last] = table(columns, rows)
    return "\n".join(lines)


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")) if sys.argv[1:] else None
    tables = corrections() | ({} if found is None else claims(found))
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
