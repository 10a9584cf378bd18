"""From the tables of a study to its environments and learners, with every fault named at once."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from cmab._specification import build, class_of
from cmab._validation import shown
from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.identification import check_fit
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, Policy
from cmab.regret import benchmark


@dataclass(frozen=True)
class Plan:
    """What a study compares: specifications by name, and the objects that they describe."""

    instances: dict[str, Any]
    learners: dict[str, Any]
    explorers: dict[str, Any]
    problems: dict[str, Environment]
    policies: dict[tuple[str, str], AnyPolicy]
    explorations: dict[tuple[str, str], AnyExplorer]

    @classmethod
    def of(cls, specification: Mapping[str, Any]) -> Plan:
        """Return the plan, or raise ``ValueError`` with all that is wrong."""
        instances = _table(specification, "instances")
        learners, explorers = (
            dict(_spread_grids(kind, _table(specification, kind))) if kind in specification else {}
            for kind in ("learners", "explorers")
        )
        if not (learners or explorers):
            raise ValueError("a study must have learners or explorers, got neither")
        plan, wrong = cls(instances, learners, explorers, {}, {}, {}), []
        if both := sorted(learners.keys() & explorers.keys()):
            wrong.append(f"learners and explorers must have different names, got {both} in both")
        for name, table in instances.items():
            try:
                names = plan._add_problem(name, table)
            except ValueError as error:
                wrong.append(str(error))
                continue
            for add, tables in ((plan._add_policy, learners), (plan._add_explorer, explorers)):
                for learner in tables:
                    try:
                        add(name, learner, names)
                    except ValueError as error:
                        wrong.append(str(error))
        if wrong:
            raise ValueError("; ".join(dict.fromkeys(wrong)))
        return plan

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is played: instance and learner, then instance and explorer."""
        return [*self.policies, *self.explorations]

    def _add_problem(self, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """Add an instance; return what its learners may refer to."""
        where = f"instances.{name}"
        wanted = {"oracle", "environment"} if self.learners else {"environment"}
        if not wanted <= set(table) <= {"oracle", "environment"}:
            raise ValueError(f"{where} must have {' and '.join(sorted(wanted))}, got {sorted(table)}")
        names: dict[str, Any] = {}
        if "oracle" in table:
            oracle = names["oracle"] = build(table["oracle"], {}, f"{where}.oracle")
            if not isinstance(oracle, Oracle):
                raise ValueError(f"{where}.oracle must describe an oracle, got {shown(oracle)}")
        environment = build(table["environment"], names, f"{where}.environment")
        if not isinstance(environment, Environment):
            raise ValueError(f"{where}.environment must describe an environment, got {shown(environment)}")
        if "oracle" in names:
            _check_arms(where, names["oracle"], environment)
        self.problems[name] = environment
        return names | {"means": environment.means, "n_arms": environment.n_arms}

    def _add_policy(self, instance: str, learner: str, names: Mapping[str, Any]) -> None:
        where = f"learners.{learner}"
        policy = build(self.learners[learner], names, where, oracle=names["oracle"])
        if not isinstance(policy, Policy) or isinstance(policy, Explorer):
            raise ValueError(f"{where} must describe a policy (explorers have their own table)")
        benchmark(names["oracle"], math.nan)
        self.policies[instance, learner] = policy

    def _add_explorer(self, instance: str, explorer: str, names: Mapping[str, Any]) -> None:
        where, table = f"explorers.{explorer}", self.explorers[explorer]
        taken: Mapping[str, Any] = {}
        if isinstance(table.get("class"), str):
            taken = inspect.signature(class_of(table["class"], where)).parameters
        # What only the instance knows goes to those that take it, so that one table serves all instances.
        given = {name: f"${name}" for name in ("n_arms", "oracle") if name in taken and name in names}
        found = build(given | table, names, where)
        if not isinstance(found, Explorer):
            raise ValueError(f"{where} must describe an explorer (policies go under learners)")
        try:
            check_fit(found, self.problems[instance])
        except ValueError as error:
            raise ValueError(f"{where} on instances.{instance}: {error}") from None
        self.explorations[instance, explorer] = found


def _check_arms(where: str, oracle: Oracle, environment: Environment) -> None:
    if oracle.n_arms != environment.n_arms:
        raise ValueError(
            f"{where}: oracle and environment must have the same base arms, got"
            f" {oracle.n_arms} and {environment.n_arms}"
        )


def _table(specification: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = specification.get(name)
    if not isinstance(table, dict) or not table or not all(isinstance(row, dict) for row in table.values()):
        raise ValueError(f"{name} must be a table with a table for each name, got {shown(table)}")
    return table


def _spread_grids(kind: str, learners: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each learner, one for every combination of the entries of its grid."""
    for name, table in learners.items():
        fixed = {key: value for key, value in table.items() if key != "grid"}
        grid = table.get("grid", {})
        lists = isinstance(grid, dict) and all(isinstance(entry, list) and entry for entry in grid.values())
        if not lists:
            raise ValueError(f"{kind}.{name}.grid must hold a list for each parameter, got {shown(grid)}")
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            label = " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])
            yield label, fixed | chosen
