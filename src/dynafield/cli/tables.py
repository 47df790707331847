"""Results on the terminal: a table, one block, or JSON."""

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dynafield.dmft.results.curves import Curves
    from dynafield.dmft.results.flow_curves import FlowCurves
    from dynafield.records.record import Record
    from dynafield.simulation.runs import RunsRecord
    from dynafield.studies.comparison import Comparison
    from dynafield.studies.estimate import Estimate
    from dynafield.studies.optimum import Optimum
    from dynafield.studies.study import Study
    from dynafield.theory.phases_record import Phases

__all__ = ["emit", "emit_claims", "emit_comparison", "emit_estimate", "emit_fit", "emit_phases", "emit_sweep"]


def columns(record: "Record", names: tuple[str, ...]) -> dict[str, Any]:
    """Varied parameters and the chosen quantities, flattened."""
    import numpy as np

    from dynafield.records.problems import parameters

    given = parameters(record.task, record.net)
    shape = record.shape
    result = {k: np.broadcast_to(v, shape).ravel() for k, v in given.items() if v.ndim}
    return result | {name: np.broadcast_to(getattr(record, name), shape).ravel() for name in names}


def optimum_columns(record: "Optimum") -> dict[str, Any]:
    """Varied parameters, best numbers, those at a limit of their range marked, and the objective."""
    import numpy as np

    known = columns(record, ())
    ends = np.asarray(record.boundary).reshape(-1, len(record.over))
    best = {f"best_{name}": np.ravel(value) for name, value in record.best.items()}
    marks = {f"{name}_at": np.where(ends[:, k] == "", "-", ends[:, k]) for k, name in enumerate(record.over)}
    return known | best | marks | {"value": np.ravel(record.value), "value_se": np.ravel(record.value_se)}


MOST = 12
"""Times in a table, unless they are asked for."""


def over_times(record: "Record", t: Any, curves: dict[str, Any]) -> dict[str, Any]:
    """Varied parameters, times and curves over them, one row each."""
    import numpy as np

    from dynafield.records.problems import parameters

    shape = (*record.shape, len(t))
    result = {
        k: np.broadcast_to(np.broadcast_to(v, record.shape)[..., None], shape).ravel()
        for k, v in parameters(record.task, record.net).items()
        if v.ndim
    }
    result["t"] = np.broadcast_to(np.asarray(t), shape).ravel()
    return result | {name: np.ravel(values) for name, values in curves.items()}


def run_columns(runs: "RunsRecord") -> dict[str, Any]:
    """Errors at some of the times, mean and standard deviation over runs."""
    import numpy as np

    from dynafield.problem.model import MEASURES

    which = np.unique(np.linspace(0, len(runs.t) - 1, min(len(runs.t), MOST)).round().astype(int))
    found = {}
    for name in [name for name in MEASURES if hasattr(runs, name)]:
        found[name] = runs.mean(name)[..., which]
        found[f"{name}_sd"] = runs.standard_deviation(name)[..., which]
    return over_times(runs, np.asarray(runs.t)[which], found)


def solution_columns(curves: "Curves | FlowCurves", times: Any) -> dict[str, Any]:
    """Errors of the infinite model at given times, or at some, with their estimated errors; losses too."""
    import numpy as np

    from dynafield.problem.model import MEASURES
    from dynafield.problem.trainers import Steps

    end = float(curves.t[-1])
    t = np.concatenate([[0.0], np.geomspace(1e-3 * end, end, MOST - 1)]) if times is None else times
    if times is None and isinstance(curves.trainer, Steps):
        t = curves.trainer.rounded(t)
    points = curves.at(t)
    names = [name for name in MEASURES if hasattr(points, f"{name}_se")]
    return over_times(curves, t, {n: getattr(points, n) for name in names for n in (name, f"{name}_se")})


def as_json(record: "Record") -> str:
    """Parameters and quantities; what is not finite is null."""
    import numpy as np

    from dynafield.problem.networks import Network
    from dynafield.records.problems import parameters

    def listed(value):
        value = np.asarray(value)
        if value.dtype.kind == "f":
            finite = np.isfinite(value)
            value = value.astype(object)
            value[~finite] = None
        return value.tolist()

    given = {name: listed(value) for name, value in parameters(record.task, record.net).items()}
    model = {"depth": record.net.depth} if isinstance(record.net, Network) else {"flow": record.net.name}
    given |= model | {"prior": str(record.task.prior), **record.facts()}
    if record.task.spectrum is not None:
        given["spectrum"] = str(record.task.spectrum)
    rows = {
        f.name for f in dataclasses.fields(record) if {"path", "datum"} & {*f.metadata.get("over", ())}
    }  # files have them
    shown = {name: getattr(record, name) for name in record.has() if name not in rows}
    found = {name: listed(value) for name, value in shown.items() if value is not None}
    return json.dumps({"kind": type(record).__name__, "parameters": given, "result": found}, indent=2)


def emit(record: "Record", names: tuple[str, ...], as_text: bool, times: Any = None) -> None:
    """Print one problem as a block, several and curves as a table, either as JSON."""
    from dynafield.dmft.results.curves import Curves
    from dynafield.dmft.results.flow_curves import FlowCurves
    from dynafield.simulation.runs import RunsRecord
    from dynafield.studies.optimum import Optimum

    if not as_text:
        typer.echo(as_json(record))
    elif isinstance(record, RunsRecord):
        typer.echo("\n".join([*repr(record).splitlines()[:5], "", table(run_columns(record))]))
    elif isinstance(record, Curves | FlowCurves):
        typer.echo("\n".join([*repr(record).splitlines()[:5], "", table(solution_columns(record, times))]))
    elif not record.shape:
        typer.echo(repr(record))
    elif isinstance(record, Optimum):
        typer.echo(table(optimum_columns(record)))
    else:
        typer.echo(table(columns(record, names)))


def emit_fit(model: Any, names: list[str], predicted: Any, as_text: bool) -> None:
    """Print what was chosen for own data, the largest coefficients and predictions; or all as JSON."""
    import numpy as np

    coef, by_loss = np.ravel(model.coef_), hasattr(model, "classes_")
    chosen = {name: getattr(model, f"{name}_", None) for name in ("alpha", "lam", "depth", "stop")}
    estimates = ("test_loss", "test_error") if by_loss else ("test_error",)
    measured: dict[str, Any] = {}
    if hasattr(model, "path_"):
        for name in estimates:
            for part in (name, f"{name}_se"):
                measured[f"estimated_{part}"] = float(getattr(model.path_, part)[model.n_iter_])
    intercept = float(np.ravel(model.intercept_)[0])
    if not as_text:
        content = chosen | measured | {"intercept": intercept}
        content |= {"coefficients": dict(zip(names, coef.tolist(), strict=True))}
        content |= {} if predicted is None else {"predictions": np.asarray(predicted).tolist()}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    typer.echo("\n".join(f"{name:20} {value:.6g}" for name, value in chosen.items() if value is not None))
    for name in estimates if measured else ():
        value, error = (measured[f"estimated_{name}{end}"] for end in ("", "_se"))
        typer.echo(f"{name + ' of new data':20} {value:.4g} ± {error:.2g}, estimated")
    order = np.argsort(-np.abs(coef))[:MOST]
    typer.echo("")
    rows = {"column": ["intercept", *(names[k] for k in order)], "coefficient": [intercept, *coef[order]]}
    typer.echo(table(rows))
    if len(order) < len(coef):
        typer.echo(f"… and {len(coef) - len(order)} smaller ones")
    if predicted is not None:
        typer.echo("")
        typer.echo(table({"prediction": [v if isinstance(v, str) else float(v) for v in predicted.tolist()]}))


def emit_comparison(found: "Comparison", as_text: bool) -> None:
    """Print theory and finite networks side by side, at up to a dozen times, or all as JSON."""
    import numpy as np

    content = found.table()
    if not as_text:
        typer.echo(json.dumps({name: np.asarray(v).tolist() for name, v in content.items()}, indent=2))
        return
    which = np.unique(np.linspace(0, len(found.t) - 1, min(len(found.t), MOST)).round().astype(int))
    curves = {
        name.replace("_error", ""): values[..., which] for name, values in content.items() if name != "t"
    }
    typer.echo("\n".join([repr(found), "", table(over_times(found.runs, found.t[which], curves))]))


def emit_phases(found: "Phases", as_text: bool) -> None:
    """Print stages and what was measured of them, or both as JSON; what is not finite is null there."""
    import numpy as np

    if as_text:
        typer.echo(repr(found))
        return

    def rows(parts: Any) -> list[dict[str, Any]]:
        return [
            {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in one._asdict().items()}
            for one in parts
        ]

    content = {"regime": found.regime, "stages": rows(found.stages), "measured": rows(found.measured)}
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def emit_estimate(study: "Study", found: "list[Estimate]", as_text: bool) -> None:
    """Print what a study will cost."""
    if not as_text:
        typer.echo(
            json.dumps({"name": study.name, "shape": study.shape, "cost": [e._asdict() for e in found]})
        )
        return
    axes = ", ".join(f"{'·'.join(axis.members)} {len(axis)}" for axis in study.axes)
    typer.echo(f"{study.name}: {study.size} points ({axes or 'no axes'})")
    columns = {
        "computation": [e.computation for e in found],
        "batches": [e.batches for e in found],
        "s per point": [e.seconds / e.points for e in found],
        "s in all": [e.seconds for e in found],
        "result MB": [e.result_bytes / 1e6 for e in found],
        "memory MB": [e.memory_bytes / 1e6 for e in found],
    }
    typer.echo(table(columns))
    typer.echo(
        "times are of one point alone, in one process: theory in batches and several workers are faster"
    )


def emit_sweep(study: "Study", data: Any, folder: Any, as_text: bool) -> None:
    """Print the results of a study, and what failed in it."""
    import numpy as np

    failed = {}
    for one in study.computations:
        errors = np.ravel(data[f"{one.name}_error"].values)
        failed[one.name] = [str(error) for error in errors if error]
    if not as_text:
        typer.echo(
            json.dumps({"name": study.name, "points": study.size, "folder": str(folder), "failed": failed})
        )
        return
    typer.echo(repr(data))
    for name, errors in failed.items():
        if errors:
            typer.echo(
                f"{name}: {len(errors)} of {study.size} points failed, the first: {errors[0]}", err=True
            )
    typer.echo(f"saved {folder}", err=True)


FEW = 10
"""Files that are named one by one."""


def emit_claims(made: Any, as_text: bool) -> None:
    """Print what a reproduction wrote, how many claims hold, verdicts that were not expected, what failed."""
    if not as_text:
        facts = [claim.facts() for claim in made.claims]
        content = {"files": [str(path) for path in made.files], "claims": facts, "failed": made.failed}
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    for path in made.files if len(made.files) <= FEW else made.files[-2:]:
        typer.echo(path)
    for source, words in (
        ("paper", "claims of the paper hold"),
        ("as printed", "statements that need a correction hold as printed"),
        ("corrected", "corrected or added statements hold"),
    ):
        some = [claim for claim in made.claims if claim.source == source]
        if some:
            typer.echo(f"{sum(claim.holds for claim in some)} of {len(some)} {words}")
    for claim in made.claims:
        if claim.holds == (claim.source == "as printed"):
            typer.secho(f"{claim.verdict}: {claim.topic}, {claim.source}: {claim.statement}", fg="red")
    for name, message in made.failed.items():
        typer.secho(f"FAILED: {name}: {message}", fg="red", err=True)


def table(content: dict[str, Any]) -> str:
    """Aligned columns, wide enough for every entry, the same on every terminal."""
    cells = [
        [name, *(v if isinstance(v, str) else f"{v:.8g}" for v in column)] for name, column in content.items()
    ]
    widths = [max(map(len, column)) for column in cells]
    return "\n".join(
        "  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in zip(*cells, strict=True)
    )
