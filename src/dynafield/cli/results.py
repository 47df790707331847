"""Where the result of a command goes: to a file, to a picture, to the terminal."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dynafield.cli.tables import emit
from dynafield.writing import write_whole

if TYPE_CHECKING:
    from dynafield.records.record import Record

__all__ = ["check_places", "deliver", "keep"]

PICTURES = (".png", ".pdf", ".svg")


def check_places(out: Path | None, plot: Path | None) -> None:
    """Refuse what cannot be written before anything is computed."""
    from dynafield.records.files import writable

    for path, endings in ((out, (".nc", ".csv")), (plot, PICTURES)):
        if path is not None:
            writable(path, endings)


def keep(record: Any, out: Path | None, plot: Path | None, draw: Callable[[], Any] | None = None) -> None:
    """Save and draw a result as asked; `draw` replaces its own `plot`."""
    if out is not None:
        typer.echo(f"saved {record.save(out)}", err=True)
    if plot is not None:
        import matplotlib as mpl

        mpl.use("Agg")
        drawn = io.BytesIO()
        (draw or record.plot)().figure.savefig(drawn, format=plot.suffix[1:], dpi=160)
        write_whole(plot, drawn.getvalue())
        typer.echo(f"drew {plot}", err=True)


def deliver(
    record: "Record",
    names: tuple[str, ...],
    json: bool,
    out: Path | None,
    plot: Path | None,
    times: Any = None,
) -> None:
    """Save, draw and print a result as asked."""
    keep(record, out, plot)
    emit(record, names, as_text=not json, times=times)
