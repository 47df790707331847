"""The paper from start to end: compute what is missing, draw, judge, report."""

import dataclasses
import io
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dynafield.errors import InputError
from dynafield.figures.paper.catalogue import Drawing, named
from dynafield.figures.report import write_report
from dynafield.numerics.processes import in_processes
from dynafield.problem.checks import integer
from dynafield.records import files
from dynafield.studies.paper.claims import Claim
from dynafield.studies.paper.experiments import EXPERIMENTS, REAL, computed, kept, path_of
from dynafield.studies.paper.setting import FULL, QUICK, Setting, cohort
from dynafield.studies.paper.verdicts import judged
from dynafield.version import __version__

__all__ = ["Reproduction", "reproduce"]

RESOLUTION = 200
ENDINGS = ("png", "pdf")
ALWAYS = ("identities", "rate-limits")
"""Experiments that no figure shows, done with all figures."""
TITLE = "Precise dynamics of diagonal linear networks: figures and claims, reproduced"


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """Files that were written, and the claims of the paper with their verdicts."""

    files: list[Path]
    claims: list[Claim]

    @property
    def report(self) -> Path:
        """The page with everything."""
        return self.files[-1]


def quiet(_: str) -> None:
    """Tell nothing."""


def reproduce(
    figures: Any = (),
    out: str | Path = "results",
    full: bool = False,
    data: str = "luad",
    redraw: bool = False,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[str], None] = quiet,
) -> Reproduction:
    """Figures of the paper from our own runs, their data and a report on its claims, in the folder `out`.

    All figures when none is named; `full` takes the paper's sizes. `data` is "luad" (shipped), "pancan"
    (downloaded before) or a local copy of the latter. What is done is kept: called again, only what is left
    is computed; `redraw` draws from what is there and computes nothing. A folder holds one size, cohort and
    `seed`. `tell` is called with a line at times.
    """
    drawings, out = named([figures] if isinstance(figures, str) else list(figures)), Path(out)
    workers = integer("workers", workers, 1)
    if out.exists() and not out.is_dir():
        raise InputError(f"out must be a folder, got {str(out)!r}")
    needed = list(dict.fromkeys(name for drawing in drawings for name in drawing.needs))
    needed += ALWAYS if not figures else ()
    setting = Setting(FULL if full else QUICK, str(data), integer("seed", seed, 0))
    if redraw:
        absent = [name for name in needed if kept(out, name, None) is None]
        if absent:
            raise InputError(f"redraw needs the data of {', '.join(absent)}: leave it away to compute them")
    else:
        if any(name in needed for name in REAL):
            cohort(setting.data)  # one that is not there is better told before than after minutes
        claim_folder(out, setting)
        compute(needed, setting, out, workers, tell)
    pictures = draw(drawings, out, workers)
    return finish(out, None if redraw else setting, pictures)


def claim_folder(out: Path, setting: Setting) -> None:
    """Write down what the folder is for, or InputError if it is for something else."""
    record, facts = out / "setting.json", setting.facts()
    if record.is_file():
        try:
            found = json.loads(record.read_text(encoding="utf-8"))
        except ValueError:
            raise InputError(f"out must be the folder of a reproduction, {record} is not of one") from None
        if any(found.get(key) != facts[key] for key in ("name", "data", "seed")):
            theirs = f"{found.get('name')}, {found.get('data')}, seed {found.get('seed')}"
            raise InputError(
                f"out holds a reproduction of another kind ({theirs}): take another folder, to lose neither"
            )
    out.mkdir(parents=True, exist_ok=True)
    write_whole(record, json.dumps(facts, indent=1).encode())


def write_whole(path: Path, content: bytes) -> None:
    """A file, whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def compute(
    needed: list[str], setting: Setting, out: Path, workers: int, tell: Callable[[str], None]
) -> None:
    """Do what is missing, and tell of it."""
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")  # it is replaced
    done = sum(kept(out, name, setting) is not None for name in needed)
    left, began = len(needed) - done, time.monotonic()
    if done:
        tell(f"{done} of {len(needed)} experiments are there already")
    if left:
        tell(f"{left} experiments to do ({setting.scale.name}) …")
    for drawing in named([]):  # pictures of data that will be replaced
        if any(need in needed and kept(out, need, setting) is None for need in drawing.needs):
            for ending in ENDINGS:
                (out / f"{drawing.name}.{ending}").unlink(missing_ok=True)
    for name in computed(needed, setting, out, workers):
        left -= 1
        tell(f"{name}: done, {left} left, {time.monotonic() - began:.0f} s")


def draw(drawings: list[Drawing], out: Path, workers: int) -> list[Path]:
    """All endings of each figure, from saved data alone."""
    if workers == 1 or len(drawings) < 4:
        return [path for drawing in drawings for path in draw_one(drawing, out)]
    drawn = in_processes(draw_one, ((drawing, out) for drawing in drawings), workers)
    return sorted(path for paths in drawn for path in paths)


def draw_one(drawing: Drawing, out: Path) -> list[Path]:
    """One figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.pyplot import close

    figure = drawing.draw({name: files.read(path_of(out, name)) for name in drawing.needs})
    close(figure)  # it is not for the screen
    FigureCanvasAgg(figure)
    paths = [out / f"{drawing.name}.{ending}" for ending in ENDINGS]
    for path in paths:
        content = io.BytesIO()
        figure.savefig(content, format=path.suffix[1:], dpi=RESOLUTION)
        write_whole(path, content.getvalue())
    return paths


def finish(out: Path, setting: Setting | None, pictures: list[Path]) -> Reproduction:
    """Judge all claims there are data for, and report on them and on all figures that are there."""
    found = {name: kept(out, name, setting) for name in EXPERIMENTS}
    data = {name: one for name, one in found.items() if one is not None}
    claims = judged(data)
    facts = [claim.facts() for claim in claims]
    table = out / "claims.json"
    write_whole(table, (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode())
    shown = [
        (one.name, out / f"{one.name}.png", one.caption(data), [f"data/{need}.nc" for need in one.needs])
        for one in named([])
        if (out / f"{one.name}.png").is_file() and all(need in data for need in one.needs)
    ]
    sizes = " and ".join(sorted({one.attrs["scale"] for one in data.values()}))
    about = [
        f"dynafield {__version__}, sizes: {sizes}. Lines are theory, points are finite networks trained by "
        "this run; parameters are in the captions, numbers in the data files beside this page."
    ]
    report = write_report(out / "report.html", TITLE, about, facts, shown)
    return Reproduction([*pictures, table, report], claims)
