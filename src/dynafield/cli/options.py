"""Options shared by the commands, and how they become tasks, networks and trainers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dynafield.errors import InputError

__all__ = [
    "LIST",
    "Alpha",
    "Batch",
    "Bend",
    "Bound",
    "Delta",
    "Depth",
    "Evaluate",
    "FlowName",
    "JsonFlag",
    "LabelNoise",
    "Lam",
    "Momentum",
    "Nesterov",
    "NumberOfRuns",
    "OldSeeds",
    "OneDelta",
    "OneSigma",
    "Out",
    "Overlap",
    "Plot",
    "PriorText",
    "Sigma",
    "SpectrumText",
    "Step",
    "Temperature",
    "Time",
    "Tolerance",
    "Workers",
    "number_of_runs",
    "problem",
    "read_inputs",
    "tell_new_name",
    "times_of",
    "trainer_of",
]

LIST = "A number, a list 0.1,0.2 or a range FIRST:LAST:COUNT[:log]."
Delta = Annotated[str, typer.Option("--delta", help=f"Samples per dimension n/d. {LIST}")]
Sigma = Annotated[str, typer.Option("--sigma", help=f"Standard deviation of the label noise. {LIST}")]
Alpha = Annotated[str | None, typer.Option("--alpha", help=f"Initial scale of the weights (0.5). {LIST}")]
Lam = Annotated[str | None, typer.Option("--lam", help=f"Weight decay (0). {LIST}")]
Depth = Annotated[int | None, typer.Option("--depth", help="Number of layers (2).")]
FlowName = Annotated[
    str | None,
    typer.Option(
        "--flow",
        help="Another model than the diagonal network: ridge, logistic, huber or phase-retrieval. "
        "It takes --lam and its own numbers, no --alpha and no --depth.",
    ),
]
Bend = Annotated[
    str | None, typer.Option("--bend", help=f"Where the slope of huber's loss stops growing (1). {LIST}")
]
Overlap = Annotated[
    str | None,
    typer.Option("--overlap", help=f"Cosine of phase-retrieval's start with the teacher (0.5). {LIST}"),
]
PriorText = Annotated[
    str,
    typer.Option(
        "--prior",
        help="Distribution of a target entry: bernoulli:P[,VALUE], gaussian:STD, gauss-bernoulli:P[,STD], "
        "discrete:VALUE@PROB,VALUE@PROB,… or empirical:FILE (one number per line).",
    ),
]
SpectrumText = Annotated[
    str | None,
    typer.Option(
        "--spectrum",
        help="Variances of the features: power:EXPONENT[,CUTOFF[,SOURCE]], groups:S@FRACTION,S@FRACTION,… or "
        "empirical:FILE (one variance per line, or a variance and a target, which then replace the prior).",
    ),
]
OneDelta = Annotated[str, typer.Option("--delta", help="Samples per dimension n/d, one number.")]
OneSigma = Annotated[str, typer.Option("--sigma", help="Standard deviation of the label noise, one number.")]
Bound = Annotated[
    float | None, typer.Option("--M", help="Truncate the network at this M (η_M of the paper).")
]
Time = Annotated[float, typer.Option("--t-max", help="Training time.")]
Tolerance = Annotated[
    float, typer.Option("--tol", help="Error of both curves, in units of the test error at t = 0.")
]
Evaluate = Annotated[str | None, typer.Option("--t-eval", help=f"Times to print. {LIST}")]
NumberOfRuns = Annotated[int, typer.Option("--runs", help="Number of finite networks.")]
OldSeeds = Annotated[int | None, typer.Option("--seeds", hidden=True)]
Workers = Annotated[int, typer.Option("--workers", help="Processes that train at once.")]
Step = Annotated[
    float | None, typer.Option("--step", help="Gradient descent with this step instead of gradient flow.")
]
Momentum = Annotated[float | None, typer.Option("--momentum", help="Momentum (heavy ball); needs --step.")]
Batch = Annotated[
    float | None,
    typer.Option("--batch-fraction", help="Mini-batches with this fraction of the data; needs --step."),
]
Nesterov = Annotated[bool, typer.Option("--nesterov", help="Nesterov's momentum; needs --momentum.")]
Temperature = Annotated[float | None, typer.Option("--temperature", help="Temperature of Langevin noise.")]
LabelNoise = Annotated[
    float | None,
    typer.Option("--label-noise", help="Size of fresh label noise in every step; needs --step."),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw the result to this file (png, pdf, svg).")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="Save everything to this file (.nc), or a table (.csv).")
]


def trainer_of(step: float | None, momentum: float | None, batch: float | None, **more: Any) -> Any:
    """The trainer that --step and the options that need it ask for."""
    from dynafield.problem.text import read_trainer

    return read_trainer(step, momentum, batch, **more)


def tell_new_name(old: str, new: str) -> None:
    """Say on standard error that an old name was used, which still works."""
    typer.echo(f"dynafield: {old} is now {new}; the old name will be removed in version 1.0", err=True)


def number_of_runs(runs: int, seeds: int | None) -> int:
    """Value of --runs, or of its old name."""
    if seeds is None:
        return runs
    tell_new_name("--seeds", "--runs")
    return seeds


def times_of(text: str | None) -> Any:
    """Times from their text; one number is taken as a list."""
    from dynafield.problem.checks import real_list
    from dynafield.problem.text import numbers

    if text is None:
        return None
    return real_list("t_eval", numbers("t_eval", text), lambda x: x >= 0, "times ≥ 0")


def read_inputs(text: str) -> Any:
    """A distribution by name, or the matrix in a file."""
    import numpy as np

    path = Path(text)
    if path.suffix not in (".npy", ".txt", ".csv"):
        return text
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        return np.loadtxt(path, ndmin=2, delimiter="," if path.suffix == ".csv" else None)
    except (OSError, ValueError) as error:
        raise InputError(f"inputs must name a readable matrix of numbers: {error}") from None


def problem(
    delta: str,
    sigma: str,
    alpha: str | None,
    lam: str | None,
    depth: int | None,
    prior: str,
    bound: float | None = None,
    flow: str | None = None,
    bend: str | None = None,
    overlap: str | None = None,
    spectrum: str | None = None,
) -> tuple[Any, Any]:
    """Task and model; several lists make a grid, one axis each. With a bound a network is truncated."""
    import numpy as np

    from dynafield.problem.text import numbers, read_model, read_task

    given = dict(delta=delta, sigma=sigma, alpha=alpha, lam=lam, bend=bend, overlap=overlap)
    values = {name: numbers(name, text) for name, text in given.items() if text is not None}
    lists = [name for name, value in values.items() if np.ndim(value)]
    for name in lists:
        values[name] = values[name].reshape([-1 if other == name else 1 for other in lists])
    task = read_task(values.pop("delta"), values.pop("sigma"), prior, spectrum)
    values |= {name: value for name, value in dict(depth=depth, M=bound).items() if value is not None}
    return task, read_model(flow, task, values)
