"""Environments with sudden changes of the means between two rounds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from cmab import Environment, Feedback
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import arm_indices, integer, listed, shown


class PiecewiseStationary(Environment):
    """A sequence of environments: the means jump at the changes and are constant between them.

    With a `period` the sequence repeats, as days and seasons do. Regret is measured against the best super
    arm of each round.

    Parameters
    ----------
    environments : iterable of Environment
        At least one environment; all have the same number of base arms.
    changes : array_like of int
        The last round of each environment except the last one. The rounds increase, and there is one fewer
        than environments.
    period : int, optional
        Number of rounds after which the sequence repeats, larger than the last of `changes`. If None (the
        default), it does not repeat.

    Examples
    --------
    >>> from cmab import CUCB, simulate
    >>> from instances import BernoulliArms, PiecewiseStationary, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> week, weekend = (SemiBandit(BernoulliArms(p), oracle) for p in ([0.2, 0.8, 0.5], [0.9, 0.1, 0.5]))
    >>> environment = PiecewiseStationary([week, weekend], changes=[5], period=7)
    >>> [float(environment.in_round(t, None).means[0]) for t in range(1, 9)]
    [0.2, 0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.2]
    """

    def __init__(
        self, environments: Iterable[Environment], changes: ArrayLike, *, period: int | None = None
    ) -> None:
        self.environments = tuple(listed("environments", environments, "environments"))
        self.changes = tuple(arm_indices("changes", changes, 2**53).tolist())
        for environment in self.environments:
            if not isinstance(environment, Environment):
                raise ValueError(f"environments must contain environments only, got {shown(environment)}")
        if not self.environments or len(self.changes) != len(self.environments) - 1:
            raise ValueError(
                "environments must not be empty, and changes must have one entry fewer than environments,"
                f" got {len(self.changes)} changes and {len(self.environments)} environments"
            )
        if list(self.changes) != sorted({*self.changes} - {0}):
            raise ValueError(f"changes must be increasing integers from 1 on, got {list(self.changes)}")
        last = max(self.changes, default=0)
        self.period = None if period is None else integer("period", period, last + 1)
        first = self.environments[0]
        shapes = {(each.n_arms, each.n_choices) for each in self.environments}
        if len(shapes) > 1:
            raise ValueError(f"environments must agree in (n_arms, n_choices), got {sorted(shapes, key=str)}")
        self.n_arms, self.n_choices, self.means = first.n_arms, first.n_choices, first.means
        lows, highs = zip(*(each.support for each in self.environments), strict=True)
        self.support = (min(lows), max(highs))

    @property
    def sigma(self) -> float:
        return max(each.sigma for each in self.environments)

    @property
    def optimum(self) -> float:  # type: ignore[override]
        return self.environments[0].optimum

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:
        place = t - 1 if self.period is None else (t - 1) % self.period
        return self.environments[bisect_right(self.changes, place)].in_round(t, rng)

    # Outside `in_round`, the sequence is its first environment.

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        return self.environments[0].play(super_arm, rng)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return self.environments[0].pull(arms, rng)

    def expected_reward(self, super_arm: IntArray) -> float:
        return self.environments[0].expected_reward(super_arm)

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.environments[0].triggering_probabilities(super_arm)
