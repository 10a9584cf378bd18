"""Means with intervals, and means of the rows that trials returned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmab.arrays import FloatArray
from cmab.intervals import Band, band
from cmab.results.tables import Row, shown


def mean_and_interval(values: FloatArray, kind: Band = "t", level: float = 0.95) -> tuple[float, str]:
    """Return the mean and its confidence interval as text."""
    mean, low, high = (float(end[0]) for end in band(values[:, None], kind, level=level))
    return mean, f"{shown(low, grouped=True)} to {shown(high, grouped=True)}" if np.isfinite(low) else "-"


def told_rows(told: Sequence[Sequence[Row]], kind: Band = "t", level: float = 0.95) -> list[Row]:
    """Return the rows with means of their numbers; every replication has the same rows in the same order."""
    rows: list[Row] = []
    # Texts are labels, equal in all replications. Numbers are measurements.
    for each in zip(*told, strict=True):
        labels = {name: value for name, value in each[0].items() if isinstance(value, str)}
        summed: dict[str, object] = {"replications": len(each)}
        for name in [name for name in each[0] if name not in labels]:
            summed[name], summed[f"interval of {name}"] = mean_and_interval(
                np.array([row[name] for row in each], np.float64), kind, level
            )
        rows.append(labels | summed)
    return rows
