"""NetCDF files that say what they are, who wrote them and whether they are whole."""

import contextlib
import hashlib
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dynafield.errors import FileError
from dynafield.problem.checks import checked_path
from dynafield.version import __version__
from dynafield.writing import write_whole

__all__ = ["content", "read", "writable", "write", "write_table"]

FORMAT = "dynafield 1"


def digest(data: xr.Dataset) -> str:
    """A fingerprint of every number and attribute, to recognize a damaged file."""
    sha = hashlib.sha256()
    for name in sorted(map(str, data.variables)):
        values = data[name].values
        content = (
            values.tobytes() if values.dtype.kind in "fiub" else "\0".join(map(str, values.ravel())).encode()
        )
        sha.update(f"{name}{data[name].dims}{values.shape}".encode() + content)
    for name in sorted(map(str, data.attrs)):
        if name != "sha256":
            sha.update(f"{name}={data.attrs[name]}".encode())
    return sha.hexdigest()


def write(data: xr.Dataset, kind: str, path: str | Path) -> Path:
    """Write `data` as netCDF-4 with kind, version and fingerprint; the folder must exist."""
    return write_whole(writable(path), content(data, kind))  # HDF5 itself crashes when a disk is full


def content(data: xr.Dataset, kind: str) -> bytes:
    """The bytes of the file that `write` would write.

    Beside a Dask client xarray would lock the file on its scheduler, which knows files by name only; these
    bytes are nobody else's.
    """
    file, dask = io.BytesIO(), sys.modules.get("dask")
    with dask.config.set(scheduler="threads") if dask is not None else contextlib.nullcontext():
        signed(data, kind).to_netcdf(file, engine="h5netcdf")
    return file.getvalue()


def signed(data: xr.Dataset, kind: str) -> xr.Dataset:
    """The data with format, kind, version and fingerprint."""
    data = data.assign_attrs(format=FORMAT, kind=kind, dynafield_version=__version__)
    data.attrs["sha256"] = digest(data)
    return data


def write_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV, whole or not at all."""
    return write_whole(path, table.to_csv(index=False).encode())


def writable(path: str | Path, endings: tuple[str, ...] = ()) -> Path:
    """`path`, or FileError if no file can be written there, or its suffix is none of the `endings`."""
    path = checked_path("path", path)
    if path.is_dir() or not path.parent.is_dir():
        raise FileError(f"path must be a file in an existing folder, got {str(path)!r}")
    if endings and path.suffix not in endings:
        raise FileError(f"path must end in {', '.join(endings)}, got {str(path)!r}")
    return path


def read(path: str | Path) -> xr.Dataset:
    """The data of a file written by `write`, or FileError saying what is wrong with it."""
    path = checked_path("path", path)
    if not path.is_file():
        raise FileError(f"path must be an existing file, got {str(path)!r}")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            data = stored.load()
    except Exception as error:  # HDF5 reports damage by many types
        raise FileError(f"{path} is not a netCDF-4 file that can be read, or is damaged: {error}") from error
    data.attrs = {name: plain(value) for name, value in data.attrs.items()}
    if data.attrs.get("format") != FORMAT:
        found = data.attrs.get("format", "none")
        raise FileError(f"{path} was not written by dynafield (format must be {FORMAT!r}, found {found!r})")
    if data.attrs.get("sha256") != digest(data):
        raise FileError(f"{path} is damaged: its content does not match its fingerprint")
    return data


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python number it stands for."""
    return value.item() if isinstance(value, np.generic) else value
