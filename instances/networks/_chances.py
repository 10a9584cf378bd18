"""The column of a file with probabilities or weights, and the conversion of numbers to probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from instances.networks._edge_table import EdgeTable, number_of

# Names of columns that are used by default. Columns of the first kind have probabilities. Columns of the
# second kind have probabilities if their numbers allow it, otherwise weights.
_PROBABILITIES = ("p", "prob", "probs", "probability", "probabilities", "chance", "activation_probability")
_WEIGHTS = ("weight", "weights", "w", "strength", "value", "count", "counts")
# Columns of numbers that only identify edges; the last two are index columns that pandas wrote.
_IDS = {"id", "edgeid", "index", "edgeindex", "idx", "key", "edgekey", "line", "lineno", "linenumber"}
_IDS |= {"row", "rowid", "rownumber", "1", "unnamed0"}
# Largest number of columns that a message lists.
_LISTED = 10


def column_of(table: EdgeTable, probability: str | None, weight: str | None) -> tuple[str | None, str]:
    """Return the used column and its kind: "probability", "weight" or "either".

    Raises
    ------
    ValueError
        If a requested column does not exist, or if several columns are possible.
    """
    if probability is not None and weight is not None:
        raise ValueError("probability_column and weight_column must not both be given")
    asked = probability if weight is None else weight
    if asked is not None:
        if asked not in table.columns:
            known = _listed([*table.columns]) or "only the two names"
            raise ValueError(f"{table.file} must have a column {asked!r}, got {known}")
        return asked, "probability" if weight is None else "weight"
    for names, kind in ((_PROBABILITIES, "probability"), (_WEIGHTS, "either")):
        for name in table.columns:
            if name.strip().lower().replace(" ", "_") in names:
                return name, kind
    # If exactly one other column has numbers, use it.
    numeric = [
        name
        for name, values in table.columns.items()
        if re.sub(r"[\W_]+", "", name.lower()) not in _IDS and _has_numbers(values)
    ]
    if len(numeric) > 1:
        raise ValueError(
            f"{table.file}: choose the column of probabilities or weights (--probability-column or "
            f"--weight-column), because several columns have numbers: {_listed(numeric)}"
        )
    return (numeric[0] if numeric else None), "either"


def _has_numbers(values: Sequence[object]) -> bool:
    """Return whether there are numbers, and besides them only empty cells, which are fewer."""
    texts = [value for value in values if value not in ("", None)]
    return 2 * len(texts) > len(values) and not any(math.isnan(number_of(text)) for text in texts)


def numbers_in(table: EdgeTable, column: str, kind: str) -> tuple[FloatArray, bool]:
    """Return the numbers of a column, and whether they are probabilities.

    Raises
    ------
    ValueError
        If a cell is not a number of this kind; the message names the line and the column.
    """
    numbers = np.array([number_of(value) for value in table.columns[column]])
    is_chance = (numbers >= 0.0) & (numbers <= 1.0)
    if kind == "probability":
        rule = "a probability must be in [0, 1], or end with % (for weights, use --weight-column)"
        _require(table, column, is_chance, rule)
        return numbers, True
    _require(table, column, (numbers >= 0.0) & np.isfinite(numbers), "a weight must be a number, 0 or more")
    # If all numbers are 1, or 0 and 1, they say whether there is a tie, not that ties are certain.
    is_plain = bool(np.isin(numbers, (0.0, 1.0)).all())
    return numbers, kind == "either" and bool(is_chance.all()) and not is_plain


def _require(table: EdgeTable, column: str, is_good: BoolArray, requirement: str) -> None:
    bad = np.flatnonzero(~is_good)
    if len(bad):
        raise table.fault(int(bad[0]), column, requirement)


def shares(weights: FloatArray, heads: IntArray, n_nodes: int) -> FloatArray:
    """Return each weight over the sum of the weights into the same head.

    With equal weights this is the weighted cascade, Kempe, Kleinberg and Tardos (2003), section 4:
    p(u, v) = c(u, v) / d(v), where c(u, v) counts parallel edges, which are integer weights here.
    """
    if weights.max(initial=0.0) > np.finfo(np.float64).max / max(1, len(weights)):  # a sum might overflow
        weights = weights / len(weights) / weights.max()
    sums = np.bincount(heads, weights, minlength=n_nodes)[heads]
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0.0)


def others_told(table: EdgeTable, used: str | None) -> list[str]:
    """Return a line about the columns that are not used, if there are any."""
    rest: Sequence[str] = [name for name in table.columns if name != used]
    if not rest:
        return []
    if len(rest) == 1:
        return [f"column {rest[0]} is not used"]
    return [f"columns {_listed(rest)} are not used"]


def _listed(names: Sequence[str]) -> str:
    """Return the first names and the number of further names."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")
