"""Instances from tables that name a demo, and trials from tables that name a cell of an experiment."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_args, get_type_hints

import numpy as np

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.results._columns import TRIED, stored
from cmab.saving._digest import short_hash
from cmab.studies import _registry
from cmab.studies._graphs import inside
from cmab.studies._specification import called
from cmab.validation import integer, shown

Cell = dict[str, Any]
#: The result of one replication: rows of plain values, in the same order in all replications.
Told = list[dict[str, Any]]


class Problem(Protocol):
    """The return value of the function ``demo.problem`` of a registered demo."""

    @property
    def environment(self) -> Environment:
        """The environment of the instance."""

    @property
    def oracle(self) -> Oracle:
        """The oracle of all learners."""

    @property
    def draw(self) -> Callable[[IntArray], Any] | None:
        """A function that plots a super arm, or None if super arms cannot be plotted."""


class Made(NamedTuple):
    """A problem, the hashes of the files from which it was built, and the package of its code."""

    problem: Problem
    files: list[str]
    package: str


def demo_of(table: Mapping[str, Any], files: Path | None, where: str) -> Made:
    """Return the problem that a demo builds from a table.

    A parameter ``{file = "name"}`` is the path of a file in the folder of the study.

    Raises
    ------
    ValueError
        If the demo is not registered, or its parameters are invalid.
    """
    demo, package = _made("demos", table, "a demo that makes a problem", where)
    given: dict[str, Any] = {}
    digests, hints = [], get_type_hints(demo.problem)
    for name, value in table.items():
        if name == "demo":
            continue
        given[name] = value
        # A plain path could name any file on the machine, so paths must be tables.
        if isinstance(value, dict) or Path in (hints.get(name), *get_args(hints.get(name))):
            path = inside(value, files, f"{where}.{name}")
            given[name] = path
            digests.append(short_hash(path.read_bytes()))
    return Made(called(demo.problem, given, where), digests, package)


def _made(group: str, table: Mapping[str, Any], what: str, where: str) -> tuple[Any, str]:
    """Return the demo or experiment of the command that a table names, and its package."""
    kind = group.removesuffix("s")
    try:
        command = _registry.load(group, str(table[kind]))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    found = getattr(command, kind, None)
    if found is None:
        raise ValueError(f"{where} must name {what}, got {table[kind]!r}")
    return found, command.__module__.partition(".")[0]


class Experiment(Protocol):
    """The attribute ``experiment`` of a registered experiment."""

    def cells(self, quick: bool) -> Sequence[Cell]:
        """Return the cells, each a dict of plain values, which are measured separately."""

    def play(self, cell: Cell, seed: np.random.SeedSequence, replication: int) -> Told:
        """Play one replication of a cell and return its results as plain values."""


class Trial(NamedTuple):
    """A cell of an experiment, which is replicated."""

    experiment: Experiment
    cell: Cell
    number: int
    package: str


def trial_of(table: Mapping[str, Any], where: str) -> Trial:
    """Return the trial that a table describes.

    Raises
    ------
    ValueError
        If the table does not name an experiment with trials, or a cell of this experiment.
    """
    if not {"experiment", "cell"} <= set(table) <= {"experiment", "cell", "quick"}:
        raise ValueError(f"{where} must have experiment and cell, and may have quick; got {sorted(table)}")
    experiment, package = _made("experiments", table, "an experiment with trials", where)
    quick = table.get("quick", False)
    if not isinstance(quick, bool):
        raise ValueError(f"{where}.quick must be true or false, got {shown(quick)}")
    cells = experiment.cells(quick)
    number = integer(f"{where}.cell", table["cell"], 0, len(cells) - 1)
    return Trial(experiment, dict(cells[number]), number, package)


@dataclass(frozen=True, eq=False)
class Trying:
    """A replication of a trial, which any process can play."""

    trial: Trial

    def play(self, seed: int, replication: int) -> dict[str, Any]:
        """Return the columns to store. Each cell has its own seed, which does not depend on other cells."""
        # The seed depends on the number of the cell only, so a study of some cells gives the same numbers.
        own = np.random.SeedSequence(seed, spawn_key=(self.trial.number,))
        started = time.perf_counter()
        played = self.trial.experiment.play(self.trial.cell, own, replication)
        told = json.dumps(played, default=np.generic.item)  # numpy scalars too
        return stored(TRIED, {"seconds": time.perf_counter() - started, "told": told})


def told_by(rows: Sequence[Mapping[str, Any]]) -> list[Told]:
    """Return the results of stored replications."""
    return [json.loads(row["told"]) for row in rows]
