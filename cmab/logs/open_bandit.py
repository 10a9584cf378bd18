"""Logs in the format of the Open Bandit data set."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cmab.logs._columns import Columns, refuse
from cmab.logs.log import Log
from cmab.logs.tables import Source, read_log

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
