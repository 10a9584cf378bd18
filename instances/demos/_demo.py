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

# What `UniformlyRandom` is. Super arms drawn at random themselves would earn less: the oracle sees the graph.
YARDSTICK = "learns nothing: every round the oracle's choice for probabilities drawn at random"
Learners = dict[str, dict[str, Any]]


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
    featured : str
        The learner whose estimates and last choice are drawn.
    sentence : str
        What was found, with places for {value} of the featured learner, {random}, {best} and {whole}.
    further : mapping of str to dict
        Learners that play where they are asked for.
    """

    name: str
    problem: Callable[..., Problem]
    learners: Mapping[str, Mapping[str, Any]]
    reward: str
    unit: str
    featured: str
    sentence: str
    further: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def yardstick(self) -> str:
        """The learner that learns nothing, by name."""
        return next(name for name, table in self.learners.items() if table["class"] == "UniformlyRandom")

    def study(
        self,
        given: Mapping[str, Any],
        *,
        horizon: int,
        replications: int,
        rng: int,
        every_learner: bool = True,
    ) -> Study:
        """Return the demo as a study, given the parameters of its problem."""
        files, horizon = None, integer("rounds", horizon, 1)
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
