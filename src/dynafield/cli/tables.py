"""Results on the terminal: a table, one block, or JSON."""

import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dynafield.records.record import Record
    from dynafield.simulation.runs import Runs

__all__ = ["emit"]


def columns(record: "Record", names: tuple[str, ...]) -> dict[str, Any]:
    """Varied parameters and the chosen quantities, flattened."""
    import numpy as np

    from dynafield.records.problems import parameters

    given = parameters(record.task, record.net)
    shape = record.shape
    result = {k: np.broadcast_to(v, shape).ravel() for k, v in given.items() if v.ndim}
    return result | {name: np.broadcast_to(getattr(record, name), shape).ravel() for name in names}


def curve_columns(runs: "Runs", most: int = 12) -> dict[str, Any]:
    """Errors at up to `most` of the times, mean and standard deviation over runs, one row each."""
    import numpy as np

    from dynafield.records.problems import parameters

    times = len(runs.t)
    which = np.unique(np.linspace(0, times - 1, min(times, most)).round().astype(int))
    given = parameters(runs.task, runs.net)
    shape = (*runs.shape, len(which))
    result = {
        k: np.broadcast_to(np.broadcast_to(v, runs.shape)[..., None], shape).ravel()
        for k, v in given.items()
        if v.ndim
    }
    result["t"] = np.broadcast_to(np.asarray(runs.t)[which], shape).ravel()
    for name in ("train_error", "test_error"):
        result[name] = runs.mean(name)[..., which].ravel()
        result[f"{name}_sd"] = runs.standard_deviation(name)[..., which].ravel()
    return result


def as_json(record: "Record") -> str:
    """Parameters and quantities; what is not finite is null."""
    import numpy as np

    from dynafield.records.problems import parameters

    def listed(value):
        value = np.asarray(value)
        if value.dtype.kind == "f":
            finite = np.isfinite(value)
            value = value.astype(object)
            value[~finite] = None
        return value.tolist()

    given = {name: listed(value) for name, value in parameters(record.task, record.net).items()}
    given |= {"depth": record.net.depth, "prior": str(record.task.prior), **record.facts()}
    found = {name: listed(getattr(record, name)) for name in record.quantities()}
    return json.dumps({"kind": type(record).__name__, "parameters": given, "result": found}, indent=2)


def emit(record: "Record", names: tuple[str, ...], as_text: bool) -> None:
    """Print one problem as a block, several as a table, either as JSON."""
    from dynafield.simulation.runs import Runs

    if not as_text:
        typer.echo(as_json(record))
    elif isinstance(record, Runs):
        typer.echo("\n".join([*repr(record).splitlines()[:5], "", table(curve_columns(record))]))
    elif not record.shape:
        typer.echo(repr(record))
    else:
        typer.echo(table(columns(record, names)))


def table(content: dict[str, Any]) -> str:
    """Aligned columns, wide enough for every entry, the same on every terminal."""
    cells = [
        [name, *(v if isinstance(v, str) else f"{v:.8g}" for v in column)] for name, column in content.items()
    ]
    widths = [max(map(len, column)) for column in cells]
    return "\n".join(
        "  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in zip(*cells, strict=True)
    )
