"""Logs from tables: frames, mappings of columns, CSV and Parquet files."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from cmab.offline.log import Log, LoggedRound
from cmab.validation import listed, meant, shown

#: The largest number of rows in an error message.
_MOST = 5
Rows = list[list[int]]


class _Table:
    """The columns of a table as lists of Python values, with None for missing values."""

    def __init__(self, source: Any, names: list[str]) -> None:
        columns = _of_file(Path(source), names) if isinstance(source, str | os.PathLike) else source
        known = list(columns) if isinstance(columns, Mapping) else getattr(columns, "columns", None)
        if known is None or hasattr(columns, "collect"):
            raise TypeError(
                f"source must be a frame in memory, a mapping of columns or a path, got {shown(source)}"
            )
        try:
            self.columns = {str(name): [_plain(cell) for cell in columns[name]] for name in known}
        except TypeError:
            raise TypeError(f"source must have lists of cells as columns, got {shown(source)}") from None
        lengths = {len(cells) for cells in self.columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns must be equally long, got lengths {sorted(lengths)}")
        self.length = max(lengths, default=0)

    def cells(self, argument: str, column: object) -> list[Any]:
        """Return the column that an argument names."""
        if not isinstance(column, str) or column not in self.columns:
            hint = meant(column, self.columns) if isinstance(column, str) else ""
            known = shown([*self.columns])
            raise ValueError(f"{argument} must be a column, one of {known}, got {shown(column)}{hint}")
        return self.columns[column]

    def names(self, column: object) -> list[Any]:
        """Return a column of names; pandas converts whole numbers to floats if a value is missing."""
        cells = self.cells("names", column)
        found = [int(name) if isinstance(name, float) and name.is_integer() else name for name in cells]
        good = [name is None or _is_name(name) for name in found]
        _refuse(column, "contain strings, whole numbers or tuples of these", cells, good)
        return found

    def numbers(
        self, argument: str, column: object, low: float = -math.inf, high: float = math.inf
    ) -> list[float | None]:
        """Return a column of finite numbers in an interval."""
        cells = self.cells(argument, column)
        span = f" in [{low:g}, {high:g}]" if high < math.inf else ""
        good = [cell is None or _is_in(cell, low, high) for cell in cells]
        _refuse(column, f"contain finite numbers{span}", cells, good)
        return [None if cell is None else float(cell) for cell in cells]


def _of_file(path: Path, names: list[str]) -> Any:
    """Return a file as a frame of pandas. Only empty cells are missing, and names like 007 stay strings."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("reading a log from a file needs pandas: pip install 'cmab[frames]'") from None
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    types = dict.fromkeys(names, "str")
    frame = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""], encoding="utf-8-sig")
    for name in types.keys() & frame.columns:
        if frame[name].dropna().str.fullmatch("0|-?[1-9][0-9]{0,17}").all():
            frame[name] = frame[name].astype("Int64")
    return frame


def _plain(cell: Any) -> Any:
    """Return a cell as a Python value; None for the missing values of any frame."""
    kind = type(cell)  # nearly all cells have one of three types
    if kind is int:
        return cell
    if kind is str:
        return cell or None
    if isinstance(cell, float):
        return None if math.isnan(cell) else float(cell)
    if isinstance(cell, list):
        return tuple(map(_plain, cell))
    if isinstance(cell, np.generic):
        return _plain(cell.item())
    return None if kind.__name__ in ("NAType", "NaTType") else cell


def _is_name(name: object) -> bool:
    return all(map(_is_name, name)) if isinstance(name, tuple) else isinstance(name, str | int)


def _is_in(cell: object, low: float, high: float) -> bool:
    try:
        return isinstance(cell, Real) and math.isfinite(cell) and low <= float(cell) <= high
    except OverflowError:  # a whole number larger than all floats
        return False


def _refuse(column: object, requirement: str, cells: Sequence[Any], good: Iterable[bool]) -> None:
    """Raise ``ValueError`` with the rows of a column that are not good, counted from 1."""
    bad = [row for row, is_good in enumerate(good) if not is_good]
    if bad:
        raise ValueError(f"column {column!r} must {requirement}, got {shown(cells[bad[0]])} in {_in(bad)}")


def _in(rows: Iterable[int]) -> str:
    """Return the numbers of some rows as text for an error; rows are counted from 1 without the header."""
    numbers = [row + 1 for row in rows]
    more = f" and {len(numbers) - _MOST} more" if len(numbers) > _MOST else ""
    return f"row{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_MOST]))}{more}"


def _columns(argument: str, given: Any, width: int | None = None) -> list[str]:
    """Return one or several columns as a list, of `width` columns if this is given."""
    found = [given] if isinstance(given, str) else listed(argument, given, "columns")
    if not found or (width is not None and len(found) != width):
        raise ValueError(f"{argument} must have {width or 'at least 1'} column(s), got {shown(given)}")
    return found


def _rounds(table: _Table, column: str, position: str | None) -> Rows:
    """Return the rows of each round, in the order of their positions."""
    keys = table.cells("round", column)
    _refuse(column, "identify the round of each row", keys, [key is not None for key in keys])
    rounds: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        rounds.setdefault(key, []).append(i)
    if position is not None:
        places = table.numbers("position", position)
        for rows in rounds.values():
            given = [places[i] for i in rows]
            if None in given or len(set(given)) < len(given):
                raise ValueError(
                    f"column {position!r} must have different numbers in the rows of a round, got"
                    f" {shown(given)} in {_in(rows)}"
                )
            rows.sort(key=lambda i: places[i] or 0.0)
    return list(rounds.values())


def _same(column: str, rows: Rows, cells: list[Any]) -> list[Any]:
    """Return one value for each round, which must be the same in all its rows."""
    for row in rows:
        if any(cells[i] != cells[row[0]] for i in row):
            raise ValueError(
                f"column {column!r} must be the same in all rows of a round, got"
                f" {shown([cells[i] for i in row])} in {_in(row)}"
            )
    return [cells[row[0]] for row in rows]


def _names_of(given: list[Any], row: list[int]) -> tuple[Hashable, ...]:
    """Return the super arm in the cells of a round; empty cells may only be at its end."""
    names = tuple(name for name in given if name is not None)
    if not names or list(names) != given[: len(names)]:
        raise ValueError(f"names must be given for all entries, got {shown(given)} in {_in(row)}")
    if len(set(names)) < len(names):
        raise ValueError(f"names of a round must differ from each other, got {shown(given)} in {_in(row)}")
    return names


def read_log(
    source: Any,
    names: str | Sequence[str],
    *,
    round: str | None = None,  # noqa: A002
    position: str | None = None,
    outcome: str | Sequence[str] | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    by_position: str | Sequence[str] | None = None,
    facts: Sequence[str] = (),
) -> Log:
    """Return the log in a table, which has the long or the wide form.

    In the long form, `names` is one column, and each row is one entry of a super arm. Rows with the same
    value in the column `round` form one round, in the order of `position`, or in the order of the rows if
    `position` is omitted. If `round` is omitted, each row is a round. In the wide form, `names` lists the
    columns of the entries, best position first, and each row is a round. Then `outcome` and `by_position`
    list the same number of columns.

    Every round counts as reported. An empty cell means that there is no value: an unobserved outcome, an
    unknown reward or propensity, or, in the wide form, the end of a shorter list.

    Parameters
    ----------
    source : frame, mapping or path
        A frame of pandas or polars, a mapping of columns to lists, or the path of a CSV file in UTF-8 or of a
        Parquet file (``.parquet``), which pandas reads. Names in a CSV file are whole numbers if all in their
        column are written as such; ``007`` is a string.
    names : str or sequence of str
        The column or columns of the names of the chosen entries.
    round, position : str, optional
        The columns of the round of each row, and of its position in the round (long form only).
    outcome : str or sequence of str, optional
        The outcome of each entry, which is a base arm.
    reward, propensity : str, optional
        The reward of the round, and the probability in [0, 1] with which its super arm was chosen.
    by_position : str or sequence of str, optional
        For each entry, the probability that it is chosen for its position.
    facts : sequence of str
        The columns for `LoggedRound.facts`: properties of the round that were known before the choice.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        If a column is missing or a cell has an invalid value. The message names the rows, counted from 1
        without the header. Also if the rows of a round differ in a property of the round.
    TypeError
        If `source` is not a table.
    ImportError
        If `source` is a file and pandas is not installed.

    Examples
    --------
    >>> from cmab import read_log
    >>> wide = {"first": ["tea", "cola"], "second": ["cola", "tea"], "sold_1": [1, 0], "sold_2": [0, 0]}
    >>> log = read_log(wide, ["first", "second"], outcome=["sold_1", "sold_2"])
    >>> log[1].names, log[1].outcomes
    (('cola', 'tea'), {'cola': 0.0, 'tea': 0.0})
    >>> long = {"user": [7, 7, 9], "item": ["tea", "cola", "cola"], "click": [1, None, 0], "p": [0.5] * 3}
    >>> log = read_log(long, "item", round="user", outcome="click", propensity="p")
    >>> log[0].names, log[0].outcomes, log[0].propensity
    (('tea', 'cola'), {'tea': 1.0}, 0.5)
    """
    if (round is not None and not isinstance(names, str)) or (position is not None and round is None):
        raise ValueError(
            "round and position must be None if names has several columns, and position if round is None,"
            f" got {shown((round, position))}"
        )
    columns = _columns("names", names)
    table = _Table(source, columns)
    rows = [[i] for i in range(table.length)] if round is None else _rounds(table, round, position)

    def entries(cells: list[list[Any]]) -> list[list[Any]]:
        return [[column[i] for i in row for column in cells] for row in rows]

    given = entries([table.names(column) for column in columns])
    played = [_names_of(cells, row) for cells, row in zip(given, rows, strict=True)]

    def numbers(argument: str, given: Any, low: float, high: float) -> list[list[Any]] | None:
        if given is None:
            return None
        listed = _columns(argument, given, len(columns))
        found = entries([table.numbers(argument, column, low, high) for column in listed])
        for cells, entry, row in zip(found, played, rows, strict=True):
            if set(cells[len(entry) :]) - {None}:
                raise ValueError(f"{argument} must be empty if there is no name, got more in {_in(row)}")
        return found

    def of_round(argument: str, column: str | None, low: float, high: float) -> list[Any]:
        if column is None:
            return [None] * len(rows)
        return _same(column, rows, table.numbers(argument, column, low, high))

    outcomes = numbers("outcome", outcome, -math.inf, math.inf)
    chances = numbers("by_position", by_position, 0.0, 1.0)
    rewards = of_round("reward", reward, -math.inf, math.inf)
    propensities = of_round("propensity", propensity, 0.0, 1.0)
    known = {
        fact: _same(fact, rows, table.cells("facts", fact)) for fact in listed("facts", facts, "columns")
    }
    arms = list(dict.fromkeys(name for entry in played for name in entry))
    told = []
    for i, entry in enumerate(played):
        seen = zip(entry, outcomes[i] if outcomes else (), strict=False)
        places = None if chances is None else tuple(chances[i][: len(entry)])
        told.append(
            LoggedRound(
                number=i,
                state="told",
                names=entry,
                outcomes={name: value for name, value in seen if value is not None},
                reward=math.nan if rewards[i] is None else rewards[i],
                propensity=propensities[i],
                by_position=None if places is None or None in places else places,
                facts={fact: values[i] for fact, values in known.items()},
            )
        )
    return Log(told, choices=arms, arms=arms)
