"""What a comparison shows of each learner or explorer, as numbers, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from cmab.arrays import FloatArray
from cmab.intervals import Band, band, proportion_interval, without_noise
from cmab.results._pairs import DIFFER
from cmab.results.tables import Row, decimals, shown

if TYPE_CHECKING:
    from cmab.plotting._needs import Explored, Played

#: The column that says who is best, and who may be.
VERDICT = "against the best"
BEST, TIED, WORSE = "best", "not distinguishable", "worse"
EQUAL, TOO_OFTEN, UNTESTED, INFORMED = "equal", "wrong too often", "not tested", "knows the means"


def learner_rows(results: Mapping[str, Played], level: float = 0.95, kind: Band = "t") -> list[Row]:
    """Return a row for each learner, with intervals of `level`; regret only where the optimum is known."""
    rows: list[Row] = []
    found = {name: _changes_found(result) for name, result in results.items()}
    left = {name: _least_left(result) for name, result in results.items()}
    for name, result in results.items():
        last = int(result.rounds[-1])
        row: dict[str, object] = {"learner": name, "replications": len(result.seconds)}
        if np.isfinite(result.optimum):
            exact = without_noise(result.exact_regret[:, -1], result.optimum, rounds=last)
            row |= _with_ends("regret", exact, level, kind)
            # Against what an approximation promises; below 0, the learner does better than that.
            if any(each.alpha != 1.0 or each.beta != 1.0 for each in results.values()):
                row["(α, β)-regret"] = float(result.regret[:, -1].mean())
        row |= _with_ends(_measure(result), result.expected_rewards[:, -1] / last, level, kind)
        # How many changes of the means it found in a replication, where any learner found one.
        if any(found.values()):
            row["changes found"] = found[name]
        # The least that any replication left of any budget, where any learner has one.
        if any(np.isfinite(least) for least in left.values()):
            row["least budget left"] = left[name] if np.isfinite(left[name]) else None
        # The median leaves out the replication that compiled.
        row["ms a round"] = 1e3 * float(np.median(result.seconds)) / last
        inside = 100 * float(result.oracle_seconds.sum() / result.seconds.sum())
        # No clock runs inside the compiled loop.
        row["in the oracle"] = f"{inside:.0f} %" if np.isfinite(inside) else None
        rows.append(row)
    measure, sense = next((_measure(result), result.sense) for result in results.values())
    # By reward, for the regret is unknown where the optimum is.
    return sorted(rows, key=lambda row: float(row[measure]), reverse=sense == "max")


def _changes_found(result: Played) -> float:
    """Return how many changes of the means were found in a replication, on average."""
    numbers = [len(points) for points in getattr(result, "change_points", ())]
    return float(np.mean(numbers)) if numbers else 0.0


def _least_left(result: Played) -> float:
    """Return the least that was left of any budget, infinity where there is none."""
    left = [float(each.min()) for each in getattr(result, "budgets_left", ()) if len(each)]
    return min(left, default=np.inf)


def explorer_rows(results: Mapping[str, Explored], level: float = 0.95, kind: Band = "t") -> list[Row]:
    """Return a row for each explorer, with intervals of `level`.

    A run that was cut off would have taken more, so that it has no place in a mean; in a median it has one,
    above all others. Where half of the runs or more were cut off the median is unknown, too: infinity.
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
    # Means and medians must not be mixed: one cut off explorer, and all stand by their medians.
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
    """Return ranked rows with what the tests say of each against the first; `names` are their two columns.

    Those `excluded`, who stand last, are not told by tests but by a word of their own.
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
    """Return by how much each (a row) has more than each other (a column), with a star where they differ.

    `names` are ranked; `columns` are the two columns of `tests` that name a pair, the one with less first.
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
    """Return what the test of a pair says of the second against the first, and of the first."""
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
