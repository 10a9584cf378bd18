"""The leaderboard in print, from the scores of all entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cmab.results.tables import Row


def short_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the columns of the leaderboard in print: means, intervals, worst ratios, shares and tails."""
    found: list[Row] = []
    for row in rows:
        short: dict[str, Any] = {"entry": row["entry"], "problems": row["problems"]}
        for part, head in (("open", ""), ("held out", "held out: ")):
            if f"{part} mean" not in row:
                continue
            is_known = not np.isnan(row[f"{part} mean"])
            low, high = (_two(row[f"{part} {end}"]) for end in ("low", "high"))
            short[f"{head}mean"] = _two(row[f"{part} mean"])
            short[f"{head}95 %"] = f"{low} - {high}" if is_known else None
            short[f"{head}worst"] = _two(row[f"{part} worst"])
            short[f"{head}within 1.5"] = f"{100.0 * row[f'{part} close']:.0f} %" if is_known else None
            short[f"{head}tail"] = _two(row[f"{part} largest tail"])
        found.append(short | {"us a round": _two(row["microseconds"])})
    return found


def _two(value: float) -> str | None:
    """Return a number with about three digits."""
    if np.isnan(value):
        return None
    return f"{value:.{0 if value >= 100.0 else 1 if value >= 10.0 else 2}f}"
