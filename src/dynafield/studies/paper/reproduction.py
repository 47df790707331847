"""The paper from start to end: compute what is missing, draw, judge, report."""

import dataclasses
import io
import json
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dynafield.deprecation import old_calls
from dynafield.errors import InputError
from dynafield.figures.paper.catalogue import Drawing, named
from dynafield.figures.report import write_report
from dynafield.numerics.processes import in_processes
from dynafield.problem.checks import checked_path, flag, function_of, integer, seed_of, shown
from dynafield.progress import Progress, Wanted, check_wanted
from dynafield.records import files
from dynafield.studies.paper.claims import Claim
from dynafield.studies.paper.corrections import CORRECTIONS
from dynafield.studies.paper.experiments import EXPERIMENTS, REAL, computed, kept, path_of
from dynafield.studies.paper.perturbations import judged_with_turns
from dynafield.studies.paper.setting import FULL, QUICK, Setting, cohort
from dynafield.version import __version__
from dynafield.writing import make_folder, remove_stale_parts, write_whole

__all__ = ["Reproduction", "reproduce"]

RESOLUTION = 200
ENDINGS = ("png", "pdf")
ALWAYS = (
    "identities",
    "rate-limits",
    "search-phase",
    "infinite-data",
    "decay-rates",
    "late-times",
    "message-passing",
    "double-descent",
)
"""Experiments that no figure shows, done with all figures."""
SOURCE = {
    "title": "Precise Dynamics of Diagonal Linear Networks: A Unifying Analysis by Dynamical Mean-Field "
    "Theory",
    "authors": "Sota Nishiyama and Masaaki Imaizumi",
}
"""The paper."""


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """What `reproduce` wrote, and the claims of the paper with their verdicts.

    Attributes
    ----------
    files : list of Path
        Files that were written, the report last.
    claims : list of Claim
        Claims of the paper with their verdicts.
    failed : dict of str
        Experiments and drawings that failed, each with its message.
    """

    files: list[Path]
    claims: list[Claim]
    failed: dict[str, str] = dataclasses.field(default_factory=dict)
    """Experiments and drawings that failed, each with its message."""

    @property
    def report(self) -> Path:
        """The page with everything."""
        return self.files[-1]


def quiet(_: str) -> None:
    """Tell nothing."""


@old_calls()
def reproduce(
    figures: Any = (),
    *,
    out: str | Path = "results",
    full: bool = False,
    data: str = "luad",
    redraw: bool = False,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[str], None] = quiet,
    progress: Wanted = None,
) -> Reproduction:
    """Reproduce the figures of the paper from our own runs, with their data and a report on its claims.

    What is done is kept: called again, only what is missing is computed. A folder holds one size, cohort and
    seed. An experiment that fails is named in `failed` and in the report; the others go on.

    Parameters
    ----------
    figures : str or list of str, default ()
        Names of figures; empty: all.
    out : str or Path, default "results"
        Folder for figures, data and report.
    full : bool, default False
        Whether to take the sizes of the paper; otherwise smaller ones, which take minutes.
    data : str, default "luad"
        Real data: "luad" (comes with the package), "pancan" (downloaded before), or the path of a local copy
        of the latter.
    redraw : bool, default False
        Whether to draw from the data that are there and compute nothing.
    seed : int, default 0
        Seed of all experiments.
    workers : int, default 1
        Number of processes.
    tell : callable, optional
        A function that is called with a line of text now and then. Default: nothing is told.
    progress : bool or callable, optional
        As in `solve`.

    Returns
    -------
    Reproduction
        Files, claims and failures.
    """
    if not isinstance(figures, Iterable):
        raise InputError(f"figures must be names of figures, got {shown(figures)}")
    drawings, out = named([figures] if isinstance(figures, str) else list(figures)), checked_path("out", out)
    workers, seed = integer("workers", workers, 1), seed_of("seed", seed)
    full, redraw, data = flag("full", full), flag("redraw", redraw), str(checked_path("data", data))
    function_of("tell", tell)
    check_wanted(progress)
    if out.exists() and not out.is_dir():
        raise InputError(f"out must be a folder, got {str(out)!r}")
    needed = list(dict.fromkeys(name for drawing in drawings for name in drawing.needs))
    needed += ALWAYS if not figures else ()
    failed: dict[str, str] = {}
    setting = Setting(FULL if full else QUICK, str(data), seed)
    if redraw:
        absent = [name for name in needed if kept(out, name, None) is None]
        if absent:
            raise InputError(f"redraw needs the data of {', '.join(absent)}: run without it to compute them")
    else:
        if any(name in needed for name in REAL):
            cohort(setting.data)  # one that is not there is better told before than after minutes
        claim_folder(out, setting)
        failed = compute(needed, setting, out, workers, tell, progress)
    possible = [drawing for drawing in drawings if not any(name in failed for name in drawing.needs)]
    pictures, broken = draw(possible, out, workers)
    return finish(out, None if redraw else setting, pictures, failed | broken)


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
                f"out holds another reproduction ({theirs}): choose another folder, so that neither is lost"
            )
    remove_stale_parts(make_folder(out))
    write_whole(record, json.dumps(facts, indent=1).encode())


def compute(
    needed: list[str],
    setting: Setting,
    out: Path,
    workers: int,
    tell: Callable[[str], None],
    progress: Wanted,
) -> dict[str, str]:
    """Do what is missing, and tell of it; returns what failed, with its messages."""
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")  # it is replaced
    left = [name for name in EXPERIMENTS if name in needed and kept(out, name, setting) is None]
    began, failed = time.monotonic(), {}
    if len(left) < len(needed):
        tell(f"{len(needed) - len(left)} of {len(needed)} experiments are there already")
    if left:
        tell(f"{len(left)} experiments to do ({setting.scale.name}) …")
    for drawing in named([]):  # pictures of data that will be replaced
        if any(need in left for need in drawing.needs):
            for ending in ENDINGS:
                (out / f"{drawing.name}.{ending}").unlink(missing_ok=True)
    with Progress("experiments", float(max(1, len(left))), progress, patience=0.0) as bar:
        count = len(left)
        bar.show(0.0, running(left, workers))
        for name, message in computed(needed, setting, out, workers):
            left.remove(name)
            if message:
                failed[name] = message
            how = f"FAILED ({message})" if message else "done"
            tell(f"{name}: {how}, {len(left)} left, {time.monotonic() - began:.0f} s")
            bar.show(float(count - len(left)), running(left, workers))
    return failed


def running(left: list[str], workers: int) -> str:
    """What is being done now: experiments are begun in order."""
    return f"{len(left)} left, now {', '.join(left[:workers])}" if left else "done"


def draw(drawings: list[Drawing], out: Path, workers: int) -> tuple[list[Path], dict[str, str]]:
    """All endings of each figure, from saved data alone; and those that failed, with their messages."""
    given = [(drawing, out) for drawing in drawings]
    alone = workers == 1 or len(drawings) < 4
    drawn = [draw_safely(*one) for one in given] if alone else in_processes(draw_safely, given, workers)
    found = {name: (paths, message) for name, paths, message in drawn}
    pictures = [path for drawing in drawings for path in found[drawing.name][0]]
    return pictures, {f"figure {name}": message for name, (_, message) in found.items() if message}


def draw_safely(drawing: Drawing, out: Path) -> tuple[str, list[Path], str]:
    """Name and files of a figure, and what went wrong if it did."""
    try:
        return drawing.name, draw_one(drawing, out), ""
    except Exception as error:  # one figure that fails does not take the others with it
        return drawing.name, [], f"{type(error).__name__}: {error}"


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


def finish(out: Path, setting: Setting | None, pictures: list[Path], failed: dict[str, str]) -> Reproduction:
    """Judge all claims there are data for, and report on them and on all figures that are there."""
    found = {name: kept(out, name, setting) for name in EXPERIMENTS}
    data = {name: one for name, one in found.items() if one is not None}
    claims = judged_with_turns(data)
    facts = [claim.facts() for claim in claims]
    table = out / "claims.json"
    write_whole(table, (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode())
    shown = [
        (
            one.name,
            f"{one.answers}: {one.name}",
            out / f"{one.name}.png",
            one.caption(data),
            [f"data/{need}.nc" for need in one.needs],
        )
        for one in named([])
        if (out / f"{one.name}.png").is_file() and all(need in data for need in one.needs)
    ]
    sizes = " and ".join(sorted({one.attrs["scale"] for one in data.values()})) or "none"
    about = [
        f"Made by dynafield {__version__}, sizes: {sizes}. Lines are theory, points are finite networks "
        "trained by this run. Parameters are in the captions, numbers in the data files beside this page.",
        "Networks follow gradient flow to a tolerance, and every value of the targets occurs in its exact "
        "proportion. The paper trained by steps of 0.1 and, as we read it, with independent targets: the "
        "figure as-printed shows the difference.",
    ]
    notation = [one._asdict() for one in CORRECTIONS.values() if not one.judged]
    report = write_report(out / "report.html", SOURCE, about, facts, notation, shown, failed)
    return Reproduction([*pictures, table, report], claims, failed)
