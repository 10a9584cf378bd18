"""The tables and numbers of a study as plain data, read without building any object."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from cmab.arrays import IntArray
from cmab.running._arrivals import AT_ONCE, Arrival
from cmab.running.simulation import check_rounds
from cmab.studies._objects import told
from cmab.validation import integer, meant, shown

_FOR_LEARNERS = ("horizon", "checkpoints", "batch", "delay")
_FOR_EXPLORERS = ("max_samples",)
_TABLES = ("instances", "learners", "explorers", "trials")
_SAID = ("title", "description")
_KNOWN = {*_TABLES, *_SAID, "replications", "seed", *_FOR_LEARNERS, *_FOR_EXPLORERS}
_MOST_PIECES = 10_000_000
_MOST_ROUNDS = 2**53
_MOST_LEVELS = 50
_MOST_BITS = 1024  # Python does not print integers of more than 4,300 digits


@dataclass(frozen=True)
class Outline:
    """The tables of a study by name, with grids expanded, and its numbers."""

    instances: dict[str, Any]
    learners: dict[str, Any]
    explorers: dict[str, Any]
    trials: dict[tuple[str, str], Any]
    replications: int
    seed: int
    rounds: IntArray | None
    max_samples: int | None
    title: str = ""
    description: str = ""
    #: When the feedback of a round arrives.
    arrival: Arrival = AT_ONCE

    @classmethod
    def of(cls, specification: Mapping[str, Any]) -> Outline:
        """Return the outline, or raise ``ValueError`` if the specification does not describe a study."""
        _check_names(specification)
        trials = _trials(specification)
        instances = {} if trials else _table(specification, "instances")
        tables = {
            kind: _table(specification, kind) for kind in ("learners", "explorers") if kind in specification
        }
        if not tables and not trials:
            raise ValueError("a study must have learners, explorers or trials, got none of them")
        replications = integer("replications", specification.get("replications", 1), 1, any_size=True)
        # Check the number of pieces before the grids are expanded.
        _check_size(instances, tables, len(trials), replications)
        learners, explorers = (
            dict(_spread_grids(kind, tables.get(kind, {}))) for kind in ("learners", "explorers")
        )
        if both := sorted(learners.keys() & explorers.keys()):
            raise ValueError(f"learners and explorers must have different names, got {both} in both")
        rounds = None
        if learners:
            horizon = integer("horizon", specification.get("horizon"), 1, _MOST_ROUNDS)
            rounds = check_rounds(specification.get("checkpoints"), horizon)
        arrival = Arrival(specification.get("batch", 1), specification.get("delay"))
        max_samples = specification.get("max_samples")
        if max_samples is not None:
            integer("max_samples", max_samples, 1, _MOST_ROUNDS)
        seed = integer("seed", specification.get("seed", 0), 0, any_size=True)
        # Title and description are for readers and do not belong to the keys.
        said = [specification.get(name, "") for name in _SAID]
        for name, value in zip(_SAID, said, strict=True):
            if not isinstance(value, str):
                raise ValueError(f"{name} must be a string, got {shown(value)}")
        numbers = (replications, seed, rounds, max_samples, said[0], said[1], arrival)
        return cls(instances, learners, explorers, trials, *numbers)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs (instance, learner) and (instance, explorer), or (trial, experiment)."""
        return [*self.trials] or [
            (i, name) for tables in (self.learners, self.explorers) for i in self.instances for name in tables
        ]

    def content(self, instance: str, learner: str) -> dict[str, Any]:
        """Return the part of the specification that determines the numbers of a pair, without its names."""
        if self.trials:
            return {"trial": self.trials[instance, learner], "seed": self.seed}
        content: dict[str, Any] = {"instance": self.instances[instance], "seed": self.seed}
        if self.rounds is not None and learner in self.learners:
            content |= {"learner": self.learners[learner], "rounds": self.rounds.tolist()}
            # Only delayed feedback is in the key, so pieces from before this option remain valid.
            return content if self.arrival.is_at_once else content | {"arrival": vars(self.arrival)}
        return content | {"explorer": self.explorers[learner], "max_samples": self.max_samples}


def plain(specification: Mapping[str, Any], objects: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of plain values, in which each object is replaced by its key in `objects`."""
    if not isinstance(specification, dict):
        raise ValueError(
            f"specification must be a dict, got {shown(specification)}; load a file by Study.load(path)"
        )
    try:
        # JSON makes a deep copy in which tuples are lists, as they are when read from the store.
        text = json.dumps(specification, allow_nan=False, default=lambda value: told(value, objects))
        copy: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError) as error:
        # The error of json does not contain the place.
        where, what = next(_foreign(specification, ""), ("a study", str(error)))
        raise ValueError(
            f"{where} must only hold strings, booleans, finite numbers of at most {_MOST_BITS} bits, lists"
            f" and dicts, got {what}"
        ) from None
    except RecursionError:
        copy = {}
    if not copy or _depth(copy) > _MOST_LEVELS:
        raise ValueError(f"a study must have at least one table and at most {_MOST_LEVELS} levels of nesting")
    return copy


def _foreign(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield the place and a description of each value that JSON cannot hold."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if not isinstance(key, str):
                yield where or "a study", f"the key {shown(key)}"
            yield from _foreign(entry, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            yield from _foreign(entry, f"{where}[{i}]")
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _MOST_BITS:
        yield where, f"a number of {value.bit_length()} bits"
    elif isinstance(value, float) and not math.isfinite(value):
        yield where, str(value)
    elif not isinstance(value, str | bool | int | float | None):
        try:
            told(value, {})
        except TypeError:
            yield where, shown(value)


def _depth(value: Any) -> int:
    """Return the number of levels of nested tables and lists."""
    # Level by level, because a deep specification would exhaust the stack of a recursion.
    level, depth = [value], 0
    while level:
        inner = [entry.values() if isinstance(entry, dict) else entry for entry in level]
        level = [part for entries in inner for part in entries if isinstance(part, dict | list)]
        depth += 1
    return depth


def _check_names(specification: Mapping[str, Any]) -> None:
    if unknown := set(specification) - _KNOWN:
        known = ", ".join(sorted(_KNOWN))
        hint = meant(min(unknown), _KNOWN)
        raise ValueError(f"a study must only have the entries {known}; got {sorted(unknown)}{hint}")
    for kind, names in (("learners", _FOR_LEARNERS), ("explorers", _FOR_EXPLORERS)):
        if kind not in specification and (useless := set(names) & set(specification)):
            raise ValueError(f"a study without {kind} must not have {', '.join(sorted(useless))}")


def _table(specification: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = specification.get(name)
    if not isinstance(table, dict) or not table or not all(isinstance(row, dict) for row in table.values()):
        raise ValueError(f"{name} must be a non-empty table that maps names to tables, got {shown(table)}")
    return table


def _trials(specification: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Return the trials by (name, experiment). A study with trials has no instances or learners."""
    if "trials" not in specification:
        return {}
    if others := specification.keys() & {"instances", "learners", "explorers"}:
        raise ValueError(f"a study with trials must not have {', '.join(sorted(others))}")
    tables = _table(specification, "trials")
    return {(name, str(table.get("experiment"))): table for name, table in tables.items()}


def _check_size(
    instances: Mapping[str, Any], tables: Mapping[str, Any], n_trials: int, replications: int
) -> None:
    """Raise ``ValueError`` for too many pieces. Expanding their grids could fill the memory."""
    spread = sum(
        math.prod(map(len, _grid(kind, name, row).values()))
        for kind, rows in tables.items()
        for name, row in rows.items()
    )
    pieces = (len(instances) * spread + n_trials) * replications
    if pieces > _MOST_PIECES:
        raise ValueError(
            f"a study must have at most {_MOST_PIECES:,} pieces, got {pieces:,}: {len(instances):,} instances"
            f" x {spread:,} learners and explorers{f' + {n_trials:,} trials' if n_trials else ''}"
            f" x {replications:,} replications"
        )


def _grid(kind: str, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    grid = table.get("grid", {})
    if not (isinstance(grid, dict) and all(isinstance(entry, list) and entry for entry in grid.values())):
        raise ValueError(f"{kind}.{name}.grid must map parameters to non-empty lists, got {shown(grid)}")
    if twice := sorted(grid.keys() & table.keys()):
        raise ValueError(f"{kind}.{name} must have {', '.join(twice)} in its table or in its grid, got both")
    return grid


def _spread_grids(kind: str, tables: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and table of each learner, one for each combination of the entries of its grid."""
    for name, table in tables.items():
        fixed = {key: value for key, value in table.items() if key != "grid"}
        grid = _grid(kind, name, table)
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            yield spread_name(name, chosen), fixed | chosen


def spread_name(name: str, chosen: Mapping[str, Any]) -> str:
    """Return the name of the learner with the chosen entries of its grid."""
    return " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])
