"""The folder of a study: one file for each finished batch, complete or absent."""

import dataclasses
import functools
import json
import shutil
from pathlib import Path

import numpy as np
import xarray as xr

from dynafield.errors import FileError, InputError
from dynafield.problem.checks import checked_path
from dynafield.records import files
from dynafield.studies.computations import Computation
from dynafield.studies.study import Batch, Study
from dynafield.writing import make_folder, remove_stale_parts, write_whole

__all__ = ["Store"]

LARGE = 2e9
"""Size in bytes above which a result is written as zarr."""


@dataclasses.dataclass(frozen=True)
class Store:
    """The folder of a study on disk."""

    folder: Path
    study: Study

    @classmethod
    def open(cls, folder: str | Path, study: Study) -> "Store":
        """Open the folder, or make it; InputError if it belongs to another study."""
        folder = checked_path("out", folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"out must be a folder, got {str(folder)!r}")
        remove_stale_parts(make_folder(folder / "batches"))
        record = folder / "study.json"
        content = json.dumps(study.facts() | {"fingerprint": study.fingerprint}, indent=1)
        if record.exists():
            try:
                found = json.loads(record.read_text())["fingerprint"]
            except (ValueError, KeyError):
                raise InputError(f"out must be the folder of a study, {record} is not one") from None
            if found != study.fingerprint:
                raise InputError(
                    f"out holds another study, or another version of this one ({record}): take another folder"
                )
        else:
            write_whole(record, content.encode())
        return cls(folder, study)

    @functools.cached_property
    def batches(self) -> list[Batch]:
        """All batches of the study."""
        return self.study.batches()

    def path(self, batch: Batch) -> Path:
        """The file of a batch."""
        return self.folder / "batches" / f"{batch.name}.nc"

    def missing(self) -> list[Batch]:
        """Batches without a complete file."""
        return [batch for batch in self.batches if not self.has(batch)]

    def has(self, batch: Batch) -> bool:
        """Whether the file of a batch is there and complete."""
        if not self.path(batch).is_file():
            return False
        try:
            return files.read(self.path(batch)).attrs["fingerprint"] == self.study.fingerprint
        except (FileError, KeyError):
            return False

    def keep(self, batch: Batch, data: xr.Dataset) -> None:
        """Write a finished batch."""
        marked = data.assign_attrs(fingerprint=self.study.fingerprint)
        files.write(marked.assign_coords(number=("point", list(batch.points))), "Batch", self.path(batch))

    def read(self, batch: Batch, computation: Computation) -> xr.Dataset:
        """A finished batch, its variables by the names that they have now."""
        data = files.read(self.path(batch))
        old = computation.renamed_variables
        return data.rename({name: old[name] for name in map(str, data.data_vars) if name in old})

    def collect(self) -> xr.Dataset:
        """All finished batches as one data set over the axes of the study; NaN where something is missing."""
        study, made = self.study, xr.Dataset()
        for computation in study.computations:
            batches = [b for b in self.batches if b.computation == computation.name and self.has(b)]
            if not batches:
                continue
            parts = [self.read(batch, computation) for batch in batches]
            whole = xr.concat(parts, "point", data_vars="minimal", coords="minimal", compat="override")
            made = made.assign(self.unfolded(whole))
        return self.described(made)

    def unfolded(self, whole: xr.Dataset) -> dict[str, xr.Variable]:
        """Variables over the axes of the study instead of points."""
        number, shape = whole["number"].values.astype(int), self.study.shape
        names = tuple(axis.name for axis in self.study.axes)
        found = {}
        for name, values in whole.data_vars.items():
            text = values.dtype.kind not in "fiub"
            empty, kind = ("", object) if text else (np.nan, float)
            full = np.full((self.study.size, *values.shape[1:]), empty, kind)
            full[number] = values.values
            dims = (*names, *values.dims[1:])
            found[str(name)] = xr.Variable(dims, full.reshape(*shape, *values.shape[1:]), values.attrs)
        return found

    def described(self, data: xr.Dataset) -> xr.Dataset:
        """The data set with the values along its axes and what is fixed."""
        for computation in self.study.computations:
            for axis, values in computation.coordinates().items():
                data = data.assign_coords({axis: (axis, values)})
        for axis in self.study.axes:
            for name, values in zip(axis.members, axis.values, strict=True):
                column = np.array(values, object) if isinstance(values[0], str) else np.array(values)
                data = data.assign_coords({name: (axis.name, column)})
        data = data.assign_coords(dict(self.study.fixed))
        for variable in data.variables.values():
            if variable.dtype.kind in "fiub":
                variable.attrs["units"] = "1"  # all numbers of the theory are dimensionless, times too
        facts = {"study": self.study.name, "fingerprint": self.study.fingerprint, "seed": self.study.seed}
        return data.assign_attrs(facts, settings=json.dumps(self.study.facts()["computations"]))

    def finish(self, data: xr.Dataset) -> Path:
        """Write the data set: one netCDF file, or a zarr folder if it is large."""
        if data.nbytes < LARGE:
            return files.write(data, "Sweep", self.folder / "result.nc")
        try:
            import zarr  # noqa: F401
        except ImportError:
            raise InputError("a result of over 2 GB is written as zarr: install dynafield[cluster]") from None
        path = self.folder / "result.zarr"
        part = path.with_name("result.part.zarr")
        data.to_zarr(part, mode="w", zarr_format=2)  # format 3 has no settled way to keep text yet
        shutil.rmtree(path, ignore_errors=True)
        part.rename(path)
        return path
