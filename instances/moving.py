"""Environments with drifting or periodic means, interpolated linearly between given means."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from cmab import Environment, LinearOracle
from cmab.arrays import ArrayLike, FloatArray
from cmab.validation import arm_indices, integer, real_array, shown
from instances.arms import BernoulliArms, SemiBandit


class MovingMeans(SemiBandit):
    """Bernoulli arms with means that are linearly interpolated between given rounds.

    With two rows the means drift. With a `period` and, for example, one row per hour of the day, they are
    periodic. Regret is measured against the best super arm of each round. The means of the instance itself,
    outside any round, are those of round 1.

    Parameters
    ----------
    path : array_like, shape (n_rows, n_arms)
        The means of the arms at the `rounds`, in [0, 1].
    oracle : LinearOracle
        The family of super arms. It computes the optimum of every round.
    rounds : array_like of int, shape (n_rows,)
        The round of each row, increasing, from 1 on. Without a period, earlier rounds have the means of the
        first row and later rounds those of the last row.
    period : int, optional
        Number of rounds after which the means repeat, at least the last of `rounds`. After the last row the
        means return to the first row. If None (the default), they do not repeat.

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
                f"path must be a table of numbers in [0, 1] with at least one row, got {shown(path)}"
            )
        self.path = np.array(rows, np.float64)
        self.rounds = tuple(arm_indices("rounds", rounds, 2**53).tolist())
        if len(self.rounds) != len(rows) or list(self.rounds) != sorted({*self.rounds} - {0}):
            raise ValueError(
                "rounds must be increasing integers from 1 on, one for each row of path, got"
                f" {list(self.rounds)} for {len(rows)} rows"
            )
        self.period = None if period is None else integer("period", period, self.rounds[-1])
        super().__init__(BernoulliArms(self._means(1)), oracle)

    def _means(self, t: int) -> FloatArray:
        """Return the means of all arms in round `t`."""
        place = t if self.period is None else (t - 1) % self.period + 1
        after = bisect_right(self.rounds, place)
        if self.period is None and not 0 < after < len(self.rounds):
            row: FloatArray = self.path[min(after, len(self.rounds) - 1)]
            return row
        # With a period, the first row follows the last row.
        before, after = (after - 1) % len(self.rounds), after % len(self.rounds)
        begin, end, turn = self.rounds[before], self.rounds[after], self.period or 0
        length = end - begin if end > begin else end - begin + turn
        share = (place - begin) % turn / length if turn else (place - begin) / length
        mean: FloatArray = (1.0 - share) * self.path[before] + share * self.path[after]
        return mean

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:
        return SemiBandit(BernoulliArms(self._means(t)), self.oracle)
