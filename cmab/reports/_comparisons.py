"""What a report shows of a study: finished pieces by instance, comparisons, versions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.results._pairs import corrected, pairs_of_explorers, pairs_of_failures, pairs_of_learners
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

    def numbers(self, instance: str) -> dict[str, IntArray]:
        """Return which replications there are of each learner or explorer on an instance."""
        return {pair[1]: those for pair, those in self.replications.items() if pair[0] == instance}

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
    """Return a row for each pair of learners on an instance, corrected by Holm in the whole table."""
    return corrected(
        [
            {"instance": instance, **row}
            for instance in finished.instances
            for row in pairs_of_learners(finished.played(instance), finished.numbers(instance), level)
        ]
    )


def compared_explorers(finished: Finished, level: float) -> list[Row]:
    """Return likewise a row for each pair of explorers that stop by a rule."""
    rows: list[Row] = []
    for instance in finished.instances:
        found = finished.explored(instance)
        ruled = {name: result for name, result in found.items() if not finished.has_budget(name)}
        pairs = pairs_of_explorers(ruled, finished.numbers(instance), level)
        rows += [{"instance": instance, **row} for row in pairs]
    return corrected(rows)


def compared_failures(finished: Finished) -> list[Row]:
    """Return likewise a row for each pair of explorers of which one was wrong where the other was not."""
    return corrected(
        [
            {"instance": instance, **row}
            for instance in finished.instances
            for row in pairs_of_failures(finished.explored(instance), finished.numbers(instance))
        ]
    )
