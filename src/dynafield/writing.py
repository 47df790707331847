"""Files that are whole or absent, whatever happens while they are written."""

import contextlib
import os
import secrets
import time
from pathlib import Path

from dynafield.errors import FileError

__all__ = ["make_folder", "remove_stale_parts", "write_whole"]

STALE = 3600.0
"""Seconds after which a part that nobody has finished belongs to a process that is dead."""


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file, or leave what was there and raise FileError: the disk is full, or the folder read-only.

    The part has a name of its own, so that several processes can write the same file; the last one wins.
    """
    target = path.resolve() if path.is_symlink() else path
    part = target.with_name(f"{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_bytes(content)
            return path
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise FileError(f"{path} could not be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return path


def make_folder(path: Path) -> Path:
    """Make a folder, and those above it, unless they are there; FileError if that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {path} could not be made: {error.strerror or error}") from error
    return path


def remove_stale_parts(folder: Path) -> None:
    """Remove parts that processes have left which were killed while they wrote."""
    for part in folder.glob("*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > STALE:
                part.unlink()
