"""Folders that nobody else can write to."""

import os
import stat
from pathlib import Path

__all__ = ["make_private", "trouble"]

MOST_LINKS = 40
"""Symbolic links followed at most, as in Linux."""
WRITABLE = stat.S_IWGRP | stat.S_IWOTH
"""Others may write."""


def make_private(folder: Path) -> None:
    """Make a folder, and those above that are missing, for this user alone."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)


def trouble(folder: Path) -> str:
    """How somebody else could change what is in a folder; empty if nobody but this user and root can.

    The folder must belong to this user, and no others may write to it. Every folder above it, and every
    symbolic link on the way, must belong to this user or to root; others may write to a folder above only if
    they cannot rename what is in it (the sticky bit, as in /tmp). On systems without owners and modes it is
    not known, and taken to be fine: home folders are private there.
    """
    if not hasattr(os, "getuid"):
        return ""
    if not folder.is_absolute():
        return f"{folder} depends on the working directory"
    for place in (found := way(folder)):
        facts = place.lstat()
        if facts.st_uid not in (0, os.getuid()):
            return f"{place} belongs to somebody else"
        shared = facts.st_mode & WRITABLE and not stat.S_ISLNK(facts.st_mode)
        if shared and (place == found[-1] or not facts.st_mode & stat.S_ISVTX):
            return f"others may write to {place}"
    if found[-1].lstat().st_uid != os.getuid():
        return f"{found[-1]} does not belong to this user"
    return ""


def way(folder: Path) -> list[Path]:
    """Every folder and link that is passed on the way to a folder, from the root; the folder itself last."""
    passed, here, left, links = [Path(folder.anchor)], Path(folder.anchor), list(folder.parts[1:]), 0
    while left:
        name = left.pop(0)
        here = here.parent if name == ".." else here / name
        passed.append(here)
        if here.is_symlink():
            links += 1
            if links > MOST_LINKS:
                raise OSError(f"too many symbolic links in {folder}")
            target = Path(os.readlink(here))
            here = Path(target.anchor) if target.is_absolute() else here.parent
            left = list(target.parts[1:] if target.is_absolute() else target.parts) + left
            passed.append(here)
    return passed
