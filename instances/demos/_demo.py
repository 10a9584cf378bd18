"""Definitions of demos: a problem, its learners, and the texts for its rewards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cmab import Environment, Oracle, Study
from cmab.arrays import IntArray
from cmab.validation import integer

# `RandomPolicy`. Random super arms would have smaller rewards, because the oracle uses the graph.
YARDSTICK = "learns nothing: in each round it plays the oracle's solution for probabilities drawn at random"
Learners = dict[str, dict[str, Any]]
_MOST_ROUNDS = 10**9
# The options for the opposite of a switch, unless that is the switch after "no-".
_OPPOSITES = {"directed": "undirected"}


@dataclass(frozen=True)
class Leader:
    """The learner that a demo features: its choice, its pictures and its sentence.

    Parameters
    ----------
    name : str
        The name in tables.
    words : str
        The name in sentences.
    table : dict
        The table of the learner in a study.
    """

    name: str
    words: str
    table: Mapping[str, Any]


#: The featured learner of all demos, which needs no tuning.
LEADER = Leader("Learner", "the default learner", {"class": "AdaptiveCTS"})
LEADING: Learners = {LEADER.name: {**LEADER.table}}


@dataclass(frozen=True)
class Problem:
    """The problem of a demo, and a function that draws a super arm."""

    environment: Environment
    oracle: Oracle
    draw: Callable[[IntArray], Any] | None = None
    #: Lines on the problem, and on how a file was read.
    told: Sequence[str] = ()
    #: Title of the pictures.
    title: str = ""
    #: The largest possible reward in words, such as "77 people".
    whole: str = ""
    #: Returns the names of the elements of a super arm.
    names: Callable[[IntArray], Sequence[object]] | None = None
    #: Returns columns that identify the base arms, by their headings; for example the two ends of a tie.
    arms: Callable[[], Mapping[str, Sequence[object]]] | None = None


@dataclass(frozen=True)
class Demo:
    """A demo: a study of several learners on one problem.

    Parameters
    ----------
    name : str
        The name of the command, and of the instance in studies.
    problem : callable
        Returns the `Problem` for its parameters, one of which is ``rng``.
    learners : mapping of str to dict
        The learners as in a study, in the order of the table.
    reward : str
        A noun for the reward of a round, such as "spread".
    unit : str
        The unit of the reward, such as "nodes".
    heading : str
        The heading of the column of rewards, such as "people reached".
    arms : str
        A noun for the base arms, such as "ties".
    sentence : str
        The sentence on the results, with the fields {who} (the featured learner), its {value}, {random},
        {best} and {whole}.
    horizon : int or callable
        The default number of rounds, or a function that returns it for a `Problem`.
    further : mapping of str to dict
        Learners that play only on request.
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
        """The name of the learner that learns nothing."""
        return next(name for name in self.learners if self.learners_class(name) == "RandomPolicy")

    def learners_class(self, name: str) -> str:
        """Return the name of the class of a learner."""
        return str({**self.learners, **self.further}[name]["class"])

    def usual_rounds(self, problem: Problem) -> int:
        """Return the default number of rounds."""
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
        """Return the study of the demo for the given parameters of its problem."""
        # The problem is made here first, so that an error names the given option instead of an entry of a
        # study.
        problem = self.problem(**given, rng=rng)
        horizon = self.usual_rounds(problem) if horizon is None else horizon
        files, horizon = None, integer("rounds", horizon, 1, _MOST_ROUNDS)
        instance = {name: value for name, value in given.items() if value is not None}
        for name, value in instance.items():
            if isinstance(value, Path):  # a study may name files only in its own folder
                with value.open("rb"):  # so that an error names the given path
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
    """Return up to 500 evenly spaced rounds and 100 rounds spaced evenly on a logarithmic scale."""
    even = np.linspace(1, rounds, min(rounds, 500))
    return np.unique(np.concatenate((even, np.geomspace(1, rounds, 100))).round().astype(np.int64))


def named_pairs(labels: Sequence[Any], first: str, second: str) -> dict[str, list[object]]:
    """Return the two ends of each tie as columns, and a column of numbers if there are parallel ties."""
    columns: dict[str, list[object]] = {
        first: [label[0] for label in labels],
        second: [label[1] for label in labels],
    }
    if any(len(label) > 2 for label in labels):
        columns["parallel"] = [label[2] if len(label) > 2 else "" for label in labels]
    return columns


def refuse(given: Mapping[str, object], because: str) -> None:
    """Raise an error if options were given that have no effect.

    Raises
    ------
    ValueError
        If any value is not None. The message names the first such option.
    """
    for name, value in given.items():
        if value is not None:
            spelt = name.replace("_", "-")
            option = _OPPOSITES.get(name, f"no-{spelt}") if value is False else spelt
            raise ValueError(f"--{option} has no effect {because}; leave it out")
