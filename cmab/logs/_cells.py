"""Conversion of the rows of a table into rounds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cmab.feedback import Context
from cmab.logs._columns import Columns, rows_in_words
from cmab.validation import shown

Cells = list[list[Any]]
_ROUNDING = 1e-9
#: A tolerance for probabilities that files contain with few digits.
_WRITTEN = 1e-6


def as_list(argument: str, given: str | Sequence[str], width: int | None = None) -> list[str]:
    """Return columns as a list of `width` columns, or of at least one if `width` is None."""
    # A NumPy array without dimensions is an instance of Iterable.
    columns: object = given
    if not isinstance(columns, Iterable) or (isinstance(columns, np.ndarray) and columns.ndim == 0):
        raise TypeError(f"{argument} must be a column or a list of columns, got {shown(given)}")
    listed = [given] if isinstance(given, str) else list(given)
    if width is None and not listed:
        raise ValueError(f"{argument} must have at least one column, got {shown(given)}")
    if width is not None and len(listed) != width:
        raise ValueError(f"{argument} must have {width} column(s), as names has, got {shown(given)}")
    return listed


def grouped(table: Columns, group: str, position: str | None) -> list[list[int]]:
    """Return the rows of each round, in the order of their positions."""
    keys = table.values("round", group)
    if missing := [i for i, key in enumerate(keys, 1) if key is None]:
        raise ValueError(
            f"column {group!r} must identify the round of each row, but is empty in {rows_in_words(missing)}"
        )
    rounds: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        rounds.setdefault(key, []).append(i)
    if position is None:
        return list(rounds.values())
    places = table.numbers("position", position, -math.inf, math.inf)
    for rows in rounds.values():
        listed = [places[i] for i in rows]
        if None in listed or len(set(listed)) < len(listed):
            raise ValueError(
                f"column {position!r} must have different numbers in the rows of a round, got {shown(listed)}"
                f" in {rows_in_words([i + 1 for i in rows])}"
            )
        rows.sort(key=lambda i: places[i] or 0.0)
    return list(rounds.values())


def entries(rows: list[list[int]], columns: Cells) -> Cells:
    """Return the cells of each round, from its rows and the columns."""
    return [[column[i] for i in row for column in columns] for row in rows]


def check_played(played: Cells, rows: list[list[int]]) -> None:
    for listed, row in zip(played, rows, strict=True):
        size = len([name for name in listed if name is not None])
        where = rows_in_words([i + 1 for i in row])
        if size == 0 or None in listed[:size]:
            raise ValueError(f"names must be given for all entries, got {shown(listed)} in {where}")
        if len(set(listed[:size])) < size:
            raise ValueError(f"names of a round must differ from each other, got {shown(listed)} in {where}")


def check_ends(argument: str, cells: Cells, played: Cells, rows: list[list[int]]) -> None:
    """Raise ``ValueError`` if a cell beyond the end of a list is not empty."""
    for values, listed, row in zip(cells, played, rows, strict=True):
        for value, name in zip(values, listed, strict=True):
            if name is None and value is not None:
                raise ValueError(
                    f"{argument} must be empty if there is no name, got {shown(value)} in"
                    f" {rows_in_words([i + 1 for i in row])}"
                )


def of_rounds(
    table: Columns, rows: list[list[int]], argument: str, column: str | None, span: tuple[float, float]
) -> list[Any]:
    if column is None:
        return [None] * len(rows)
    return same(column, rows, table.numbers(argument, column, *span))


def same(column: str, rows: list[list[int]], values: list[Any]) -> list[Any]:
    """Return one value for each round, which must be the same in all its rows."""
    for row in rows:
        if len(row) > 1 and any(values[i] != values[row[0]] for i in row[1:]):
            raise ValueError(
                f"column {column!r} must be the same in all rows of a round, got"
                f" {shown([values[i] for i in row])} in {rows_in_words([i + 1 for i in row])}"
            )
    return [values[row[0]] for row in rows]


def chances(cells: Cells | None, i: int, size: int) -> tuple[float, ...] | None:
    """Return the probabilities of a round, or None if one of them is unknown."""
    if cells is None or None in cells[i][:size]:
        return None
    return tuple(cells[i][:size])


def check_prefixes(cells: Cells, rows: list[list[int]]) -> None:
    for listed, row in zip(cells, rows, strict=True):
        known = [chance for chance in listed if chance is not None]
        if any(later > (1.0 + _ROUNDING) * earlier for earlier, later in pairwise(known)):
            raise ValueError(
                f"by_prefix must not increase along a list, got {shown(listed)} in"
                f" {rows_in_words([i + 1 for i in row])}"
            )


def check_last_prefixes(
    cells: Cells, propensities: list[float | None], played: Cells, rows: list[list[int]]
) -> None:
    """Raise ``ValueError`` if two probabilities of the whole list of a round differ."""
    for listed, whole, names, row in zip(cells, propensities, played, rows, strict=True):
        last = listed[len([name for name in names if name is not None]) - 1]
        if last is not None and whole is not None and abs(last - whole) > _WRITTEN * max(last, whole):
            raise ValueError(
                f"propensity must equal the last value of by_prefix, got {whole:g} and {last:g} in"
                f" {rows_in_words([i + 1 for i in row])}"
            )


def contexts(
    table: Columns, rows: list[list[int]], features: Mapping[Hashable, Sequence[str]] | None
) -> list[Context | None]:
    """Return the features of all arms in each round."""
    if features is None:
        return [None] * len(rows)
    given: object = features
    if not isinstance(given, Mapping):
        raise TypeError(f"features must be a mapping of names to columns, got {shown(features)}")
    listed_of = [as_list("features", columns) for columns in features.values()]
    if len({len(columns) for columns in listed_of}) != 1:
        raise ValueError(f"features must have the same number of columns for each arm, got {shown(features)}")
    used = {
        column: same(column, rows, table.numbers("features", column, -math.inf, math.inf))
        for columns in listed_of
        for column in columns
    }
    for column, values in used.items():
        if missing := [rows[i][0] + 1 for i, value in enumerate(values) if value is None]:
            raise ValueError(
                f"column {column!r} must contain numbers, but is empty in {rows_in_words(missing)}"
            )
    by_arm = np.array([[used[column] for column in columns] for columns in listed_of])
    return [Context(features=by_arm[:, :, i]) for i in range(len(rows))]
