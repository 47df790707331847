"""The door to saved results."""

from pathlib import Path

import dynafield
from dynafield.errors import FileError
from dynafield.records import files
from dynafield.records.record import Labelled

__all__ = ["load"]


def load(path: str | Path) -> Labelled:
    """The result saved at `path`, of the public class the file names."""
    data = files.read(path)
    kind = getattr(dynafield, str(data.attrs["kind"]), None)
    if isinstance(kind, type) and not issubclass(kind, Labelled):
        raise FileError(f"{path} holds the table of a {kind.__name__}: open it with xarray.open_dataset")
    if kind is None:
        raise FileError(
            f"{path} holds a {data.attrs['kind']!r}, written by dynafield {data.attrs['dynafield_version']}, "
            f"which dynafield {dynafield.__version__} does not know"
        )
    return kind.from_xarray(data)
