"""Learners beside one of them, run by run: what differs between worlds and coins falls out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cmab.intervals import band
from instances.experiments._explorations import Row
from instances.experiments.semi_bandits import sum_up


def sum_up_beside(reference: str) -> Callable[[Row, Sequence[list[Row]]], list[Row]]:
    """Return a `sum_up` that also says how much more regret each learner has than the one of this name.

    ``more``, with a 95 % interval: of the differences within replications, whose worlds and coins are the
    same for all learners.
    """

    def told_beside(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
        regrets = np.array([[run["regret"] for run in runs] for runs in told])
        names = [run["learner"] for run in told[0]]
        ends = band(regrets - regrets[:, [names.index(reference)]])
        return [
            row | {"more": float(mean), "more low": float(low), "more high": float(high)}
            for row, mean, low, high in zip(sum_up(cell, told), *ends, strict=True)
        ]

    return told_beside


def has_more(row: Row) -> bool | None:
    """Return whether a learner has more regret than that of `sum_up_beside`: None where that is open."""
    if row["more low"] > 0.0:
        return True
    return False if row["more high"] < 0.0 else None
