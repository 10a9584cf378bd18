"""What registered commands make of tables: a demo an instance, and an experiment a trial for each cell."""

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
#: What one replication told: plain rows, in the same order in every replication.
Told = list[dict[str, Any]]


class Problem(Protocol):
    """What the function ``demo.problem`` of a registered demo makes of its parameters."""

    @property
    def environment(self) -> Environment:
        """What is played."""

    @property
    def oracle(self) -> Oracle:
        """What all learners use."""

    @property
    def draw(self) -> Callable[[IntArray], Any] | None:
        """Draws a super arm, if that can be drawn."""


class Made(NamedTuple):
    """A problem, the hashes of the files that it is made of, and the package of its code."""

    problem: Problem
    files: list[str]
    package: str


def demo_of(table: Mapping[str, Any], files: Path | None, where: str) -> Made:
    """Return what a demo makes of a table; ``{file = "name"}`` is the path of a file in the study's folder.

    Raises
    ------
    ValueError
        If there is no such demo, or it refuses its parameters.
    """
    demo, package = _made("demos", table, "a demo that makes a problem", where)
    given: dict[str, Any] = {}
    digests, hints = [], get_type_hints(demo.problem)
    for name, value in table.items():
        if name == "demo":
            continue
        given[name] = value
        # Paths that are written out would lead anywhere.
        if isinstance(value, dict) or Path in (hints.get(name), *get_args(hints.get(name))):
            path = inside(value, files, f"{where}.{name}")
            given[name] = path
            digests.append(short_hash(path.read_bytes()))
    return Made(called(demo.problem, given, where), digests, package)


def _made(group: str, table: Mapping[str, Any], what: str, where: str) -> tuple[Any, str]:
    """Return the demo or the experiment that the command named by a table runs, and its package."""
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
    """What a registered experiment has as its attribute ``experiment``."""

    def cells(self, quick: bool) -> Sequence[Cell]:
        """Return what is measured separately, each a dict of plain values."""

    def play(self, cell: Cell, seed: np.random.SeedSequence, replication: int) -> Told:
        """Play one replication of a cell, and return what came of it as plain values."""


class Trial(NamedTuple):
    """A cell of an experiment: what is replicated."""

    experiment: Experiment
    cell: Cell
    number: int
    package: str


def trial_of(table: Mapping[str, Any], where: str) -> Trial:
    """Return the trial that a table describes.

    Raises
    ------
    ValueError
        If it names no experiment with trials, or a cell that this has not.
    """
    if not {"experiment", "cell"} <= set(table) <= {"experiment", "cell", "quick"}:
        raise ValueError(f"{where} must have experiment, cell and, if you like, quick; got {sorted(table)}")
    experiment, package = _made("experiments", table, "an experiment with trials", where)
    quick = table.get("quick", False)
    if not isinstance(quick, bool):
        raise ValueError(f"{where}.quick must be true or false, got {shown(quick)}")
    cells = experiment.cells(quick)
    number = integer(f"{where}.cell", table["cell"], 0, len(cells) - 1)
    return Trial(experiment, dict(cells[number]), number, package)


@dataclass(frozen=True, eq=False)
class Trying:
    """A replication of a trial, to be played anywhere."""

    trial: Trial

    def play(self, seed: int, replication: int) -> dict[str, Any]:
        """Return what is recorded. Each cell has a seed of its own, whatever else is played."""
        # By the cell's number: a study of some cells finds the numbers of one of all.
        own = np.random.SeedSequence(seed, spawn_key=(self.trial.number,))
        started = time.perf_counter()
        played = self.trial.experiment.play(self.trial.cell, own, replication)
        told = json.dumps(played, default=np.generic.item)  # also numpy's numbers
        return stored(TRIED, {"seconds": time.perf_counter() - started, "told": told})


def told_by(rows: Sequence[Mapping[str, Any]]) -> list[Told]:
    """Return what stored replications told."""
    return [json.loads(row["told"]) for row in rows]
