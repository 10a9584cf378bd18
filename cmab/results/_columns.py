"""What is recorded of a replication, listed once: columns of a store, arrays of a result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


# A store, a result and a record are made from these, so that none of them can lack what another has.
class Column(NamedTuple):
    """A recorded thing: its name everywhere, its type in SQL, and what a result has of all replications.

    `dtype` is that of an array with an entry (of a ``BLOB``, a row) for each replication; ``list`` stands for
    a list of arrays, and None for what all replications have in common.
    """

    name: str
    sql: str
    dtype: Any = None


SIMULATED = (
    Column("path", "TEXT"),
    Column("seconds", "REAL", np.float64),
    # What regret is told by later, whatever the code says then.
    Column("optimum", "REAL"),
    Column("alpha", "REAL"),
    Column("beta", "REAL"),
    Column("sense", "TEXT"),
    Column("oracle_calls", "INTEGER", np.int64),
    Column("oracle_seconds", "REAL", np.float64),
    Column("rounds", "BLOB"),
    Column("expected_rewards", "BLOB", np.float64),
    Column("rewards", "BLOB", np.float64),
    Column("optima", "BLOB", np.float64),  # only where rounds differ
    Column("change_points", "TEXT", list),
    Column("budgets_left", "TEXT", list),
)
IDENTIFIED = (
    Column("path", "TEXT"),
    Column("seconds", "REAL", np.float64),
    Column("samples", "INTEGER", np.int64),
    Column("correct", "INTEGER", np.bool_),
    Column("stopped", "INTEGER", np.bool_),
    Column("certified", "INTEGER", np.bool_),
    Column("arms", "TEXT", list),
)
TRIED = (Column("seconds", "REAL", np.float64), Column("told", "TEXT"))
Columns = tuple[Column, ...]
#: Types of what the lists hold, where it is no integers.
ENTRIES = {"budgets_left": np.float64}


def gathered(columns: Columns, replications: Sequence[Mapping[str, Any]], **common: Any) -> dict[str, Any]:
    """Return the arguments of a result; what all replications have in common is `common`, or the first's."""
    found: dict[str, Any] = {}
    for name, sql, dtype in columns:
        if dtype is None:
            # Without a type for all replications it is one value for the whole result.
            found[name] = common[name] if name in common else replications[0][name]
            continue
        values = [each[name] for each in replications]
        if name == "optima":
            if all(value is None for value in values):
                found[name] = None
                continue
            # An interrupted replication may not have begun.
            unknown = np.full(len(found["rounds"]), np.nan)
            values = [unknown if value is None else value for value in values]
        found[name] = values if dtype is list else np.array(values, dtype)
        if sql == "BLOB":  # also without a replication, of which an interrupted run may have none
            found[name] = found[name].reshape(len(values), len(found["rounds"]))
    return found


def stored(columns: Columns, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a store keeps of a replication."""
    kept = {name: values[name] for name, *_ in columns if name in values}
    for name, sql, dtype in columns:
        if dtype is np.bool_:
            kept[name] = int(kept[name])
        elif dtype is list and sql == "TEXT":
            kept[name] = json.dumps(kept[name].tolist())
    return kept


def restored(columns: Columns, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `stored` was given, of a row that may have more columns."""
    texts = {
        name: np.array(json.loads(row[name]), ENTRIES.get(name, np.int64))
        for name, _, dtype in columns
        if dtype is list
    }
    numbers = {"optimum": np.nan} if row.get("optimum", 0.0) is None else {}  # SQL has no nan
    return dict(row) | texts | numbers
