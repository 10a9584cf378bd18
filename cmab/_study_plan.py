"""From the tables of a study to its environments and policies, with every fault named at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from cmab._specification import build
from cmab._validation import shown
from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy
from cmab.regret import benchmark


@dataclass(frozen=True)
class Plan:
    """What a study compares: specifications by name, and the objects that they describe."""

    instances: dict[str, Any]
    learners: dict[str, Any]
    problems: dict[str, Environment]
    policies: dict[tuple[str, str], AnyPolicy]

    @classmethod
    def of(cls, specification: Mapping[str, Any]) -> Plan:
        """Return the plan, or raise ``ValueError`` with all that is wrong."""
        instances = _table(specification, "instances")
        learners = dict(_spread_grids(_table(specification, "learners")))
        plan, wrong = cls(instances, learners, {}, {}), []
        for name, table in instances.items():
            try:
                oracle = plan._add_problem(name, table)
            except ValueError as error:
                wrong.append(str(error))
                continue
            for learner, parameters in learners.items():
                names = {"oracle": oracle, "means": plan.problems[name].means}
                try:
                    policy = build(parameters, names, f"learners.{learner}", oracle=oracle)
                    plan.policies[name, learner] = policy
                except ValueError as error:
                    wrong.append(str(error))
        if wrong:
            raise ValueError("; ".join(dict.fromkeys(wrong)))
        return plan

    def _add_problem(self, name: str, table: Mapping[str, Any]) -> Oracle:
        where = f"instances.{name}"
        if set(table) != {"oracle", "environment"}:
            raise ValueError(f"{where} must have oracle and environment, got {sorted(table)}")
        oracle: Any = build(table["oracle"], {}, f"{where}.oracle")
        environment: Any = build(table["environment"], {"oracle": oracle}, f"{where}.environment")
        if not (isinstance(oracle, Oracle) and isinstance(environment, Environment)):
            raise ValueError(
                f"{where} must describe an oracle and an environment, got {oracle}, {environment}"
            )
        benchmark(oracle, math.nan)
        if oracle.n_arms != environment.n_arms:
            raise ValueError(
                f"{where}: oracle and environment must have the same base arms, got"
                f" {oracle.n_arms} and {environment.n_arms}"
            )
        self.problems[name] = environment
        return oracle


def _table(specification: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = specification.get(name)
    if not isinstance(table, dict) or not table or not all(isinstance(row, dict) for row in table.values()):
        raise ValueError(f"{name} must be a table with a table for each name, got {shown(table)}")
    return table


def _spread_grids(learners: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each learner, one for every combination of the entries of its grid."""
    for name, table in learners.items():
        fixed = {key: value for key, value in table.items() if key != "grid"}
        grid = table.get("grid", {})
        lists = isinstance(grid, dict) and all(isinstance(entry, list) and entry for entry in grid.values())
        if not lists:
            raise ValueError(f"learners.{name}.grid must hold a list for each parameter, got {shown(grid)}")
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            label = " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])
            yield label, fixed | chosen
