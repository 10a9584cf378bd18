"""Columns of a table in any supported form: frames, files, or mappings of lists."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import zlib
from collections.abc import Callable, Hashable, Mapping, Sized
from decimal import Decimal
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from cmab.validation import meant, shown

#: The largest number of rows in an error message.
_MOST = 5
#: Longer strings of digits are not numbers for computation; they stay strings.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,299})")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]{0,299})(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


class Columns:
    """The columns of a table as lists of Python values, with None for missing values.

    Parameters
    ----------
    source : frame, mapping or path
        A frame of pandas or polars, a table of pyarrow, a mapping of columns to lists, or the path of a CSV
        (also gzipped) or Parquet file.
    """

    def __init__(self, source: Any) -> None:
        self._is_text = False
        if isinstance(source, str | os.PathLike):
            self._is_text = not Path(source).name.endswith(".parquet")
            source = _of_file(Path(source))
        if hasattr(source, "collect") and not hasattr(source, "to_dict"):
            raise TypeError("source must be a frame in memory, got a lazy one; call its collect() first")
        names = getattr(source, "column_names", getattr(source, "columns", None))
        if isinstance(source, Mapping):
            names = list(source)
        if names is None:
            raise TypeError(f"source must be a frame, a mapping of columns or a path, got {shown(source)}")
        self.names: list[str] = list(names)
        self._source = source
        self._read: dict[str, list[Any]] = {}
        for name in self.names:
            if isinstance(source[name], str | bytes) or not isinstance(source[name], Sized):
                raise TypeError(f"column {name!r} must be a list, got {shown(source[name])}")
        lengths = {name: len(source[name]) for name in self.names}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must be equally long, got {shown(lengths)}")
        self.n_rows = max(lengths.values(), default=0)

    def values(self, argument: str, column: object) -> list[Any]:
        """Return the column that an argument names; otherwise raise an error with a hint."""
        if not isinstance(column, str) or column not in self.names:
            hint = meant(column, self.names) if isinstance(column, str) else "; names of columns are strings"
            raise ValueError(
                f"{argument} must be a column, one of {shown(self.names)}, got {shown(column)}{hint}"
            )
        if self.names.count(column) > 1:
            raise ValueError(f"{argument} must be one column, got {column!r}, the name of several columns")
        if column not in self._read:
            given = self._source[column]
            to_list = next((m for m in ("to_pylist", "to_list", "tolist") if hasattr(given, m)), None)
            self._read[column] = [
                _plain(value) for value in (getattr(given, to_list)() if to_list else given)
            ]
        return self._read[column]

    def names_of_arms(self, argument: str, column: object) -> list[Hashable]:
        """Return a column of names without conversion; raise an error if a value cannot be a name."""
        # pandas converts whole numbers to floats if a value is missing.
        values = [
            int(name) if isinstance(name, float) and name.is_integer() else name
            for name in self.values(argument, column)
        ]
        refuse(column, "contain strings, whole numbers or tuples of these", values, _is_name)
        return values

    def numbers(self, argument: str, column: object, low: float, high: float) -> list[float | None]:
        """Return a column of finite numbers in an interval, with None for missing values."""
        values = self.values(argument, column)
        span = f" in [{low:g}, {high:g}]" if high < math.inf else ""

        def is_good(value: object) -> bool:
            # One string in a file turns the numbers in its column into strings; these are valid.
            beside = self._is_text and isinstance(value, str) and bool(_NUMBER.fullmatch(value))
            return beside or _is_in(value, low, high)

        refuse(column, f"contain finite numbers{span}", values, is_good)
        return [None if value is None else float(value) for value in values]


def refuse(column: object, requirement: str, values: list[Any], is_good: Callable[[Any], bool]) -> None:
    """Raise ``ValueError`` with the rows of a column that do not satisfy `is_good`; None always does."""
    bad = [row for row, value in enumerate(values, 1) if value is not None and not is_good(value)]
    if bad:
        first = shown(values[bad[0] - 1])
        raise ValueError(f"column {column!r} must {requirement}, got {first} in {rows_in_words(bad)}")


def rows_in_words(rows: list[int]) -> str:
    """Return the numbers of some rows as text for an error; rows are counted from 1 without the header."""
    listed = ", ".join(map(str, rows[:_MOST]))
    more = f" and {len(rows) - _MOST} more" if len(rows) > _MOST else ""
    return f"row{'s' * (len(rows) > 1)} {listed}{more}"


def _plain(value: Any) -> Any:
    """Return a cell as a Python value; None for the missing values of any frame."""
    kind = type(value)  # nearly all cells have one of three types
    if kind is int:
        return value
    if kind is str:
        return value or None
    if kind is float:
        return None if math.isnan(value) else value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list):
        return tuple(map(_plain, value))
    # The missing values of pandas cannot be compared.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value


def _is_name(name: object) -> bool:
    if isinstance(name, tuple):
        return all(map(_is_name, name))
    return isinstance(name, str | int)


def _is_in(value: object, low: float, high: float) -> bool:
    if not isinstance(value, int | float | Real | Decimal):  # the most frequent types first
        return False
    try:
        return math.isfinite(value) and low <= float(value) <= high
    except OverflowError:  # a whole number larger than all floats
        return False


def _of_file(path: Path) -> Any:
    """Return the columns of a file; its ending determines the format."""
    if path.name.endswith((".csv", ".csv.gz")):
        return _of_csv(path)
    if not path.name.endswith(".parquet"):
        raise ValueError(f"source must end in .csv, .csv.gz or .parquet, got {shown(str(path))}")
    for package, module in (("polars", "polars"), ("pyarrow", "pyarrow.parquet")):
        try:
            found = import_module(module)
        except ImportError:
            continue
        try:
            return found.read_parquet(path) if package == "polars" else found.read_table(path)
        except OSError:
            raise
        except Exception as error:  # each package has its own error classes
            raise ValueError(f"source must be a Parquet file, got {path.name}: {error}") from error
    raise ImportError("reading Parquet needs polars or pyarrow: pip install polars. CSV files need neither")


def _of_csv(path: Path) -> dict[str, list[Any]]:
    """Return the columns of a CSV file; a column has numbers if all its cells are numbers."""
    raw = path.read_bytes()
    try:
        text = (gzip.decompress(raw) if path.name.endswith(".gz") else raw).decode("utf-8-sig")
        header, *rows = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error, csv.Error) as error:
        wanted = "a gzipped CSV file" if path.name.endswith(".gz") else "a CSV file"
        raise ValueError(f"source must be {wanted} in UTF-8, got {path.name}: {error}") from error
    if len(set(header)) < len(header) or not header:
        raise ValueError(f"columns of {path.name} must have different names, got {shown(header)}")
    rows = [row for row in rows if row]
    if bad := [i for i, row in enumerate(rows, 1) if len(row) != len(header)]:
        cells = len(rows[bad[0] - 1])
        raise ValueError(f"rows must have {len(header)} cells, got {cells} in {rows_in_words(bad)}")
    return {name: _typed([row[i] for row in rows]) for i, name in enumerate(header)}


def _typed(cells: list[str]) -> list[Any]:
    """Return cells as integers or floats if all are written as such; an identifier 007 stays a string."""
    for kind, form in ((int, _WHOLE), (float, _NUMBER)):
        if all(form.fullmatch(cell) for cell in cells if cell):
            return [kind(cell) if cell else None for cell in cells]
    return list(cells)
