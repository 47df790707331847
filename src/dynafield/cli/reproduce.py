"""The paper's figures with their data, by name."""

from pathlib import Path

import typer

from dynafield.errors import InputError

__all__ = ["FIGURES", "make_figures"]

FIGURES = {"rates-theory": "rates_theory", "fixed-points": "fixed_points"}
"""Name of each figure, and of the functions that compute and draw it."""


def make_figures(names: list[str], out: Path) -> list[Path]:
    """Compute, save and draw the named figures (all when none is named)."""
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        raise InputError(f"figure must be one of {', '.join(FIGURES)}, got {unknown[0]!r}")
    if out.exists() and not out.is_dir():
        raise InputError(f"out must be a folder, got {str(out)!r}")
    import matplotlib as mpl

    mpl.use("Agg")
    from dynafield.figures import paper as drawings
    from dynafield.studies import paper as studies

    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names or FIGURES:
        typer.echo(f"{name}: computing …", err=True)
        record = getattr(studies, FIGURES[name])()
        figure = getattr(drawings, f"draw_{FIGURES[name]}")(record)
        written.append(record.save(out / f"{name}.nc"))
        for ending in ("png", "pdf"):
            figure.savefig(out / f"{name}.{ending}", dpi=160)
            written.append(out / f"{name}.{ending}")
    return written
