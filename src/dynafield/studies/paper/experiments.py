"""The experiments by name, each kept in a file of its own once it is done."""

import functools
import hashlib
import json
from collections.abc import Callable, Generator
from pathlib import Path

import xarray as xr

from dynafield.errors import FileError, InputError
from dynafield.numerics.processes import in_processes
from dynafield.records import files
from dynafield.studies.paper import endpoints, laws, rates, timescales, tradeoffs
from dynafield.studies.paper.as_printed import as_printed
from dynafield.studies.paper.decay_rates import decay_rates
from dynafield.studies.paper.double_descent import double_descent
from dynafield.studies.paper.identities import identities
from dynafield.studies.paper.infinite_data import infinite_data
from dynafield.studies.paper.late_times import late_times
from dynafield.studies.paper.message_passing import message_passing
from dynafield.studies.paper.phase_limits import phase_limits
from dynafield.studies.paper.search_phase import search_phase
from dynafield.studies.paper.setting import Setting, cohort
from dynafield.studies.paper.truncated import truncated
from dynafield.version import __version__
from dynafield.writing import make_folder, remove_stale_parts

__all__ = ["EXPERIMENTS", "REAL", "computed", "fingerprint", "kept", "path_of"]

EXPERIMENTS: dict[str, Callable[[Setting], xr.Dataset]] = {
    "large-init": timescales.large_init,
    "rates": rates.rates,
    "truncated": truncated,
    "fixed-point-regularized": endpoints.regularized,
    "rates-theory": rates.rates_theory,
    "fixed-points": endpoints.fixed_points,
    "dynamics": timescales.dynamics,
    "small-init": timescales.small_init,
    "fixed-point-ridgeless": endpoints.ridgeless,
    "small-decay": timescales.small_decay,
    "search-phase": search_phase,
    "universality": rates.universality,
    "infinite-data": infinite_data,
    "rates-real": rates.rates_real,
    "decay-rates": decay_rates,
    "phase-limits": phase_limits,
    "generalization": tradeoffs.generalization,
    "as-printed": as_printed,
    "message-passing": message_passing,
    "double-descent": double_descent,
    "rate-limits": tradeoffs.rate_limits,
    "late-times": late_times,
    "identities": identities,
    "paths": laws.paths,
    "gene-histogram": laws.gene_histogram,
}
"""Long ones first, so that several processes end together."""
REAL = ("fixed-points", "rates-real", "gene-histogram")
"""Those on real data."""
ROOMS = ("problem", "numerics", "dmft", "simulation", "theory", "endpoints", "datasets", "studies/paper")
JUDGES = ("claims", "verdicts", "perturbations", "places", "corrections", "reproduction", "experiments")
"""Modules of the last room whose names end so do not decide data."""


@functools.cache
def program() -> str:
    """A fingerprint of the code that decides the data."""
    root, sha = Path(__file__).parents[2], hashlib.sha256(__version__.encode())
    for path in sorted(path for room in ROOMS for path in (root / room).glob("*.py")):
        if not (path.parent.name == "paper" and path.stem.endswith(JUDGES)):
            sha.update(path.read_bytes())
    return sha.hexdigest()


def fingerprint(name: str, setting: Setting) -> str:
    """The same for two experiments if they ask the same, by the same program, on the same data."""
    asked = setting.facts()
    content = hashlib.sha256(cohort(setting.data).X.tobytes()).hexdigest() if name in REAL else ""
    del asked["data"]
    return hashlib.sha256(json.dumps([name, asked, program(), content], sort_keys=True).encode()).hexdigest()


def path_of(folder: Path, name: str) -> Path:
    """The file of an experiment."""
    return folder / "data" / f"{name}.nc"


def kept(folder: Path, name: str, setting: Setting | None) -> xr.Dataset | None:
    """An experiment that is done, if it is whole and was asked the same; None otherwise."""
    path = path_of(folder, name)
    if not path.is_file():
        return None
    try:
        data = files.read(path)
    except FileError:
        return None
    asked = setting is None or data.attrs.get("fingerprint") == fingerprint(name, setting)
    return data if asked else None


def run(name: str, setting: Setting, folder: Path) -> tuple[str, str]:
    """Do one experiment and keep it, whole or not at all; its name, and what went wrong if it did."""
    try:
        data = EXPERIMENTS[name](setting)
        files.write(
            data.assign_attrs(fingerprint=fingerprint(name, setting)), "Experiment", path_of(folder, name)
        )
    except Exception as error:  # whatever it is, the other experiments go on, and it is reported
        return name, f"{type(error).__name__}: {error}"
    return name, ""


def computed(
    names: list[str], setting: Setting, folder: Path, workers: int = 1
) -> Generator[tuple[str, str], None, None]:
    """Do those of the experiments that are not done, in so many processes.

    Yields their names as they end, each with what went wrong, or nothing.
    """
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise InputError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {unknown[0]!r}")
    remove_stale_parts(make_folder(folder / "data"))
    missing = [name for name in EXPERIMENTS if name in names and kept(folder, name, setting) is None]
    if workers == 1 or len(missing) < 2:
        yield from (run(name, setting, folder) for name in missing)
        return
    yield from in_processes(run, ((name, setting, folder) for name in missing), min(workers, len(missing)))
