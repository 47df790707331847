"""Options shared by the commands, and how their text becomes numbers and priors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynafield.errors import InputError

if TYPE_CHECKING:
    from dynafield.problem.priors import Prior

__all__ = [
    "Alpha",
    "Delta",
    "Depth",
    "JsonFlag",
    "LIST",
    "Lam",
    "Out",
    "PriorText",
    "Sigma",
    "numbers",
    "problem",
    "read_inputs",
    "read_prior",
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
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Out = Annotated[Path | None, typer.Option("--out", help="Save everything to this netCDF file.")]


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


def problem(delta: str, sigma: str, alpha: str, lam: str, depth: int, prior: str) -> tuple[Any, Any]:
    """Task and network; several lists make a grid, one axis each."""
    import numpy as np

    from dynafield.problem.networks import DiagonalNetwork
    from dynafield.problem.task import Task

    given = dict(delta=delta, sigma=sigma, alpha=alpha, lam=lam)
    values = {name: numbers(name, text) for name, text in given.items()}
    lists = [name for name, value in values.items() if np.ndim(value)]
    for name in lists:
        values[name] = values[name].reshape([-1 if other == name else 1 for other in lists])
    task = Task(values["delta"], values["sigma"], read_prior(prior))
    return task, DiagonalNetwork(values["alpha"], values["lam"], depth)
