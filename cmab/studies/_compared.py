"""Comparisons, and results by a parameter of a grid, from the stored rows of a study."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, TypeVar

import numpy as np

from cmab.results.explorer_comparison import ExplorerComparison
from cmab.results.policy_comparison import PolicyComparison
from cmab.studies._outline import spread_name
from cmab.studies._results import Pair, Row, identification, simulation
from cmab.validation import shown

Result = TypeVar("Result")
Stored = Mapping[Pair, list[Row]]
#: By parameter, and by name of the curve: the names of its learners by the value of the parameter.
Grids = dict[str, dict[str, dict[Any, str]]]


def policy_comparisons(stored: Stored, tables: Mapping[str, Any]) -> dict[str, PolicyComparison]:
    """Return the comparison of the policies in `tables` for each instance."""
    return {
        instance: PolicyComparison(
            {learner: simulation(learner, found) for learner, found in rows.items()},
            **_said(instance, rows),
            informed=[name for name in rows if "$means" in tables[name].values()],
        )
        for instance, rows in _by_instance(stored).items()
    }


def explorer_comparisons(stored: Stored, tables: Mapping[str, Any]) -> dict[str, ExplorerComparison]:
    """Return the comparison of the explorers in `tables` for each instance."""
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
    """Return the arguments of a comparison other than its results."""
    numbers = {name: np.array([row["replication"] for row in found]) for name, found in rows.items()}
    return {"environment": instance, "replications": numbers}


def _by_instance(stored: Mapping[Pair, Result]) -> dict[str, dict[str, Result]]:
    """Return a nested dict, by instance and then by learner."""
    found: dict[str, dict[str, Result]] = {}
    for (instance, learner), each in stored.items():
        found.setdefault(instance, {})[learner] = each
    return found


def grids(tables: Mapping[str, Any]) -> Grids:
    """Return the learners that differ in one parameter only, for every parameter with several values."""
    found: Grids = {}
    for name, table in tables.items():
        grid = table.get("grid", {})
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            for parameter, value in chosen.items():
                if len(grid[parameter]) > 1:
                    others = {key: other for key, other in chosen.items() if key != parameter}
                    curve = found.setdefault(parameter, {}).setdefault(spread_name(name, others), {})
                    # Tables and lists cannot be keys of a dict.
                    is_plain = isinstance(value, str | int | float | None)
                    curve[value if is_plain else shown(value)] = spread_name(name, chosen)
    return found


def along(
    curves: Mapping[str, Mapping[Any, str]], results: Mapping[str, Result]
) -> dict[str, dict[Any, Result]]:
    """Return the results of the learners on each curve that has results."""
    found = {
        curve: {value: results[name] for value, name in names.items() if name in results}
        for curve, names in curves.items()
    }
    return {curve: points for curve, points in found.items() if points}


def by_parameter(
    specification: Mapping[str, Any], results: Mapping[tuple[str, str], Result], parameter: str
) -> dict[str, dict[str, dict[Any, Result]]]:
    """Return the curves by a parameter for each instance.

    Raises
    ------
    ValueError
        If no grid has several values of the parameter.
    """
    known = [grids(specification.get(kind, {})) for kind in ("learners", "explorers")]
    curves = {name: names for each in known for name, names in each.get(parameter, {}).items()}
    if not curves:
        names = sorted({name for each in known for name in each})
        raise ValueError(
            f"parameter must have several values in a grid, as {names} have, got {shown(parameter)}"
        )
    return {instance: along(curves, found) for instance, found in _by_instance(results).items()}
