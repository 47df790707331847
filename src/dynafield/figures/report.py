"""The report of a reproduction: one page that opens offline, with all figures and the table of claims."""

import base64
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["write_report"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1100px; margin: 2em auto; }
h1 { font-size: 1.6em; } h2 { font-size: 1.25em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: 5px 8px; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; }
tr.holds td.verdict { color: #0b6b3a; font-weight: 600; }
tr.fails { background: #fdecea; } tr.fails td.verdict { color: #b3261e; font-weight: 700; }
figure { margin: 1.5em 0; } figure img { max-width: 100%; } figcaption { font-size: 14px; color: #444; }
.quiet { color: #666; font-size: 13px; } code { background: #f3f3f3; padding: 0 3px; }
"""
COLUMNS = ("claim", "source", "theory", "measured", "difference", "verdict")


def write_report(
    path: Path, title: str, about: Sequence[str], claims: Sequence[Mapping[str, Any]], figures: Sequence[Any]
) -> Path:
    """Write the page: `claims` as mappings, `figures` as (name, picture, caption, data files)."""
    failed = [claim for claim in claims if not claim["holds"]]
    counts = f"{len(claims) - len(failed)} of {len(claims)} claims hold"
    red = f", {len(failed)} do not (in red)" if failed else ""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>',
        f"<style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>",
        *(f'<p class="quiet">{html.escape(line)}</p>' for line in about),
        f"<h2>Claims</h2><p>{counts}{red}. Where the errata correct the paper, the printed statement and "
        "the corrected one are both judged. Every verdict is computed from the data of this run by the rule "
        "given with it.</p>",
        table(claims, {name for name, *_ in figures}),
        "<h2>Figures</h2>",
        *(figure(*one) for one in figures),
        "</body></html>",
    ]
    part = path.with_name(path.name + ".part")
    part.write_text("\n".join(parts), encoding="utf-8")
    return part.replace(path)


def table(claims: Sequence[Mapping[str, Any]], shown: set[str]) -> str:
    """The claims as rows, red where they do not hold, linked to figures that are shown."""
    rows = ["<table><thead><tr>", *(f"<th>{name}</th>" for name in COLUMNS), "</tr></thead><tbody>"]
    for claim in claims:
        text = {name: html.escape(str(value)) for name, value in claim.items()}
        name = text["figure"]
        link = f' <span class="quiet">(<a href="#{name}">{name}</a>)</span>' if name in shown else ""
        statement = re.sub(r"`(.*?)`", r"<code>\1</code>", text["statement"])
        cells = (
            f"<b>{text['topic']}.</b> {statement}{link}",
            text["source"], text["theory"], text["measured"], text["difference"],
        )  # fmt: skip
        kind = "holds" if claim["holds"] else "fails"
        verdict = (
            f'<td class="verdict">{text["verdict"]}<br><span class="quiet">{text["rule"]}</span></td></tr>'
        )
        rows.append(f'<tr class="{kind}">' + "".join(f"<td>{cell}</td>" for cell in cells) + verdict)
    return "\n".join([*rows, "</tbody></table>"])


def figure(name: str, picture: Path, caption: str, sources: Sequence[str]) -> str:
    """A picture within the page, with its caption and the files of its data."""
    encoded = base64.b64encode(picture.read_bytes()).decode()
    files = ", ".join(f"<code>{html.escape(source)}</code>" for source in sources)
    return (
        f'<figure id="{name}"><h3>{name}</h3><img alt="{html.escape(name)}" '
        f'src="data:image/png;base64,{encoded}"><figcaption>{html.escape(caption)} '
        f'<span class="quiet">Data: {files}.</span></figcaption></figure>'
    )
