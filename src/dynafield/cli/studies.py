"""Commands that compute many things: `sweep`, `reproduce`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dynafield.cli.options import (
    JsonFlag,
)
from dynafield.errors import InputError

__all__ = ["local_copy", "reproduce", "sweep"]


def sweep(
    study: Annotated[Path, typer.Argument(help="A TOML file that says what to compute, and where.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the study (NAME.sweep).")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print points, size, time and memory to expect, and stop.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; 0 for none. One per core for finite networks.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, as tcp://HOST:PORT.")
    ] = None,
    slurm: Annotated[
        int | None, typer.Option("--slurm", help="Number of SLURM jobs, as configured for dask-jobqueue.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a study of many points, or what is missing of it; after an interruption it continues."""
    from dynafield.cli.tables import emit_estimate, emit_sweep
    from dynafield.studies.clusters import need_dask, slurm_cluster
    from dynafield.studies.estimate import estimate
    from dynafield.studies.study import Study
    from dynafield.studies.sweep import sweep as run_study

    if scheduler is not None and slurm is not None:
        raise InputError("scheduler and slurm must not be given together")
    for option, given in (("scheduler", scheduler), ("slurm", slurm)):
        if given is not None:
            need_dask(option)
    plan = Study.read(study)
    if dry_run:
        emit_estimate(plan, estimate(plan), as_text=not json)
        return
    folder = Path(f"{plan.name}.sweep") if out is None else out
    try:
        with slurm_cluster(slurm) as cluster:
            data = run_study(
                plan, folder, workers=workers, scheduler=scheduler if cluster is None else cluster
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is safe in {folder}: the same command continues", err=True)
        raise
    emit_sweep(plan, data, folder, as_text=not json)


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(help="Figures to make; all when none is named."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's sizes, or smaller ones in minutes.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for figures, data, report (results, results-full).")
    ] = None,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            help="Real data: luad (shipped); pancan (downloaded before) or pancan FILE, your copy.",
        ),
    ] = "luad",
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw from the data in the folder; compute nothing.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; one per core, at most 4.", min=1)
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Reproduce the paper: every figure from our own runs, and a report on its claims.

    What is done is kept: interrupted or called again, the same command does only what is missing.
    """
    from dynafield.cli.tables import emit_claims
    from dynafield.studies.paper.reproduction import reproduce as run_all

    figures, data = local_copy(figures or [], data)
    count = min(4, os.cpu_count() or 1) if workers is None else workers
    folder = Path("results-full" if full else "results") if out is None else out
    try:
        made = run_all(
            figures,
            out=folder,
            full=full,
            data=data,
            redraw=redraw,
            seed=seed,
            workers=count,
            tell=tell_lines,
        )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is safe in {folder}: the same command continues", err=True)
        raise
    emit_claims(made, as_text=not json)
    if made.failed:
        raise typer.Exit(1)


def tell_lines(line: str) -> None:
    """Write a line to standard error, unless it is a terminal, where there is a bar."""
    if not sys.stderr.isatty():
        typer.echo(line, err=True)


def local_copy(figures: list[str], data: str) -> tuple[list[str], str]:
    """Figures and data, where a path among the figures after `--data pancan` is the user's copy of it."""
    from dynafield.figures.paper.catalogue import BEYOND, FIGURES

    known = {drawing.name for drawing in (*FIGURES, *BEYOND)}
    paths = [name for name in figures if name not in known and (os.sep in name or Path(name).exists())]
    if data != "pancan" or len(paths) != 1:
        return figures, data
    return [name for name in figures if name not in paths], paths[0]
