"""The paper's own data: 801 tumours of five kinds, downloaded when asked for."""

import contextlib
import hashlib
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from dynafield.datasets.expression import Expression
from dynafield.errors import FileError
from dynafield.writing import unfinished

__all__ = ["tcga_pancan"]

URL = "https://archive.ics.uci.edu/static/public/401/gene+expression+cancer+rna+seq.zip"
NAME = "TCGA-PANCAN-HiSeq-801x20531"
ARCHIVE_SHA256 = "e6ea3628f9656efa2d7cf382bf5a403e2cc214df3d90312b1928f5650b43a559"
SAMPLES, GENES, CONSTANT = 801, 20531, 267
CLASSES = {"BRCA": 300, "COAD": 78, "KIRC": 146, "LUAD": 141, "PRAD": 136}
PROVENANCE = f"gene expression cancer RNA-Seq ({NAME}), UCI Machine Learning Repository id 401, CC BY"


def tcga_pancan(source: str | Path | None = None, download: bool = False) -> Expression:
    """The data of the paper: 801 tumours of five kinds × 20,531 genes, of which 267 are constant.

    Parameters
    ----------
    source : str or Path, optional
        A local copy: the zip or tar.gz of the archive, or a folder with data.csv and labels.csv. None: the
        copy that was downloaded before.
    download : bool, default False
        Whether to download it (about 70 MB) into the user's cache if it is not there. Nothing is downloaded
        otherwise.

    Returns
    -------
    Expression
        Samples by genes, with names and classes.

    Raises
    ------
    FileError
        If there is no copy, or it is not the published data.
    """
    if source is not None:
        return read(Path(source))
    archive = cache() / f"{NAME}.tar.gz"
    if download and not intact(archive):
        fetch(archive)
    if not archive.is_file():
        raise FileError(
            "tcga_pancan has not been downloaded: call tcga_pancan(download=True) once (about 70 MB), "
            f"or give a local copy, tcga_pancan(source=...), of {URL}"
        )
    return read(archive)


def intact(archive: Path) -> bool:
    """Whether the archive is there and is the published one."""
    return archive.is_file() and hashlib.sha256(archive.read_bytes()).hexdigest() == ARCHIVE_SHA256


def cache() -> Path:
    """Where downloads are kept; DYNAFIELD_DATA overrides it."""
    import pooch

    return Path(os.environ.get("DYNAFIELD_DATA") or pooch.os_cache("dynafield"))


def fetch(archive: Path) -> None:
    """Download the zip, check what is in it and keep that; nothing is left behind by a failure."""
    import pooch

    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=60)
        with unfinished(archive) as part:
            downloader(URL, str(part), None)
            with zipfile.ZipFile(part) as outer:
                content = outer.read(f"{NAME}.tar.gz")
            check_archive(content, URL)
            part.write_bytes(content)
    except FileError:
        raise
    except Exception as error:  # networks and disks fail in many ways, and so do half archives
        raise FileError(
            f"tcga_pancan could not be downloaded ({type(error).__name__}: {error}). Check the connection, "
            f"or fetch {URL} by other means and call tcga_pancan(source='that.zip')"
        ) from error


def check_archive(content: bytes, where: Any) -> None:
    """FileError unless the inner archive is the published one."""
    found = hashlib.sha256(content).hexdigest()
    if found != ARCHIVE_SHA256:
        raise FileError(
            f"{where} does not hold the published {NAME}.tar.gz (sha256 {found[:12]}…): damaged or changed; "
            "tcga_pancan(download=True) fetches it anew"
        )


def read(source: Path) -> Expression:
    """The data from a folder, a tar.gz or the zip that holds it."""
    if source.is_dir():
        folder = source / NAME if (source / NAME).is_dir() else source
        missing = [name for name in ("data.csv", "labels.csv") if not (folder / name).is_file()]
        if missing:
            raise FileError(
                f"source must be a folder with data.csv and labels.csv, {folder} has no {missing[0]}"
            )
        with open(folder / "data.csv", "rb") as data, open(folder / "labels.csv", "rb") as labels:
            return parse(data, labels, source)
    if not source.is_file():
        raise FileError(f"source must be an existing file or folder, got {str(source)!r}")
    with contextlib.ExitStack() as stack:
        try:
            if zipfile.is_zipfile(source):
                outer = stack.enter_context(zipfile.ZipFile(source))
                packed: Any = stack.enter_context(outer.open(f"{NAME}.tar.gz"))
            else:
                packed = stack.enter_context(open(source, "rb"))
            check_archive(packed.read(), source)
            packed.seek(0)
            archive = stack.enter_context(tarfile.open(fileobj=packed))
            data, labels = (archive.extractfile(f"{NAME}/{name}.csv") for name in ("data", "labels"))
        except (OSError, KeyError, zipfile.BadZipFile, tarfile.TarError) as error:
            raise FileError(f"source {source} is not the archive of {NAME}: {error}") from error
        assert data is not None
        assert labels is not None
        return parse(data, labels, source)


def parse(data: Any, labels: Any, source: Path) -> Expression:
    """The two tables, with every published fact checked."""
    import pandas as pd

    try:
        table = pd.read_csv(data, index_col=0, dtype={0: str}, skipinitialspace=True)
        classes = pd.read_csv(labels, index_col=0, dtype=str, skipinitialspace=True)
        X = table.to_numpy(float)
        label = classes.reindex(table.index).iloc[:, 0].to_numpy(str)
    except (ValueError, IndexError, pd.errors.ParserError) as error:
        raise FileError(f"{source} does not hold the tables data.csv and labels.csv: {error}") from error
    counts = dict(zip(*(a.tolist() for a in np.unique(label, return_counts=True)), strict=True))
    facts = {
        "shape": (X.shape, (SAMPLES, GENES)),
        "samples with names of their own": (table.index.nunique(), SAMPLES),
        "genes called gene_0 and so on": (len({f"gene_{j}" for j in range(GENES)} & {*table.columns}), GENES),
        "missing values": (int(np.sum(~np.isfinite(X))), 0),
        "classes": (counts, CLASSES),
        "constant genes": (int(np.sum(np.ptp(X, axis=0) == 0)), CONSTANT),
    }
    for name, (found, published) in facts.items():
        if found != published:
            raise FileError(f"{source} is not the published data: {name} must be {published}, found {found}")
    return Expression(X, table.columns.to_numpy(str), table.index.to_numpy(str), label, PROVENANCE)
