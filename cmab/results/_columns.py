"""The recorded values of a replication: columns of a store and arrays of a result, listed once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


# Stores, results and records are all made from these lists, so they always have the same fields.
class Column(NamedTuple):
    """A recorded value: its name, its SQL type and its type in a result.

    In a result, `dtype` is the type of an array with one entry (one row if `sql` is ``BLOB``) per
    replication. ``list`` means a list of arrays, one per replication. None means one value for all
    replications.
    """

    name: str
    sql: str
    dtype: Any = None


SIMULATED = (
    Column("path", "TEXT"),
    Column("seconds", "REAL", np.float64),
    # Stored so that regret computed later does not depend on the code of that time.
    Column("optimum", "REAL"),
    Column("alpha", "REAL"),
    Column("beta", "REAL"),
    Column("sense", "TEXT"),
    Column("oracle_calls", "INTEGER", np.int64),
    Column("oracle_seconds", "REAL", np.float64),
    Column("rounds", "BLOB"),
    Column("expected_rewards", "BLOB", np.float64),
    Column("rewards", "BLOB", np.float64),
    Column("optima", "BLOB", np.float64),  # only if rounds differ
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
#: Types of the entries of the lists, unless they are integers.
ENTRIES = {"budgets_left": np.float64}


def gathered(columns: Columns, replications: Sequence[Mapping[str, Any]], **common: Any) -> dict[str, Any]:
    """Return the arguments of a result; shared values are from `common` or the first replication."""
    found: dict[str, Any] = {}
    for name, sql, dtype in columns:
        if dtype is None:
            # Without a dtype there is one value for the whole result.
            found[name] = common[name] if name in common else replications[0][name]
            continue
        values = [each[name] for each in replications]
        if name == "optima":
            if all(value is None for value in values):
                found[name] = None
                continue
            # In an interrupted run, a replication may not have begun.
            unknown = np.full(len(found["rounds"]), np.nan)
            values = [unknown if value is None else value for value in values]
        found[name] = values if dtype is list else np.array(values, dtype)
        if sql == "BLOB":  # gives the shape (0, C) if an interrupted run has no replication
            found[name] = found[name].reshape(len(values), len(found["rounds"]))
    return found


def stored(columns: Columns, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a replication as a store keeps them."""
    kept = {name: values[name] for name, *_ in columns if name in values}
    for name, sql, dtype in columns:
        if dtype is np.bool_:
            kept[name] = int(kept[name])
        elif dtype is list and sql == "TEXT":
            kept[name] = json.dumps(kept[name].tolist())
    return kept


def restored(columns: Columns, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that were passed to `stored`, from a row that may have more columns."""
    texts = {
        name: np.array(json.loads(row[name]), ENTRIES.get(name, np.int64))
        for name, _, dtype in columns
        if dtype is list
    }
    numbers = {"optimum": np.nan} if row.get("optimum", 0.0) is None else {}  # SQL has no NaN
    return dict(row) | texts | numbers
