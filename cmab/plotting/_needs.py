"""Protocols of results: figures and tables accept every object with these attributes."""

from __future__ import annotations

from typing import Protocol

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.oracle import Sense


class Played(Protocol):
    """Results of a policy, as recorded by `simulate`: R replications, C checkpoints."""

    @property
    def rounds(self) -> IntArray:
        """The checkpoints, as numbers of rounds, shape (C,)."""

    @property
    def expected_rewards(self) -> FloatArray:
        """Cumulative expected reward, shape (R, C)."""

    @property
    def regret(self) -> FloatArray:
        """Cumulative (alpha, beta)-approximation regret, shape (R, C)."""

    @property
    def exact_regret(self) -> FloatArray:
        """Cumulative regret against the optimum, shape (R, C)."""

    @property
    def oracle_seconds(self) -> FloatArray:
        """Wall-clock time in the oracle in seconds, shape (R,)."""

    @property
    def seconds(self) -> FloatArray:
        """Wall-clock time in seconds, shape (R,)."""

    @property
    def optimum(self) -> float:
        """Expected reward of the best super arm; nan if it is unknown."""

    @property
    def alpha(self) -> float:
        """The approximation ratio of the oracle."""

    @property
    def beta(self) -> float:
        """The least probability with which the oracle attains its ratio."""

    @property
    def sense(self) -> Sense:
        """Whether rewards are maximised or costs minimised."""


class Explored(Protocol):
    """Results of an explorer, as recorded by `identify`: R replications."""

    @property
    def samples(self) -> IntArray:
        """Number of samples, shape (R,)."""

    @property
    def correct(self) -> BoolArray:
        """Whether the arms meet the goal, shape (R,)."""

    @property
    def wrong(self) -> BoolArray:
        """Whether the explorer stopped with a wrong answer, shape (R,)."""

    @property
    def judged(self) -> bool:
        """Whether the explorer has a goal, which decides whether an answer is correct."""

    @property
    def stopped(self) -> BoolArray:
        """Whether the explorer stopped before the run was cut off, shape (R,)."""

    @property
    def seconds(self) -> FloatArray:
        """Wall-clock time in seconds, shape (R,)."""
