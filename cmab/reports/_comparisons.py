"""What a report shows of a study: finished pieces by instance, comparisons, versions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.intervals import holm, paired_p_value, sign_p_value
from cmab.results._summaries import mean_and_interval
from cmab.results.identification import Identification
from cmab.results.simulation import Simulation
from cmab.results.tables import Row
from cmab.studies._notes import About
from cmab.studies._pieces import Piece
from cmab.studies._provenance import DEPENDENCIES
from cmab.studies._results import identification, simulation
from cmab.studies._trials import Told, told_by
from cmab.studies.study import Study

Pair = tuple[str, str]
_CODE = ("cmab", "python", *DEPENDENCIES, "sources")
_MADE_BY = ("cmab", "python", *DEPENDENCIES, "host", "system", "processor", "cores")


@dataclass(frozen=True)
class Finished:
    """The finished part of a study; `replications` says which ones, in the order of each result."""

    study: Study
    missing: list[Piece]
    simulations: dict[Pair, Simulation]
    identifications: dict[Pair, Identification]
    trials: dict[str, list[Told]]
    replications: dict[Pair, IntArray]
    made_by: dict[str, str]
    versions: list[Row]

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Finished:
        """Return what there is in a folder in which a study ran."""
        # Read at once and closed: the figures take long, and a study may be running.
        with Study.last_at(folder) as found:
            study, missing = found.study, found.missing()
            played, explored = found.rows("simulations"), found.rows("identifications")
            tried = found.rows("trials")
        rows = played | explored | tried
        return cls(
            study,
            missing,
            {pair: simulation(pair[1], found) for pair, found in played.items()},
            {pair: identification(pair[1], found) for pair, found in explored.items()},
            {pair[0]: told_by(found) for pair, found in tried.items()},
            {pair: np.array([row["replication"] for row in found]) for pair, found in rows.items()},
            _made_by([row for found in rows.values() for row in found]),
            _versions(rows),
        )

    @property
    def instances(self) -> list[str]:
        """Those with a finished piece."""
        return list(dict.fromkeys(instance for instance, _ in self.replications))

    def played(self, instance: str) -> dict[str, Simulation]:
        """Return the results of policies on an instance."""
        return {pair[1]: result for pair, result in self.simulations.items() if pair[0] == instance}

    def explored(self, instance: str) -> dict[str, Identification]:
        """Return the results of explorers on an instance."""
        return {pair[1]: found for pair, found in self.identifications.items() if pair[0] == instance}

    def about(self, instance: str) -> dict[str, About]:
        """Return what was noted of the learners and explorers on an instance when they ran."""
        return {pair[1]: told for pair, told in self.study.about.items() if pair[0] == instance}

    def has_budget(self, explorer: str) -> bool:
        """Return whether an explorer ends with its budget, and not by a rule of its own."""
        # The samples of such an explorer are given, so only its errors say something.
        return "budget" in self.study.outline.explorers[explorer]


def _made_by(rows: list[Any]) -> dict[str, str]:
    """Return versions and machines, every one that took part."""
    found = {name: ", ".join(dict.fromkeys(str(row[name]) for row in rows)) for name in _MADE_BY}
    dates = sorted(row["finished"] for row in rows)
    return found | ({"finished": " to ".join(dict.fromkeys((dates[0], dates[-1])))} if dates else {})


def _versions(rows: Mapping[Pair, list[Any]]) -> list[Row]:
    """Return what each version of the code played, if there are several, as `accept_versions` allows."""
    counted = Counter(
        (*pair, *(str(row[name]) for name in _CODE)) for pair, found in rows.items() for row in found
    )
    names = ("instance", "learner", *_CODE)
    # Instance and learner always, and of the versions those that are not all the same.
    differing = [name for at, name in enumerate(names) if at < 2 or len({key[at] for key in counted}) > 1]
    if len(differing) == 2:
        return []
    return [
        {name: key[names.index(name)] for name in differing} | {"replications": count}
        for key, count in counted.items()
    ]


def compared_learners(finished: Finished, level: float) -> list[Row]:
    """Return a row for each pair of learners on an instance: paired by replication, corrected by Holm.

    Regret differs as expected reward does, so no optimum is needed.
    """
    values = {
        # Less is better in both senses. The optimum cancels in differences, so it need not be known.
        pair: (-1.0 if result.sense == "max" else 1.0) * result.expected_rewards[:, -1]
        for pair, result in finished.simulations.items()
    }
    return _corrected(
        [
            _compared(finished, values, pairs, ("less regret", "more regret"), level)
            for pairs in _rivals(finished.instances, values)
        ]
    )


def compared_explorers(finished: Finished, level: float) -> list[Row]:
    """Return likewise a row for each pair of explorers that stop by a rule: difference of samples."""
    values = {
        pair: found.samples.astype(np.float64)
        for pair, found in finished.identifications.items()
        if not finished.has_budget(pair[1])
    }
    return _corrected(
        [
            _compared(finished, values, pairs, ("fewer samples", "more samples"), level)
            for pairs in _rivals(finished.instances, values)
        ]
    )


def compared_failures(finished: Finished) -> list[Row]:
    """Return a row for each pair of explorers on an instance: McNemar's exact test of wrong answers."""
    wrong = {pair: (~found.correct).astype(np.float64) for pair, found in finished.identifications.items()}
    rows = []
    for first, second in _rivals(finished.instances, wrong):
        _, a, b = _common(finished, wrong, first, second)
        # McNemar's test looks at the replications in which just one of the two is wrong.
        only = int(((b == 1) & (a == 0)).sum()), int(((a == 1) & (b == 0)).sum())
        # Without such a replication there is nothing to test, and no p.
        if sum(only) == 0:
            continue
        rows.append(
            {
                "instance": first[0],
                "first": first[1],
                "second": second[1],
                "pairs": len(a),
                "only the first wrong": only[1],
                "only the second wrong": only[0],
                "p": sign_p_value(*only),
            }
        )
    return _corrected(rows)


def _rivals(instances: Iterable[str], values: Mapping[Pair, FloatArray]) -> list[tuple[Pair, Pair]]:
    """Return all pairs of learners of an instance, the one with the smaller mean first."""
    # So every difference, which is second less first, is at least 0 where both have all replications.
    ordered = sorted(values, key=lambda pair: float(values[pair].mean()))
    return [
        rivals
        for instance in instances
        for rivals in combinations([pair for pair in ordered if pair[0] == instance], 2)
    ]


def _common(
    finished: Finished, values: Mapping[Pair, FloatArray], first: Pair, second: Pair
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the replications that both have, and the values there."""
    # Of an unfinished study the two may have played different replications.
    numbers, i, j = np.intersect1d(
        finished.replications[first], finished.replications[second], return_indices=True
    )
    return numbers, values[first][i], values[second][j]


def _compared(
    finished: Finished,
    values: Mapping[Pair, FloatArray],
    rivals: tuple[Pair, Pair],
    names: tuple[str, str],
    level: float,
) -> dict[str, Any]:
    numbers, less, more = _common(finished, values, *rivals)
    difference, between = mean_and_interval(more - less, "t", level)
    return {
        "instance": rivals[0][0],
        names[0]: rivals[0][1],
        names[1]: rivals[1][1],
        "pairs": len(numbers),
        "difference": difference,
        "interval": between,
        "p": paired_p_value(more - less),
    }


def _corrected(rows: list[dict[str, Any]]) -> list[Row]:
    # One correction for the whole table: somebody will look for its smallest p.
    adjusted = holm([row["p"] for row in rows])
    return [
        row | {"p (Holm)": float(p), "differ at 5 %": None if np.isnan(p) else "yes" if p <= 0.05 else "no"}
        for row, p in zip(rows, adjusted, strict=True)
    ]
