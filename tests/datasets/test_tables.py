"""Tables of numbers from text files."""

import numpy as np
import pytest

import dynafield as df
from dynafield import datasets


@pytest.mark.parametrize("mark", [",", ";", "\t", " "])
def test_a_table_is_read(tmp_path, mark):
    path = tmp_path / "table.csv"
    path.write_text(f"\ufeffa{mark}b{mark}y\n1{mark}2{mark}3\n\n4.5{mark}-1e3{mark}6\n", encoding="utf-8")
    table = datasets.read_table(path, "y")
    np.testing.assert_array_equal(table.X, [[1, 2], [4.5, -1000]])
    np.testing.assert_array_equal(table.y, [3, 6])
    assert table.names == ["a", "b"]


def test_names_may_have_blanks_targets_be_words_and_columns_be_chosen(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('mean size,"other, size",kind\n1,2,good\n3,4,bad\n')
    table = datasets.read_table(path, "kind")
    assert table.names == ["mean size", "other, size"]
    assert list(table.y) == ["good", "bad"]
    again = datasets.read_table(path, columns=["other, size"])
    np.testing.assert_array_equal(again.X, [[2], [4]])
    assert again.y is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,y\n", "at least one line"),
        ("a,y\n1,2,3\n", "line 2: must have 2 values, got 3"),
        ("a,y\n1,2\nx,2\n", "line 3, column 'a': must be a finite number, got 'x'"),
        ("a,y\n,2\n", "column 'a': must be a finite number, got ''"),
        ("a,y\nnan,2\n", "must be a finite number, got 'nan'"),
        ("a,a,y\n1,2,3\n", "'a' is there twice"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(df.errors.FileError, match=message):
        datasets.read_table(path, "y")


def test_columns_that_are_not_there_are_told(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(df.InputError, match="target must be one of the columns a, b; got 'y'"):
        datasets.read_table(path, "y")
    with pytest.raises(df.InputError, match="must have a column 'c'"):
        datasets.read_table(path, columns=["a", "c"])
    with pytest.raises(df.errors.FileError, match="existing file"):
        datasets.read_table(tmp_path / "nothing.csv")
