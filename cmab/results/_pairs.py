"""Tests of who is better: every pair of learners on an instance, paired by replication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.intervals import holm, paired_p_value, sign_p_value
from cmab.results._summaries import mean_and_interval
from cmab.results.tables import Row

if TYPE_CHECKING:
    from cmab.plotting._needs import Explored, Played

#: Chance of a single false "yes" in a table of pairs.
ERROR = 0.05
DIFFER = "differ at 5 %"
#: How far sums of the same rewards in another order may be apart, as a share of the sum.
_ROUNDING = 1e-12
#: Which replications a result has, in its order: of an unfinished study, learners may have different ones.
Numbers = Mapping[str, IntArray]


def loss(result: Played) -> FloatArray:
    """Return by replication what is less of a better learner.

    The optimum cancels in differences, so regret differs as expected reward does, known or not.
    """
    return (-1.0 if result.sense == "max" else 1.0) * result.expected_rewards[:, -1]


def pairs_of_learners(results: Mapping[str, Played], numbers: Numbers, level: float) -> list[Row]:
    """Return a row for each pair of learners: the difference of their regret, and Student's paired test."""
    losses = {name: loss(result) for name, result in results.items()}
    return [
        {"less regret": first, "more regret": second}
        | _difference(*_common(losses, numbers, first, second), level)
        for first, second in _rivals(losses)
    ]


def pairs_of_explorers(results: Mapping[str, Explored], numbers: Numbers, level: float) -> list[Row]:
    """Return a row for each pair of explorers: the difference of their samples.

    Where runs were cut off there are no differences, only signs: a run that ended needs fewer samples than
    one that was still going on by then. Pairs of which even that is unknown do not count.
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
    """Return a row for each pair of explorers that differ: McNemar's exact test of wrong answers."""
    wrong = {name: (~found.correct).astype(np.float64) for name, found in results.items()}
    rows: list[Row] = []
    for first, second in _rivals(wrong):
        a, b = _common(wrong, numbers, first, second)
        # McNemar's test looks at the replications in which just one of the two is wrong.
        only = int(((b == 1) & (a == 0)).sum()), int(((a == 1) & (b == 0)).sum())
        # Without such a replication there is nothing to test, and no p.
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
    """Return the rows with p-values corrected by Holm."""
    # One correction for the whole table: somebody will look for its smallest p.
    adjusted = holm([row["p"] for row in rows])
    return [
        {**row, "p (Holm)": float(p), DIFFER: None if np.isnan(p) else "yes" if p <= ERROR else "no"}
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _rivals(values: Mapping[str, FloatArray]) -> Iterator[tuple[str, str]]:
    """Yield all pairs, the one with the smaller mean first."""
    # So every difference, which is second less first, is at least 0 where both have all replications.
    return combinations(sorted(values, key=lambda name: float(values[name].mean())), 2)


def _common(
    values: Mapping[str, FloatArray] | Mapping[str, BoolArray], numbers: Numbers, first: str, second: str
) -> tuple[Any, Any]:
    """Return the values of two in the replications that both have."""
    _, i, j = np.intersect1d(numbers[first], numbers[second], return_indices=True)
    return values[first][i], values[second][j]


def _without_rounding(gaps: FloatArray, less: FloatArray, more: FloatArray) -> FloatArray:
    """Return `gaps`, made equal where they differ by the rounding of what was added up, and nothing else."""
    # Else two runs of equal gaps would have a spread of 1e-16, and a test that is very sure.
    noise = _ROUNDING * max(np.abs(less).max(initial=0.0), np.abs(more).max(initial=0.0))
    if not len(gaps) or np.ptp(gaps) > noise:
        return gaps
    return np.full(len(gaps), 0.0 if np.abs(gaps).max() <= noise else gaps[0])


def _difference(less: FloatArray, more: FloatArray, level: float) -> dict[str, Any]:
    gaps = _without_rounding(more - less, less, more)
    difference, between = mean_and_interval(gaps, "t", level)
    p = paired_p_value(gaps)
    return {"pairs": len(less), "difference": difference, "interval": between, "p": p}
