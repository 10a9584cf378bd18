"""The Beta priors of policies that draw from a posterior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray


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
        from cmab.cascades._kernels_priors import grid_log_weights

        found: FloatArray = grid_log_weights(self.groups, self.n_groups, self.wins, self.losses, won, lost)
        return found
