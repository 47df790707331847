"""Results on the terminal: a table, one block, or JSON."""

import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dynafield.records.record import Record

__all__ = ["emit"]


def columns(record: "Record", names: tuple[str, ...]) -> dict[str, Any]:
    """Varied parameters and the chosen quantities, flattened."""
    import numpy as np

    from dynafield.records.problems import parameters

    given = parameters(record.task, record.net)
    shape = record.shape
    result = {k: np.broadcast_to(v, shape).ravel() for k, v in given.items() if v.ndim}
    return result | {name: np.broadcast_to(getattr(record, name), shape).ravel() for name in names}


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
    given |= {"depth": record.net.depth, "prior": str(record.task.prior)}
    found = {name: listed(getattr(record, name)) for name in record.quantities()}
    return json.dumps({"kind": type(record).__name__, "parameters": given, "result": found}, indent=2)


def emit(record: "Record", names: tuple[str, ...], as_text: bool) -> None:
    """Print one problem as a block, several as a table, either as JSON."""
    if not as_text:
        typer.echo(as_json(record))
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
