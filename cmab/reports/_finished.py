"""The data of a report: the comparisons on each instance, trials, versions and machines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cmab.results.comparison import Comparison
from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.policy_comparison import PolicyComparison
from cmab.results.tables import Row
from cmab.studies._compared import explorer_comparisons, policy_comparisons
from cmab.studies._notes import About
from cmab.studies._pieces import Piece
from cmab.studies._provenance import DEPENDENCIES
from cmab.studies._registered import Told, told_by
from cmab.studies.study import Study

Pair = tuple[str, str]
_CODE = ("cmab", "python", *DEPENDENCIES, "sources")
_MADE_BY = ("cmab", "python", *DEPENDENCIES, "host", "system", "processor", "cores")


@dataclass(frozen=True)
class Finished:
    """The finished part of a study, by instance or by trial."""

    study: Study
    missing: list[Piece]
    learned: dict[str, PolicyComparison]
    ruled: dict[str, ExplorerComparison]
    budgeted: dict[str, ExplorerComparison]
    trials: dict[str, list[Told]]
    made_by: dict[str, str]
    versions: list[Row]

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Finished:
        """Return the finished part of a study from its folder."""
        # Read everything and close the store: drawing takes long, and a study may be running.
        with Study.last_at(folder) as found:
            study, missing = found.study, found.missing()
            played, explored = found.rows("simulations"), found.rows("identifications")
            tried = found.rows("trials")
        rows, tables = played | explored | tried, study.outline.explorers
        # The samples of an explorer with a budget are fixed, so only its errors are informative.
        with_budget = {pair: each for pair, each in explored.items() if "budget" in tables[pair[1]]}
        by_rule = {pair: each for pair, each in explored.items() if pair not in with_budget}
        return cls(
            study,
            missing,
            policy_comparisons(played, study.outline.learners),
            explorer_comparisons(by_rule, tables),
            explorer_comparisons(with_budget, tables),
            {pair[0]: told_by(found) for pair, found in tried.items()},
            _made_by([row for found in rows.values() for row in found]),
            _versions(rows),
        )

    @property
    def instances(self) -> list[str]:
        """The instances and trials with a finished piece."""
        return list(dict.fromkeys([*self.learned, *self.ruled, *self.budgeted, *self.trials]))

    def comparisons(self, instance: str) -> list[tuple[str, Comparison[Any]]]:
        """Return the comparisons on an instance, with titles."""
        kinds = (
            ("Learners", self.learned),
            ("Explorers with a stopping rule", self.ruled),
            ("Explorers with a budget", self.budgeted),
        )
        return [(title, found[instance]) for title, found in kinds if instance in found]

    def about(self, instance: str) -> dict[str, About]:
        """Return the notes on the learners and explorers of an instance, made when they ran."""
        return {pair[1]: told for pair, told in self.study.about.items() if pair[0] == instance}


def _made_by(rows: list[Any]) -> dict[str, str]:
    """Return all versions and machines that computed pieces."""
    found = {name: ", ".join(dict.fromkeys(str(row[name]) for row in rows)) for name in _MADE_BY}
    dates = sorted(row["finished"] for row in rows)
    return found | ({"finished": " to ".join(dict.fromkeys((dates[0], dates[-1])))} if dates else {})


def _versions(rows: Mapping[Pair, list[Any]]) -> list[Row]:
    """Return the pieces by version of the code, if there are several, as `accept_versions` allows."""
    counted = Counter(
        (*pair, *(str(row[name]) for name in _CODE)) for pair, found in rows.items() for row in found
    )
    names = ("instance", "learner", *_CODE)
    # Always the instance and the learner, and the versions that differ.
    differing = [name for at, name in enumerate(names) if at < 2 or len({key[at] for key in counted}) > 1]
    if len(differing) == 2:
        return []
    return [
        {name: key[names.index(name)] for name in differing} | {"replications": count}
        for key, count in counted.items()
    ]
