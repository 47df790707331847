"""Folders that others can write to are refused; files are whole or not there."""

import os
from pathlib import Path

import pytest

from dynafield.folders import make_private, trouble
from dynafield.writing import unfinished

ROOT = hasattr(os, "getuid") and os.getuid() == 0
STRANGER = 65533
"""A user who is not this one."""


@pytest.fixture
def above(tmp_path):
    """A folder with another in it, both private."""
    make_private(tmp_path / "above" / "own")
    return tmp_path / "above"


def test_what_is_made_is_private(tmp_path):
    old = os.umask(0)  # with which everybody may write to a new folder
    try:
        make_private(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(old)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")] == 3 * [0o700]
    assert trouble(tmp_path / "a" / "b" / "c") == ""


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777, 0o720])
def test_a_folder_to_which_others_may_write_is_refused(above, mode):
    (above / "own").chmod(mode)
    assert trouble(above / "own") == f"others may write to {above / 'own'}"


@pytest.mark.parametrize(("mode", "good"), [(0o770, False), (0o777, False), (0o1777, True), (0o755, True)])
def test_a_folder_above_may_be_shared_only_if_nothing_in_it_can_be_replaced(above, mode, good):
    above.chmod(mode)
    assert trouble(above / "own") == ("" if good else f"others may write to {above}")


def test_a_link_is_followed_and_every_folder_on_the_way_looked_at(above, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("above/own")
    assert trouble(link) == ""
    assert trouble(tmp_path / "link" / ".." / "own") == ""
    above.chmod(0o777)
    assert trouble(link) == f"others may write to {above}"


def test_a_link_in_a_shared_folder_is_refused(above, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "link").symlink_to(above / "own")
    shared.chmod(0o777)
    assert trouble(shared / "link") == f"others may write to {shared}"


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="too many symbolic links"):
        trouble(tmp_path / "a")


def test_a_path_that_moves_with_the_working_directory_is_refused():
    assert "depends on the working directory" in trouble(Path("cache"))


@pytest.mark.skipif(not ROOT, reason="only root can give a folder to somebody else")
@pytest.mark.parametrize("name", [".", "own", "link"])
def test_what_belongs_to_somebody_else_is_refused(above, name):
    (above / "link").symlink_to("own")
    os.chown(above / name, STRANGER, STRANGER, follow_symlinks=False)
    assert (
        trouble(above / ("link" if name == "link" else "own")) == f"{above / name} belongs to somebody else"
    )


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "a.txt"
    with unfinished(path) as part:
        part.write_text("first")
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), unfinished(path) as part:
        part.write_text(f"half {1 / 0}")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.txt", "first")]


def test_a_file_is_not_written_through_a_link_that_somebody_laid(tmp_path, monkeypatch):
    """Even one who could guess its name."""
    monkeypatch.setattr("secrets.token_hex", lambda count: "known")
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "a.txt.known.part").symlink_to(precious)
    with pytest.raises(FileExistsError), unfinished(tmp_path / "a.txt") as part:
        part.write_text("other")
    assert precious.read_text() == "mine"
