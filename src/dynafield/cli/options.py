"""Options shared by the commands, and how their text becomes numbers and priors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynafield.errors import InputError

if TYPE_CHECKING:
    from dynafield.problem.priors import Prior
    from dynafield.problem.trainers import Trainer

__all__ = [
    "Alpha",
    "Batch",
    "Bound",
    "Delta",
    "Depth",
    "Evaluate",
    "JsonFlag",
    "LIST",
    "Lam",
    "Momentum",
    "OneDelta",
    "OneSigma",
    "Out",
    "Plot",
    "PriorText",
    "Seeds",
    "Sigma",
    "Step",
    "Time",
    "Tolerance",
    "Workers",
    "numbers",
    "problem",
    "read_inputs",
    "read_prior",
    "read_trainer",
]

LIST = "A number, a list 0.1,0.2 or a range FIRST:LAST:COUNT[:log]."
Delta = Annotated[str, typer.Option("--delta", help=f"Samples per dimension n/d. {LIST}")]
Sigma = Annotated[str, typer.Option("--sigma", help=f"Standard deviation of the label noise. {LIST}")]
Alpha = Annotated[str, typer.Option("--alpha", help=f"Initial scale of the weights. {LIST}")]
Lam = Annotated[str, typer.Option("--lam", help=f"Weight decay. {LIST}")]
Depth = Annotated[int, typer.Option("--depth", help="Number of layers.")]
PriorText = Annotated[
    str,
    typer.Option(
        "--prior",
        help="Law of a target entry: bernoulli:P[,VALUE], gaussian:STD, gauss-bernoulli:P[,STD], "
        "discrete:VALUE@PROB,VALUE@PROB,… or empirical:FILE (one number per line).",
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
Seeds = Annotated[int, typer.Option("--seeds", help="Number of independent runs.")]
Workers = Annotated[int, typer.Option("--workers", help="Processes that train at once.")]
Step = Annotated[
    float | None, typer.Option("--step", help="Gradient descent with this step instead of gradient flow.")
]
Momentum = Annotated[
    float | None, typer.Option("--momentum", help="Heavy ball with this momentum; needs --step.")
]
Batch = Annotated[
    float | None,
    typer.Option("--batch-fraction", help="Mini-batches of this share of the data; needs --step."),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw the result to this file (png, pdf, svg).")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Out = Annotated[Path | None, typer.Option("--out", help="Save everything to this netCDF file.")]


def read_trainer(
    step: float | None, momentum: float | None, batch: float | None, tol: float = 1e-6
) -> "Trainer":
    """The trainer that --step, --momentum and --batch-fraction ask for; `tol` is that of a flow."""
    from dynafield.problem.trainers import SGD, GradientDescent, GradientFlow, HeavyBall

    if step is None:
        given = "momentum" if momentum is not None else "batch_fraction" if batch is not None else None
        if given:
            raise InputError(f"{given} needs a step: give --step as well")
        return GradientFlow(tol)
    if momentum is not None and batch is not None:
        raise InputError("momentum and batch_fraction must not be given together: no trainer has both")
    if momentum is not None:
        return HeavyBall(step, momentum)
    return GradientDescent(step) if batch is None else SGD(step, batch)


def number(name: str, text: str) -> float:
    """One number, or InputError naming the option."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, got {text!r}") from None


def numbers(name: str, text: str) -> Any:
    """A float, or an array from `0.1,0.2` or `first:last:count[:log]`."""
    import numpy as np

    if ":" in text:
        parts = text.split(":")
        if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3] != "log"):
            raise InputError(f"{name} range must be FIRST:LAST:COUNT or FIRST:LAST:COUNT:log, got {text!r}")
        first, last, count = (number(name, part) for part in parts[:3])
        if count < 1 or count != int(count):
            raise InputError(f"{name} range must have a count ≥ 1, got {text!r}")
        if len(parts) == 4 and not (first > 0 and last > 0):
            raise InputError(f"{name} log range must have positive ends, got {text!r}")
        return (np.geomspace if len(parts) == 4 else np.linspace)(first, last, int(count))
    if "," in text:
        return np.array([number(name, part) for part in text.split(",")])
    return number(name, text)


def read_values(path: str) -> Any:
    """Numbers from a text file."""
    import numpy as np

    try:
        return np.loadtxt(path, ndmin=1).ravel()
    except (OSError, ValueError) as error:
        raise InputError(f"prior empirical:FILE must name a readable file of numbers: {error}") from None


def read_prior(text: str) -> "Prior":
    """A prior from its text, for example bernoulli:0.1."""
    from dynafield.problem import priors

    name, _, rest = text.partition(":")
    parts = [part for part in rest.split(",") if part]
    if name == "empirical" and rest:
        return priors.Empirical(read_values(rest))
    if name == "discrete" and parts:
        pairs = [part.partition("@") for part in parts]
        values, probs = ([number("prior", pair[i]) for pair in pairs] for i in (0, 2))
        return priors.Discrete(values, probs)
    kinds = {
        "bernoulli": priors.Bernoulli,
        "gaussian": priors.Gaussian,
        "gauss-bernoulli": priors.GaussBernoulli,
    }
    if name in kinds and 1 <= len(parts) <= (1 if name == "gaussian" else 2):
        return kinds[name](*(number("prior", part) for part in parts))
    raise InputError(
        "prior must be bernoulli:P[,VALUE], gaussian:STD, gauss-bernoulli:P[,STD], "
        f"discrete:VALUE@PROB,… or empirical:FILE, got {text!r}"
    )


def read_inputs(text: str) -> Any:
    """A law by name, or the matrix in a file."""
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
    delta: str, sigma: str, alpha: str, lam: str, depth: int, prior: str, bound: float | None = None
) -> tuple[Any, Any]:
    """Task and network; several lists make a grid, one axis each. With a bound it is truncated."""
    import numpy as np

    from dynafield.problem.networks import DiagonalNetwork, TruncatedDiagonalNetwork
    from dynafield.problem.task import Task

    given = dict(delta=delta, sigma=sigma, alpha=alpha, lam=lam)
    values = {name: numbers(name, text) for name, text in given.items()}
    lists = [name for name, value in values.items() if np.ndim(value)]
    for name in lists:
        values[name] = values[name].reshape([-1 if other == name else 1 for other in lists])
    task = Task(values["delta"], values["sigma"], read_prior(prior))
    scales = values["alpha"], values["lam"], depth
    return task, DiagonalNetwork(*scales) if bound is None else TruncatedDiagonalNetwork(*scales, bound)
