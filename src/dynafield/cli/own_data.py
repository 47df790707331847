"""The command that fits a table of the user: `fit`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dynafield.cli.options import (
    LIST,
    JsonFlag,
    Out,
    Plot,
)
from dynafield.cli.results import check_places, keep
from dynafield.errors import InputError
from dynafield.writing import write_whole

__all__ = ["fit"]


def fit(
    data: Annotated[Path, typer.Argument(help="A table of numbers with a line of names (.csv, .tsv, …).")],
    target: Annotated[str, typer.Option("--target", help="Name of the column to predict.")],
    classify: Annotated[
        bool, typer.Option("--classify", help="Separate two classes, by the logistic loss.")
    ] = False,
    alpha: Annotated[
        str, typer.Option("--alpha", help=f"Initial scale to choose from, or auto. {LIST}")
    ] = "auto",
    lam: Annotated[str, typer.Option("--lam", help=f"Weight decay to choose from. {LIST}")] = "0",
    depth: Annotated[
        str, typer.Option("--depth", help="Numbers of layers to choose from, as 2 or 2,3.")
    ] = "2",
    t_max: Annotated[str, typer.Option("--t-max", help="Training time, or auto.")] = "auto",
    probes: Annotated[
        int, typer.Option("--probes", help="Number of random directions for the estimate.")
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the probes.")] = 0,
    predict: Annotated[
        Path | None,
        typer.Option("--predict", help="A table with the same columns, to predict for."),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="Write these predictions to this file.")
    ] = None,
    json: JsonFlag = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Fit your own data: initial scale and stopping time are chosen without holding data back."""
    import numpy as np

    from dynafield.cli.tables import emit_fit
    from dynafield.datasets.tables import read_table
    from dynafield.problem.text import numbers
    from dynafield.records.files import writable
    from dynafield.regressor.classifier import DiagonalNetworkClassifier
    from dynafield.regressor.estimator import DiagonalNetworkRegressor

    check_places(out, plot)
    if predictions is not None:
        writable(predictions)
        if predict is None:
            raise InputError("predictions needs --predict, the table to predict for")
    layers, end = numbers("depth", depth), None if t_max == "auto" else numbers("t_max", t_max)
    if np.any(layers != np.round(layers)):
        raise InputError(f"depth must be integers, got {depth}")
    if end is not None and np.ndim(end) > 0:
        raise InputError(f"t_max must be one number or auto, got {t_max}")
    table = read_table(data, target)
    new = None if predict is None else read_table(predict, columns=table.names)
    if not classify and table.y.dtype.kind != "f":
        raise InputError(f"target {target!r} must be numbers, or give --classify; got {str(table.y[0])!r}")
    kind: Any = DiagonalNetworkClassifier if classify else DiagonalNetworkRegressor
    model = kind(
        alpha="auto" if alpha == "auto" else np.atleast_1d(numbers("alpha", alpha)),
        lam=np.atleast_1d(numbers("lam", lam)),
        depth=[int(k) for k in np.atleast_1d(layers)],
        t_max="auto" if end is None else float(end),
        probes=probes,
        random_state=seed,
    )
    try:
        model.fit(table.X, table.y)
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError(str(error)) from error
    if (out or plot) and not hasattr(model, "path_"):
        raise InputError(f"target {target!r} does not depend on any column: there is no path to keep")
    keep(getattr(model, "path_", None), out, plot)
    found = None if new is None else model.predict(new.X)
    if found is not None and predictions is not None:
        lines = [target, *(str(value) for value in found.tolist())]
        write_whole(predictions, ("\n".join(lines) + "\n").encode())
        typer.echo(f"wrote {predictions}", err=True)
    emit_fit(model, table.names, found, as_text=not json)
