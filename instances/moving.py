"""Worlds that drift, once or again and again: means on straight lines between those that are given."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from cmab import Environment, LinearOracle
from cmab.arrays import ArrayLike, FloatArray
from cmab.validation import arm_indices, integer, real_array, shown
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit


class MovingMeans(SemiBandit):
    """Bernoulli arms whose means move on straight lines between those at some rounds.

    Two rows are a drift; a row for each hour of the day, measured or from the average of a log, with a
    `period`, are seasons. Regret is against the best super arm of each round. The arms of the environment
    itself are those of round 1.

    Parameters
    ----------
    path : array_like, shape (n_rows, n_arms)
        Means of the arms, in [0, 1], at the `rounds`.
    oracle : LinearOracle
        The family of super arms; it is asked for the optimum of every round.
    rounds : array_like of int, shape (n_rows,)
        Increasing, from 1 on. Means are those of the first row before, and of the last row after.
    period : int, optional
        Rounds after which all begins anew, at least the last of `rounds`: from the last row the means go
        back to the first. None, the default, never.

    Examples
    --------
    >>> from instances import MovingMeans
    >>> from oracles import TopK
    >>> drift = MovingMeans([[0.2, 0.5], [0.8, 0.5]], TopK(2, k=1), rounds=[1, 7])
    >>> [round(float(drift.in_round(t, None).means[0]), 3) for t in (1, 2, 4, 7, 100)]
    [0.2, 0.3, 0.5, 0.8, 0.8]
    >>> day = MovingMeans([[0.2, 0.5], [0.8, 0.5]], TopK(2, k=1), rounds=[1, 13], period=24)
    >>> [round(float(day.in_round(t, None).means[0]), 3) for t in (1, 7, 13, 19, 25)]
    [0.2, 0.5, 0.8, 0.5, 0.2]
    """

    def __init__(
        self, path: ArrayLike, oracle: LinearOracle, *, rounds: ArrayLike, period: int | None = None
    ) -> None:
        rows = real_array("path", path)
        if rows.ndim != 2 or not len(rows) or not ((rows >= 0.0) & (rows <= 1.0)).all():
            raise ValueError(
                f"path must be a table of numbers in [0, 1] with a row at least, got {shown(path)}"
            )
        self.path = np.array(rows, np.float64)
        self.rounds = tuple(arm_indices("rounds", rounds, 2**53).tolist())
        if len(self.rounds) != len(rows) or list(self.rounds) != sorted({*self.rounds} - {0}):
            raise ValueError(
                "rounds must be as many as rows of path, and increase, from 1 on, got"
                f" {list(self.rounds)} for {len(rows)} rows"
            )
        self.period = None if period is None else integer("period", period, self.rounds[-1])
        super().__init__(BernoulliArms(self._means(1)), oracle)

    def _means(self, t: int) -> FloatArray:
        """Return the means of round `t`."""
        place = t if self.period is None else (t - 1) % self.period + 1
        after = bisect_right(self.rounds, place)
        if self.period is None and not 0 < after < len(self.rounds):
            row: FloatArray = self.path[min(after, len(self.rounds) - 1)]
            return row
        # With a period the first row comes again after the last one, and before it.
        before, after = (after - 1) % len(self.rounds), after % len(self.rounds)
        begin, end, turn = self.rounds[before], self.rounds[after], self.period or 0
        length = end - begin if end > begin else end - begin + turn
        share = (place - begin) % turn / length if turn else (place - begin) / length
        mean: FloatArray = (1.0 - share) * self.path[before] + share * self.path[after]
        return mean

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:  # noqa: ARG002
        return SemiBandit(BernoulliArms(self._means(t)), self.oracle)
