"""Trials: the cells of a registered experiment as pieces of a study, and the rows that came of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from cmab.results._columns import TRIED, stored
from cmab.studies import _registry
from cmab.validation import integer, shown

Cell = dict[str, Any]
#: What one replication told: plain rows, in the same order in every replication.
Told = list[dict[str, Any]]


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
    try:
        command = _registry.load("experiments", str(table["experiment"]))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    experiment: Experiment | None = getattr(command, "experiment", None)
    if experiment is None:
        raise ValueError(f"{where} must name an experiment with trials, got {table['experiment']!r}")
    quick = table.get("quick", False)
    if not isinstance(quick, bool):
        raise ValueError(f"{where}.quick must be true or false, got {shown(quick)}")
    cells = experiment.cells(quick)
    number = integer(f"{where}.cell", table["cell"], 0, len(cells) - 1)
    return Trial(experiment, dict(cells[number]), number, command.__module__.partition(".")[0])


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
