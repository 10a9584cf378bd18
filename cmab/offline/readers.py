"""Logs from tables (frames, CSV and Parquet files) and in the format of the Open Bandit data set."""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from cmab.feedback import Context
from cmab.offline.log import Log, LoggedRound
from cmab.validation import listed, meant, shown

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
    """Return the columns of a file; its ending determines the format. A CSV file is read as text at first."""
    if not path.name.endswith((".csv", ".csv.gz", ".parquet")):
        raise ValueError(f"source must end in .csv, .csv.gz or .parquet, got {shown(str(path))}")
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("reading a log from a file needs pandas: pip install 'cmab[frames]'") from None
    try:
        if path.name.endswith(".parquet"):
            return pd.read_parquet(path)
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (ValueError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        kind = "a Parquet file" if path.name.endswith(".parquet") else "a CSV file in UTF-8"
        raise ValueError(f"source must be {kind}, got {path.name}: {error}") from error
    return {str(name): _typed(frame[name].tolist()) for name in frame.columns}


def _typed(cells: list[str]) -> list[Any]:
    """Return cells as integers or floats if all are written as such; an identifier 007 stays a string."""
    for kind, form in ((int, _WHOLE), (float, _NUMBER)):
        if all(form.fullmatch(cell) for cell in cells if cell):
            return [kind(cell) if cell else None for cell in cells]
    return list(cells)


Cells = list[list[Any]]
_ROUNDING = 1e-9
#: A tolerance for probabilities that files contain with few digits.
_WRITTEN = 1e-6


def _as_list(argument: str, given: str | Sequence[str], width: int | None = None) -> list[str]:
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


def _grouped(table: Columns, group: str, position: str | None) -> list[list[int]]:
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


def _entries(rows: list[list[int]], columns: Cells) -> Cells:
    """Return the cells of each round, from its rows and the columns."""
    return [[column[i] for i in row for column in columns] for row in rows]


def _check_played(played: Cells, rows: list[list[int]]) -> None:
    for given, row in zip(played, rows, strict=True):
        size = len([name for name in given if name is not None])
        where = rows_in_words([i + 1 for i in row])
        if size == 0 or None in given[:size]:
            raise ValueError(f"names must be given for all entries, got {shown(given)} in {where}")
        if len(set(given[:size])) < size:
            raise ValueError(f"names of a round must differ from each other, got {shown(given)} in {where}")


def _check_ends(argument: str, cells: Cells, played: Cells, rows: list[list[int]]) -> None:
    """Raise ``ValueError`` if a cell beyond the end of a list is not empty."""
    for values, given, row in zip(cells, played, rows, strict=True):
        for value, name in zip(values, given, strict=True):
            if name is None and value is not None:
                raise ValueError(
                    f"{argument} must be empty if there is no name, got {shown(value)} in"
                    f" {rows_in_words([i + 1 for i in row])}"
                )


def _of_rounds(
    table: Columns, rows: list[list[int]], argument: str, column: str | None, span: tuple[float, float]
) -> list[Any]:
    if column is None:
        return [None] * len(rows)
    return _same(column, rows, table.numbers(argument, column, *span))


def _same(column: str, rows: list[list[int]], values: list[Any]) -> list[Any]:
    """Return one value for each round, which must be the same in all its rows."""
    for row in rows:
        if len(row) > 1 and any(values[i] != values[row[0]] for i in row[1:]):
            raise ValueError(
                f"column {column!r} must be the same in all rows of a round, got"
                f" {shown([values[i] for i in row])} in {rows_in_words([i + 1 for i in row])}"
            )
    return [values[row[0]] for row in rows]


def _chances(cells: Cells | None, i: int, size: int) -> tuple[float, ...] | None:
    """Return the probabilities of a round, or None if one of them is unknown."""
    if cells is None or None in cells[i][:size]:
        return None
    return tuple(cells[i][:size])


def _check_prefixes(cells: Cells, rows: list[list[int]]) -> None:
    for given, row in zip(cells, rows, strict=True):
        known = [chance for chance in given if chance is not None]
        if any(later > (1.0 + _ROUNDING) * earlier for earlier, later in pairwise(known)):
            raise ValueError(
                f"by_prefix must not increase along a list, got {shown(given)} in"
                f" {rows_in_words([i + 1 for i in row])}"
            )


def _check_last_prefixes(
    cells: Cells, propensities: list[float | None], played: Cells, rows: list[list[int]]
) -> None:
    """Raise ``ValueError`` if two probabilities of the whole list of a round differ."""
    for given, whole, names, row in zip(cells, propensities, played, rows, strict=True):
        last = given[len([name for name in names if name is not None]) - 1]
        if last is not None and whole is not None and abs(last - whole) > _WRITTEN * max(last, whole):
            raise ValueError(
                f"propensity must equal the last value of by_prefix, got {whole:g} and {last:g} in"
                f" {rows_in_words([i + 1 for i in row])}"
            )


def _contexts(
    table: Columns, rows: list[list[int]], features: Mapping[Hashable, Sequence[str]] | None
) -> list[Context | None]:
    """Return the features of all arms in each round."""
    if features is None:
        return [None] * len(rows)
    given: object = features
    if not isinstance(given, Mapping):
        raise TypeError(f"features must be a mapping of names to columns, got {shown(features)}")
    listed_of = [_as_list("features", columns) for columns in features.values()]
    if len({len(columns) for columns in listed_of}) != 1:
        raise ValueError(f"features must have the same number of columns for each arm, got {shown(features)}")
    used = {
        column: _same(column, rows, table.numbers("features", column, -math.inf, math.inf))
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


Source = Any


def read_log(
    source: Source,
    names: str | Sequence[str],
    *,
    round: str | None = None,  # noqa: A002
    position: str | None = None,
    outcome: str | Sequence[str] | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    by_position: str | Sequence[str] | None = None,
    by_prefix: str | Sequence[str] | None = None,
    facts: Sequence[str] = (),
    features: Mapping[Hashable, Sequence[str]] | None = None,
) -> Log:
    """Return the log in a table, which has the long or the wide form.

    In the long form, `names` is one column, and each row is one entry of a super arm. Rows with the same
    value in the column `round` form one round, in the order of `position`, or in the order of the rows if
    `position` is omitted. If `round` is omitted, each row is a round. In the wide form, `names` lists the
    columns of the entries, best position first, and each row is a round. Then `outcome`, `by_position` and
    `by_prefix` list the same number of columns.

    Every round counts as reported. An empty cell means that there is no value: an unobserved outcome, an
    unknown reward or propensity, or, in the wide form, the end of a shorter list. Names are not converted. In
    CSV files, a column has numbers if all its cells are written as numbers; ``007`` is a string.

    Parameters
    ----------
    source : frame, mapping or path
        A frame of pandas or polars, a table of pyarrow, a mapping of columns to lists, or the path of a CSV
        file in UTF-8 (``.csv``, ``.csv.gz``) or a Parquet file (``.parquet``), read by pandas.
    names : str or sequence of str
        The column or columns of the names of the chosen entries.
    round, position : str, optional
        The columns of the round of each row, and of its position in the round (long form only).
    outcome : str or sequence of str, optional
        The outcome of each entry, which is a base arm.
    reward, propensity : str, optional
        The reward of the round, and the probability in [0, 1] with which its super arm was chosen. By
        default, the propensity is the last value of `by_prefix`.
    by_position, by_prefix : str or sequence of str, optional
        For each entry, the probability that it is chosen for its position, and the probability of the list up
        to its position.
    facts : sequence of str
        The columns for `LoggedRound.facts`: properties of the round that were known before the choice.
    features : mapping of name to sequence of str, optional
        For every base arm, the columns of its features, which become `Context.features`.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        If a column is missing or a cell has an invalid value. The message names the rows, counted from 1
        without the header. Also if the rows of a round differ in a property of the round, if a cell beyond
        the end of a list is not empty, or if `propensity` differs from the last value of `by_prefix`.
    TypeError
        If `source` is not a table.
    ImportError
        If no package that reads Parquet is installed.

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
    table = source if isinstance(source, Columns) else Columns(source)  # read once
    is_wide = not isinstance(names, str)
    if is_wide and (round is not None or position is not None):
        raise ValueError("round and position must be None if names has several columns: each row is a round")
    if round is None and position is not None:
        raise ValueError(f"position must be None if round is None, got {shown(position)}")
    columns = _as_list("names", names)
    width = len(columns)
    rows = [[i] for i in range(table.n_rows)] if round is None else _grouped(table, round, position)
    played = _entries(rows, [table.names_of_arms("names", column) for column in columns])
    _check_played(played, rows)

    def cells(argument: str, given: str | Sequence[str] | None, low: float, high: float) -> Cells | None:
        if given is None:
            return None
        columns = _as_list(argument, given, width)
        found = _entries(rows, [table.numbers(argument, column, low, high) for column in columns])
        _check_ends(argument, found, played, rows)
        return found

    outcomes = cells("outcome", outcome, -math.inf, math.inf)
    positions, prefixes = cells("by_position", by_position, 0, 1), cells("by_prefix", by_prefix, 0, 1)
    if prefixes is not None:
        _check_prefixes(prefixes, rows)
    rewards = _of_rounds(table, rows, "reward", reward, (-math.inf, math.inf))
    propensities = _of_rounds(table, rows, "propensity", propensity, (0.0, 1.0))
    if prefixes is not None:
        _check_last_prefixes(prefixes, propensities, played, rows)
    known = {
        column: _same(column, rows, table.values("facts", column))
        for column in ([facts] if isinstance(facts, str) else listed("facts", facts, "columns"))
    }
    features_of = _contexts(table, rows, features)
    shown_names = dict.fromkeys(name for listed in played for name in listed if name is not None)
    if features is not None and (gone := [name for name in shown_names if name not in features]):
        raise ValueError(f"features must have columns for each name of the log, but lacks {shown(gone)}")
    told = []
    for i, whole in enumerate(played):
        size = len([name for name in whole if name is not None])
        row = tuple(whole[:size])
        seen = [] if outcomes is None else outcomes[i][:size]
        prefix = _chances(prefixes, i, size)
        chance = propensities[i] if propensities[i] is not None or prefix is None else prefix[-1]
        told.append(
            LoggedRound(
                number=i,
                state="told",
                names=row,
                outcomes={name: value for name, value in zip(row, seen, strict=False) if value is not None},
                reward=math.nan if rewards[i] is None else rewards[i],
                propensity=chance,
                context=features_of[i],
                by_position=_chances(positions, i, size),
                by_prefix=prefix,
                facts={column: values[i] for column, values in known.items()},
            )
        )
    arms = list(shown_names if features is None else features)
    return Log(told, choices=arms, arms=arms)


_AFFINITY = "user-item_affinity_"
_USER = "user_feature_"


def read_open_bandit(source: Source) -> Log:
    """Return a log from a table in the format of the Open Bandit data: a round is one item at one position.

    The columns are ``item_id``, ``position`` (one of three), ``click``, ``propensity_score`` (the probability
    of the item at this position), ``timestamp``, ``user_feature_0`` and so on (strings), and
    ``user-item_affinity_0`` and so on, one for each item. The position and the features of the user become
    `LoggedRound.facts`. The affinities become `Context.features` of shape (n_items, 1). The names of items
    are their numbers. Times without a time zone are in UTC.

    The data do not show which positions belong to one visit. A value from this log is therefore the value of
    one impression, and `off_policy_value` with ``"ips"`` is the estimate by position.

    Parameters
    ----------
    source : frame, mapping or path
        The table, in a form that `read_log` accepts.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        If a column is missing, or a cell has an invalid value. The message names the rows.
    TypeError
        If `source` is not a table.

    Examples
    --------
    >>> from cmab import read_open_bandit
    >>> table = {"item_id": [1, 0], "position": [3, 1], "click": [0, 1], "propensity_score": [0.5, 0.5]}
    >>> log = read_open_bandit(table)
    >>> log[1].names, log[1].outcomes, log[1].propensity, log[1].facts
    ((0,), {0: 1.0}, 0.5, {'position': 1})

    References
    ----------
    Y. Saito, S. Aihara, M. Matsutani, Y. Narita: Open Bandit Dataset and Pipeline: Towards Realistic and
    Reproducible Off-Policy Evaluation, NeurIPS 2021 Datasets and Benchmarks.
    """
    table = Columns(source)
    affinities = _numbered(table, _AFFINITY)
    log = read_log(
        table,
        "item_id",
        outcome="click",
        reward="click",
        propensity="propensity_score",
        facts=["position", *_numbered(table, _USER)],
        features={int(column.removeprefix(_AFFINITY)): [column] for column in affinities} or None,
    )
    if "timestamp" not in table.names:
        return log
    values = table.values("timestamp", "timestamp")
    refuse(
        "timestamp", "contain times, or strings in ISO 8601", values, lambda value: _time(value) is not None
    )
    times = [_time(value) for value in values]
    rounds = [replace(row, asked=at, told=at) for row, at in zip(log, times, strict=True)]
    return Log(rounds, choices=log.choices, arms=log.arms)


def _numbered(table: Columns, beginning: str) -> list[str]:
    """Return the columns ``beginning0``, ``beginning1`` and so on, in the order of their numbers."""
    numbers = [
        name.removeprefix(beginning) for name in table.names if re.fullmatch(beginning + "[0-9]+", name)
    ]
    return [beginning + number for number in sorted(numbers, key=lambda text: (len(text), text))]


def _time(value: Any) -> datetime | None:
    """Return a time in UTC, also for a time without a zone; None if the value is not a time."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None
    if not isinstance(at, datetime):
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
