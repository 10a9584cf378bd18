"""What a study says of its grids: which learners differ in one parameter only."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, TypeVar

from cmab.studies._outline import spread_name
from cmab.validation import shown

Result = TypeVar("Result")
#: For each parameter the curves by name, and the learners on each by the parameter's value.
Grids = dict[str, dict[str, dict[Any, str]]]


def grids(tables: Mapping[str, Any]) -> Grids:
    """Return for each parameter with several values the learners that differ in nothing else."""
    found: Grids = {}
    for name, table in tables.items():
        grid = table.get("grid", {})
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            for parameter, value in chosen.items():
                if len(grid[parameter]) > 1:
                    others = {key: other for key, other in chosen.items() if key != parameter}
                    curve = found.setdefault(parameter, {}).setdefault(spread_name(name, others), {})
                    # Tables and lists are no keys.
                    is_plain = isinstance(value, str | int | float | None)
                    curve[value if is_plain else shown(value)] = spread_name(name, chosen)
    return found


def along(
    curves: Mapping[str, Mapping[Any, str]], results: Mapping[str, Result]
) -> dict[str, dict[Any, Result]]:
    """Return the results of the learners on each curve, where there are any."""
    found = {
        curve: {value: results[name] for value, name in names.items() if name in results}
        for curve, names in curves.items()
    }
    return {curve: points for curve, points in found.items() if points}


def by_parameter(
    specification: Mapping[str, Any], results: Mapping[tuple[str, str], Result], parameter: str
) -> dict[str, dict[str, dict[Any, Result]]]:
    """Return by instance the curves against a parameter.

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
            f"parameter must have several values in a grid ({names} have), got {shown(parameter)}"
        )
    played: dict[str, dict[str, Result]] = {}
    for (instance, learner), result in results.items():
        played.setdefault(instance, {})[learner] = result
    return {instance: along(curves, found) for instance, found in played.items()}
