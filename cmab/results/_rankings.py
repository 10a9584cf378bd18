"""The rows of a comparison: the numbers of each learner or explorer, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from cmab.results.tables import decimals

from cmab.arrays import FloatArray
from cmab.intervals import Band, band, proportion_interval, without_noise
from cmab.results._pairs import DIFFER
from cmab.run.tables import Row
from cmab.validation import shown

if TYPE_CHECKING:
    from cmab.plotting.style import Explored, Played

#: The column that says which learner is the best and which ones are not distinguishable from it.
VERDICT = "against the best"
BEST, TIED, WORSE = "best", "not distinguishable", "worse"
EQUAL, TOO_OFTEN, UNTESTED, INFORMED = "equal", "wrong too often", "not tested", "knows the means"


def learner_rows(results: Mapping[str, Played], level: float = 0.95, kind: Band = "t") -> list[Row]:
    """Return a row for each learner, with intervals at `level`; regret only if the optimum is known."""
    rows: list[Row] = []
    found = {name: _changes_found(result) for name, result in results.items()}
    left = {name: _least_left(result) for name, result in results.items()}
    for name, result in results.items():
        last = int(result.rounds[-1])
        row: dict[str, object] = {"learner": name, "replications": len(result.seconds)}
        if np.isfinite(result.optimum):
            exact = without_noise(result.exact_regret[:, -1], result.optimum, rounds=last)
            row |= _with_ends("regret", exact, level, kind)
            # Against the oracle's guarantee; below 0 if the learner does better than the guarantee.
            if any(each.alpha != 1.0 or each.beta != 1.0 for each in results.values()):
                row["(α, β)-regret"] = float(result.regret[:, -1].mean())
        row |= _with_ends(_measure(result), result.expected_rewards[:, -1] / last, level, kind)
        # Mean number of changes found per replication, if any learner found one.
        if any(found.values()):
            row["changes found"] = found[name]
        # The least budget left over all replications and budgets, if any learner has a budget.
        if any(np.isfinite(least) for least in left.values()):
            row["least budget left"] = left[name] if np.isfinite(left[name]) else None
        # The median ignores the replication in which code was compiled.
        row["ms a round"] = 1e3 * float(np.median(result.seconds)) / last
        inside = 100 * float(result.oracle_seconds.sum() / result.seconds.sum())
        # The compiled loop does not measure the time in the oracle.
        row["in the oracle"] = f"{inside:.0f} %" if np.isfinite(inside) else None
        rows.append(row)
    measure, sense = next((_measure(result), result.sense) for result in results.values())
    # Sorted by reward, because the regret is unknown if the optimum is.
    return sorted(rows, key=lambda row: float(row[measure]), reverse=sense == "max")


def _changes_found(result: Played) -> float:
    """Return the mean number of changes of the means found per replication."""
    numbers = [len(points) for points in getattr(result, "change_points", ())]
    return float(np.mean(numbers)) if numbers else 0.0


def _least_left(result: Played) -> float:
    """Return the least budget left over all replications and budgets, infinity without budgets."""
    left = [float(each.min()) for each in getattr(result, "budgets_left", ()) if len(each)]
    return min(left, default=np.inf)


def explorer_rows(results: Mapping[str, Explored], level: float = 0.95, kind: Band = "t") -> list[Row]:
    """Return a row for each explorer, with intervals at `level`.

    A run that was cut off would have needed more samples, so there is no mean if any run was cut off. In the
    median, runs that were cut off rank above all others. If half of the runs or more were cut off, the median
    is unknown as well, given as infinity.
    """
    rows: list[Row] = []
    for name, found in results.items():
        samples = found.samples.astype(np.float64)
        runs, wrong, whole = len(samples), int(found.wrong.sum()), bool(found.stopped.all())
        low, high = proportion_interval(wrong, runs, level=level)
        rows.append(
            {
                "explorer": name,
                "replications": runs,
                "cut off": int((~found.stopped).sum()),
                **_with_ends("samples", samples if whole else np.full(1, np.nan), level, kind),
                "median": float(np.median(np.where(found.stopped, samples, np.inf))),
                "wrong": wrong if found.judged else None,
                "share wrong": wrong / runs if found.judged else None,
                "share wrong, from": low if found.judged else None,
                "share wrong, to": high if found.judged else None,
                "seconds": float(np.median(found.seconds)),
            }
        )
    # Means and medians must not be mixed: if any explorer has a run that was cut off, sort all by medians.
    by = "median" if any(row["cut off"] for row in rows) else "samples"
    return sorted(rows, key=lambda row: float(row[by]))


def with_verdicts(
    rows: Sequence[Row],
    tests: Sequence[Row],
    names: tuple[str, str],
    *,
    untested: str = UNTESTED,
    excluded: Mapping[str, str] = MappingProxyType({}),
) -> list[Row]:
    """Return ranked rows with the result of each row's test against the first row.

    `names` are the two columns of `tests` that name a pair. Rows in `excluded`, which are the last ones, get
    the given word instead of a test result.
    """
    if len(rows) < 2:
        return list(rows)
    key = next(iter(rows[0]))
    best = rows[0][key]
    words = {"yes": WORSE, "no": TIED}
    verdicts = dict.fromkeys([row[key] for row in rows], untested)
    verdicts |= {
        row[names[row[names[0]] == best]]: words.get(
            row[DIFFER], EQUAL if row.get("difference") == 0.0 else untested
        )
        for row in tests
        if best in (row[names[0]], row[names[1]])
    }
    verdicts |= {best: BEST, **excluded}
    return [{**row, VERDICT: verdicts[row[key]]} for row in rows]


def matrix(names: Sequence[str], tests: Sequence[Row], columns: tuple[str, str]) -> list[Row]:
    """Return the differences of all pairs, row minus column, with a star if they are significant.

    `names` are ranked. `columns` are the two columns of `tests` that name a pair, the smaller one first.
    """
    cells: dict[tuple[str, str], str] = {}
    places = decimals([row.get("difference") for row in tests])
    for row in tests:
        less, more = row[columns[0]], row[columns[1]]
        cells[more, less], cells[less, more] = _both(row, places)
    return [
        {"": f"{place} {name}"}
        | {str(number): cells.get((name, other), "") for number, other in enumerate(names, 1)}
        for place, name in enumerate(names, 1)
    ]


def _both(row: Row, places: int | None) -> tuple[str, str]:
    """Return the cells of the second against the first of a pair, and of the first against the second."""
    star = "* " if row[DIFFER] == "yes" else ""
    if "only the first wrong" in row:
        first, second = row["only the first wrong"], row["only the second wrong"]
        return f"{star}{second} : {first}", f"{star}{first} : {second}"
    if row["difference"] is None:
        return f"{star}more", f"{star}less"
    difference = shown(abs(row["difference"]), places, grouped=True)
    signs = "+−" if row["difference"] >= 0.0 else "−+"
    return f"{star}{signs[0]}{difference}", f"{star}{signs[1]}{difference}"


def folded(rows: Sequence[Row], level: float = 0.95) -> list[Row]:
    """Return rows in which the two ends of an interval are one aligned text."""
    return [
        {
            _title(name, level): _between(rows, number, name.removesuffix(", from"))
            if name.endswith(", from")
            else value
            for name, value in row.items()
            if not name.endswith(", to")
        }
        for number, row in enumerate(rows)
    ]


def _title(name: str, level: float) -> str:
    return f"{name.removesuffix(', from')}, {100 * level:g} %" if name.endswith(", from") else name


def _between(rows: Sequence[Row], number: int, name: str) -> str | None:
    places = decimals([row.get(name) for row in rows])
    ends = [
        [shown(row.get(f"{name}, {end}"), places, grouped=True) for row in rows] for end in ("from", "to")
    ]
    if "-" in (ends[0][number], ends[1][number]):
        return None
    low, high = (column[number].rjust(max(map(len, column))) for column in ends)
    return f"{low} to {high}"


def _with_ends(name: str, values: FloatArray, level: float, kind: Band) -> dict[str, float]:
    mean, low, high = (float(end[0]) for end in band(values[:, None], kind, level=level))
    return {name: mean, f"{name}, from": low, f"{name}, to": high}


def _measure(result: Played) -> str:
    return "reward a round" if result.sense == "max" else "cost a round"
