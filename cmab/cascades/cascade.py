"""What a report tells of a cascade, and the feedback that carries it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.cascades.problem import Problem, problem_of
from cmab.feedback import Feedback


class Network(NamedTuple):
    """The ends of the arcs of a graph, and its number of nodes. Arc i is base arm i."""

    tails: AnyArray
    heads: AnyArray
    n_nodes: int


def no_numbers() -> IntArray:
    """Return an empty array of numbers, the default of fields."""
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Cascade:
    """What a report tells of a cascade, by the numbers of nodes and arms.

    Attributes
    ----------
    seeds : IntArray
        The seeds.
    joined : IntArray
        The other nodes that joined.
    steps : IntArray
        The step of each of these; -1 if it is unknown.
    unseen : IntArray
        The nodes that may have joined without a report.
    live, dead : IntArray
        The arms that are known to have succeeded, or to have been tried and to have failed.
    absent, missing : IntArray
        The nodes and the arms that the network did not have at the time of the report.
    """

    seeds: IntArray
    joined: IntArray = field(default_factory=no_numbers)
    steps: IntArray = field(default_factory=no_numbers)
    unseen: IntArray = field(default_factory=no_numbers)
    live: IntArray = field(default_factory=no_numbers)
    dead: IntArray = field(default_factory=no_numbers)
    absent: IntArray = field(default_factory=no_numbers)
    missing: IntArray = field(default_factory=no_numbers)

    @property
    def has_steps(self) -> bool:
        """Whether the step of any person is known."""
        return bool((self.steps >= 0).any())


@dataclass(frozen=True, eq=False, init=False, kw_only=True)
class CascadeFeedback(Feedback):
    """The feedback of a cascade whose outcomes are partly hidden.

    `Session.tell` and `Campaign.tell` learn from it with policies that draw from Beta posteriors. It has no
    outcomes of arms unless those of some arms are observed without bias, as those of arms that were alone in
    trying their head.

    Parameters
    ----------
    cascade : Cascade
        What is known of the cascade.
    network : Network
        The graph.
    arms, outcomes : array_like
        The outcomes that any policy can learn from; none by default.
    reward : float, optional
        The reward of the round; ``nan`` if it is unknown.
    has_all : bool
        Whether `arms` and `outcomes` are a report of their own, from which any policy can learn.
    is_old : bool
        Whether the report was validated before. A person without a path from the seeds then counts as a seed:
        the path was removed from the network since.
    """

    cascade: Cascade
    network: Network
    has_all: bool
    is_old: bool
    is_hidden: ClassVar[bool] = True

    def __init__(
        self,
        cascade: Cascade,
        network: Network,
        *,
        arms: Any = (),
        outcomes: Any = (),
        reward: float = float("nan"),
        has_all: bool = False,
        is_old: bool = False,
    ) -> None:
        super().__init__(np.asarray(arms, np.int64), np.asarray(outcomes, np.float64), reward=reward)
        self.__dict__.update(cascade=cascade, network=network, has_all=has_all, is_old=is_old)

    @cached_property
    def problem(self) -> Problem:
        """The hidden outcomes of this report and their constraint."""
        return problem_of(self.cascade, self.network, self.arms, is_old=self.is_old)

    @property
    def plain(self) -> Feedback:
        """The feedback without the hidden outcomes."""
        return Feedback(self.arms, self.outcomes, reward=self.reward)
