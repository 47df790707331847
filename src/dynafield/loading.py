"""The door to saved results."""

from pathlib import Path

from dynafield import results
from dynafield.errors import FileError
from dynafield.records import files
from dynafield.records.record import Labelled
from dynafield.version import __version__

__all__ = ["load"]


def load(path: str | Path) -> Labelled:
    """Read a result that `save` wrote.

    Parameters
    ----------
    path : str or Path
        A netCDF file (.nc).

    Returns
    -------
    Labelled
        A record of the class that the file names, such as `Curves`.

    Raises
    ------
    FileError
        If there is no such file, it was not written by dynafield, is damaged, or holds a mere table.
    """
    data = files.read(path)
    kind = getattr(results, str(data.attrs["kind"]), None)
    if isinstance(kind, type) and not issubclass(kind, Labelled):
        raise FileError(f"{path} holds the table of a {kind.__name__}: open it with xarray.open_dataset")
    if not isinstance(kind, type):
        raise FileError(
            f"{path} holds a {data.attrs['kind']!r}, written by dynafield {data.attrs['dynafield_version']}, "
            f"which dynafield {__version__} does not know"
        )
    return kind.from_xarray(data)
