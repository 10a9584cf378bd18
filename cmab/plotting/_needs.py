"""What pictures and tables need of a result: any object with these attributes can be drawn."""

from __future__ import annotations

from typing import Protocol

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.oracle import Sense


class Played(Protocol):
    """Replications of the regret loop, as `simulate` records them: R replications, C checkpoints."""

    @property
    def rounds(self) -> IntArray:
        """Rounds of the checkpoints, shape (C,)."""

    @property
    def expected_rewards(self) -> FloatArray:
        """Cumulative expected reward, shape (R, C)."""

    @property
    def regret(self) -> FloatArray:
        """Cumulative regret against the oracle's guarantee, shape (R, C)."""

    @property
    def exact_regret(self) -> FloatArray:
        """Cumulative regret against the optimum, shape (R, C)."""

    @property
    def oracle_seconds(self) -> FloatArray:
        """Seconds in the oracle, shape (R,)."""

    @property
    def seconds(self) -> FloatArray:
        """Seconds in all, shape (R,)."""

    @property
    def optimum(self) -> float:
        """Expected reward of the best super arm; nan where it is unknown."""

    @property
    def alpha(self) -> float:
        """What the oracle guarantees, as a share of the optimum."""

    @property
    def beta(self) -> float:
        """How often it does so, at least."""

    @property
    def sense(self) -> Sense:
        """Whether rewards are maximised or costs minimised."""


class Explored(Protocol):
    """Replications of pure exploration, as `identify` records them: R replications."""

    @property
    def samples(self) -> IntArray:
        """Outcomes that were drawn, shape (R,)."""

    @property
    def correct(self) -> BoolArray:
        """Whether the arms meet the goal, shape (R,)."""

    @property
    def wrong(self) -> BoolArray:
        """Whether a run that ended by itself names others than the goal's, shape (R,)."""

    @property
    def judged(self) -> bool:
        """Whether there is a goal, by which answers are right or wrong."""

    @property
    def stopped(self) -> BoolArray:
        """Whether the run ended by itself, shape (R,)."""

    @property
    def seconds(self) -> FloatArray:
        """Seconds in all, shape (R,)."""
