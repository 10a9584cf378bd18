"""What a study notes of each instance and learner: what they are made of, and what a report says of them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import changes
from cmab.studies._plan import Pair, Plan
from cmab.studies._provenance import Code, code_of, memory_of, refresh
from cmab.studies._sources import OWN
from cmab.studies._specification import classes, key_of, packages_of, unnamed

if TYPE_CHECKING:
    from cmab.studies.study import Study

_MOST_POINTS = 200


@dataclass(frozen=True)
class Origin:
    """The code, the versions and the graphs (as hashes) that make the numbers of a pair."""

    code: Code
    graphs: list[str]

    def keys(self, content: Mapping[str, Any]) -> tuple[str, str]:
        """Return the keys that all pieces of a pair share: with versions, and but for versions."""
        sources, versions = self.code["sources"], self.code["versions"]
        # `alike` leaves out the versions of this library and its dependencies, never a plug-in's code:
        # whoever accepts other versions of cmab does not accept another policy.
        plugins = {name: value for name, value in sources.items() if name not in OWN}
        ours = {name: value for name, value in sources.items() if name in OWN}
        told: dict[str, Any] = {"content": unnamed(content), "graphs": self.graphs, "sources": plugins}
        full: dict[str, Any] = {"sources": ours, "versions": versions}
        for place, value in self.code.get("changed", {}).items():
            (full if place.partition(".")[0] in OWN else told).setdefault("changed", {})[place] = value
        # By the class that declares it and the content, for a file may lie elsewhere.
        if declared := self.code.get("declared"):
            told["declared"] = sorted([name.partition(": ")[0], value] for name, value in declared.items())
        alike = key_of(told)
        return key_of(full | {"alike": alike}), alike

    def differences(self, other: Origin) -> set[str]:
        """Return the names of packages, dependencies, code in memory and declarations that differ."""
        return {
            name
            for kind in self.code.keys() | other.code.keys()
            for name in self.code.get(kind, {}).keys() | other.code.get(kind, {}).keys()
            if self.code.get(kind, {}).get(name) != other.code.get(kind, {}).get(name)
        }


@dataclass(frozen=True)
class About:
    """What a report says of a pair beside its results."""

    environment: str
    optimum_is_exact: bool
    bounds: dict[str, list[float]]

    def curves(self) -> tuple[IntArray, dict[str, FloatArray]]:
        """Return rounds, and the bounds on the regret there by theorem."""
        values = {name: np.asarray(numbers, np.float64) for name, numbers in self.bounds.items()}
        return values.pop("rounds", np.empty(0)).astype(np.int64), values


def origins_of(
    used: Mapping[Pair, Any],
    graphs: Mapping[Pair, list[str]],
    packages: Mapping[str, str],
    parts: Mapping[Pair, Sequence[Any]],
) -> dict[Pair, Origin]:
    """Return what pairs are made of, as of now: given their tables, graphs, packages and objects."""
    names = {
        pair: (
            frozenset(classes(specification)),
            frozenset(
                [*(packages[name] for name in {pair[0]} & packages.keys()), *packages_of(specification)]
            ),
        )
        for pair, specification in used.items()
    }
    # The files are to be looked at now, not as they were a second ago.
    refresh()
    codes = {each: code_of(*each) for each in set(names.values())}
    return {
        pair: Origin(codes[names[pair]] | memory_of(codes[names[pair]], parts[pair]), graphs[pair])
        for pair in used
    }


def describe(plan: Plan, pair: Pair) -> About:
    """Return what a report says of a pair."""
    if pair in plan.trials:
        return About(str(plan.trials[pair].cell), optimum_is_exact=True, bounds={})
    environment = plan.problems[pair[0]]
    exact = bool(getattr(environment, "optimum_is_exact", True))
    return About(repr(environment), exact, _bounds(plan, pair))


def _bounds(plan: Plan, pair: Pair) -> dict[str, list[float]]:
    from cmab.studies._bounds import regret_bounds

    rounds = plan.outline.rounds
    if rounds is None or pair not in plan.policies:
        return {}
    problem = plan.problems[pair[0]]
    if changes(problem) or not math.isfinite(problem.optimum):  # bounds are for rounds that are alike
        return {}
    chosen = rounds[np.unique(np.linspace(0, len(rounds) - 1, _MOST_POINTS).round().astype(np.int64))]
    try:
        found = regret_bounds(plan.policies[pair], problem, chosen)
    except Exception:  # a curve in a report is no reason not to play
        return {}
    values = {name: bound.tolist() for name, bound in found.items() if np.isfinite(bound).all()}
    return {"rounds": chosen.tolist(), **values} if values else {}


def notes(study: Study, about: Mapping[Pair, About] | None = None) -> tuple[str, str]:
    """Return the two texts that a store keeps of a study, and `noted` reads."""
    pairs = [
        [*pair, asdict(origin), None if about is None else asdict(about[pair])]
        for pair, origin in study.origins.items()
    ]
    known = {"accept_versions": study.accept_versions, "pairs": pairs}
    return json.dumps(study.specification), json.dumps(known)


def noted(
    specification: str, pairs: str
) -> tuple[dict[str, Any], bool, dict[Pair, Origin], dict[Pair, About]]:
    """Return what `notes` was given.

    Raises
    ------
    ValueError
        If the texts are something else.
    """
    try:
        known = json.loads(pairs)
        rows = [((instance, learner), *rest) for instance, learner, *rest in known["pairs"]]
        origins = {pair: Origin(**origin) for pair, origin, _ in rows}
        about = {pair: About(**told) for pair, _, told in rows}
        return json.loads(specification), bool(known["accept_versions"]), origins, about
    except (ValueError, TypeError, KeyError, RecursionError) as error:  # it may come from anybody
        raise ValueError(f"the study noted in the store must be one of this version, got {error}") from None
