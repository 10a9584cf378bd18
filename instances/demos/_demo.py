"""What a demo is: a problem, learners, and the words for what they earn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Environment, Oracle, Study
from cmab.arrays import IntArray
from cmab.validation import integer

# What `RandomPolicy` is. Super arms drawn at random themselves would earn less: the oracle sees the graph.
YARDSTICK = "learns nothing: every round the oracle's choice for probabilities drawn at random"
Learners = dict[str, dict[str, Any]]
_MOST_ROUNDS = 10**9
# How the command line spells a switch that is off, unless with "no-".
_OPPOSITES = {"directed": "undirected"}


@dataclass(frozen=True)
class Leader:
    """The learner whose seeds, pictures and sentence a demo leads with.

    Parameters
    ----------
    name : str
        Its name in tables.
    words : str
        Its name in sentences.
    table : dict
        The learner as in a study.
    """

    name: str
    words: str
    table: Mapping[str, Any]


#: The one choice of it for all demos: a learner that needs no tuning.
LEADER = Leader(
    "Thompson, learned prior", "Thompson sampling with a learned prior", {"class": "HierarchicalCTS"}
)
LEADING: Learners = {LEADER.name: {**LEADER.table}}


@dataclass(frozen=True)
class Problem:
    """What the learners of a demo meet, and how the last super arm of one is drawn."""

    environment: Environment
    oracle: Oracle
    draw: Callable[[IntArray], Any] | None = None
    #: What is played on, in words, with a line on each thing that was found out of a file.
    told: Sequence[str] = ()
    #: What pictures of it are called.
    title: str = ""
    #: Of how much a round can reach, in words: "77 people".
    whole: str = ""
    #: Names what a super arm chooses.
    names: Callable[[IntArray], Sequence[object]] | None = None
    #: Returns what names the base arms, by the heading of its column: the two ends of a tie.
    arms: Callable[[], Mapping[str, Sequence[object]]] | None = None


@dataclass(frozen=True)
class Demo:
    """A demo: a study of learners on a problem.

    Parameters
    ----------
    name : str
        What it is called as a command and in studies.
    problem : callable
        Returns the `Problem` for its parameters, among them ``rng``.
    learners : mapping of str to dict
        As in a study, in the order of the table.
    reward : str
        What the reward of a round is: "spread".
    unit : str
        Its unit: "nodes".
    heading : str
        The column of the reward in the table: "people reached".
    arms : str
        What the base arms are: "ties".
    sentence : str
        What was found, with places for {who} (the leader), its {value}, {random}, {best} and {whole}.
    horizon : int or callable
        Rounds unless they are given; a callable returns them for the `Problem`.
    further : mapping of str to dict
        Learners that play where they are asked for.
    """

    name: str
    problem: Callable[..., Problem]
    learners: Mapping[str, Mapping[str, Any]]
    reward: str
    unit: str
    heading: str
    arms: str
    sentence: str
    horizon: int | Callable[[Problem], int]
    further: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def yardstick(self) -> str:
        """The learner that learns nothing, by name."""
        return next(name for name in self.learners if self.learners_class(name) == "RandomPolicy")

    def learners_class(self, name: str) -> str:
        """Return the class of a learner by name."""
        return str({**self.learners, **self.further}[name]["class"])

    def usual_rounds(self, problem: Problem) -> int:
        """Return the number of rounds unless it is given."""
        return self.horizon(problem) if callable(self.horizon) else self.horizon

    def study(
        self,
        given: Mapping[str, Any],
        *,
        horizon: int | None,
        replications: int,
        rng: int,
        every_learner: bool = True,
    ) -> Study:
        """Return the demo as a study, given the parameters of its problem."""
        # Made here first, so that a fault is told by the name that was given, and not by a place in a study.
        problem = self.problem(**given, rng=rng)
        horizon = self.usual_rounds(problem) if horizon is None else horizon
        files, horizon = None, integer("rounds", horizon, 1, _MOST_ROUNDS)
        instance = {name: value for name, value in given.items() if value is not None}
        for name, value in instance.items():
            if isinstance(value, Path):  # a study names files below its own folder only
                with value.open("rb"):  # refused here, by the name that was given
                    path = value.resolve()
                instance[name], files = {"file": path.name}, path.parent
        tables = {
            "horizon": horizon,
            "checkpoints": checkpoints(horizon).tolist(),
            "replications": replications,
            "seed": rng,
            "instances": {self.name: {"demo": self.name, **instance, "rng": rng}},
            "learners": {**self.learners, **(self.further if every_learner else {})},
        }
        return Study(tables, files=files)


def checkpoints(rounds: int) -> IntArray:
    """Return up to 500 evenly spaced rounds and 100 log-spaced ones, for both kinds of axes."""
    even = np.linspace(1, rounds, min(rounds, 500))
    return np.unique(np.concatenate((even, np.geomspace(1, rounds, 100))).round().astype(np.int64))


def named_pairs(labels: Sequence[Any], first: str, second: str) -> dict[str, list[object]]:
    """Return the two ends of each tie as columns, and its number beside them if it is parallel to others."""
    columns: dict[str, list[object]] = {
        first: [label[0] for label in labels],
        second: [label[1] for label in labels],
    }
    if any(len(label) > 2 for label in labels):
        columns["parallel"] = [label[2] if len(label) > 2 else "" for label in labels]
    return columns


def refuse(given: Mapping[str, object], because: str) -> None:
    """Refuse options that were given and have no effect.

    Raises
    ------
    ValueError
        Naming the first of them.
    """
    for name, value in given.items():
        if value is not None:
            spelt = name.replace("_", "-")
            option = _OPPOSITES.get(name, f"no-{spelt}") if value is False else spelt
            raise ValueError(f"--{option} has no effect {because}; leave it out")
