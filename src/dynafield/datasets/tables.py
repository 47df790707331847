"""Tables of numbers with named columns, from text files."""

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dynafield.errors import FileError, InputError

__all__ = ["Table", "read_table"]

DELIMITERS = "\t;, "
"""Between values: the first of these that the line of names has."""


class Table(NamedTuple):
    """A table of numbers with named columns.

    Parameters
    ----------
    X : array (n, d)
        Numbers.
    names : list of str
        Names of the d columns.
    y : array (n,) or None
        The target, numbers or words, if one was named.
    """

    X: Float[np.ndarray, "n d"]
    names: list[str]
    y: Any


def read_table(path: str | Path, target: str | None = None, columns: list[str] | None = None) -> Table:
    """Read a text file with a line of names and lines of values.

    Values are separated by commas, semicolons, tabs or blanks.

    Parameters
    ----------
    path : str or Path
        The file, in UTF-8.
    target : str, optional
        Name of the column that is to be predicted; its values are numbers if all of them are, otherwise
        words. None: there is none.
    columns : list of str, optional
        Names of the columns to read, in this order. None: all but the target. They must be numbers.

    Returns
    -------
    Table
        Numbers, names and target.

    Raises
    ------
    FileError
        If the file is no such table; the message has the line.
    InputError
        If a column that was named is missing.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"path must be an existing file, got {str(path)!r}")
    try:
        content = path.read_text(encoding="utf-8-sig")
        first = content.split("\n", 1)[0].strip()
        delimiter = next((mark for mark in DELIMITERS if mark in first), ",")
        reader = csv.reader(content.splitlines(), delimiter=delimiter, skipinitialspace=True)
        lines = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} must be a table as text in UTF-8: {error}") from error
    rows = [row for _, row in lines]
    if len(rows) < 2:
        raise FileError(f"{path} must have a line of names and at least one line of values")
    names = [name.strip() for name in rows[0]]
    for number, row in lines[1:]:
        if len(row) != len(names):
            raise FileError(f"{path}, line {number}: must have {len(names)} values, got {len(row)}")
    if len(set(names)) < len(names):
        raise FileError(f"{path}: names of columns must differ, {repeated(names)!r} is there twice")
    if target is not None and target not in names:
        raise InputError(f"target must be one of the columns {', '.join(names[:20])}; got {target!r}")
    wanted = [name for name in names if name != target] if columns is None else columns
    for name in wanted:
        if name not in names:
            raise InputError(f"{path} must have a column {name!r}, and has not")
    places = [names.index(name) for name in wanted]
    values = [[number_in(path, row, k, line, names[k]) for k in places] for line, row in lines[1:]]
    X = np.array(values, float).reshape(len(values), -1)
    y = None if target is None else numbers_or_words([row[names.index(target)] for row in rows[1:]])
    return Table(X, wanted, y)


def repeated(names: list[str]) -> str:
    """The first name that occurs twice."""
    return next(name for k, name in enumerate(names) if name in names[:k])


def number_in(path: Path, row: list[str], place: int, line: int, name: str) -> float:
    """A finite number, or FileError that says where."""
    try:
        value = float(row[place])
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FileError(f"{path}, line {line}, column {name!r}: must be a finite number, got {row[place]!r}")
    return value


def numbers_or_words(values: list[str]) -> np.ndarray:
    """Numbers if all values are numbers, else words."""
    try:
        return np.array([float(value) for value in values])
    except ValueError:
        return np.array([value.strip() for value in values])
