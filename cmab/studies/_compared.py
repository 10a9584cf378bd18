"""From stored rows of a study to the comparisons that `cmab.compare` returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.policy_comparison import PolicyComparison
from cmab.studies._results import Pair, Row, identification, simulation

Stored = Mapping[Pair, list[Row]]


def policy_comparisons(stored: Stored, tables: Mapping[str, Any]) -> dict[str, PolicyComparison]:
    """Return by instance what was found of policies, which `tables` describe."""
    return {
        instance: PolicyComparison(
            {learner: simulation(learner, found) for learner, found in rows.items()},
            **_said(instance, rows),
            informed=[name for name in rows if "$means" in tables[name].values()],
        )
        for instance, rows in _by_instance(stored).items()
    }


def explorer_comparisons(stored: Stored, tables: Mapping[str, Any]) -> dict[str, ExplorerComparison]:
    """Return by instance what was found of explorers, which `tables` describe."""
    return {
        instance: ExplorerComparison(
            {explorer: identification(explorer, found) for explorer, found in rows.items()},
            **_said(instance, rows),
            deltas={name: tables[name]["delta"] for name in rows if "delta" in tables[name]},
            budgets={name: tables[name]["budget"] for name in rows if "budget" in tables[name]},
        )
        for instance, rows in _by_instance(stored).items()
    }


def _said(instance: str, rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Return what a comparison says beside its results."""
    numbers = {name: np.array([row["replication"] for row in found]) for name, found in rows.items()}
    return {"environment": instance, "replications": numbers}


def _by_instance(stored: Stored) -> dict[str, dict[str, list[Row]]]:
    """Return what is stored by instance, and then by learner."""
    found: dict[str, dict[str, list[Row]]] = {}
    for (instance, learner), rows in stored.items():
        found.setdefault(instance, {})[learner] = rows
    return found
