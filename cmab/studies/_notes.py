"""The stored description of a study: origins of each (instance, learner), and their text in a report."""

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
    """The code, versions and graphs (as hashes) that determine the numbers of a pair."""

    code: Code
    graphs: list[str]

    def keys(self, content: Mapping[str, Any]) -> tuple[str, str]:
        """Return the common parts of the keys of all pieces of a pair, with and without versions."""
        sources, versions = self.code["sources"], self.code["versions"]
        # `alike` omits the versions of this library and its dependencies, but not the code of plug-ins:
        # a user who accepts other versions of cmab does not accept another policy.
        plugins = {name: value for name, value in sources.items() if name not in OWN}
        ours = {name: value for name, value in sources.items() if name in OWN}
        told: dict[str, Any] = {"content": unnamed(content), "graphs": self.graphs, "sources": plugins}
        full: dict[str, Any] = {"sources": ours, "versions": versions}
        for place, value in self.code.get("changed", {}).items():
            (full if place.partition(".")[0] in OWN else told).setdefault("changed", {})[place] = value
        # The key has the declaring class and the content, because the path of a file may differ.
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
    """The description of a pair in a report."""

    environment: str
    optimum_is_exact: bool
    bounds: dict[str, list[float]]

    def curves(self) -> tuple[IntArray, dict[str, FloatArray]]:
        """Return rounds, and the bounds on the regret at these rounds by theorem."""
        values = {name: np.asarray(numbers, np.float64) for name, numbers in self.bounds.items()}
        return values.pop("rounds", np.empty(0)).astype(np.int64), values


def origins_of(
    used: Mapping[Pair, Any],
    graphs: Mapping[Pair, list[str]],
    packages: Mapping[str, str],
    parts: Mapping[Pair, Sequence[Any]],
) -> dict[Pair, Origin]:
    """Return the current origins of pairs, from their tables, graphs, packages and objects."""
    names = {
        pair: (
            frozenset(classes(specification)),
            frozenset(
                [*(packages[name] for name in {pair[0]} & packages.keys()), *packages_of(specification)]
            ),
        )
        for pair, specification in used.items()
    }
    # Read the files again, without the cache of one second.
    refresh()
    codes = {each: code_of(*each) for each in set(names.values())}
    return {
        pair: Origin(codes[names[pair]] | memory_of(codes[names[pair]], parts[pair]), graphs[pair])
        for pair in used
    }


def describe(plan: Plan, pair: Pair) -> About:
    """Return the description of a pair in a report."""
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
    if changes(problem) or not math.isfinite(problem.optimum):  # the bounds require equal rounds
        return {}
    chosen = rounds[np.unique(np.linspace(0, len(rounds) - 1, _MOST_POINTS).round().astype(np.int64))]
    try:
        found = regret_bounds(plan.policies[pair], problem, chosen)
    except Exception:  # a missing curve in a report must not stop the study
        return {}
    values = {name: bound.tolist() for name, bound in found.items() if np.isfinite(bound).all()}
    return {"rounds": chosen.tolist(), **values} if values else {}


def notes(study: Study, about: Mapping[Pair, About] | None = None) -> tuple[str, str]:
    """Return the two texts that describe a study in a store. `noted` reads them."""
    pairs = [
        [*pair, asdict(origin), None if about is None else asdict(about[pair])]
        for pair, origin in study.origins.items()
    ]
    known = {"accept_versions": study.accept_versions, "pairs": pairs}
    return json.dumps(study.specification), json.dumps(known)


def noted(
    specification: str, pairs: str
) -> tuple[dict[str, Any], bool, dict[Pair, Origin], dict[Pair, About]]:
    """Return the specification, ``accept_versions``, origins and descriptions from the texts of `notes`.

    Raises
    ------
    ValueError
        If `notes` of this version did not write the texts.
    """
    try:
        known = json.loads(pairs)
        rows = [((instance, learner), *rest) for instance, learner, *rest in known["pairs"]]
        origins = {pair: Origin(**origin) for pair, origin, _ in rows}
        about = {pair: About(**told) for pair, _, told in rows}
        return json.loads(specification), bool(known["accept_versions"]), origins, about
    except (ValueError, TypeError, KeyError, RecursionError) as error:  # the file is untrusted
        raise ValueError(
            f"the stored description of the study must be of this version, got {error}"
        ) from None
