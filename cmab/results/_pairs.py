"""Tests that compare every pair of learners on an instance, paired by replication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from cmab.results._summaries import mean_and_interval

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.intervals import holm, paired_p_value, sign_p_value
from cmab.run.tables import Row

if TYPE_CHECKING:
    from cmab.plotting.style import Explored, Played

#: Chance of a single false "yes" in a table of pairs.
ERROR = 0.05
DIFFER = "differ at 5 %"
#: Largest relative difference between two sums of the same rewards in different orders.
_ROUNDING = 1e-12
#: Replication numbers of each result, in its order. In an unfinished study, learners may have different ones.
Numbers = Mapping[str, IntArray]


def loss(result: Played) -> FloatArray:
    """Return the loss of each replication: expected cost, or minus expected reward.

    The optimum cancels in differences, so differences of loss are differences of regret, even if the optimum
    is unknown.
    """
    return (-1.0 if result.sense == "max" else 1.0) * result.expected_rewards[:, -1]


def pairs_of_learners(results: Mapping[str, Played], numbers: Numbers, level: float) -> list[Row]:
    """Return a row for each pair of learners: the difference of their regrets and Student's paired test."""
    losses = {name: loss(result) for name, result in results.items()}
    return [
        {"less regret": first, "more regret": second}
        | _difference(*_common(losses, numbers, first, second), level)
        for first, second in _rivals(losses)
    ]


def pairs_of_explorers(results: Mapping[str, Explored], numbers: Numbers, level: float) -> list[Row]:
    """Return a row for each pair of explorers: the difference of their samples and a test.

    If runs were cut off, only the signs of the differences are known: a run that stopped needs fewer samples
    than a run that had not stopped after as many. Pairs of runs with an unknown sign do not count.
    """
    samples = {name: found.samples.astype(np.float64) for name, found in results.items()}
    stopped = {name: found.stopped for name, found in results.items()}
    rows: list[Row] = []
    for first, second in _rivals(samples):
        a, b = _common(samples, numbers, first, second)
        ended = _common(stopped, numbers, first, second)
        names = {"fewer samples": first, "more samples": second}
        if all(each.all() for each in ended):
            rows.append(names | _difference(a, b, level) | {"test": "t"})
            continue
        fewer, more = int(((a < b) & ended[0]).sum()), int(((b < a) & ended[1]).sum())
        if fewer < more:
            names = {"fewer samples": second, "more samples": first}
        unknown = {"pairs": len(a), "difference": None, "interval": None}
        rows.append(names | unknown | {"p": sign_p_value(fewer, more), "test": "sign"})
    return rows


def pairs_of_failures(results: Mapping[str, Explored], numbers: Numbers) -> list[Row]:
    """Return McNemar's exact test for each pair of explorers that are not wrong in the same replications."""
    wrong = {name: (~found.correct).astype(np.float64) for name, found in results.items()}
    rows: list[Row] = []
    for first, second in _rivals(wrong):
        a, b = _common(wrong, numbers, first, second)
        # McNemar's test uses the replications in which exactly one of the two is wrong.
        only = int(((b == 1) & (a == 0)).sum()), int(((a == 1) & (b == 0)).sum())
        # Without such a replication there is nothing to test and no p-value.
        if sum(only) == 0:
            continue
        rows.append(
            {
                "first": first,
                "second": second,
                "pairs": len(a),
                "only the first wrong": only[1],
                "only the second wrong": only[0],
                "p": sign_p_value(*only),
            }
        )
    return rows


def corrected(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with p-values corrected by Holm's method."""
    # One correction for the whole table, because readers look for its smallest p-value.
    adjusted = holm([row["p"] for row in rows])
    return [
        {**row, "p (Holm)": float(p), DIFFER: None if np.isnan(p) else "yes" if p <= ERROR else "no"}
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _rivals(values: Mapping[str, FloatArray]) -> Iterator[tuple[str, str]]:
    """Yield all pairs, the name with the smaller mean first."""
    # So every difference (second minus first) is at least 0 if both have all replications.
    return combinations(sorted(values, key=lambda name: float(values[name].mean())), 2)


def _common(
    values: Mapping[str, FloatArray] | Mapping[str, BoolArray], numbers: Numbers, first: str, second: str
) -> tuple[Any, Any]:
    """Return the values of two learners in their common replications."""
    _, i, j = np.intersect1d(numbers[first], numbers[second], return_indices=True)
    return values[first][i], values[second][j]


def _without_rounding(gaps: FloatArray, less: FloatArray, more: FloatArray) -> FloatArray:
    """Return `gaps`; if they differ only by rounding errors of the sums, make them equal."""
    # Otherwise equal gaps would have a standard deviation of 1e-16, and the test a tiny p-value.
    noise = _ROUNDING * max(np.abs(less).max(initial=0.0), np.abs(more).max(initial=0.0))
    if not len(gaps) or np.ptp(gaps) > noise:
        return gaps
    return np.full(len(gaps), 0.0 if np.abs(gaps).max() <= noise else gaps[0])


def _difference(less: FloatArray, more: FloatArray, level: float) -> dict[str, Any]:
    gaps = _without_rounding(more - less, less, more)
    difference, between = mean_and_interval(gaps, "t", level)
    p = paired_p_value(gaps)
    return {"pairs": len(less), "difference": difference, "interval": between, "p": p}
