"""Logs from tables (frames, CSV and Parquet files) with one row for each round, or for each position."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from cmab.logs._cells import (
    Cells,
    as_list,
    chances,
    check_ends,
    check_last_prefixes,
    check_played,
    check_prefixes,
    contexts,
    entries,
    grouped,
    of_rounds,
    same,
)
from cmab.logs._columns import Columns
from cmab.logs.log import Log, LoggedRound
from cmab.validation import listed, shown

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
        file in UTF-8 (``.csv``, ``.csv.gz``) or a Parquet file (``.parquet``, through polars or pyarrow).
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
    columns = as_list("names", names)
    width = len(columns)
    rows = [[i] for i in range(table.n_rows)] if round is None else grouped(table, round, position)
    played = entries(rows, [table.names_of_arms("names", column) for column in columns])
    check_played(played, rows)

    def cells(argument: str, given: str | Sequence[str] | None, low: float, high: float) -> Cells | None:
        if given is None:
            return None
        columns = as_list(argument, given, width)
        found = entries(rows, [table.numbers(argument, column, low, high) for column in columns])
        check_ends(argument, found, played, rows)
        return found

    outcomes = cells("outcome", outcome, -math.inf, math.inf)
    positions, prefixes = cells("by_position", by_position, 0, 1), cells("by_prefix", by_prefix, 0, 1)
    if prefixes is not None:
        check_prefixes(prefixes, rows)
    rewards = of_rounds(table, rows, "reward", reward, (-math.inf, math.inf))
    propensities = of_rounds(table, rows, "propensity", propensity, (0.0, 1.0))
    if prefixes is not None:
        check_last_prefixes(prefixes, propensities, played, rows)
    known = {
        column: same(column, rows, table.values("facts", column))
        for column in ([facts] if isinstance(facts, str) else listed("facts", facts, "columns"))
    }
    features_of = contexts(table, rows, features)
    shown_names = dict.fromkeys(name for listed in played for name in listed if name is not None)
    if features is not None and (gone := [name for name in shown_names if name not in features]):
        raise ValueError(f"features must have columns for each name of the log, but lacks {shown(gone)}")
    told = []
    for i, whole in enumerate(played):
        size = len([name for name in whole if name is not None])
        row = tuple(whole[:size])
        seen = [] if outcomes is None else outcomes[i][:size]
        prefix = chances(prefixes, i, size)
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
                by_position=chances(positions, i, size),
                by_prefix=prefix,
                facts={column: values[i] for column, values in known.items()},
            )
        )
    arms = list(shown_names if features is None else features)
    return Log(told, choices=arms, arms=arms)
