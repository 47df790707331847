"""The paper as PDF and HTML: `python paper/build.py`, or `make paper`, which draws its figure first.

The journal sets its own PDF from the same files. This one shows the text, the formulas, the figure and the
references. A citation without an entry, a missing section or a length that the journal would not take is
refused.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE / "_build"
SECTIONS = (
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
)
"""What the journal asks for, in this order."""
WORDS = (750, 1750)


def problems(text: str, bibliography: str, folder: Path) -> list[str]:
    """What the journal would send back."""
    body = text.split("---\n", 2)[2]
    wrong = []
    if tuple(re.findall(r"^# (.+)$", body, flags=re.M)) != SECTIONS:
        wrong.append(f"sections must be {', '.join(SECTIONS)}")
    prose = re.sub(r"\$\$.*?\$\$|!\[.*?\]\(.*?\)", " ", body, flags=re.S)
    if not WORDS[0] <= len(prose.split()) <= WORDS[1]:
        wrong.append(f"{len(prose.split())} words, not {WORDS[0]} to {WORDS[1]}")
    cited, known = (
        set(re.findall(r"(?<!\w)@(\w+)", body)),
        set(re.findall(r"^@\w+\{(\w+),", bibliography, re.M)),
    )
    wrong += [f"{name} is cited but not in paper.bib" for name in sorted(cited - known)]
    wrong += [f"{name} is in paper.bib but not cited" for name in sorted(known - cited)]
    pictures = re.findall(r"!\[.*?\]\((.+?)\)", body, flags=re.S)
    return wrong + [f"{name} is missing" for name in pictures if not (folder / name).is_file()]


def build() -> None:
    """HTML and PDF, by pandoc and typst; both come as packages of Python."""
    import pypandoc
    import typst
    import yaml

    text, entries = ((HERE / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    if wrong := problems(text, entries, HERE):
        sys.exit("\n".join(wrong))
    OUT.mkdir(exist_ok=True)
    authors = [f"--metadata=author:{a['name']}" for a in yaml.safe_load(text.split("---\n")[1])["authors"]]
    places = [f"--resource-path={HERE}", f"--bibliography={HERE / 'paper.bib'}"]
    common = ["--citeproc", "--standalone", "--fail-if-warnings", *places, *authors]
    source = str(HERE / "paper.md")
    page = [*common, "--embed-resources", "--mathml"]
    pypandoc.convert_file(source, "html", outputfile=str(OUT / "paper.html"), extra_args=page)
    pypandoc.convert_file(source, "typst", outputfile=str(OUT / "paper.typ"), extra_args=common)
    (OUT / "figure.png").write_bytes((HERE / "figure.png").read_bytes())
    typst.compile(str(OUT / "paper.typ"), output=str(OUT / "paper.pdf"))
    for name in ("paper.html", "paper.pdf"):
        print(OUT / name)


if __name__ == "__main__":
    build()
