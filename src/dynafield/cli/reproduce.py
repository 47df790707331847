"""The paper's figures, their data and the report on its claims."""

import json
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dynafield.errors import InputError
from dynafield.numerics.processes import in_processes
from dynafield.version import __version__

if TYPE_CHECKING:
    from dynafield.figures.paper.catalogue import Drawing
    from dynafield.studies.paper.setting import Setting

__all__ = ["reproduce_paper"]

RESOLUTION = 200


def reproduce_paper(
    names: list[str], out: Path, full: bool, data: str, redraw: bool, workers: int
) -> tuple[list[Path], list[Any]]:
    """Compute what is missing, draw the named figures (all when none is named), judge, report."""
    from dynafield.figures.paper.catalogue import named
    from dynafield.studies.paper.experiments import kept
    from dynafield.studies.paper.setting import FULL, QUICK, Setting

    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")  # it is replaced
    drawings = named(names)
    if out.exists() and not out.is_dir():
        raise InputError(f"out must be a folder, got {str(out)!r}")
    setting = Setting(FULL if full else QUICK, data)
    needed = list(dict.fromkeys(name for drawing in drawings for name in drawing.needs))
    if redraw:
        absent = [name for name in needed if kept(out, name, None) is None]
        if absent:
            raise InputError(f"--redraw needs the data of {', '.join(absent)}: leave it away to compute them")
    else:
        compute(needed, setting, out, workers)
    pictures = draw(drawings, out, workers)
    return finish(out, None if redraw else setting, pictures)


def compute(needed: list[str], setting: "Setting", out: Path, workers: int) -> None:
    """Do what is missing, and tell of it."""
    from dynafield.studies.paper.experiments import computed, kept
    from dynafield.studies.paper.setting import genes

    if any(name in needed for name in ("fixed-points", "rates-real", "universality", "gene-histogram")):
        genes(setting.data)  # a cohort that is not there is better told before than after minutes
    done = [name for name in needed if kept(out, name, setting) is not None]
    left, began = len(needed) - len(done), time.monotonic()
    if done:
        typer.echo(f"{len(done)} of {len(needed)} experiments are there already", err=True)
    if left:
        typer.echo(f"{left} experiments to do ({setting.scale.name}) …", err=True)
    for name in computed(needed, setting, out, workers):
        left -= 1
        typer.echo(f"{name}: done, {left} left, {time.monotonic() - began:.0f} s", err=True)


def draw(drawings: list["Drawing"], out: Path, workers: int) -> list[Path]:
    """PNG and PDF of each figure, from saved data alone."""
    if workers == 1 or len(drawings) < 4:
        return [path for drawing in drawings for path in draw_one(drawing, out)]
    drawn = in_processes(draw_one, ((drawing, out) for drawing in drawings), workers)
    return sorted(path for paths in drawn for path in paths)


def draw_one(drawing: "Drawing", out: Path) -> list[Path]:
    """One figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from dynafield.records import files
    from dynafield.studies.paper.experiments import path_of

    figure = drawing.draw({name: files.read(path_of(out, name)) for name in drawing.needs})
    paths = [out / f"{drawing.name}.{ending}" for ending in ("png", "pdf")]
    for path in paths:
        figure.savefig(path, dpi=RESOLUTION)
    plt.close(figure)
    return paths


def finish(out: Path, setting: "Setting | None", pictures: list[Path]) -> tuple[list[Path], list[Any]]:
    """Judge all claims there are data for, and write the report on all figures that are there."""
    from dynafield.figures.paper.catalogue import named
    from dynafield.figures.report import write_report
    from dynafield.studies.paper.experiments import EXPERIMENTS, kept, path_of
    from dynafield.studies.paper.verdicts import judged

    found = {name: kept(out, name, setting) for name in EXPERIMENTS}
    data = {name: one for name, one in found.items() if one is not None}
    claims = judged(data)
    table = out / "claims.json"
    table.write_text(json.dumps([claim.facts() for claim in claims], indent=1, ensure_ascii=False) + "\n")
    shown = [
        (one.name, out / f"{one.name}.png", one.caption(data),
         [path_of(Path(), need).as_posix() for need in one.needs])
        for one in named([])
        if (out / f"{one.name}.png").is_file() and all(need in data for need in one.needs)
    ]  # fmt: skip
    scale = next(iter(data.values())).attrs["scale"]
    about = [
        f"dynafield {__version__}, sizes: {scale}. Lines are theory, points are finite networks trained by "
        f"this "
        "run; parameters are in the captions, numbers in the data files beside this page."
    ]
    title = "Precise dynamics of diagonal linear networks: figures and claims, reproduced"
    report = write_report(out / "report.html", title, about, [claim.facts() for claim in claims], shown)
    return [*pictures, table, report], claims
