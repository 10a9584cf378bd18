"""Beta priors of the means of arms, for policies that draw from posteriors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import kernel


@kernel
def above(counts, groups, n_groups, most):
    """Return the number of arms of each group with a count above i, where i < `most`."""
    sums = np.zeros((n_groups, most + 1))
    for arm in range(counts.shape[0]):
        if counts[arm] > 0.0:
            sums[groups[arm], int(counts[arm] + 0.5)] += 1.0
    for group in range(n_groups):
        for i in range(most - 1, -1, -1):
            sums[group, i] += sums[group, i + 1]
    return sums[:, 1:]


@kernel
def grid_log_weights(groups, n_groups, wins, losses, won, lost):
    """Return the log likelihood of the counts of each group under each Beta prior, shape (groups, points).

    The likelihood of an arm is ``B(a + won, b + lost) / B(a, b)``, a product of rising factorials. Counts are
    rounded to integers.
    """
    most = int(max(won.max() if won.shape[0] else 0.0, lost.max() if lost.shape[0] else 0.0) + 0.5)
    tries = won + lost
    longest = max(int((tries.max() if tries.shape[0] else 0.0) + 0.5), most) + 1
    up, down = above(won, groups, n_groups, longest), above(lost, groups, n_groups, longest)
    both = np.zeros((n_groups, longest + 2))
    for arm in range(won.shape[0]):
        if tries[arm] > 0.0:
            both[groups[arm], int(won[arm] + 0.5) + int(lost[arm] + 0.5)] += 1.0
    for group in range(n_groups):
        for i in range(longest, -1, -1):
            both[group, i] += both[group, i + 1]
    logs = np.zeros((n_groups, wins.shape[0]))
    for p in range(wins.shape[0]):
        for i in range(longest):
            first, second = math.log(wins[p] + i), math.log(losses[p] + i)
            third = math.log(wins[p] + losses[p] + i)
            for group in range(n_groups):
                logs[group, p] += up[group, i] * first + down[group, i] * second
                logs[group, p] -= both[group, i + 1] * third
    return logs


class BetaPrior(NamedTuple):
    """The prior of the means of arms: one Beta distribution for each arm, or a grid for each group of arms.

    Attributes
    ----------
    wins, losses : FloatArray
        The parameters: of each arm, or of each point of the grid.
    groups : IntArray or None
        The group of each arm, from 0; None if each arm has its own prior.
    """

    wins: FloatArray
    losses: FloatArray
    groups: IntArray | None = None

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return 0 if self.groups is None else int(self.groups.max(initial=-1)) + 1

    def middle(self, n_arms: int) -> tuple[FloatArray, FloatArray]:
        """Return parameters of each arm to begin with: its own, or those of the middle of the grid."""
        if self.groups is None:
            return self.wins.copy(), self.losses.copy()
        half = len(self.wins) // 2
        return np.full(n_arms, self.wins[half]), np.full(n_arms, self.losses[half])

    def log_weights(self, won: FloatArray, lost: FloatArray) -> FloatArray:
        """Return the log weight of each point of the grid of each group, given counts."""
        found: FloatArray = grid_log_weights(self.groups, self.n_groups, self.wins, self.losses, won, lost)
        return found
