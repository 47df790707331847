"""Files that are whole or absent, whatever happens while they are written."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from dynafield.errors import FileError

__all__ = ["make_folder", "remove_stale_parts", "unfinished", "write_whole"]

STALE = 3600.0
"""Seconds after which a part that nobody has finished belongs to a process that is dead."""


@contextlib.contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A new file beside `path` to write to; it takes its place at the end, or is removed after a failure.

    Its name cannot be guessed and it must not be there before, so that nobody can lay a link in the way.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(16)}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file, or leave what was there and raise FileError: the disk is full, or the folder read-only.

    The part has a name of its own, so that several processes can write the same file; the last one wins.
    """
    target = path.resolve() if path.is_symlink() else path
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_bytes(content)
            return path
        with unfinished(target) as part, part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FileError(f"{path} could not be written: {error.strerror or error}") from error
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
