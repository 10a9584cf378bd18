"""Building the environments, policies, explorers and trials of a study from its tables."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cmab.environment import Environment
from cmab.explorer import AnyExplorer, Explorer
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, Policy
from cmab.results.regret import benchmark
from cmab.running import simulation
from cmab.running.identification import check_fit
from cmab.studies._declared import parts_of
from cmab.studies._outline import Outline
from cmab.studies._registered import Problem, Trial, demo_of, trial_of
from cmab.studies._registry import class_of
from cmab.studies._specification import Builder, classes
from cmab.validation import shown

Pair = tuple[str, str]


@dataclass(frozen=True)
class Plan:
    """The objects that an outline describes, and the hashes of the graphs from which each pair is built."""

    outline: Outline
    files: Path | None
    objects: Mapping[str, Any] = field(default_factory=dict)
    problems: dict[str, Environment] = field(default_factory=dict)
    policies: dict[Pair, AnyPolicy] = field(default_factory=dict)
    explorations: dict[Pair, AnyExplorer] = field(default_factory=dict)
    trials: dict[Pair, Trial] = field(default_factory=dict)
    #: The problems that demos built, and the packages of demos and experiments, by instance or trial.
    demos: dict[str, Problem] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    graphs: dict[Pair, list[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, outline: Outline, files: Path | None = None, objects: Mapping[str, Any] | None = None
    ) -> Plan:
        """Return the plan, or raise ``ValueError`` that lists all invalid entries."""
        plan, wrong = cls(outline, files, objects or {}), []
        for name, table in outline.instances.items():
            builder = Builder(files, plan.objects)
            try:
                names = plan._add_problem(builder, name, table)
            except ValueError as error:
                wrong.append(str(error))
                continue
            adding = ((plan._add_policy, outline.learners), (plan._add_explorer, outline.explorers))
            for add, tables in adding:
                for learner in tables:
                    # Graphs of a learner belong to its key, but not to the keys of other learners.
                    own = Builder(files, plan.objects)
                    try:
                        add(own, name, learner, names)
                    except ValueError as error:
                        wrong.append(str(error))
                    plan.graphs[name, learner] = builder.graphs + own.graphs
        for pair, table in outline.trials.items():
            plan.graphs[pair] = []
            try:
                trial = plan.trials[pair] = trial_of(table, f"trials.{pair[0]}")
                plan.packages[pair[0]] = trial.package
            except ValueError as error:
                wrong.append(str(error))
        if wrong:
            # Report all errors together, and each of them once: most occur with every instance.
            raise ValueError("; ".join(dict.fromkeys(wrong)))
        return plan

    def parts(self, pair: Pair) -> list[Any]:
        """Return the oracles, environments, policies and explorers that a pair uses."""
        demo = self.demos.get(pair[0])
        things = (self.problems.get(pair[0]), self.policies.get(pair), self.explorations.get(pair))
        return parts_of([*things, None if demo is None else demo.oracle])

    def _add_problem(self, builder: Builder, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """Add an instance and return the objects to which its learners may refer, by name."""
        where = f"instances.{name}"
        wanted = {"oracle", "environment"} if self.outline.learners else {"environment"}
        if "demo" not in table and not wanted <= set(table) <= {"graph", "oracle", "environment"}:
            raise ValueError(f"{where} must have {' and '.join(sorted(wanted))}, got {sorted(table)}")
        names: dict[str, Any] = {}
        if "demo" in table:
            made = demo_of(table, builder.files, where)
            builder.graphs += made.files
            self.packages[name] = made.package
            environment, names["oracle"] = made.problem.environment, made.problem.oracle
            self.demos[name] = made.problem
            self.problems[name] = environment
            return names | {"means": environment.means, "n_arms": environment.n_arms}
        if "graph" in table:  # built once for oracle and environment
            names["graph"] = builder.build(table["graph"], {}, f"{where}.graph")
        if "oracle" in table:
            oracle = names["oracle"] = builder.build(table["oracle"], names, f"{where}.oracle")
            if not isinstance(oracle, Oracle):
                raise ValueError(f"{where}.oracle must describe an oracle, got {shown(oracle)}")
        environment = builder.build(table["environment"], names, f"{where}.environment")
        if not isinstance(environment, Environment):
            raise ValueError(f"{where}.environment must describe an environment, got {shown(environment)}")
        if "oracle" in names:
            _check_arms(where, names["oracle"], environment)
        self.problems[name] = environment
        return names | {"means": environment.means, "n_arms": environment.n_arms}

    def _add_policy(self, builder: Builder, instance: str, learner: str, names: Mapping[str, Any]) -> None:
        where = f"learners.{learner}"
        table = self.outline.learners[learner]
        if "oracle" in table:
            raise ValueError(f"{where} must not have an oracle; the oracle of the instance is used")
        policy = builder.build(_with_oracle(table, where, outermost=True), names, where)
        if not isinstance(policy, Policy) or isinstance(policy, Explorer):
            raise ValueError(f"{where} must describe a policy; put explorers into the table explorers")
        # Raises if the oracle has no benchmark. The optimum is not needed here and may take long.
        benchmark(names["oracle"], math.nan)
        try:
            simulation.check_fit(policy, self.problems[instance])
        except ValueError as error:
            raise ValueError(f"{where} on instances.{instance}: {error}") from None
        self.policies[instance, learner] = policy

    def _add_explorer(self, builder: Builder, instance: str, explorer: str, names: Mapping[str, Any]) -> None:
        where, table = f"explorers.{explorer}", self.outline.explorers[explorer]
        taken: Mapping[str, Any] = {}
        if isinstance(table.get("class"), str):
            taken = inspect.signature(class_of(table["class"], where)).parameters
        # Explorers get n_arms and oracle of the instance if they take them, so one table fits all instances.
        given = {name: f"${name}" for name in ("n_arms", "oracle") if name in taken and name in names}
        found = builder.build(given | table, names, where)
        if not isinstance(found, Explorer):
            raise ValueError(f"{where} must describe an explorer; put policies into the table learners")
        if found.goal is None:
            raise ValueError(f"{where} must have a goal, which decides whether its answers are correct")
        try:
            check_fit(found, self.problems[instance])
        except ValueError as error:
            raise ValueError(f"{where} on instances.{instance}: {error}") from None
        self.explorations[instance, explorer] = found


def _with_oracle(value: Any, where: str, *, outermost: bool = False) -> Any:
    """Return the table of a learner, with ``"$oracle"`` as oracle of the learner and of learners in it."""
    if isinstance(value, list):
        return [_with_oracle(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    inside = {key: _with_oracle(entry, f"{where}.{key}") for key, entry in value.items()}
    if not isinstance(value.get("class"), str):
        return inside
    maker, given = class_of(value["class"], where), outermost
    try:
        parameters = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # compiled functions may have no signature
        parameters = None
    if parameters is not None and "oracle" in parameters:
        given = outermost or parameters["oracle"].default is inspect.Parameter.empty
    elif parameters is not None and next(classes([*inside.values()]), None):
        # A wrapper uses the oracle of the learner that it wraps.
        given = outermost and any(p.kind == p.VAR_KEYWORD for p in parameters.values())
    return {"oracle": "$oracle"} | inside if given else inside


def _check_arms(where: str, oracle: Oracle, environment: Environment) -> None:
    if oracle.n_arms != environment.n_arms:
        raise ValueError(
            f"{where}: oracle and environment must have the same number of base arms, got"
            f" {oracle.n_arms} and {environment.n_arms}"
        )
